package configfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"warren/configfile"
)

// size is a number of bytes as serve takes it.
type size string

type flags struct {
	Listen string        `default:"here" env:"T_LISTEN"`
	Mode   string        `default:"auto" enum:"auto,never" env:"T_MODE"`
	Most   int           `name:"max-running" default:"7" env:"T_MOST"`
	Wait   time.Duration `default:"1s" env:"T_WAIT"`
	Keep   bool          `env:"T_KEEP"`
	URLs   []string      `name:"check-url" env:"T_URLS"`
	Quota  size          `default:"5GiB" env:"T_QUOTA"`
}

type grammar struct {
	Serve flags    `cmd:""`
	Show  struct { // a command that reports faults itself
		File string `arg:"" optional:"" name:"config-file"`
		flags
	} `cmd:""`
	Other struct {
		Same    string `name:"listen" default:"x" env:"T_LISTEN"`
		Another string `name:"mode" default:"y" env:"T_OTHER_MODE"`
	} `cmd:""`
	None struct{} `cmd:""`

	Config string `env:"WARREN_CONFIG"`
}

// parse parses a command line whose configuration file has this text. "" is no file.
func parse(t *testing.T, text string, args ...string) (grammar, *configfile.Source, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("CONFIGURATION_DIRECTORY", dir)
	path := filepath.Join(dir, "config.toml")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var g grammar
	source := configfile.New("serve", "show")
	parser, err := kong.New(&g, kong.Resolvers(source))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return g, source, err
}

// TestFileGivesValues: every kind of value is taken as it was written, below the environment and the command line.
func TestFileGivesValues(t *testing.T) {
	t.Setenv("T_WAIT", "3s")
	text := "\ufefflisten = 'C:\\there' # one\r\nmode = \"never\"\nmax-running = 1_0\n\nwait = \"2m\"\nkeep = true\n" +
		"check-url = [ # several\n  \"http://a,b\",\n  \"http://c\",\n]\nquota = 5_000"
	g, source, err := parse(t, text, "serve", "--mode", "auto")
	if err != nil || len(source.Faults()) > 0 {
		t.Fatal(err, source.Faults())
	}
	want := flags{Listen: `C:\there`, Mode: "auto", Most: 10, Wait: 3 * time.Second, Keep: true, URLs: []string{"http://a,b", "http://c"},
		Quota: "5000"}
	if !reflect.DeepEqual(g.Serve, want) {
		t.Errorf("got %+v, want %+v", g.Serve, want)
	}
	path := source.Path()
	for flag, from := range map[string]string{"listen": path + ":1", "mode": "flag", "max-running": path + ":3",
		"wait": "environment T_WAIT", "check-url": path + ":7", "quota": path + ":11"} {
		if got := source.Origin(flag).String(); got != from {
			t.Errorf("%s comes from %q, want %q", flag, got, from)
		}
	}
	if got := source.Place(fmt.Errorf("--max-running 10 is too few")).Error(); got != path+":3: --max-running 10 is too few" {
		t.Errorf("its fault is placed as %q", got)
	}
	if got := source.Place(fmt.Errorf("--mode: no")).Error(); got != "--mode: no" {
		t.Errorf("a flag's fault is placed as %q", got)
	}
}

// TestFileFaults: every fault is told at once, with its line, and what has none is taken.
func TestFileFaults(t *testing.T) {
	text := strings.Join([]string{`listen = 1`, `max_running = 3`, `max-running = "3"`, `mode = "sometimes"`, `wait = 5`, `keep = "yes"`,
		`check-url = "http://a"`, `quota = "1GiB"`, `quota = "2GiB"`,
		`serve.listen = "x"`, `check-url = [1]`, `[serve]`, `listen = "y"`}, "\n")
	g, source, err := parse(t, text, "show")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fault := range source.Faults() {
		got = append(got, strings.TrimPrefix(fault.Error(), source.Path()+":"))
	}
	want := []string{`1: listen must be a text, such as "…"`, "2: max_running is no setting; write max-running",
		"3: max-running must be a whole number, without quotes", `4: mode "sometimes" must be one of auto, never`,
		`5: wait must be a duration, such as "10s", "5m" or "24h"`, "6: keep must be true or false",
		`7: check-url must be a list of texts, such as ["…", "…"]`, "9: quota is set a second time, after line 8",
		"10: serve.listen is no setting; `warren config print` lists them", "11: check-url is set a second time, after line 7",
		"12: [serve] is a table; write the flags' names at the top, without tables"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if g.Show.Quota != "1GiB" || source.Refusal() != nil {
		t.Errorf("quota is %q and the refusal %v", g.Show.Quota, source.Refusal())
	}
}

// TestFileRefusal: a command that takes a value from a broken file is refused, and one that takes none is not.
func TestFileRefusal(t *testing.T) {
	for command, want := range map[string]string{"serve": "", "show": "", "none": "", "other": ":2: this is not TOML: "} {
		_, source, err := parse(t, "listen = \"a\"\nmode = \"b\n", command)
		if err != nil || len(source.Faults()) != 1 {
			t.Fatalf("%s: %v %v", command, err, source.Faults())
		}
		if got := fmt.Sprint(source.Refusal()); want == "" && got != "<nil>" || !strings.Contains(got, want) {
			t.Errorf("%s is refused with %q, want %q", command, got, want)
		}
	}
	g, _, err := parse(t, "listen = \"a\"\nmode = \"never\"", "other")
	if err != nil || g.Other.Same != "a" || g.Other.Another != "y" {
		t.Errorf("another command got %+v, %v: of flags with the same name, the same variable tells that they mean the same", g.Other, err)
	}
}

// TestFilePlaces: which file is read, of those that could be.
func TestFilePlaces(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag, env, json := put("flag.toml", `listen = "flag"`), put("env.toml", `listen = "env"`),
		put("old.json", `{"listen":"json","maxRunning":2}`)
	huge := put("huge.toml", strings.Repeat("#\n", 1<<20))
	for _, c := range []struct {
		env, text, listen, fault string
		args                     []string
	}{
		{"", "", "here", "", nil},
		{"", `listen = "folder"`, "folder", "", nil},
		{env, `listen = "folder"`, "env", "", nil},
		{env, `listen = "folder"`, "flag", "", []string{"--config", flag}},
		{json, "", "json", "", nil},
		{os.DevNull, `listen = "folder"`, "here", "", nil},
		{filepath.Join(dir, "gone.toml"), "", "here", "cannot be read", nil},
		{dir, "", "here", "cannot be read", nil},
		{huge, "", "here", "larger than", nil},
	} {
		t.Setenv("WARREN_CONFIG", c.env)
		g, source, err := parse(t, c.text, append([]string{"serve"}, c.args...)...)
		if err != nil || g.Serve.Listen != c.listen || !strings.Contains(fmt.Sprint(source.Faults()), c.fault) ||
			c.fault == "" && len(source.Faults()) > 0 {
			t.Errorf("%+v: listen is %q, %v, faults %v", c, g.Serve.Listen, err, source.Faults())
		}
	}
	t.Setenv("WARREN_CONFIG", "")
	if g, source, err := parse(t, `listen = "folder"`, "show", flag); err != nil || g.Show.Listen != "flag" || source.Path() != flag {
		t.Errorf("the argument's file gives %q of %s, %v", g.Show.Listen, source.Path(), err)
	}
}
