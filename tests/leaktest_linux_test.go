package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/leaks"
	"warren/shim"
	"warren/store"
	"warren/testnet"
)

// leakView is what a leak test answers.
type leakView struct {
	Passed    bool
	Isolation struct{ Network string }
	Channels  []struct {
		Channel, Seen string
		Passed        bool
	}
	StartedAt  time.Time
	DurationMs int64
}

func (v leakView) failed() (out []string) {
	for _, c := range v.Channels {
		if !c.Passed {
			out = append(out, c.Channel)
		}
	}
	return out
}

// leakTest runs one and shows what it saw.
func (s *liveServer) leakTest(id string, body any) (v leakView) {
	s.t.Helper()
	s.do("POST", "/profiles/"+id+"/leak-test", body, 200, &v)
	for _, c := range v.Channels {
		s.t.Logf("%v %-18s %s", c.Passed, c.Channel, c.Seen)
	}
	s.t.Logf("%d ms, %s, failed: %v", v.DurationMs, v.Isolation.Network, v.failed())
	if len(v.Channels) != 28 || v.Passed != (len(v.failed()) == 0) || v.StartedAt.IsZero() {
		s.t.Errorf("the answer contradicts itself: %+v", v)
	}
	return v
}

// throwaways are the folders of leak tests.
func (g *testbed) throwaways() []string {
	left, _ := filepath.Glob(filepath.Join(g.data, "profiles", ".*"))
	return left
}

// A run lets nothing out: each channel passes, without a proxy, with one, and with a dead one. The profile's own run goes on beside it.
func TestLeakTest(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	running := s.profile(nil)
	run := s.start(running, map[string]any{"startUrls": []string{"about:blank"}})
	for name, id := range map[string]string{
		"direct, and running": running,
		"a proxy":             s.profile(map[string]any{"proxyId": s.addProxy(nil)}),
		"a dead proxy":        s.profile(map[string]any{"proxyId": s.addProxy(map[string]any{"port": 1})}),
	} {
		t.Run(name, func(t *testing.T) {
			if v := s.leakTest(id, map[string]any{"timeoutMs": 120000}); !v.Passed { // the most there is: beside others it is slow
				t.Errorf("not closed: %v", v.failed())
			}
			p := s.get(id)
			if id == running && (p.Status != "running" || p.Run.RunID != run.RunID) ||
				id != running && (p.Status != "stopped" || p.Run != nil || p.LastRun != nil) {
				t.Errorf("the profile was touched: %+v", p)
			}
			if _, err := os.Stat(filepath.Join(s.data, "profiles", id)); (err == nil) != (id == running) {
				t.Errorf("its folder: %v", err)
			}
			if left := s.throwaways(); len(s.browsers()) != 1 || s.countShims() != 1 || len(left) > 0 {
				t.Errorf("%d browsers and %d shims run, and %v is left", len(s.browsers()), s.countShims(), left)
			}
		})
	}
	if again := s.start(running, nil); !again.Reused || again.RunID != run.RunID {
		t.Errorf("the run did not go on: %+v", again)
	}
	s.stop(running)
	s.nothingLeft()
}

// without is a browser that gets every argument but those that begin so. Without the policy of WebRTC it has not the preference either.
func (g *testbed) without(browser, flag string) string {
	return g.script("without", fmt.Sprintf(`for a do
  shift
  case "$a%[2]s" in
  --user-data-dir=*--webrtc-ip-handling-policy) sed -i s/ip_handling_policy/x/ "${a#*=}/Default/Preferences" || exit 9 ;;
  esac
  case $a in %[2]s*) ;; *) set -- "$@" "$a" ;; esac
done
exec '%[1]s' "$@"`, browser, flag))
}

// rerunAsOrdinary runs the test that calls it once more, in a process of an ordinary user.
func rerunAsOrdinary(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp(shortTemp(), "wr-ord")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	testnet.WriteProgram(t, filepath.Join(dir, "test"), string(program))
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skipf("needs to give files to another user: %v", err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
		"WARREN_BROWSER=" + os.Getenv("WARREN_BROWSER"), "WARREN_LEAKS=" + os.Getenv("WARREN_LEAKS"),
		"WARREN_LONG=" + os.Getenv("WARREN_LONG"), "WARREN_TEST_BINARY=" + builtBinary}
	(&ordinary{65534, 65534}).become(cmd)
	out, err := cmd.CombinedOutput()
	t.Logf("as an ordinary user:\n%s", out)
	switch {
	case err != nil:
		t.Error(err)
	case bytes.Contains(out, []byte("\n--- SKIP: "+t.Name())):
		t.Skip("skipped as an ordinary user")
	case !bytes.Contains(out, []byte("\n--- PASS: "+t.Name())):
		t.Error("it did not run")
	}
}

// loopbackSpec is a run of a browser without a namespace and without a server.
func (g *testbed) loopbackSpec(browser string) shim.Spec {
	id := store.NewID()
	return shim.Spec{RunID: id, ProfileID: id, Name: id[len(id)-12:], BrowserPath: browser, ProfileDir: filepath.Join(g.dir, "p"),
		RunDir: filepath.Join(g.data, "run"), Headless: true, Private: true, Network: shim.Loopback, WebRTC: "proxy_only",
		Timeout: enough, Grace: 2 * time.Second}
}

// runLeakPage launches a run without a server, as a leak test does. It ends the run when its pages have reported or
// limit is over.
func runLeakPage(t *testing.T, canaries *leaks.Test, spec shim.Spec, limit time.Duration) {
	t.Helper()
	spec.StartURLs, spec.TrustSPKI = canaries.Pages(), canaries.SPKI()
	for _, w := range canaries.Bypasses() {
		spec.Bypasses = append(spec.Bypasses, shim.Bypass(w))
	}
	client, state, err := shim.Launch(t.Context(), builtBinary, spec)
	if err != nil || state.Isolation.Network != spec.Network {
		t.Fatalf("%v %+v", err, state)
	}
	waiting, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	go func() { // a browser that has ended reports nothing more
		defer cancel()
		select {
		case <-client.Done():
		case <-waiting.Done():
		}
	}()
	canaries.Wait(waiting) //nolint:errcheck // a channel that did not report has not passed
	stopping, stopped := context.WithTimeout(context.Background(), enough)
	defer stopped()
	if _, err := client.Stop(stopping, true); err != nil {
		t.Error(err)
	}
	shim.Forget(spec.RunDir, spec.Name)
}

// Without a namespace, each flag that is taken away opens its channels, and the leak test shows it. Without the proxy
// the page does not load, and nothing has passed.
func TestLeakTestHasTeeth(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	browser := needBrowser(t)
	if os.Geteuid() == 0 { // who never runs without a namespace
		rerunAsOrdinary(t)
		return
	}
	for _, c := range []struct {
		flag string
		open []string
		all  bool // no other

		thorough bool // for make leaks alone
	}{
		{"--no-such-flag", nil, true, false},
		{"--host-resolver-rules", []string{"dns", "dns_prefetch"}, true, false},
		{"--webrtc-ip-handling-policy", []string{"stun_udp", "turn_udp", "webrtc_candidates", "loopback", "lan"}, true, true},
		{"--proxy-bypass-list", []string{"http", "https", "websocket", "webtransport", "eventsource", "beacon", "prefetch", "preconnect",
			"worker", "shared_worker", "service_worker", "redirect", "loopback"}, false, false},
		{"--proxy-server", []string{"http", "stun_udp", "dns", "popup", "loopback", "lan", "metadata"}, false, true},
	} {
		t.Run(strings.Trim(c.flag, "-"), func(t *testing.T) {
			if c.thorough && os.Getenv("WARREN_LEAKS") == "" {
				t.Skip("is one of the long trials, which take minutes: make leaks has them")
			}
			g := newTestbed(t)
			spec := g.loopbackSpec(g.without(browser, c.flag))
			spec.ForOnce = true
			limit := 3 * time.Minute // a try waits behind others of its host, and on a busy machine longer
			if c.flag == "--proxy-server" {
				limit = 10 * time.Second // it takes all of it
			}
			canaries, err := leaks.Open(leaks.Options{Budget: limit * 2 / 3})
			if err != nil {
				t.Fatal(err)
			}
			defer canaries.Close()
			spec.Resolver = canaries.Resolver() // so that the test sees when the browser resolves a name by itself
			runLeakPage(t, canaries, spec, limit)
			var failed []string
			for _, channel := range canaries.Channels() {
				t.Logf("%v %-18s %s", channel.Passed, channel.Name, channel.Seen)
				if !channel.Passed {
					failed = append(failed, channel.Name)
				}
			}
			for _, channel := range c.open {
				if !slices.Contains(failed, channel) {
					t.Errorf("without %s %s passed", c.flag, channel)
				}
			}
			if c.all && len(failed) != len(c.open) {
				t.Errorf("without %s failed %v, want %v", c.flag, failed, c.open)
			}
			g.nothingLeft()
		})
	}
}

// A DNS-over-HTTPS server that a person has set in the browser would be asked outside the proxy. A run switches it
// off. The server that the run itself names is asked.
func TestOwnResolverIsOff(t *testing.T) {
	t.Parallel()
	browser := needBrowser(t)
	if os.Geteuid() == 0 { // who never runs without a namespace
		rerunAsOrdinary(t)
		return
	}
	for _, named := range []bool{false, true} {
		if named && os.Getenv("WARREN_LEAKS") == "" {
			continue // is part of make leaks
		}
		g := newTestbed(t)
		canaries, err := leaks.Open(leaks.Options{Budget: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer canaries.Close()
		spec := g.loopbackSpec(browser)
		file := filepath.Join(spec.ProfileDir, "chrome", "Local State")
		text := fmt.Sprintf(`{"dns_over_https":{"mode":"secure","templates":%q},"kept":1}`, canaries.Resolver())
		if named {
			text, spec.Resolver = "{}", canaries.Resolver()
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		runLeakPage(t, canaries, spec, enough)
		asked := slices.ContainsFunc(canaries.CanaryHits(), func(h leaks.Hit) bool { return h.Kind == "doh" })
		if asked != named {
			t.Errorf("the run names a resolver: %v; one was asked: %v", named, asked)
		}
	}
}

// A profile with webrtc "default" has WebRTC open on purpose, and the leak test says so. The test runs alone, since a
// channel that was not tried in time has not passed either.
func TestLeakTestOfOpenWebRTC(t *testing.T) {
	needBrowser(t)
	g := newTestbed(t)
	g.asOrdinary()
	s := g.serve()
	v := s.leakTest(s.profile(map[string]any{"webrtc": "default"}), nil)
	for _, channel := range []string{"stun_udp", "turn_udp", "webrtc_candidates"} {
		if !slices.Contains(v.failed(), channel) {
			t.Errorf("%s passed", channel)
		}
	}
	if slices.Contains(v.failed(), "http") || slices.Contains(v.failed(), "metadata") || v.Isolation.Network != shim.Loopback {
		t.Errorf("isolated by %s, failed %v", v.Isolation.Network, v.failed())
	}
}

// A WebRTC channel whose tries did not end has not passed, although nothing leaked: on a busy machine they may not have begun.
func TestLeakTestWithoutTime(t *testing.T) {
	t.Parallel()
	browser := needBrowser(t)
	if os.Geteuid() == 0 { // who never runs without a namespace
		rerunAsOrdinary(t)
		return
	}
	g := newTestbed(t)
	canaries, err := leaks.Open(leaks.Options{Budget: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()
	spec := g.loopbackSpec(browser)
	spec.ForOnce, spec.WebRTC = true, "default"
	runLeakPage(t, canaries, spec, enough)
	for _, channel := range canaries.Channels() {
		t.Logf("%v %-18s %s", channel.Passed, channel.Name, channel.Seen)
		if slices.Contains([]string{"stun_udp", "turn_udp", "mdns", "webrtc_candidates"}, channel.Name) && channel.Passed {
			t.Errorf("%s passed", channel.Name)
		}
	}
	g.nothingLeft()
}

// In a namespace the kernel holds everything back, also with all flags taken away. The test runs alone: a channel
// that was not tried in time has not passed.
func TestLeakTestInNamespace(t *testing.T) {
	browser := needBrowser(t)
	if err := shim.CheckIsolation(); err != nil {
		t.Skipf("needs user and network namespaces: %v", err)
	}
	g := newTestbed(t)
	g.asOrdinary()
	s := g.serve("--browser", g.without(browser, "--host-resolver-rules*|--proxy-bypass-list*|--webrtc-ip-handling-policy"),
		"--require-isolation")
	if v := s.leakTest(s.profile(nil), nil); v.Isolation.Network != shim.Namespace || !v.Passed {
		t.Errorf("isolated by %s, failed %v", v.Isolation.Network, v.failed())
	}
}

// However a leak test ends, nothing of it is left: the browser fails, the caller goes away, the server stops, or dies.
func TestLeakTestLeavesNothing(t *testing.T) {
	browser := needBrowser(t)
	g := newTestbed(t)
	broken := g.serve("--browser", g.script("broken", "echo no luck >&2; exit 7"))
	id := broken.profile(nil)
	if p := broken.refused("POST", "/profiles/"+id+"/leak-test", nil, 503, "browser_failed"); p.ExitCode == nil || *p.ExitCode != 7 {
		t.Errorf("%+v", p)
	}
	if p := broken.get(id); p.Status != "stopped" || p.LastRun != nil {
		t.Errorf("the profile was touched: %+v", p)
	}
	clean := func(what string) {
		t.Helper()
		eventually(t, what+": its processes end", enough, func() bool { return len(g.alive()) == 0 })
		eventually(t, what+": its folder goes", enough, func() bool { return len(g.throwaways()) == 0 })
		g.noFiles()
	}
	clean("a broken browser")
	broken.terminate()

	s := g.serve("--browser", g.without(browser, "--proxy-server")) // its page does not load: left to itself it takes two minutes
	begin := func(ctx context.Context, renderers int) chan reply {
		t.Helper()
		answered := make(chan reply, 1)
		req, err := http.NewRequestWithContext(ctx, "POST", s.base+apiPrefix+"/profiles/"+id+"/leak-test",
			strings.NewReader(`{"timeoutMs":120000}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+liveKey)
		go func() {
			defer close(answered)
			if res, err := http.DefaultClient.Do(req); err == nil {
				defer res.Body.Close()
				var b bytes.Buffer
				b.ReadFrom(res.Body)
				answered <- reply{res.StatusCode, b.Bytes()}
			}
		}()
		eventually(t, "its browser runs", enough, func() bool {
			n := 0
			for _, p := range g.alive() {
				if strings.Contains(p.command, "--type=renderer") {
					n++
				}
			}
			return len(g.browsers()) == 1 && n >= renderers
		})
		return answered
	}
	ctx, leave := context.WithCancel(t.Context())
	answered := begin(ctx, 0)
	leave()
	<-answered
	clean("the caller went")

	answered = begin(t.Context(), 0)
	s.terminate()
	var p problemView
	if r := <-answered; json.Unmarshal(r.body, &p) != nil || r.status != 503 || p.Code != "server_stopping" {
		t.Errorf("a server that stops answered %d %s", r.status, r.body)
	}
	clean("the server stopped")

	s = g.serve()
	answered = begin(t.Context(), 4) // the page is at work: its frames are there
	if len(g.throwaways()) != 1 {
		t.Errorf("folders: %v", g.throwaways())
	}
	s.kill()
	<-answered
	eventually(t, "without a server its processes end", enough, func() bool { return len(g.alive()) == 0 })
	s = g.serve()
	clean("the server died")
	s.start(id, nil)
	s.stop(id)
	s.terminate()
}

// doctor --leaks looks without a server, says each channel, and fails when one is open, or when its browser dies on the way.
func TestDoctorLeaks(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	browser := needBrowser(t)
	g := newTestbed(t)
	code, out, errs := exitOf(t, g.command("doctor", "--leaks", "--json", "--data", g.data))
	type finding struct {
		Name, Detail string
		OK           bool
	}
	var v struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("%d %v %s %s", code, err, out, errs)
	}
	for _, name := range []string{"http", "stun_udp", "dns", "loopback", "metadata"} {
		if i := slices.IndexFunc(v.Findings, func(f finding) bool { return f.Name == name }); i < 0 || !v.Findings[i].OK ||
			v.Findings[i].Detail == "" {
			t.Errorf("%s: %+v", name, v.Findings)
		}
	}
	code, out, errs = exitOf(t, g.command("doctor", "--leaks", "--data", g.data, "--browser",
		g.script("mortal", "exec timeout -s KILL 8 '"+browser+"' \"$@\"")))
	begun := strings.Contains(out, "!!  loopback ") && strings.Contains(out, "did not report") &&
		strings.Contains(errs, "not closed: http, ")
	// on a slow machine it dies before its pages are there
	if late := strings.Contains(out, "!!  leaks ") && strings.Contains(errs, "did not run"); code != 1 || begun == late {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	code, out, errs = exitOf(t, g.command("doctor", "--leaks", "--data", g.data, "--browser", g.script("broken", "exit 7")))
	if code != 1 || !strings.Contains(out, "!!  leaks ") || !strings.Contains(errs, "did not run") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(g.dir, "t", "*")); len(left) > 0 || exists(g.data) {
		t.Errorf("left over: %v, data folder: %v", left, exists(g.data))
	}
}
