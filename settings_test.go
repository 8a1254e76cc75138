package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettings: what the server shows of its flags is in force, is told from the defaults, and has no secret.
func TestSettings(t *testing.T) {
	t.Parallel()
	cfg := serveConfig{Listen: "127.0.0.1:7777", CheckURL: []string{"https://me:hush@ip.example/json?token=hush"}, MaxRunning: 20,
		APIKey: "hush", Headless: "auto"}
	shown := map[string]string{}
	for _, s := range cfg.settings() {
		shown[s.Name] = fmt.Sprint(s.Values, s.Changed)
	}
	for name, want := range map[string]string{"listen": "[127.0.0.1:7777] false", "max-running": "[20] true", "headless": "[auto] false",
		"check-url": "[https://ip.example/json?…] true", "keep-browsers": "[false] false", "geoip": "[] false"} {
		if shown[name] != want {
			t.Errorf("%s is shown as %q, want %q", name, shown[name], want)
		}
	}
	if cfg.CheckURL[0] != "https://me:hush@ip.example/json?token=hush" {
		t.Error("what is shown changed the settings")
	}
}

// runWith runs a command line with a configuration file of this text, and returns the exit code and what it printed.
func runWith(t *testing.T, text string, args ...string) (code int, out, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WARREN_CONFIG", path)
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	code = exitCode(err, &stderr)
	return code, stdout.String(), strings.ReplaceAll(stderr.String(), path, "FILE")
}

// TestConfigCheck: a good file passes, and every fault of a bad one is told, also those that only serve's own checks find.
func TestConfigCheck(t *testing.T) {
	if code, out, said := runWith(t, "max-running = 3", "config", "check"); code != 0 || !strings.HasSuffix(out, "config.toml: ok\n") {
		t.Errorf("a good file: %d, %q, %q", code, out, said)
	}
	bad := "listen = \"0.0.0.0:80\"\nnothing = 1\nwarm = 200\ngeoip = \"/none\"\ntls-cert = 3\n"
	for _, args := range [][]string{{"config", "check"}, {"serve"}} {
		code, _, said := runWith(t, bad, args...)
		want := []string{"FILE:2: nothing is no setting", "FILE:3: --warm 200 must be 0 to 100", "FILE:5: tls-cert must be a text"}
		if args[0] == "config" {
			want = append(want, "FILE:4: --geoip: ", "FILE:1: --listen 0.0.0.0:80 is reachable")
		}
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%v does not say %q:\n%s", args, part, said)
			}
		}
		if n := strings.Count(said, "\n"); code != 2 || n != len(want) {
			t.Errorf("%v: exit code %d and %d lines, want 2 and %d:\n%s", args, code, n, len(want), said)
		}
	}
}

// TestConfigPrint: what is in force is printed with where it comes from, and no secret is.
func TestConfigPrint(t *testing.T) {
	t.Setenv("WARREN_API_KEY", "a-secret-of-enough-letters")
	t.Setenv("WARREN_TRASH_DAYS", "9")
	text := "trash-days = 3\nwarm = 2\ncheck-url = [\"https://me:hush@ip.example/?token=hush\"]"
	code, out, said := runWith(t, text, "config", "print", "--max-running", "5")
	if code != 0 || strings.Contains(out+said, "hush") || strings.Contains(out+said, "a-secret") {
		t.Errorf("exit code %d, with a secret or not:\n%s%s", code, out, said)
	}
	lines := map[string]string{}
	for line := range strings.Lines(out) {
		name, rest, _ := strings.Cut(line, " ")
		lines[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{"trash-days": "9 environment WARREN_TRASH_DAYS", "max-running": "5 flag",
		"headless": "auto default", "api-key": "(not shown) environment WARREN_API_KEY"} {
		if lines[name] != want {
			t.Errorf("%s is %q, want %q", name, lines[name], want)
		}
	}
	if !strings.HasSuffix(lines["warm"], "/config.toml:2") || !strings.HasPrefix(lines["check-url"], "https://ip.example/?… /") {
		t.Errorf("warm is %q and check-url %q", lines["warm"], lines["check-url"])
	}
	code, out, _ = runWith(t, "warm = 200", "config", "print", "--json")
	if !strings.Contains(out, `{"name":"warm","values":["200"],"from":"file","source":"`) || code != 2 {
		t.Errorf("as JSON, with a fault, the exit code is %d, and it prints %s", code, out)
	}
}

// TestFlagGroups: the help of serve shows every flag in one of its groups.
func TestFlagGroups(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"serve", "--help"}, strings.NewReader(""), &out, &out); err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(out.String(), "\nBasics:\n")
	if flags := strings.Count(before, "\n  -") + strings.Count(before, "\n      --"); flags != 2 { // --help and --config
		t.Errorf("%d flags stand before the groups, want 2:\n%s", flags, before)
	}
	at := 0
	for _, group := range flagGroups() {
		next := strings.Index(out.String(), "\n"+group.Title+"\n")
		if next < at {
			t.Errorf("%s stands at %d, after %d", group.Title, next, at)
		}
		at = next
	}
}
