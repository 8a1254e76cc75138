package tests

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// A run's life from start to stop, with the real program and the real browser.

// many does one operation n times at once.
func (s *liveServer) many(n int, method, path string, in any) []reply {
	s.t.Helper()
	out, errs := make([]reply, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i], errs[i] = s.try(method, path, in) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// A start tells the parts that it took, in their order, and their sum is not more than the request took. A start that joins a run
// tells none.
func TestStartTellsItsPhases(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	timing := func() string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.base+apiPrefix+"/profiles/"+id+"/start", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+liveKey)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatalf("start: %s", res.Status)
		}
		return res.Header.Get("Server-Timing")
	}
	began := time.Now()
	told := timing()
	took := time.Since(began)
	var names []string
	sum := 0.0
	for metric := range strings.SplitSeq(told, ", ") {
		name, value, _ := strings.Cut(metric, ";dur=")
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil || ms < 0 {
			t.Errorf("%s took %q", name, value)
		}
		names, sum = append(names, name), sum+ms
	}
	want := []string{"claim", "plan", "process", "namespace", "launch", "attach", "override", "ready", "record"}
	if !slices.Equal(names, want) {
		t.Errorf("the parts are %v, want %v", names, want)
	}
	if all := took.Seconds() * 1000; sum > all || sum <= 0 {
		t.Errorf("the parts took %.2f ms together, the request %.2f", sum, all)
	}
	if told := timing(); told != "" {
		t.Errorf("a start that joined the run told %q", told)
	}
}

// Fifty clients start one profile: one browser, and all get the same run.
func TestManyStartsShareOneRun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	first := map[string]int{}
	fresh := 0
	for _, r := range s.many(50, "POST", "/profiles/"+id+"/start", nil) {
		var run runView
		r.want(t, "start", 200, &run)
		first[run.RunID]++
		if !run.Reused {
			fresh++
		}
	}
	if len(first) != 1 || fresh != 1 {
		t.Errorf("50 starts gave %d runs, %d of them not reused; want 1 and 1", len(first), fresh)
	}
	if n := s.countShims(); n != 1 {
		t.Errorf("%d shims run, want 1", n)
	}
	var list struct{ Data []runView }
	s.do("GET", "/runs", nil, 200, &list)
	if len(list.Data) != 1 || list.Data[0].ProfileID != id || list.Data[0].ProfileName != s.get(id).Name || list.Data[0].WsEndpoint != "" {
		t.Errorf("GET /runs shows %+v, want the one run without its capability", list.Data)
	}
	s.usage(id)
	p := s.get(id)
	if p.Status != "running" || p.Run == nil || first[p.Run.RunID] != 50 || p.Run.CdpURL != "" {
		t.Errorf("the profile shows %s, %+v; want running, and the run without its capability", p.Status, p.Run)
	}
	// Twenty stops share one end, too.
	stopped := 0
	for _, r := range s.many(20, "POST", "/profiles/"+id+"/stop", nil) {
		var v stopView
		r.want(t, "stop", 200, &v)
		if v.Stopped {
			stopped++
		}
	}
	if p := s.get(id); stopped == 0 || p.Status != "stopped" || p.Run != nil || p.LastRun == nil || p.LastRun.Reason != "stopped" {
		t.Errorf("after 20 stops: %d say stopped, the profile %+v, last run %+v", stopped, p, p.LastRun)
	}
	if v := s.stop(id); v.Stopped {
		t.Error("stopping a stopped profile says that it stopped something")
	}
}

// A start that comes while the browser closes waits, and starts anew.
func TestStartWhileStopping(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	events := s.listen()
	for range 3 {
		before := s.start(id, nil)
		ended := make(chan stopView, 1)
		go func() { ended <- s.stop(id) }()
		events.await("profile.status", "stopping", id)
		after := s.start(id, nil)
		if after.RunID == before.RunID || after.Reused {
			t.Errorf("a start while the browser closed gave %s, reused %v; want a new run after %s", after.RunID, after.Reused,
				before.RunID)
		}
		if v := <-ended; !v.Stopped || v.Method != "close" || v.LastRun.RunID != before.RunID {
			t.Errorf("the stop answered %+v", v)
		}
		if p := s.get(id); p.Status != "running" || p.Run.RunID != after.RunID {
			t.Errorf("then the profile shows %s %+v", p.Status, p.Run)
		}
		s.stop(id)
		events.await("run.ended", "stopped", id)
		events.await("run.ended", "stopped", id)
	}
}

// A stop gives up a start that is under way, and nothing of it is left.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	silent := g.script("silent", "exec sleep 1000")
	s := g.serve("--browser", silent)
	s.stopDuringStart()
	s.terminate()
	g.nothingLeft()
	needBrowser(t)
	g.serve().stopDuringStart()
}

func (s *liveServer) stopDuringStart() {
	t := s.t
	t.Helper()
	id := s.profile(nil)
	events := s.listen()
	started := make(chan reply, 2)
	for range 2 {
		go func() {
			r, err := s.try("POST", "/profiles/"+id+"/start", nil)
			if err != nil {
				t.Error(err)
			}
			started <- r
		}()
	}
	events.await("profile.status", "starting", id)
	eventually(t, "the run's process is there", enough, func() bool { return s.countShims() == 1 })
	if p := s.get(id); p.Status != "starting" || p.Run != nil {
		t.Errorf("meanwhile the profile shows %s, %+v", p.Status, p.Run)
	}
	if v := s.stop(id); !v.Stopped || v.Status != "stopped" {
		t.Errorf("stop answered %+v", v)
	}
	for range 2 {
		var p problemView
		if r := <-started; r.status != 409 {
			t.Errorf("the start answered %d: %s", r.status, r.body)
		} else if r.want(t, "start", 409, &p); p.Code != "profile_busy" {
			t.Errorf("the start was refused with %s", p.Code)
		}
	}
	if p := s.get(id); p.Status != "stopped" || p.Run != nil {
		t.Errorf("then the profile shows %s, %+v", p.Status, p.Run)
	}
	if n := s.countShims(); n != 0 {
		t.Errorf("%d shims are left", n)
	}
	s.noFiles()
}

// Delete stops the browser first and answers when it has gone; restored, the profile starts again.
func TestDeleteWhileRunning(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "startUrls": []string{s.world.url("/set?kept=1&session=1")}})
	s.start(id, nil)
	s.world.await(t, "/set/done", 1)
	s.do("DELETE", "/profiles/"+id, nil, 204, nil)
	s.nothingLeft()
	s.refused("POST", "/profiles/"+id+"/start", nil, 404, "profile_not_found")
	s.refused("POST", "/profiles/"+id+"/stop", nil, 404, "profile_not_found")
	var list struct{ Total int }
	if s.do("GET", "/runs", nil, 200, &list); list.Total != 0 {
		t.Errorf("GET /runs still shows %d", list.Total)
	}
	s.do("POST", "/profiles/"+id+"/restore", nil, 200, nil)
	s.start(id, map[string]any{"startUrls": []string{s.world.url("/after")}})
	if v := s.world.await(t, "/after", 1); !strings.Contains(v.cookie, "kept=1") {
		t.Errorf("after delete and restore the site saw the cookies %q", v.cookie)
	}
	s.do("DELETE", "/profiles/"+id+"?permanent=true", nil, 204, nil)
	s.nothingLeft()
	if entries, _ := os.ReadDir(filepath.Join(s.data, "profiles")); len(entries) != 0 {
		t.Errorf("the folders of erased profiles stay: %v", entries)
	}
}

// Starts that race a delete end with a refusal: no browser runs for a profile that is gone.
func TestStartsRaceDelete(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", g.script("silent", "exec sleep 1000"))
	for range 10 {
		id := s.profile(nil)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if r, err := s.try("POST", "/profiles/"+id+"/start", nil); err != nil || r.status != 404 && r.status != 409 {
					t.Errorf("a start that raced a delete answered %d %s %v", r.status, r.body, err)
				}
			})
		}
		wg.Go(func() { s.do("DELETE", "/profiles/"+id+"?permanent=true", nil, 204, nil) })
		wg.Wait()
		s.refused("GET", "/profiles/"+id, nil, 404, "profile_not_found")
	}
	s.noFiles()
	if entries, _ := os.ReadDir(filepath.Join(s.data, "profiles")); len(entries) != 0 {
		t.Errorf("folders of erased profiles came back: %v", entries)
	}
}

// Starts, stops, deletes and restores of a few profiles run in any order and all at once. Each gets its right answer.
// In the end nothing runs and nothing is left.
func TestStorm(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	// A browser that ends at once, or only when it is told to.
	s := g.serve("--start-timeout", "2s", "--browser", g.script("moody", `case $$ in *[02468]) exit 5;; *) exec sleep 1000;; esac`))
	ids := []string{s.profile(nil), s.profile(nil), s.profile(nil)}
	operations := []struct {
		method, path string
		allowed      []int
	}{
		{"POST", "/start", []int{404, 409, 503, 504}},
		{"POST", "/start", []int{404, 409, 503, 504}},
		{"POST", "/stop", []int{200, 404}},
		{"DELETE", "", []int{204, 404}},
		{"POST", "/restore", []int{200, 404}},
		{"POST", "/restore", []int{200, 404}},
		{"GET", "", []int{200, 404}},
	}
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for i := range 25 {
				op, id := operations[rand.IntN(len(operations))], ids[rand.IntN(len(ids))]
				r, err := s.try(op.method, "/profiles/"+id+op.path, nil)
				if err != nil || !slices.Contains(op.allowed, r.status) {
					t.Errorf("worker %d, step %d: %s %s answered %d %s, %v", worker, i, op.method, op.path, r.status, r.body, err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		s.try("POST", "/profiles/"+id+"/restore", nil) //nolint:errcheck // it may be there
		s.stop(id)
		if p := s.get(id); p.Status != "stopped" && p.Status != "failed" || p.Run != nil {
			t.Errorf("in the end a profile is %s, %+v", p.Status, p.Run)
		}
	}
	s.nothingLeft()
}

// Six starts at once with two places: two browsers start at a time, the rest wait their turn.
func TestStartsTakeTurns(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	turns := filepath.Join(g.dir, "turns")
	if err := os.Mkdir(turns, 0o700); err != nil {
		t.Fatal(err)
	}
	// Each browser says that it came, waits until it is let go, says that it goes, and fails.
	s := g.serve("--max-starting", "2", "--client-files", turns, "--browser", g.script("turn", fmt.Sprintf(
		`cd %q; echo x >came.$$; until rm go 2>/dev/null; do sleep 0.02; done; echo x >went.$$; exit 3`, turns)))
	count := func(what string) int {
		found, _ := filepath.Glob(filepath.Join(turns, what+".*"))
		return len(found)
	}
	var wg sync.WaitGroup
	for range 6 {
		id := s.profile(nil)
		wg.Go(func() {
			if p := s.refused("POST", "/profiles/"+id+"/start", nil, 503, "browser_failed"); p.ExitCode == nil || *p.ExitCode != 3 {
				t.Errorf("refused with exit code %v", p.ExitCode)
			}
		})
	}
	var list struct{ Total int }
	for gone := range 6 {
		want := min(gone+2, 6)
		eventually(t, "the next browser starts", enough, func() bool { return count("came") == want })
		if gone == 0 {
			eventually(t, "those that wait are starting", enough, func() bool {
				s.do("GET", "/profiles?status=starting", nil, 200, &list)
				return list.Total == 6
			})
		}
		if came := count("came"); came != want {
			t.Errorf("%d browsers came and %d went; want two at a time", came, count("went"))
		}
		if err := os.WriteFile(filepath.Join(turns, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, "one goes", enough, func() bool { return count("went") == gone+1 })
	}
	wg.Wait()
	s.noFiles()
}

// What dryRun answers is what would be run, and nothing runs.
func TestDryRun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	hostile := "http://canary-url.test/--renderer-cmd-prefix=/bin/sh"
	id := s.profile(map[string]any{"name": "--canary-name", "notes": "canary-notes", "proxyId": s.addProxy(nil),
		"startUrls": []string{hostile}})
	var dry struct {
		Arguments, Environment []string
		Effective              struct{ OS string }
		Warnings               []any
		RunID                  string
	}
	s.do("POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "startUrls": []string{hostile + "/again"}}, 200, &dry)
	all := strings.Join(append(dry.Arguments, dry.Environment...), "\n")
	if !strings.Contains(all, "--user-data-dir=") || !strings.Contains(all, "--proxy-server=socks5://127.0.0.1:") ||
		dry.Effective.OS == "" {
		t.Errorf("dryRun answered %s", all)
	}
	for _, secret := range []string{s.proxy.Password, s.proxy.User, "canary", liveKey} {
		if strings.Contains(all, secret) {
			t.Errorf("dryRun shows %q in\n%s", secret, all)
		}
	}
	if p := s.get(id); p.Status != "stopped" || dry.RunID != "" || s.countShims() != 0 {
		t.Errorf("after dryRun the profile is %s", p.Status)
	}
	if _, err := os.Stat(filepath.Join(s.data, "profiles", id)); err == nil {
		t.Error("dryRun made the profile's folder")
	}
	s.noFiles()
	for _, dry := range []bool{true, false} {
		both := s.refused("POST", "/profiles/"+id+"/start",
			map[string]any{"dryRun": dry, "proxyId": "none-such", "startUrls": []string{"file:///x"}}, 422, "validation_failed")
		if len(both.Errors) != 2 {
			t.Errorf("two faults are told as %+v", both.Errors)
		}
	}
	s.refused("POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "startUrls": []string{"--no-sandbox", "file:///etc/passwd"}},
		422, "validation_failed")
	s.proxy.Close()
	p := s.refused("POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true, "preflight": "require"}, 502, "proxy_unreachable")
	if p.Check == nil || p.Check.Error == nil {
		t.Error("the refusal carries no check")
	}
}

// The port for Selenium is there only when it is asked for, and takes programs of this machine only.
func TestDebugPort(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	run := s.start(id, map[string]any{"debugPort": true})
	if run.DebuggerAddress == nil || !strings.HasPrefix(*run.DebuggerAddress, "127.77.") || !run.warned("debug_port") {
		t.Fatalf("debugPort gave %v, warnings %v", run.DebuggerAddress, run.Warnings)
	}
	address := *run.DebuggerAddress
	ask := func(host, origin string) (int, string) {
		req, err := http.NewRequest("GET", "http://"+address+"/json/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode, readAll(t, res.Body)
	}
	if status, body := ask(address, ""); status != 200 || !strings.Contains(body, `"ws://`+address+`/devtools/browser/`) {
		t.Errorf("json/version answered %d %s", status, body)
	}
	_, port, _ := net.SplitHostPort(address)
	for _, c := range [][2]string{{"evil.test:" + port, ""}, {"evil.test", ""}, {"127.0.0.1:1", ""}, {"localhost", ""},
		{address, "http://evil.test"}, {address, "null"}, {address, "http://" + address}} {
		if status, body := ask(c[0], c[1]); status != 403 {
			t.Errorf("Host %s, Origin %q: answered %d %s, want 403", c[0], c[1], status, body)
		}
	}
	s.stop(id)
	if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		c.Close()
		t.Error("the port is open after the stop")
	}
	if run := s.start(id, nil); run.DebuggerAddress != nil {
		t.Errorf("a start that asks for none has the port %s", *run.DebuggerAddress)
	}
}

// A run that may last so long is closed gracefully when it has, and so is one that nobody uses. An event says so before.
func TestLimitsEndRuns(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	for _, c := range []struct{ member, notice, reason string }{{"maxRunMs", "maxRun", "expired"}, {"idleTimeoutMs", "idle", "idle"}} {
		id := s.profile(map[string]any{c.member: 1000})
		events := s.listen()
		if run := s.start(id, nil); (run.ExpiresAt != nil) != (c.reason == "expired") || run.warned("not_applied") {
			t.Errorf("%s: the run says that it expires at %v", c.member, run.ExpiresAt)
		}
		soon := events.await("run.expiring", "", id)
		ev := events.await("run.ended", "", id)
		if soon.Data.Reason != c.notice || soon.Data.RunID != ev.Data.RunID || ev.At.Before(soon.At) || ev.At.Before(soon.Data.EndsAt) {
			t.Errorf("%s: the notice was %+v", c.member, soon)
		}
		if ev.Data.Status != "stopped" || ev.Data.Reason != c.reason {
			t.Errorf("%s: the run ended %+v", c.member, ev.Data)
		}
		if p := s.get(id); p.Status != "stopped" || p.LastRun.Reason != c.reason || p.LastRun.Method != "close" {
			t.Errorf("%s: the profile shows %s, %+v", c.member, p.Status, p.LastRun)
		}
		var history struct{ Data []pastRunView }
		s.do("GET", "/profiles/"+id+"/runs", nil, 200, &history)
		if len(history.Data) != 1 || history.Data[0].RunID != ev.Data.RunID || *history.Data[0].Reason != c.reason ||
			!*history.Data[0].Headless || history.Data[0].Browser.Version == "" {
			t.Errorf("%s: the history is %+v", c.member, history.Data)
		}
	}
}

// What a start says instead of the profile holds for that run alone.
func TestStartOverrides(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	other := testnet.NewLocalProxy(t, s.world.site.Listener.Addr().String())
	mine := s.addProxy(nil)
	theirs := s.addProxy(map[string]any{"port": other.Port(), "password": other.Password})
	id := s.profile(map[string]any{"headless": false, "proxyId": mine, "startUrls": []string{s.world.url("/own")}})
	s.proxy.Close() // who comes now comes by the other
	run := s.start(id, map[string]any{"headless": true, "proxyId": theirs, "startUrls": []string{s.world.url("/for-once")}})
	s.world.await(t, "/for-once", 1)
	if !run.Headless || run.Proxy == nil || run.Proxy.ID != theirs {
		t.Errorf("the run has headless %v, proxy %+v", run.Headless, run.Proxy)
	}
	s.stop(id)
	if p := s.get(id); p.ProxyID == nil || *p.ProxyID != mine {
		t.Errorf("afterwards the profile has the proxy %v, want its own", p.ProxyID)
	}
	for _, path := range s.world.paths() {
		if path == "/own" {
			t.Error("the profile's own start page was opened")
		}
	}
	if run := s.start(id, map[string]any{"headless": true, "proxyId": nil, "startUrls": []string{}}); run.Proxy != nil {
		t.Errorf("a start with proxyId null has the proxy %+v", run.Proxy)
	}
}

// preflight says what a dead proxy means to a start.
func TestPreflight(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--check-timeout", "2s")
	hole, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	alive := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	silent := s.profile(map[string]any{"proxyId": s.addProxy(map[string]any{"port": hole.Addr().(*net.TCPAddr).Port}),
		"startUrls": []string{s.world.url("/never")}})

	run := s.start(alive, map[string]any{"preflight": "require"})
	if run.Proxy == nil || run.Proxy.ExitIP == nil || *run.Proxy.ExitIP != s.proxy.Exit {
		t.Errorf("with a good proxy the run shows %+v", run.Proxy)
	}
	s.stop(alive)
	p := s.refused("POST", "/profiles/"+silent+"/start", map[string]any{"preflight": "require"}, 502, "proxy_unreachable")
	if p.Check == nil || p.Check.OK || p.Check.Error == nil || p.Check.Error.Code != "timed_out" {
		t.Errorf("a proxy that says nothing was refused with the check %+v", p.Check)
	}
	if v := s.get(silent); v.Status != "stopped" || v.LastRun != nil {
		t.Errorf("then the profile, whose browser never ran, shows %s, %+v", v.Status, v.LastRun)
	}
	if run := s.start(silent, nil); !run.warned("proxy_unreachable") && !run.warned("exit_unknown") {
		t.Errorf("warn starts without a warning: %+v", run.Warnings)
	}
	s.stop(silent)
	before := s.get(alive).LastRun
	s.proxy.Close() // its last check was good a moment ago
	p = s.refused("POST", "/profiles/"+alive+"/start", map[string]any{"preflight": "require"}, 502, "proxy_unreachable")
	if p.Check == nil || p.Check.Error == nil || p.Check.Error.Code != "connection_refused" {
		t.Errorf("a dead proxy was refused with the check %+v", p.Check)
	}
	if v := s.get(alive); v.Status != "stopped" || v.LastRun.RunID != before.RunID {
		t.Errorf("then the profile shows %s, %+v, want what it was: %+v", v.Status, v.LastRun, before)
	}
	if run := s.start(alive, map[string]any{"preflight": "off"}); run.warned("proxy_unreachable") || run.Proxy.ExitIP != nil {
		t.Errorf("off looked: %+v %+v", run.Proxy, run.Warnings)
	}
	s.stop(alive)
	s.do("POST", "/proxies/"+*s.get(alive).ProxyID+"/check", nil, 200, nil)
	if run := s.start(alive, map[string]any{"preflight": "warn"}); !run.warned("proxy_unreachable") {
		t.Errorf("warn with a dead proxy says %+v", run.Warnings)
	}
	s.stop(alive)
}

// Who joins a start that fails by what another asked for gets a start of its own.
func TestJoinerAsksForItself(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--check-timeout", "3s")
	hole, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	dead := s.addProxy(map[string]any{"port": hole.Addr().(*net.TCPAddr).Port})
	id := s.profile(nil)
	events := s.listen()
	first := make(chan reply, 1)
	go func() {
		r, err := s.try("POST", "/profiles/"+id+"/start", map[string]any{"proxyId": dead, "preflight": "require"})
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	events.await("profile.status", "starting", id)
	if run := s.start(id, nil); run.Reused || run.Proxy != nil {
		t.Errorf("who joined got %+v", run)
	}
	var p problemView
	if r := <-first; r.status != 502 {
		t.Errorf("who asked for a dead proxy got %d %s", r.status, r.body)
	} else if r.want(t, "start", 502, &p); p.Code != "proxy_unreachable" {
		t.Errorf("who asked for a dead proxy got %s", p.Code)
	}
}
