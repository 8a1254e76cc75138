package tests

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"warren/cli"
	"warren/testnet"
)

// asProgram is a program whose only commands are those for a server.
type asProgram struct{}

func (asProgram) Version() string          { return "test" }
func (asProgram) DataDir() (string, error) { return "", errors.New("no folder") }
func (asProgram) Others() (*kong.Kong, error) {
	return kong.New(new(struct{}))
}
func (asProgram) Pack(context.Context, io.Writer, string, []string) error {
	return errors.New("no folder")
}

// prepared is what must be there before an example, as commands.
var prepared = map[string][]string{
	"start":          {"profile create shop-1 --tag shop --tag eu"},
	"context rm":     {"login http://127.0.0.1:7777 --name old --key-file key.txt"},
	"proxy show":     {"proxy add http://proxy.example:1080 --name proxied"},
	"proxy rm":       {"proxy add http://old.proxy.example:1080"},
	"template show":  {"template create german --timezone Europe/Berlin"},
	"extension show": {"extension add extension.zip"},
	"webhook show":   {"webhook create https://hooks.example/warren --event run.*"},
	"schedule show":  {"schedule create nightly --action check --cron '0 3 * * *' --tag none"},
}

// refusedWith are the examples that a server without runs, without a network and without jobs refuses, and how.
var refusedWith = map[string]string{
	"view": "profile_not_running", "cdp": "profile_not_running", "logs": "never run", "profile failback": "profile_not_running",
	"profile screenshot": "profile_not_running", "profile pdf": "profile_not_running",
	"extension add": "duplicate", "capability create": "profile_not_running", "capability revoke": "capability_not_found",
	"profile upload": "profile_not_running", "profile downloads get": "download_not_found", "profile downloads rm": "download_not_found",
	"profile passkeys rm": "passkey_not_found", "snapshot create": "profile_empty", "snapshot edit": "snapshot_not_found",
	"snapshot rm": "snapshot_not_found", "snapshot rollback": "snapshot_not_found", "proxy rotate": "no_rotate_url",
	"run show": "run_not_found", "run hosts": "run_not_found", "job show": "job_not_found", "job results": "job_not_found",
	"job cancel": "job_not_found", "webhook replay": "webhook_disabled",
	"node remove":                "node_alive",
	"server install-browser":     "installation_not_allowed",
	"server installation":        "installation_not_allowed",
	"server cancel-installation": "installation_not_allowed",
}

// needBrowsers are the examples that open a browser. Their operations have tests with one elsewhere.
var needBrowsers = map[string]bool{"profile leak-test": true, "profile cookies get": true, "profile cookies set": true,
	"profile cookies clear": true, "profile storage get": true, "profile storage set": true, "profile clear": true,
	"start": true, "restart": true, "profile passkeys list": true, "profile passkeys rm": true}

// TestExamplesOfCommands: the example in each command's help runs against a server, or is refused as a server must that has no run.
func TestExamplesOfCommands(t *testing.T) {
	documented := documentedCommands(t)
	g := newTestbed(t)
	flags := []string{"--browser-mirror", "off"}
	if testnet.OnPostgres() { // without it the only server has that name
		flags = append(flags, "--node", "local")
	}
	s := g.serve(flags...)
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "WARREN_URL": s.base, "WARREN_API_KEY": liveKey} {
		t.Setenv(name, value)
	}
	exampleFiles(t)
	for _, e := range cli.Examples() {
		for _, line := range prepared[e.Command] {
			if out, err := example(t, s.base, line); err != nil {
				t.Errorf("before %s: %s: %v\n%s", e.Command, line, err, out)
			}
		}
		if needBrowsers[e.Command] {
			continue
		}
		out, err := example(t, s.base, strings.TrimPrefix(e.Line, "warren "))
		want, refused := refusedWith[e.Command]
		switch {
		case err == nil && want == "":
		case refused && err != nil && strings.Contains(err.Error(), want):
		default:
			t.Errorf("%s: %v (%d), want %q\n%s", e.Line, err, cli.ExitCode(err), want, out)
		}
	}
	for _, line := range documented {
		if out, err := example(t, s.base, strings.TrimPrefix(line, "warren ")); err != nil {
			t.Errorf("docs/cli.md: %s: %v\n%s", line, err, out)
		}
	}
	watchCommands(t)
}

// documentedCommands are the lines of docs/cli.md that a reader may try.
func documentedCommands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh examples\n")
	block, _, _ = strings.Cut(block, "```")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if len(lines) < 10 {
		t.Fatalf("%d examples in docs/cli.md", len(lines))
	}
	return lines
}

// watchCommands: --watch lists again after a change, and events --follow prints it. Both end quietly when they are interrupted.
func watchCommands(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 2)
	var list, events testnet.Buffer
	begin := func(out io.Writer, line string) {
		go func() {
			ended <- cli.New(asProgram{}).Run(ctx, words(line), cli.Streams{In: strings.NewReader(""), Out: out, Err: io.Discard})
		}()
	}
	begin(&list, "profile list --watch --columns name")
	begin(&events, "events --follow --type profile.created -o go-template={{.type}}")
	testnet.Eventually(t, "the first list", func() bool { return strings.Contains(list.String(), "shop-1") })
	testnet.Eventually(t, "a new profile is followed and listed", func() bool {
		if !strings.Contains(events.String(), "profile.created") { // the follower may not have begun at the first
			if _, err := example(t, "", "profile create watched"); err != nil {
				t.Error(err)
			}
		}
		return strings.Contains(list.String(), "watched") && strings.Contains(events.String(), "profile.created")
	})
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("an interrupted command: %v", err)
		}
	}
}

// example runs one line. One that follows events is ended once it follows.
func example(t *testing.T, base, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out testnet.Buffer
	args := words(strings.ReplaceAll(line, "http://127.0.0.1:7777", base))
	err := cli.New(asProgram{}).Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: endsFollowing{cancel}})
	return out.String(), err
}

// endsFollowing ends a command when it says that it follows.
type endsFollowing struct{ end context.CancelFunc }

func (e endsFollowing) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "following") {
		e.end()
	}
	return len(b), nil
}

// words splits a line as a shell does: at blanks outside of single quotes.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// exampleFiles writes the files that examples name.
func exampleFiles(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{"profiles.csv": "name,tags\nfrom-csv,shop\n", "list.txt": "de.proxy.example:1080\n",
		"cookies.json": "[]", "state.json": "{}", "photo.jpg": "x", "key.txt": liveKey} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(".", "extension.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create("manifest.json")
	if err == nil {
		_, err = io.WriteString(w, `{"manifest_version":3,"name":"example","version":"1.0"}`)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
}
