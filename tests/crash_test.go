//go:build linux

package tests

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warren/shim"
	"warren/testnet"
)

// Processes die or are told to stop: the browser, its shim, the server.

// pidOf finds the shim of a testbed that has one run.
func (g *testbed) pidOfShim() int {
	g.t.Helper()
	for _, p := range g.alive() {
		if strings.HasSuffix(p.command, "warren shim ") {
			return p.pid
		}
	}
	g.t.Fatal("there is no shim")
	return 0
}

// withCookie starts a profile and has its browser take a cookie.
func (s *liveServer) withCookie(id, value string) runView {
	s.t.Helper()
	run := s.start(id, nil)
	s.setCookie(run, value)
	return run
}

func (s *liveServer) setCookie(run runView, value string) {
	s.t.Helper()
	c := dialCDP(s.t, run.WsEndpoint, nil)
	page := c.open(s.world.url("/set?kept=" + value + "&session=" + value))
	c.awaitURL(page, s.world.url("/set/done"))
	c.ws.CloseNow()
}

// hasCookie starts a profile, which does not run, and wants its browser to send the cookie.
func (s *liveServer) hasCookie(id, value string) {
	s.t.Helper()
	path := "/has-" + value
	s.start(id, map[string]any{"startUrls": []string{s.world.url(path)}})
	if v := s.world.await(s.t, path, 1); !strings.Contains(v.cookie, "kept="+value) {
		s.t.Errorf("the site saw the cookies %q, want kept=%s", v.cookie, value)
	}
}

// A browser that dies is seen at once, and its profile starts again.
func TestBrowserDies(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	events := s.listen()
	var last string
	for round := range 3 {
		run := s.start(id, nil)
		if run.RunID == last || run.Reused {
			t.Errorf("round %d: start gave the dead run %s again", round, run.RunID)
		}
		last = run.RunID
		killed := time.Now()
		if err := syscall.Kill(run.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if round == 2 { // who starts at that very moment gets a new run, not the dead one
			again := s.start(id, nil)
			if again.RunID == last || again.Reused {
				t.Errorf("a start right after the crash gave the dead run, reused %v", again.Reused)
			}
		}
		ev := events.await("run.ended", "failed", id)
		t.Logf("the crash was told after %v", ev.seen.Sub(killed).Round(time.Millisecond))
		if ev.Data.Reason != "crashed" || ev.Data.RunID != last {
			t.Errorf("the event says %+v", ev.Data)
		}
		if ev.seen.Sub(killed) > 10*time.Second { // a second, on a machine that is not busy
			t.Errorf("the crash was told after %v", ev.seen.Sub(killed))
		}
		if round == 2 {
			break
		}
		if p := s.get(id); p.Status != "failed" || p.Run != nil || p.LastRun.Reason != "crashed" || p.LastRun.Signal != "killed" {
			t.Errorf("the profile shows %s, %+v", p.Status, p.LastRun)
		}
		s.nothingLeft()
	}
	s.stop(id)
	if p := s.get(id); p.Status != "stopped" || p.LastRun.Reason != "stopped" {
		t.Errorf("in the end the profile shows %s, %+v", p.Status, p.LastRun)
	}
}

// A shim that dies takes its browser with it: gently, for the pipe closes; by force, when the browser does not see that.
func TestShimDies(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	events := s.listen()
	for _, hangs := range []bool{false, true} {
		run := s.withCookie(id, map[bool]string{false: "gentle", true: "hanging"}[hangs])
		viewer := s.watches(run)
		if hangs {
			pause(t, run.PID)
		}
		if err := syscall.Kill(s.pidOfShim(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := viewer.awaitEnd(enough); err != nil {
			t.Errorf("hanging %v: the viewer's socket stays open", hangs)
		}
		if ev := events.await("run.ended", "failed", id); ev.Data.Reason != "lost" {
			t.Errorf("hanging %v: the event says %+v", hangs, ev.Data)
		}
		if p := s.get(id); p.Status != "failed" || p.LastRun.Reason != "lost" {
			t.Errorf("hanging %v: the profile shows %s, %+v", hangs, p.Status, p.LastRun)
		}
		s.nothingLeft()
		if status, body := s.ask("GET", strings.Replace(run.LiveURL, "#", "/", 1), nil); status != 404 ||
			!strings.Contains(body, "run_not_found") {
			t.Errorf("hanging %v: then the live view answers %d %s", hangs, status, body)
		}
		if !hangs {
			s.hasCookie(id, "gentle")
			s.stop(id)
			events.await("run.ended", "stopped", id)
		}
	}
	s.start(id, nil)
	s.stop(id)
}

// watches opens the socket of a run's live view, and waits until it is greeted.
func (s *liveServer) watches(run runView) *cdpClient {
	s.t.Helper()
	v, status, err := tryCDP(s.t, strings.Replace(strings.Replace(run.LiveURL, "#", "/", 1), "http", "ws", 1), nil)
	if err != nil {
		s.t.Fatalf("the live view answered %d: %v", status, err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), enough)
	defer cancel()
	if _, text, err := v.ws.Read(ctx); err != nil || !strings.Contains(string(text), `"hello"`) {
		s.t.Fatalf("the live view said %s, %v", text, err)
	}
	return v
}

// A browser that hangs is ended all the same.
func TestStopOfHangingBrowser(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	for _, force := range []bool{true, false} {
		if !force && testing.Short() {
			continue // it takes the 15 s that a browser may
		}
		run := s.start(id, nil)
		pause(t, run.PID)
		began := time.Now()
		var v stopView
		s.do("POST", "/profiles/"+id+"/stop", map[string]any{"force": force}, 200, &v)
		took := time.Since(began)
		t.Logf("force %v: the stop of a hanging browser took %v", force, took.Round(time.Millisecond))
		if v.Method != "kill" || took > 40*time.Second || force && took > 10*time.Second {
			t.Errorf("force %v: the stop took %q and %v", force, v.Method, took)
		}
		s.nothingLeft()
	}
}

// A server that dies leaves its browsers to the next one, which goes on where it was.
func TestNextServerAdopts(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	var ids []string
	var runs []runView
	for range 2 {
		id := s.profile(map[string]any{"proxyId": s.addProxyOnce(), "maxRunMs": 3600000})
		ids, runs = append(ids, id), append(runs, s.start(id, nil))
	}
	c := dialCDP(t, runs[0].WsEndpoint, nil)
	page := c.open(s.world.url("/kept"))
	c.awaitURL(page, s.world.url("/kept"))
	c.eval(page, `window.mark = "canary"`)
	before, _ := c.pages()
	s.kill()
	if n := len(s.browsers()); n != 2 {
		t.Fatalf("%d browsers run after the server's death, want 2", n)
	}
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	for i, id := range ids {
		p := s.get(id)
		if p.Status != "running" || p.Run == nil || p.Run.RunID != runs[i].RunID || p.Run.PID != runs[i].PID {
			t.Fatalf("the next server shows %s, %+v; want the run %s", p.Status, p.Run, runs[i].RunID)
		}
		if again := s.start(id, nil); !again.Reused || again.CdpURL != runs[i].CdpURL || again.ExpiresAt == nil ||
			*again.ExpiresAt != *runs[i].ExpiresAt {
			t.Errorf("start gives %+v, want the same run as %+v", again, runs[i])
		}
	}
	var list struct{ Total int }
	if s.do("GET", "/runs", nil, 200, &list); list.Total != 2 {
		t.Errorf("GET /runs shows %d", list.Total)
	}
	c = dialCDP(t, runs[0].WsEndpoint, nil)
	after, targets := c.pages()
	if strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("the pages are %v, want %v", after, before)
	}
	marks := ""
	for _, target := range targets {
		marks += c.eval(c.attach(target), `window.mark || ""`)
	}
	if marks != "canary" {
		t.Errorf("the page's state is %q, want it kept", marks)
	}
	page = c.open(s.world.url("/later"))
	c.awaitURL(page, s.world.url("/later"))
	// A crash is seen by the next server as by the first.
	events := s.listen()
	if err := syscall.Kill(runs[1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if ev := events.await("run.ended", "failed", ids[1]); ev.Data.Reason != "crashed" {
		t.Errorf("the adopted browser's crash is told as %+v", ev.Data)
	}
	if v := s.stop(ids[0]); v.Method != "close" || v.LastRun.RunID != runs[0].RunID {
		t.Errorf("the adopted run's stop answered %+v", v)
	}
}

// With no next server the browsers close by themselves, gracefully, and the next server says so.
func TestOrphansClose(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve("--orphan-grace", "2s")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.withCookie(id, "orphan")
	s.kill()
	killed := time.Now()
	eventually(t, "the orphans go", enough, func() bool { return len(s.alive()) == 0 })
	if waited := time.Since(killed); waited < time.Second {
		t.Errorf("the browser went %v after its server: it did not wait for its grace", waited)
	}
	s = g.serve()
	if p := s.get(id); p.Status != "stopped" || p.LastRun == nil || p.LastRun.Reason != "orphaned" || p.LastRun.Method != "close" ||
		p.LastRun.RunID != run.RunID {
		t.Errorf("the next server shows %s, %+v", p.Status, p.LastRun)
	}
	s.hasCookie(id, "orphan")
}

// A server that is killed at any moment of two starts leaves nothing past the grace, and every profile starts again.
func TestServerKilledAtAnyMoment(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	needBrowser(t)
	kills := 20
	if testing.Short() {
		kills = 3
	}
	g := newTestbed(t)
	flags := []string{"--orphan-grace", "1s", "--max-starting", "2"}
	s := g.serve(flags...)
	ids := []string{s.profile(nil), s.profile(nil)}
	began := time.Now()
	s.startBoth(ids)
	typical := time.Since(began)
	for _, id := range ids {
		s.stop(id)
	}
	adopted, orphaned, unborn, everyone := 0, 0, 0, census{}
	known := map[string]bool{}
	for i := range kills {
		var wg sync.WaitGroup
		for _, id := range ids { // answered or not: the server dies
			wg.Go(func() { s.try("POST", "/profiles/"+id+"/start", nil) }) //nolint:errcheck // see above
		}
		moment := time.NewTimer(time.Duration(rand.Float64() * 1.5 * float64(typical)))
		<-moment.C
		everyone.add(g)
		s.kill()
		wg.Wait()
		if i%2 == 1 { // nobody comes back in time
			eventually(t, "what the dead server started goes", enough, func() bool { return len(g.alive()) == 0 })
		}
		s = g.serve(flags...)
		for _, id := range ids {
			switch p := s.get(id); {
			case p.Status == "running":
				adopted++
			case p.LastRun != nil && p.LastRun.Reason == "orphaned" && !known[p.LastRun.RunID]:
				known[p.LastRun.RunID] = true
				orphaned++
			default:
				unborn++
			}
		}
	}
	zombies := everyone.zombies()
	t.Logf("%d kills with 2 starts each: %d adopted, %d closed as orphans, %d not begun or given up; of %d processes these are zombies: %v",
		kills, adopted, orphaned, unborn, len(everyone), zombies)
	for name, n := range zombies {
		if name != "warren" { // a shim without its server is reaped by the system's first process, if that does so
			t.Errorf("%d processes %s were not reaped by their shims", n, name)
		}
	}
	s.startBoth(ids)
	for _, id := range ids {
		if p := s.get(id); p.Status != "running" {
			t.Errorf("in the end a profile is %s", p.Status)
		}
	}
}

// startBoth starts profiles at once. One that a dying run still holds is tried again.
func (s *liveServer) startBoth(ids []string) {
	s.t.Helper()
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			for late := time.Now().Add(enough); ; {
				r, err := s.try("POST", "/profiles/"+id+"/start", nil)
				if err == nil && r.status == 200 {
					return
				}
				if err != nil || r.status != 409 || time.Now().After(late) {
					s.t.Errorf("start answered %d %s, %v", r.status, r.body, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A server that is told to stop closes its browsers gracefully, whoever is connected, and ends in time.
func TestServerStops(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.withCookie(id, "stopped")
	c := dialCDP(t, run.WsEndpoint, nil)
	c.open("about:blank")
	s.listen()
	began := time.Now()
	if code := s.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d", code)
	}
	t.Logf("the server stopped within %v", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
	if err := c.awaitEnd(5 * time.Second); err != nil {
		t.Errorf("the client's connection goes on: %v", err)
	}
	s.nothingLeft()
	s = g.serve()
	if p := s.get(id); p.Status != "stopped" || p.LastRun.Reason != "stopped" || p.LastRun.Method != "close" {
		t.Errorf("the next server shows %s, %+v", p.Status, p.LastRun)
	}
	s.hasCookie(id, "stopped")
}

// A stop that comes while browsers start gives the starts up.
func TestServerStopsDuringStart(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--max-starting", "1", "--browser", g.script("silent", "exec sleep 1000"))
	var wg sync.WaitGroup
	events := s.listen()
	for range 3 { // one starts, two wait for their turn
		id := s.profile(nil)
		wg.Go(func() {
			r, err := s.try("POST", "/profiles/"+id+"/start", nil)
			if err != nil || r.status != 409 && r.status != 503 {
				t.Errorf("the start answered %d %s, %v", r.status, r.body, err)
			}
		})
		events.await("profile.status", "starting", id)
	}
	eventually(t, "a run's process is there", enough, func() bool { return s.countShims() == 1 })
	if code := s.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d", code)
	}
	wg.Wait()
	s.nothingLeft()
}

// With --keep-browsers a stop leaves the browsers to the next server.
func TestKeepBrowsers(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve("--keep-browsers")
	id := s.profile(nil)
	run := s.start(id, nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	if code := s.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d", code)
	}
	if err := c.awaitEnd(5 * time.Second); err != nil {
		t.Errorf("the client's connection goes on: %v", err)
	}
	if n := len(s.browsers()); n != 1 {
		t.Fatalf("%d browsers run, want 1", n)
	}
	s = g.serve()
	if p := s.get(id); p.Status != "running" || p.Run.RunID != run.RunID {
		t.Errorf("the next server shows %s, %+v", p.Status, p.Run)
	}
}

// A second Ctrl-C ends the server at once; its browsers go on closing.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the 15 s that a hanging browser may before it is killed; the race detector's run leaves it out, make test has it")
	}
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	pause(t, run.PID) // so that the stop takes long
	s.cmd.Process.Signal(os.Interrupt)
	eventually(t, "the server stops", enough, func() bool { return strings.Contains(s.log.String(), `"msg":"stopping"`) })
	eventually(t, "the run's process is told", enough, func() bool { return g.ending(run.RunID) })
	began := time.Now()
	s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		t.Fatal("a second interrupt did not end the server")
	}
	t.Logf("a second interrupt ended the server after %v", time.Since(began).Round(time.Millisecond))
	eventually(t, "the browser goes", enough, func() bool { return len(s.alive()) == 0 })
	s = g.serve()
	if p := s.get(id); p.Status != "stopped" || p.LastRun.Reason != "stopped" || p.LastRun.Method != "kill" {
		t.Errorf("the next server shows %s, %+v", p.Status, p.LastRun)
	}
}

// ending asks the run's own process whether it closes its browser: the server says "stopping" before it has told it.
func (g *testbed) ending(runID string) bool {
	g.t.Helper()
	at := filepath.Join(g.data, "run", runID[len(runID)-12:]+".sock")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", at)
		}}}
	resp, err := client.Get("http://shim/state")
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	var state shim.State
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		g.t.Fatal(err)
	}
	return state.Ending
}

// A server that is told to stop while it looks for runs to adopt leaves them to the next one.
func TestStopDuringAdoption(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	shim := s.pidOfShim()
	s.kill()
	pause(t, shim) // it does not answer
	before := g.connectionsToRuns()
	cmd := g.command("serve", "--listen", "127.0.0.1:0", "--data", g.data)
	said := new(testnet.Buffer)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next server looks", enough, func() bool { return g.connectionsToRuns() > before })
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("SIGTERM during adoption: %v\n%s", err, said)
	}
	if err := syscall.Kill(shim, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s = g.serve()
	if p := s.get(id); p.Status != "running" || p.Run.RunID != run.RunID {
		t.Errorf("the server after it shows %s, %+v, %+v", p.Status, p.Run, p.LastRun)
	}
}

// connectionsToRuns counts the sockets with the names of runs' own: each connection is one more.
func (g *testbed) connectionsToRuns() int {
	table, _ := os.ReadFile("/proc/net/unix")
	return strings.Count(string(table), filepath.Join(g.data, "run"))
}
