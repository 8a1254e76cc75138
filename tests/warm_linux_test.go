package tests

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"warren/leaks"
	"warren/shim"
	"warren/testnet"
)

// Browsers are up before their profile is known (--warm).

// needWarm skips a test where no run can be warm.
func needWarm(t *testing.T) (browser string) {
	t.Helper()
	browser = needBrowser(t)
	if err := errors.Join(shim.CheckIsolation(), shim.CheckFiles()); err != nil {
		t.Skipf("needs namespaces of network and files: %v", err)
	}
	return browser
}

// awaitWarm waits until n browsers are warm, and returns the pids of all browsers.
func (s *liveServer) awaitWarm(n int) (pids map[int]bool) {
	s.t.Helper()
	var p pressureView
	eventually(s.t, "enough browsers are warm", enough, func() bool { s.do("GET", "/pressure", nil, 200, &p); return p.Warm == n })
	pids = map[int]bool{}
	for _, b := range s.browsers() {
		pids[b.pid] = true
	}
	return pids
}

// TestWarmStarts: starts of profiles without data get the browsers that are there, each gets one of its own, and all
// others get new ones. Nothing is sent before. A run that was warm is a run like every other.
func TestWarmStarts(t *testing.T) {
	t.Parallel()
	needWarm(t)
	s := newTestbed(t).serve("--warm", "2")
	ids := []string{s.profile(nil), s.profile(nil)}
	other := s.profile(map[string]any{"timezone": "Asia/Tokyo"})
	var none []runView
	there := s.awaitWarm(2)
	if s.do("GET", "/runs", nil, 200, &struct{ Data *[]runView }{&none}); len(none) > 0 || len(s.world.paths()) > 0 {
		t.Errorf("before the first start: runs %+v, visits %v", none, s.world.paths())
	}
	runs := make([]runView, len(ids))
	var both sync.WaitGroup
	for i, id := range ids {
		both.Go(func() { runs[i] = s.start(id, nil) })
	}
	both.Wait()
	if !there[runs[0].PID] || !there[runs[1].PID] || runs[0].PID == runs[1].PID {
		t.Errorf("the browsers %d and %d were started, and %v were warm", runs[0].PID, runs[1].PID, there)
	}
	there = s.awaitWarm(2)
	tokyo := s.start(other, nil)
	if there[tokyo.PID] {
		t.Error("a browser in another time zone was given to a profile in Tokyo")
	}
	zone := func(run runView) string {
		c := dialCDP(t, run.WsEndpoint, nil)
		defer c.ws.CloseNow()
		return c.eval(c.open("about:blank"), "Intl.DateTimeFormat().resolvedOptions().timeZone")
	}
	if got := []string{zone(tokyo), zone(runs[0])}; got[0] != "Asia/Tokyo" || got[1] == "Asia/Tokyo" {
		t.Errorf("the time zones of Tokyo and of the other profile are %v", got)
	}
	s.stop(ids[0])
	there = s.awaitWarm(2)
	if again := s.start(ids[0], nil); there[again.PID] {
		t.Error("a profile with data was given a browser without")
	}
}

// TestWarmRunIsARun: behind a proxy a warm run keeps its data, takes files, is adopted by the next server, and ends
// like every other run.
func TestWarmRunIsARun(t *testing.T) {
	t.Parallel()
	needWarm(t)
	g := newTestbed(t)
	s := g.serve("--warm", "1")
	settings := map[string]any{"proxyId": s.addProxy(nil)}
	s.start(s.profile(settings), nil) // the next warm run is one for its settings
	id, there := s.profile(settings), s.awaitWarm(1)
	run := s.withCookie(id, "warm")
	if !there[run.PID] {
		t.Fatalf("the browser %d was started, and %v were there", run.PID, there)
	}
	files := filepath.Join(s.data, "profiles", id, "files", "uploads")
	_, _, answer := s.send("PUT", "/profiles/"+id+"/uploads/a.txt", strings.NewReader("from here"), nil)
	var stored struct{ Path string }
	if err := json.Unmarshal([]byte(answer), &stored); err != nil || !exists(filepath.Join(files, "a.txt")) {
		t.Errorf("%v: the upload is not in the profile's folder: %s", err, answer)
	}
	if text, refused := s.uploads(run.WsEndpoint, nil).gives(stored.Path); text != "from here" {
		t.Errorf("a page reads %q in the upload %s, and is told %q", text, stored.Path, refused)
	}
	for _, secret := range []string{s.ownFile(), filepath.Join(files, "..", "..", ".lock")} {
		if _, refused := s.uploads(run.WsEndpoint, nil).gives(secret); refused == "" {
			t.Errorf("a page was given %s", secret)
		}
	}
	s.saves(id, run, "mine.txt", "mine")

	s.awaitWarm(1)
	s.kill()
	s = g.serve("--warm", "1")
	again := s.start(id, nil)
	if !again.Reused || again.PID != run.PID {
		t.Errorf("the next server has %+v", again)
	}
	_, _, answer = s.send("PUT", "/profiles/"+id+"/uploads/b.txt", strings.NewReader("again"), nil)
	if err := json.Unmarshal([]byte(answer), &stored); err != nil {
		t.Error(err)
	}
	if text, refused := s.uploads(again.WsEndpoint, nil).gives(stored.Path); text != "again" {
		t.Errorf("then a page reads %q in the upload %s, and is told %q", text, stored.Path, refused)
	}
	s.stop(id)
	if _, err := os.Lstat(filepath.Dir(filepath.Dir(filepath.Dir(stored.Path)))); err == nil {
		t.Errorf("the run has ended, and %s leads to its folder", stored.Path)
	}
	s.awaits(id, "mine.txt", "complete")
	s.hasCookie(id, "warm")
}

// TestWarmRunsEnd: a browser that dies is replaced. When the server dies nothing of a warm run is left, and nothing
// when it is told to stop.
func TestWarmRunsEnd(t *testing.T) {
	t.Parallel()
	needWarm(t)
	g := newTestbed(t)
	s := g.serve("--warm", "1")
	for pid := range s.awaitWarm(1) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it has gone", enough, func() bool { return syscall.Kill(pid, 0) != nil })
		if s.awaitWarm(1)[pid] {
			t.Errorf("the browser %d was killed, and counts", pid)
		}
	}
	gone := func(when string) {
		t.Helper()
		folder := filepath.Join(s.data, "profiles", ".warm")
		eventually(t, when+", nothing is left", enough, func() bool {
			left, err := os.ReadDir(folder)
			return len(s.browsers()) == 0 && len(left) == 0 && err == nil
		})
	}
	s.kill()
	gone("when the server has died")
	s = g.serve("--warm", "1")
	s.awaitWarm(1)
	if code := s.terminate(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	gone("when the server has stopped")
}

// TestWarmRunHangs: a start whose warm browser does not answer goes on with another one, and the user sees no error.
func TestWarmRunHangs(t *testing.T) {
	t.Parallel()
	needWarm(t)
	s := newTestbed(t).serve("--warm", "1")
	id, there := s.profile(nil), s.awaitWarm(1)
	for pid := range there {
		pause(t, pid)
	}
	if run := s.start(id, nil); there[run.PID] || run.Reused {
		t.Errorf("the start gave %+v", run)
	}
	if !strings.Contains(s.log.String(), "a warm run was not taken") {
		t.Error("the log does not say so")
	}
}

// TestWarmLeaks: each channel of the leak test is closed in a run that was warm.
func TestWarmLeaks(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	spec := newTestbed(t).loopbackSpec(needWarm(t))
	canaries, err := leaks.Open(leaks.Options{Budget: enough})
	if err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()
	spec.Network, spec.Files, spec.TrustSPKI, spec.Resolver = shim.Namespace, shim.Namespace, canaries.SPKI(), canaries.Resolver()
	w, err := shim.LaunchWarm(t.Context(), builtBinary, spec, filepath.Join(filepath.Dir(spec.RunDir), "warm"), "warm"+spec.Name[:8])
	if err != nil {
		t.Fatal(err)
	}
	spec.StartURLs = canaries.Pages()
	for _, c := range canaries.Bypasses() {
		spec.Bypasses = append(spec.Bypasses, shim.Bypass(c))
	}
	client, _, err := w.Take(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	canaries.Wait(waiting) //nolint:errcheck // a channel that did not report has not passed
	if _, err := client.Stop(waiting, true); err != nil {
		t.Error(err)
	}
	shim.Forget(spec.RunDir, spec.Name)
	for _, c := range canaries.Channels() {
		if t.Logf("%v %-18s %s", c.Passed, c.Name, c.Seen); !c.Passed {
			t.Errorf("%s is open: %s", c.Name, c.Seen)
		}
	}
}
