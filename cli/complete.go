package cli

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Completion: the shells ask the hidden command __complete, which knows commands and flags, and asks the server for names.

// completeTime is how long a completion may wait for the server. Nobody waits longer for a key that was pressed.
const completeTime = 500 * time.Millisecond

// completeMost is how many names a completion shows.
const completeMost = 100

// The scripts of the shells.
var (
	//go:embed complete.bash
	bashScript string
	//go:embed complete.zsh
	zshScript string
	//go:embed complete.fish
	fishScript string
	//go:embed complete.ps1
	powershellScript string
)

// completion prints the script of a shell.
func completion(s *session) error {
	scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": powershellScript}
	script, ok := scripts[s.arg("shell")]
	if !ok {
		return misusef("%q is none of bash, zsh, fish and powershell", s.arg("shell"))
	}
	_, err := io.WriteString(s.out, script)
	return err
}

// complete prints what the last of the words may become, one on a line. It never fails: a shell would show that.
func complete(s *session) error {
	for _, word := range s.completions(s.args["word"]) {
		if _, err := fmt.Fprintln(s.out, harmless(word)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) completions(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	cmd, _ := find(before)
	switch {
	case cmd == nil:
		return s.nextWords(before, last)
	case slices.Contains(before, "--"): // nothing is a flag any more
		return s.argumentsOf(cmd, before, last)
	case len(before) > 0 && cmd.flagNamed(before[len(before)-1]) != nil && cmd.flagNamed(before[len(before)-1]).kind != yes:
		return s.valuesOf(cmd, *cmd.flagNamed(before[len(before)-1]), last)
	case strings.HasPrefix(last, "-"):
		var out []string
		for _, f := range cmd.all() {
			out = append(out, "--"+f.name)
		}
		return startingWith(append(out, "--help"), last)
	}
	return slices.DeleteFunc(s.argumentsOf(cmd, before, last), func(w string) bool { return strings.HasPrefix(w, "-") })
}

// nextWords are the commands, or the members of a group, that begin so.
func (s *session) nextWords(before []string, last string) []string {
	var out []string
	for _, c := range table() {
		words := strings.Fields(c.name)
		if !c.hidden && len(words) > len(before) && slices.Equal(words[:len(before)], before) {
			out = append(out, words[len(before)])
		}
	}
	if nodes, err := s.app.others(); err == nil && len(before) == 0 {
		for _, n := range nodes {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return startingWith(slices.Compact(out), last)
}

func startingWith(words []string, with string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, with) })
}

// flagNamed returns the flag that a word of the command line is, nil if it is none.
func (c *command) flagNamed(word string) *flag {
	name, ok := strings.CutPrefix(word, "--")
	if !ok {
		if name, ok = strings.CutPrefix(word, "-"); !ok || len(name) != 1 {
			return nil
		}
	}
	for _, f := range c.all() {
		if f.name == name || f.short == name {
			return &f
		}
	}
	return nil
}

// valuesOf are what a flag may be given.
func (s *session) valuesOf(cmd *command, f flag, last string) []string {
	switch {
	case f.enum != "":
		return startingWith(strings.Split(f.enum, ","), last)
	case f.name == "output" && cmd.shape != raw:
		return startingWith([]string{"table", "json", "jsonl", "yaml", templatePrefix}, last)
	case f.name == "context":
		all, err := readContexts()
		if err != nil {
			return nil
		}
		var out []string
		for name := range all.Servers {
			out = append(out, name)
		}
		slices.Sort(out)
		return startingWith(out, last)
	case f.object != "":
		return s.namesOf(cmd, f.object, nil, last)
	}
	return nil
}

// argumentsOf are the names of objects that the next argument may be.
func (s *session) argumentsOf(cmd *command, before []string, last string) []string {
	var given []string
	words := before[len(strings.Fields(cmd.name)):]
	for i := 0; i < len(words); i++ {
		if words[i] == "--" {
			given = append(given, words[i+1:]...)
			break
		}
		if f := cmd.flagNamed(words[i]); f != nil {
			if f.kind != yes {
				i++
			}
			continue
		}
		given = append(given, words[i])
	}
	all := cmd.arguments()
	if len(all) == 0 {
		return nil
	}
	a := all[min(len(given), len(all)-1)]
	if len(given) >= len(all) && !a.many {
		return nil
	}
	if a.name == "shell" {
		return startingWith([]string{"bash", "fish", "powershell", "zsh"}, last)
	}
	return s.namesOf(cmd, a.object, given, last)
}

// namesOf asks the server for names of objects.
func (s *session) namesOf(cmd *command, object string, given []string, last string) (out []string) {
	k, ok := nameds[object]
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, completeTime)
	defer cancel()
	client, err := new(Connection).fromEnvironment().Client(s.app.program.DataDir, s.app.program.Version())
	if err != nil {
		return nil
	}
	asking := *s
	asking.ctx, asking.client, asking.cmd = ctx, client, cmd
	path := k.list
	if strings.Contains(path, "%s") {
		if len(given) == 0 {
			return nil
		}
		id, err := asking.single("profile", given[0], "")
		if err != nil {
			return nil
		}
		path = fmt.Sprintf(path, url.PathEscape(id))
	}
	q := url.Values{}
	if k.search && len([]rune(last)) > 2 {
		q.Set("search", cutRunes(last, 200))
	}
	err = client.each(ctx, path, q, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		if err != nil {
			return false, err
		}
		name := ""
		for path := range strings.FieldsSeq(k.names) {
			if name == "" {
				name = asking.cell(v, path)
			}
		}
		if id, _ := member(v, k.id).(string); name == "" {
			name = id
		}
		if strings.HasPrefix(name, last) {
			out = append(out, name)
		}
		return len(out) < completeMost, nil
	})
	if err != nil && len(out) == 0 {
		return nil
	}
	return out
}
