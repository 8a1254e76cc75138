package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Help: of the program in groups, of a group, of a command. Man pages and completion have the same words.

// section is a part of the program's help.
type section struct {
	title string
	words []string // first words of commands
}

var sections = []section{
	{"Profiles", []string{"start", "stop", "restart", "ps", "open", "view", "logs", "cdp", "profile", "snapshot", "import", "template"}},
	{"Proxies", []string{"proxy"}},
	{"More of a server", []string{"run", "job", "schedule", "webhook", "extension", "workspace", "capability", "ticket", "events", "audit",
		"server", "node", "drain"}},
	{"Access", []string{"login", "context", "key"}},
	{"This machine", nil}, // the program's other commands
	{"Shells", []string{"completion", "man"}},
}

// summaries say what a group of commands is about.
var summaries = map[string]string{"profile": "Create, change, copy and move profiles, and read their data.",
	"proxy":    "Keep, check, rotate and move proxies.",
	"snapshot": "Keep the data of profiles, and go back to it.", "template": "Keep settings for new profiles.", "run": "Look at runs.",
	"job": "Follow and cancel jobs.", "schedule": "Say what happens when.", "webhook": "Tell endpoints of events.",
	"extension": "Keep extensions for profiles.",
	"workspace": "Keep things apart.", "capability": "Let others into a run.", "ticket": "Open a WebSocket without a key.",
	"node":   "Look at the servers that share a database, and drain them.",
	"server": "Look at the server, and install browsers.", "context": "Choose between servers.",
	"key": "Create, list and revoke API keys."}

// examples are those of the program's help.
var examples = []string{
	"warren profile create shop --tag eu --proxy berlin",
	"warren start @eu",
	"warren ps -o json",
}

// codes are the exit codes, for help and man pages.
const codes = "0 done, 1 failed, 2 misused (a flag, a name, a value), 3 refused for safety."

// help prints that of the program.
func (a *App) help(w io.Writer) error {
	var out strings.Builder
	out.WriteString("warren keeps browser profiles and proxies, and runs each profile's Chrome behind its proxy.\n\n" +
		"usage: warren COMMAND [ARGUMENTS] [FLAGS]\n")
	others, err := a.others()
	if err != nil {
		return err
	}
	for _, sec := range sections {
		fmt.Fprintf(&out, "\n%s\n", sec.title)
		for _, word := range sec.words {
			fmt.Fprintf(&out, "  %-12s %s\n", word, about(word))
		}
		if sec.words == nil {
			for _, n := range others {
				fmt.Fprintf(&out, "  %-12s %s\n", n.Name, n.Help)
			}
		}
	}
	out.WriteString("\nExamples\n")
	for _, e := range examples {
		fmt.Fprintf(&out, "  %s\n", e)
	}
	fmt.Fprintf(&out, "\nExit codes: %s\n", codes)
	out.WriteString("`warren COMMAND --help` says more, with an example.\n")
	_, err = io.WriteString(w, out.String())
	return err
}

// others returns the program's commands that call no server.
func (a *App) others() (out []*kong.Node, err error) {
	k, err := a.program.Others()
	if err != nil {
		return nil, err
	}
	for _, n := range k.Model.Children {
		if !n.Hidden {
			out = append(out, n)
		}
	}
	return out, nil
}

// about says what a command or a group is for.
func about(word string) string {
	if s := summaries[word]; s != "" {
		return s
	}
	for _, c := range table() {
		if c.name == word {
			return c.help
		}
	}
	return ""
}

// groupHelp prints the commands of a group. It is an error, unless help was asked for.
func (a *App) groupHelp(streams Streams, group string, args []string) error {
	var members []command
	for _, c := range table() {
		if strings.HasPrefix(c.name, group+" ") {
			members = append(members, c)
		}
	}
	if len(members) == 0 {
		return misusef("there is no command %q; `warren --help` lists them", harmless(group))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\nusage: warren %s COMMAND\n\n", about(group), group)
	for _, c := range members {
		fmt.Fprintf(&out, "  %-24s %s\n", strings.TrimPrefix(c.name, group+" "), c.help)
	}
	fmt.Fprintf(&out, "\nExample\n  %s\n", members[0].sample)
	if wantsHelp(args) || len(args) == 1 {
		_, err := io.WriteString(streams.Out, out.String())
		return err
	}
	return misusef("there is no command %q\n%s", harmless(strings.Join(args[:min(2, len(args))], " ")), out.String())
}

// Unknown is the error for a word that is no command. It names those that begin as the word does.
func (a *App) Unknown(word string) error {
	begin := word[:min(len(word), 2)]
	var near []string
	for _, sec := range sections {
		near = append(near, startingWith(slices.Clone(sec.words), begin)...)
	}
	hint := ""
	if len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return misusef("there is no command %q%s `warren --help` lists them", harmless(word), cmp.Or(hint, ";"))
}

// usage is the command's line of usage.
func (c *command) usage() string {
	words := []string{"warren", c.name}
	for _, a := range c.arguments() {
		word := strings.ToUpper(a.name)
		if a.many {
			word += "…"
		}
		if a.optional {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(append(words, "[FLAGS]"), " ")
}

// printHelp prints the command's help.
func (c *command) printHelp(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", c.help)
	if c.detail != "" {
		fmt.Fprintf(&out, "%s\n", c.detail)
	}
	fmt.Fprintf(&out, "\nusage: %s\n", c.usage())
	for _, a := range c.arguments() {
		if help := argumentHelp(a); help != "" {
			fmt.Fprintf(&out, "  %-22s %s\n", strings.ToUpper(a.name), help)
		}
	}
	own := append(append([]flag{}, c.flags...), c.bodied()...)
	flagHelp(&out, "Flags", own)
	var rest []flag
	for _, f := range c.common() {
		if !hasFlag(own, f.name) {
			rest = append(rest, f)
		}
	}
	flagHelp(&out, "Flags of output and server", rest)
	fmt.Fprintf(&out, "\nExample\n  %s\n\nExit codes: %s\n", c.sample, codes)
	_, err := io.WriteString(w, out.String())
	return err
}

func flagHelp(out *strings.Builder, title string, flags []flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	for _, f := range flags {
		fmt.Fprintf(out, "  %-26s %s\n", f.spelled(), f.describe())
	}
}

// spelled is how the flag is written: "-o, --output=TEXT".
func (f flag) spelled() string {
	out := "--" + f.name
	if f.kind == yes && f.where != own {
		out = "--[no-]" + f.name
	}
	if f.short != "" {
		out = "-" + f.short + ", " + out
	}
	switch f.kind {
	case text, list:
		out += "=TEXT"
	case number:
		out += "=N"
	case duration:
		out += "=TIME"
	}
	return out
}

// describe is the flag's help, with its words, its default and its variable.
func (f flag) describe() string {
	out := f.help
	if f.enum != "" {
		out += " One of: " + strings.ReplaceAll(f.enum, ",", ", ") + "."
	}
	if f.def != "" {
		out += " Default: " + f.def + "."
	}
	if env := environment[f.name]; env != "" {
		out += " (" + env + ")"
	}
	return out
}

// Example is a line that shows a command, as its help has it.
type Example struct {
	Command string // "profile list"
	Line    string // "warren profile list --tag shop"
}

// Examples returns the examples of all commands, in the order of the help.
func Examples() (out []Example) {
	for _, c := range table() {
		if !c.hidden {
			out = append(out, Example{c.name, c.sample})
		}
	}
	return out
}
