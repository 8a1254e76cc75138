package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Man pages (man(7)), from the table of commands.

// manual writes a page for each command, and one for all, to a folder. Without one it prints the page of all.
func manual(s *session) error {
	pages := s.app.pages()
	dir := s.arg("dir")
	if dir == "" {
		_, err := fmt.Fprint(s.out, pages["warren"])
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // man pages are for everybody
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return s.say("%d pages in %s", len(pages), dir)
}

// pages returns the man pages by name, such as warren-profile-list.
func (a *App) pages() map[string]string {
	out := map[string]string{}
	var all strings.Builder
	fmt.Fprintf(&all,
		".TH WARREN 1 \"\" \"warren %s\"\n.SH NAME\nwarren \\- browser profiles, each behind its proxy\n.SH SYNOPSIS\n.B warren\n"+
			".I COMMAND\n[ARGUMENTS] [FLAGS]\n.SH COMMANDS\n", roff(a.program.Version()))
	for _, c := range table() {
		if c.hidden {
			continue
		}
		fmt.Fprintf(&all, ".TP\n.B %s\n%s\n", roff(c.name), roff(c.help))
		out["warren-"+strings.ReplaceAll(c.name, " ", "-")] = c.page(a.program.Version())
	}
	if nodes, err := a.others(); err == nil {
		for _, n := range nodes {
			fmt.Fprintf(&all, ".TP\n.B %s\n%s\n", roff(n.Name), roff(n.Help))
		}
	}
	fmt.Fprintf(&all, ".SH EXIT STATUS\n%s\n.SH EXAMPLES\n", roff(codes))
	for _, e := range examples {
		fmt.Fprintf(&all, ".PP\n.RS\n%s\n.RE\n", roff(e))
	}
	out["warren"] = all.String()
	return out
}

func (c *command) page(version string) string {
	var out strings.Builder
	name := "warren-" + strings.ReplaceAll(c.name, " ", "-")
	fmt.Fprintf(&out, ".TH %s 1 \"\" \"warren %s\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", strings.ToUpper(roff(name)), roff(version),
		roff(name),
		roff(strings.TrimSuffix(c.help, ".")), roff(c.usage()))
	if c.detail != "" {
		fmt.Fprintf(&out, ".SH DESCRIPTION\n%s\n", roff(c.detail))
	}
	if flags := c.all(); len(flags) > 0 {
		out.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", roff(f.spelled()), roff(f.describe()))
		}
	}
	fmt.Fprintf(&out, ".SH EXIT STATUS\n%s\n.SH EXAMPLE\n%s\n.SH SEE ALSO\n.BR warren (1)\n", roff(codes), roff(c.sample))
	return out.String()
}

// roff escapes text: a backslash, a hyphen, and what would be a request at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
