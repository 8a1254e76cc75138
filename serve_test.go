package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/api"
	"warren/configfile"
	"warren/logs"
	"warren/testnet"
)

var keyForm = regexp.MustCompile(`wrn_[0-9A-Za-z]{49}`)

// testConfig is `warren serve` on a free port with a fresh data folder, which has no key yet. The path is short:
// sockets in it may have 103 bytes.
func testConfig(t testing.TB) *serveConfig {
	t.Helper()
	dir, err := os.MkdirTemp("", "warren-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &serveConfig{Listen: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Browser: filepath.Join(dir, "no-browser"),
		Headless:     "always",
		CheckTimeout: 10 * time.Second, RotateEvery: time.Hour, RotateTimeout: 10 * time.Second, StartTimeout: time.Minute, MaxQueue: 1000,
		QueueTimeout: time.Minute, TrashDays: 30, AllowPrivate: "auto", CheckURL: []string{"http://site.test/ip"}}
}

// served is what a server said until it was told to stop, which it was as soon as it served.
type served struct {
	base, out, log string
	err            error
}

// warren runs a command in this process and returns what it printed.
func warren(t testing.TB, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return out.String(), err
}

// serveOnce runs serve from its first step to its last. meanwhile is done while it serves.
func serveOnce(t testing.TB, cfg *serveConfig, meanwhile ...func(*served)) (s served) {
	t.Helper()
	return serveOnceTo(t, cfg, new(testnet.Buffer), meanwhile...)
}

// serveOnceTo is serveOnce with a log that can be read meanwhile.
func serveOnceTo(t testing.TB, cfg *serveConfig, log *testnet.Buffer, meanwhile ...func(*served)) (s served) {
	t.Helper()
	if err := cfg.resolve(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out testnet.Buffer
	s.err = serve(ctx, cfg, &console{strings.NewReader(""), &out, log}, func(base string) {
		s.base, s.log = base, log.String()
		for _, do := range meanwhile {
			do(&s)
		}
		cancel()
	})
	s.out, s.log = out.String(), log.String()
	return s
}

// linkForm is a login link on a line of its own.
var linkForm = regexp.MustCompile(`(?m)^    (http://127\.0\.0\.1:\d+)/#code=([0-9A-Za-z_-]{43})$`)

// exchangeLink exchanges the code of the link in a server's output while it serves, and returns the answer's status.
func exchangeLink(t testing.TB, s *served) int {
	t.Helper()
	link := linkForm.FindStringSubmatch(s.log)
	if link == nil || link[1] != s.base {
		t.Errorf("no link to %s on standard error:\n%s", s.base, s.log)
		return 0
	}
	res, err := http.Post(s.base+api.Prefix+"/session-keys", "application/json", strings.NewReader(`{"code":"`+link[2]+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// TestFirstServe: on an empty data folder an admin key is made, printed, and kept in admin.key. Later serves do not print it. Each prints a
// link that logs in once.
func TestFirstServe(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	twice := func(s *served) {
		if first, second := exchangeLink(t, s), exchangeLink(t, s); first != 201 || second != 410 {
			t.Errorf("the link, used twice: %d and %d", first, second)
		}
	}
	first := serveOnce(t, cfg, twice)
	key := keyForm.FindString(first.log)
	if key == "" || api.CheckKey(key) != nil {
		t.Errorf("no key on standard error:\n%s", first.log)
	}
	if want := "warren: listening on " + first.base + "\n"; first.out != want {
		t.Errorf("standard output is %q, want %q", first.out, want)
	}
	file := filepath.Join(cfg.Data, "admin.key")
	b, err := os.ReadFile(file)
	if err != nil || string(b) != key+"\n" {
		t.Errorf("admin.key holds %q (%v), want the key", b, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("admin.key: %v %v, want 0600", info.Mode(), err)
	}
	again := testConfig(t)
	again.Data = cfg.Data
	second := serveOnce(t, again, twice, func(s *served) { testOpen(t, s.base, cfg.Data) })
	if second.err != nil || keyForm.MatchString(second.log) {
		t.Errorf("the second serve prints a key: %v\n%s", second.err, second.log)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	again = testConfig(t)
	again.Data = cfg.Data
	if third := serveOnce(t, again); third.err != nil || strings.Contains(third.log, "#code=") ||
		!strings.Contains(third.log, third.base+"/. It needs a key") {
		t.Errorf("without admin.key serve says: %v\n%s", third.err, third.log)
	}
	own := testConfig(t)
	own.APIKey = api.NewKey() // of a service, whose log has many readers
	if s := serveOnce(t, own); s.err != nil || strings.Contains(s.log, "#code=") || strings.Contains(s.log, s.base) {
		t.Errorf("with WARREN_API_KEY serve says: %v\n%s", s.err, s.log)
	}
}

// testOpen: `warren open` makes a link with the data folder's key, as often as it is asked.
func testOpen(t testing.TB, base, data string) {
	t.Helper()
	for range 2 {
		var out, errs testnet.Buffer
		err := run(t.Context(), []string{"open", "--print", "--url", base, "--data", data}, strings.NewReader(""), &out, &errs)
		if err != nil {
			t.Fatal(err)
		}
		if status := exchangeLink(t, &served{base: base, log: "    " + out.String()}); status != 201 {
			t.Errorf("warren open --print said %q, whose exchange is %d", out.String(), status)
		}
	}
}

// TestFirstKeyIsNeverLost: where admin.key cannot be written there is no key either, and the next serve makes one.
func TestFirstKeyIsNeverLost(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	file := filepath.Join(cfg.Data, "admin.key")
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := serveOnce(t, cfg); s.err == nil || keyForm.MatchString(s.log) {
		t.Fatalf("serve: %v\n%s", s.err, s.log)
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	again := testConfig(t)
	again.Data = cfg.Data
	s := serveOnce(t, again)
	if key := keyForm.FindString(s.log); api.CheckKey(key) != nil {
		t.Errorf("the next serve made no key:\n%s", s.log)
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.Data, ".new-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestBadOwnKey: a WARREN_API_KEY that is too weak is misuse, before anything is made.
func TestBadOwnKey(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"short", strings.Repeat("k", 23), strings.Repeat("k", 201), strings.Repeat("k", 24) + " ",
		strings.Repeat("ü", 24), "wrn_" + strings.Repeat("é", 30)} {
		cfg := testConfig(t)
		cfg.APIKey = own
		var out, log testnet.Buffer
		code := exitCode(cfg.Run(context.Background(), &console{strings.NewReader(""), &out, &log}, configfile.New("serve")), &log)
		if code != 2 || out.String() != "" {
			t.Errorf("%q: exit code %d and %q, want 2 and nothing", own, code, out.String())
		}
		if !strings.Contains(log.String(), "WARREN_API_KEY") || strings.Contains(log.String(), own) {
			t.Errorf("%q: says %q", own, log.String())
		}
		if _, err := os.Stat(cfg.Data); !os.IsNotExist(err) {
			t.Errorf("%q: the data folder was made", own)
		}
	}
}

// onWrite does something when it is written to.
type onWrite struct {
	do      func()
	written bool
}

func (w *onWrite) Write(b []byte) (int, error) {
	w.written = true
	w.do()
	return len(b), nil
}

// TestExposure: beyond loopback nothing is served without a key that exists and an encrypted way in. One data folder has one server.
// Each refusal has exit code 3, before a socket is open.
func TestExposure(t *testing.T) {
	t.Parallel()
	run := func(change func(*serveConfig)) (int, string) {
		cfg := testConfig(t)
		change(cfg)
		var log testnet.Buffer
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		out := &onWrite{do: cancel} // one that serves ends at once
		code := exitCode(cfg.Run(ctx, &console{strings.NewReader(""), out, &log}, configfile.New("serve")), &log)
		if code != 0 && out.written {
			t.Error("it was listening")
		}
		return code, log.String()
	}
	key := api.NewKey()
	for name, c := range map[string]struct {
		change func(*serveConfig)
		want   int
	}{
		"loopback":                     {func(c *serveConfig) {}, 0},
		"open, no key":                 {func(c *serveConfig) { c.Listen = "0.0.0.0:0" }, 3},
		"open, no key, IPv6":           {func(c *serveConfig) { c.Listen = "[::]:0" }, 3},
		"open, no host":                {func(c *serveConfig) { c.Listen = ":0" }, 3},
		"open, a key, in clear":        {func(c *serveConfig) { c.Listen, c.APIKey = "0.0.0.0:0", key }, 3},
		"open, no key, behind a proxy": {func(c *serveConfig) { c.Listen, c.BehindProxy = "0.0.0.0:0", []string{"10.0.0.0/8"} }, 3},
		"open, a key, behind a proxy": {func(c *serveConfig) {
			c.Listen, c.APIKey, c.BehindProxy = "0.0.0.0:0", key,
				[]string{"10.0.0.0/8"}
		}, 0},
		"half of TLS":                       {func(c *serveConfig) { c.TLSCert = "x.pem" }, 2},
		"no port":                           {func(c *serveConfig) { c.Listen = "127.0.0.1" }, 2},
		"a network that is none":            {func(c *serveConfig) { c.BehindProxy = []string{"ten"} }, 2},
		"a check URL that is none":          {func(c *serveConfig) { c.CheckURL = []string{"ftp://x"} }, 2},
		"a path too long for sockets in it": {func(c *serveConfig) { c.Data = filepath.Join(c.Data, strings.Repeat("d", 100)) }, 2},
	} {
		if code, log := run(c.change); code != c.want {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, c.want, log)
		}
	}
	busy := testConfig(t)
	unlock, err := claimData(busy.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if code, log := run(func(c *serveConfig) { c.Data = busy.Data }); code != 3 || !strings.Contains(log, busy.Data) {
		t.Errorf("a second server on the folder: exit code %d, want 3\n%s", code, log)
	}
}

// TestSecretsOfALog: what a browser or a proxy says cannot forge a line: one event is one line.
func TestSecretsOfALog(t *testing.T) {
	t.Parallel()
	var out testnet.Buffer
	log, _ := logs.Open(logs.Options{Stderr: &out})
	log.Warn("odd", "cause", fmt.Errorf("a\nb\r\n{\"level\":\"ERROR\"}\x1b[31m"), "at", time.Now())
	if lines := strings.Count(strings.TrimSuffix(out.String(), "\n"), "\n"); lines != 0 || strings.ContainsAny(out.String(), "\r\x1b") {
		t.Errorf("%q", out.String())
	}
}

// TestCheckURLs: what is no address of a check service is named, and so is one where runs listen for debuggers.
func TestCheckURLs(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.CheckURL6, cfg.CheckUDPURL = []string{"ftp://x"}, "udp://x:1"
	if err := cfg.resolve(); err == nil || !strings.Contains(err.Error(), "check-url6") || !strings.Contains(err.Error(), "check-udp-url") {
		t.Errorf("%v", err)
	}
	for _, host := range []string{"127.77.0.1", "127.77.1", "0x7f.77.0.1", "2135752705", "0177.0115.0.1", "[::ffff:127.77.0.1]",
		"[::ffff:7f4d:1]", "127.77.255.255"} {
		for _, flags := range [][2][]string{{{"http://" + host + "/ip"}, nil}, {{"http://ok.example/ip"}, {"https://" + host + "/ip"}}} {
			cfg := testConfig(t)
			cfg.CheckURL, cfg.CheckURL6 = flags[0], flags[1]
			if err := cfg.resolve(); err == nil || !strings.Contains(err.Error(), "127.77.0.0/16") {
				t.Errorf("--check-url %v: %v", flags, err)
			}
		}
	}
}

// TestLogFile: the log goes to the file of --log-file, in a form of its own, and SIGHUP opens the file anew.
func TestLogFile(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.LogFile, cfg.LogFormat, cfg.LogLevel = filepath.Join(filepath.Dir(cfg.Data), "warren.log"), "text", "info"
	s := serveOnce(t, cfg)
	text, err := os.ReadFile(cfg.LogFile)
	if err != nil || s.err != nil || !strings.Contains(string(text), "level=INFO msg=stopping") || strings.Contains(s.log, "stopping") {
		t.Errorf("%v, %v: the file holds %q, standard error\n%s", err, s.err, text, s.log)
	}
	var errs testnet.Buffer
	log, output := logs.Open(logs.Options{File: cfg.LogFile, Stderr: &errs})
	defer output.Close()
	if err := os.Rename(cfg.LogFile, cfg.LogFile+".1"); err != nil {
		t.Skip(err) // where open files cannot be renamed
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	reload := make(chan os.Signal, 1)
	reload <- syscall.SIGHUP
	go (*certificate)(nil).keep(ctx, reload, output, log)
	testnet.Eventually(t, "the file is opened anew", func() bool {
		text, err := os.ReadFile(cfg.LogFile)
		return err == nil && strings.Contains(string(text), "SIGHUP")
	})
	cfg = testConfig(t)
	cfg.LogFile = filepath.Join(cfg.Data, "none", "x")
	if s := serveOnce(t, cfg); s.err != nil || strings.Count(s.log, "--log-file cannot be written") != 1 ||
		!strings.Contains(s.log, "stopping") {
		t.Errorf("%v: a file that cannot be made: %s", s.err, s.log)
	}
}
