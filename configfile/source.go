// Package configfile reads the configuration file: flags' names and values in TOML, with the line where each stands. It gives them to the
// command line, and tells where each value in force comes from.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// maxSize bounds a file, in bytes. One with every flag has a few thousand.
const maxSize = 1 << 20

// Origins of a value. Those of a file and the environment have a name too.
const (
	FromDefault     = "default"
	FromFile        = "file"
	FromEnvironment = "environment"
	FromFlag        = "flag"
)

// Origin is where a value in force comes from.
type Origin struct {
	From string // one of the constants
	Name string // of the variable or the file
	Line int    // in the file; 0 is unknown
}

// String is an origin for people: "default", "flag", "environment WARREN_LISTEN", "/etc/warren/config.toml:3".
func (o Origin) String() string {
	switch {
	case o.From == FromFile && o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case o.From == FromFile:
		return o.Name
	case o.From == FromEnvironment:
		return o.From + " " + o.Name
	}
	return o.From
}

// Source is a kong.Resolver over one file. The flags of one command may stand in it. A flag of another command takes its value too if both
// have the same name and the same variable in the environment.
type Source struct {
	owner     string   // the command whose flags may stand in the file
	reporters []string // further commands that report faults themselves

	read    bool
	path    string
	entries map[string]entry
	legacy  kong.Resolver // of a JSON file
	faults  []error
	flags   map[string]*kong.Flag // of the owner
	origins map[string]Origin
	asked   bool // whether a command that reports no faults wanted a value
}

// entry is a value in the file.
type entry struct {
	value any // as kong's mappers take it
	line  int
}

// New returns the source for the flags of command owner. That and the reporters call Faults; any other command gets Refusal.
func New(owner string, reporters ...string) *Source {
	return &Source{owner: owner, reporters: append(reporters, owner), entries: map[string]entry{}, origins: map[string]Origin{}}
}

// Path is the file's path. The file need not be there, unless somebody named it.
func (s *Source) Path() string { return s.path }

// Faults are what is wrong with the file, each with its line where it has one.
func (s *Source) Faults() []error { return s.faults }

// Refusal is the faults as one error, for a command that takes a value from the file and reports no faults itself.
func (s *Source) Refusal() error {
	if !s.asked {
		return nil
	}
	return errors.Join(s.faults...)
}

// Origin returns where the value of a flag comes from, once the command line was parsed.
func (s *Source) Origin(flag string) Origin {
	if o, ok := s.origins[flag]; ok {
		return o
	}
	return Origin{From: FromFlag} // kong asks no resolver about those
}

// Place puts the file and line before a fault that begins with a flag's name, if its value stands in the file.
func (s *Source) Place(fault error) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(fault.Error(), "--"), " ")
	if o := s.origins[strings.TrimSuffix(name, ":")]; o.From == FromFile {
		return fmt.Errorf("%s: %w", o, fault)
	}
	return fault
}

// Validate is kong.Resolver's.
func (s *Source) Validate(*kong.Application) error { return nil }

// Resolve is kong.Resolver's. It reads the file when it is called first, which is after --config was parsed.
func (s *Source) Resolve(c *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if !s.read {
		s.read = true
		s.flags = flagsOf(c.Model.Node, s.owner)
		s.open(named(c))
	}
	own, ok := s.flags[flag.Name]
	if !ok && s.legacy == nil {
		return nil, nil
	}
	if ok && !sameVariable(own, flag) {
		return nil, nil
	}
	s.asked = s.asked || !s.reports(c.Selected())
	for _, env := range flag.Envs {
		if _, set := os.LookupEnv(env); set {
			s.origins[flag.Name] = Origin{From: FromEnvironment, Name: env}
			return nil, nil
		}
	}
	if e, ok := s.entries[flag.Name]; ok && e.value != nil {
		s.origins[flag.Name] = Origin{From: FromFile, Name: s.path, Line: e.line}
		return e.value, nil
	}
	s.origins[flag.Name] = Origin{From: FromDefault}
	if s.legacy == nil {
		return nil, nil
	}
	value, err := s.legacy.Resolve(c, parent, flag)
	if value != nil {
		s.origins[flag.Name] = Origin{From: FromFile, Name: s.path}
	}
	return value, err
}

// flagsOf returns the flags of a command by their names.
func flagsOf(root *kong.Node, command string) map[string]*kong.Flag {
	out := map[string]*kong.Flag{}
	for _, node := range root.Children {
		if node.Name != command {
			continue
		}
		for _, flag := range node.Flags {
			out[flag.Name] = flag
		}
	}
	return out
}

// sameVariable reports whether two flags may be set by the same variable, and so mean the same.
func sameVariable(a, b *kong.Flag) bool {
	for _, one := range a.Envs {
		for _, other := range b.Envs {
			if one == other {
				return true
			}
		}
	}
	return a == b
}

// reports reports whether a command, or one above it, shows the faults itself.
func (s *Source) reports(node *kong.Node) bool {
	for ; node != nil; node = node.Parent {
		for _, name := range s.reporters {
			if node.Name == name {
				return true
			}
		}
	}
	return false
}

// named is the file of a command line: --config, else an argument called config-file; "" is none.
func named(c *kong.Context) string {
	path := ""
	for _, p := range c.Path {
		switch {
		case p.Positional != nil && p.Positional.Name == "config-file":
			return c.Value(p).String()
		case p.Flag != nil && p.Flag.Name == "config":
			path = c.Value(p).String()
		}
	}
	return path
}

// open finds the file and reads it. Of several places the first that says something counts: the name given, WARREN_CONFIG, the folder that
// systemd made for a service, the person's configuration folder. A config.json is read where there is no config.toml.
func (s *Source) open(name string) {
	if name == "" {
		name = os.Getenv("WARREN_CONFIG")
	}
	if name != "" {
		s.load(name, true)
		return
	}
	dir := os.Getenv("CONFIGURATION_DIRECTORY") // systemd's ConfigurationDirectory=
	if dir == "" {
		person, err := os.UserConfigDir()
		if err != nil { // no home, or one that is no absolute path: what lies where we happen to be is nobody's word
			return
		}
		dir = filepath.Join(person, "warren")
	}
	s.load(filepath.Join(dir, "config.toml"), false)
	if s.path == "" {
		s.load(filepath.Join(dir, "config.json"), false)
	}
	if s.path == "" {
		s.path = filepath.Join(dir, "config.toml")
	}
}

// load reads a file, in JSON if its name says so. One that is not there is an empty one, unless somebody named it.
func (s *Source) load(path string, must bool) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return
	}
	s.path = path
	if err != nil {
		s.faults = []error{fmt.Errorf("the configuration file cannot be read: %w", err)}
		return
	}
	if strings.EqualFold(filepath.Ext(path), ".json") {
		if s.legacy, err = kong.JSON(strings.NewReader(text)); err != nil {
			s.faults = []error{fmt.Errorf("%s is not a JSON object of flags: %w", path, err)}
		}
		return
	}
	s.entries, s.faults = parse(path, text, s.flags)
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxSize)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), err // as editors on Windows begin files
}
