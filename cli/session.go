package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// Program is what the command line needs to know of the program that it is part of.
type Program interface {
	// Version is the version of the program.
	Version() string
	// DataDir is the platform's data folder.
	DataDir() (string, error)
	// Pack writes a folder of Chrome's user data, or those of its profiles that are named, as a tar file.
	Pack(ctx context.Context, w io.Writer, folder string, profiles []string) error
	// Others are the commands that call no server, for help, completion and man pages.
	Others() (*kong.Kong, error)
}

// App is the command line.
type App struct {
	program Program
}

// New returns the command line of a program.
func New(p Program) *App { return &App{p} }

// Streams are what commands read and write.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// session is one command as it runs.
type session struct {
	ctx      context.Context
	app      *App
	cmd      *command
	in       io.Reader
	out, err io.Writer
	client   *Client // nil for local commands
	now      time.Time
	profile  string // the id of the profile that the address names

	args   map[string][]string // by the arguments' names
	values map[string]any      // of flags that were given or have a default
	given  map[string]bool     // by flags' names
}

// Has reports whether the arguments are of a command of this package, or ask for its help.
func (a *App) Has(args []string) bool {
	if len(args) == 0 {
		return true
	}
	for _, c := range table() {
		if first, _, _ := strings.Cut(c.name, " "); first == args[0] {
			return true
		}
	}
	return isHelp(args[0])
}

func isHelp(arg string) bool { return arg == "--help" || arg == "-h" || arg == "help" }

// Run runs a command. The error has an exit code (ExitCode).
func (a *App) Run(ctx context.Context, args []string, streams Streams) error {
	if f := file(streams.Out); f != nil { // so that a write to a pipe without a reader fails, and does not end the process
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE)
		defer signal.Stop(broken)
	}
	streams.Out = pipe{streams.Out}
	cmd, group := find(args)
	switch {
	case cmd == nil && (len(args) == 0 || isHelp(args[0]) && len(args) == 1):
		return a.help(streams.Out)
	case cmd == nil && isHelp(args[0]):
		return a.Run(ctx, append(args[1:], "--help"), streams)
	case cmd == nil:
		return a.groupHelp(streams, group, args)
	}
	if wantsHelp(args) {
		return cmd.printHelp(streams.Out)
	}
	return a.runCommand(ctx, cmd, args, streams)
}

func (a *App) runCommand(ctx context.Context, cmd *command, args []string, streams Streams) error {
	s := &session{ctx: ctx, app: a, cmd: cmd, in: streams.In, out: streams.Out, err: streams.Err, now: time.Now()}
	if err := s.parse(args); err != nil {
		return err
	}
	if cmd.shape != local {
		var err error
		at := Connection{URL: s.text("url"), Context: s.text("context"), Data: s.text("data")}
		if s.client, err = at.Client(a.program.DataDir, a.program.Version()); err != nil {
			return err
		}
	}
	err := s.do()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil && cmd.shape != local {
		err = coded{errors.New("interrupted"), ExitFailed}
	}
	return err
}

// find returns the command that the arguments begin with, else the group.
func find(args []string) (cmd *command, group string) {
	all := table()
	for n := min(3, len(args)); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		for i := range all {
			if all[i].name == name {
				return &all[i], ""
			}
		}
	}
	if len(args) > 0 {
		group = args[0]
	}
	return nil, group
}

// wantsHelp reports whether --help is among the arguments, before a -- that ends flags.
func wantsHelp(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--help" || arg == "-h" {
			return true
		}
	}
	return false
}

// parse reads arguments and flags.
func (s *session) parse(args []string) error {
	parser, grammar, err := s.cmd.parser(kong.Writers(s.out, s.err))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return misusef("%s\nusage: %s", harmless(err.Error()), s.cmd.usage())
	}
	v := grammar.Elem()
	for range strings.Fields(s.cmd.name) {
		v = v.Field(0)
	}
	s.args, s.values, s.given = map[string][]string{}, map[string]any{}, map[string]bool{}
	for i, a := range s.cmd.arguments() {
		switch value := v.Field(i).Interface().(type) {
		case string:
			if value != "" {
				s.args[a.name] = []string{value}
			}
		case []string:
			s.args[a.name] = value
		}
	}
	for _, step := range parsed.Path {
		if step.Flag != nil {
			s.given[step.Flag.Name] = true
		}
	}
	for i, f := range s.cmd.all() {
		if value := v.Field(len(s.cmd.arguments()) + i); s.given[f.name] || !value.IsZero() {
			s.values[f.name] = value.Interface()
		}
	}
	return nil
}

// arg returns an argument, "" if it was not given. text, yes, list and number return the value of a flag.
func (s *session) arg(name string) string {
	if all := s.args[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

func (s *session) text(name string) string {
	t, _ := s.values[name].(string)
	return t
}

func (s *session) yes(name string) bool {
	v, _ := s.values[name].(bool)
	return v
}

func (s *session) list(name string) []string {
	v, _ := s.values[name].([]string)
	return v
}

func (s *session) number(name string) int {
	v, _ := s.values[name].(int64)
	return int(v)
}

// say prints a line for people.
func (s *session) say(format string, a ...any) error {
	_, err := fmt.Fprintln(s.out, harmless(fmt.Sprintf(format, a...)))
	return err
}

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	f := file(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}
