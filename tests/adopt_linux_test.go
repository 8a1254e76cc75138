package tests

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// The next server meets runs that are slow, hang, or were about to change.

// A run whose process does not answer while the next server looks for it stays as it is. It goes on when it answers,
// and can be ended when it never does.
func TestSlowRunIsLeft(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("takes the 15 s that a run's process may before it is left; the race detector's run leaves it out, make test-long has it")
	}
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	slow := s.profile(nil)
	run := s.start(slow, nil)
	slowShim := s.pidOfShim()
	s.kill()
	pause(t, slowShim)
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	if p := s.get(slow); p.Status != "running" || p.Run == nil || p.Run.RunID != run.RunID {
		t.Fatalf("the next server shows %s, %+v, %+v", p.Status, p.Run, p.LastRun)
	}
	s.refused("POST", "/profiles/"+slow+"/start", nil, 409, "profile_busy")
	if err := syscall.Kill(slowShim, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run is known again", enough, func() bool {
		r, err := s.try("POST", "/profiles/"+slow+"/start", nil)
		return err == nil && r.status == 200
	})
	if again := s.start(slow, nil); !again.Reused || again.CdpURL != run.CdpURL {
		t.Errorf("then start gives %+v, want the run %+v", again, run)
	}
	dialCDP(t, run.WsEndpoint, nil).call("", "Browser.getVersion", nil, nil)
	// Now it hangs for good. The server did not start it, and ends it all the same.
	pause(t, slowShim)
	began := time.Now()
	var v stopView
	s.do("POST", "/profiles/"+slow+"/stop", map[string]any{"force": true}, 200, &v)
	t.Logf("the stop of a hanging process that was adopted took %v", time.Since(began).Round(time.Millisecond))
	if v.LastRun == nil || v.LastRun.Reason != "lost" || v.LastRun.RunID != run.RunID {
		t.Errorf("the stop answered %+v, %+v", v, v.LastRun)
	}
	s.nothingLeft()
	s.start(slow, nil)
}

// A run without a record ends, and its end leaves nothing: no lock where the server works.
func TestUnknownRunIsDismissed(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	shim := s.pidOfShim()
	s.kill()
	for _, name := range []string{"warren.db", "warren.db-wal", "warren.db-shm"} { // so that nobody knows of it
		if err := os.Remove(filepath.Join(s.data, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	testnet.ForgetDatabase(t, s.data)
	pause(t, run.PID) // so that it takes long to close
	serving := make(chan *liveServer, 1)
	go func() {
		s, err := g.tryServe()
		if err != nil {
			t.Error(err)
		}
		serving <- s
	}()
	eventually(t, "the run's process is told", enough, func() bool { return g.ending(run.RunID) })
	if err := syscall.Kill(shim, syscall.SIGKILL); err != nil { // it dies without a word
		t.Fatal(err)
	}
	s = <-serving
	if _, err := os.Stat(filepath.Join(g.dir, ".lock")); err == nil {
		t.Error("there is a lock in the folder where the server works")
	}
	if s != nil {
		s.nothingLeft()
	}
}

// A server that dies after a change of a proxy was written and before its run was told leaves that to the next one.
func TestAdoptedRunCatchesUp(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	other := testnet.NewLocalProxy(t, g.world.site.Listener.Addr().String())
	s := g.serve()
	first := s.addProxy(nil)
	second := s.addProxy(map[string]any{"port": other.Port(), "password": other.Password})
	moved, changed, kept := s.profile(map[string]any{"proxyId": first}), s.profile(map[string]any{"proxyId": first}), s.profile(nil)
	for _, id := range []string{moved, changed} {
		s.start(id, nil)
	}
	s.start(kept, map[string]any{"proxyId": second}) // for this run alone
	s.kill()
	g.write("UPDATE proxies SET port = 1, revision = revision + 1 WHERE id = ?", first) // nothing listens there
	g.write("UPDATE profiles SET proxy_id = ?, revision = revision + 1 WHERE id = ?", second, moved)
	s = g.serve()
	for id, want := range map[string]string{moved: "200", changed: "failed", kept: "200"} {
		c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
		page := c.open("about:blank")
		if got := c.eval(page, `fetch("`+s.world.url("/caught-up")+`", {mode: "no-cors"}).then(() => "200", () => "failed")`); got != want {
			t.Errorf("a run got %q, want %s", got, want)
		}
	}
	if p := s.get(moved).Run.Proxy; p == nil || p.ID != second {
		t.Errorf("the run whose profile got another proxy has %+v", p)
	}
	if p := s.get(kept).Run.Proxy; p == nil || p.ID != second || p.ExitIP == nil {
		t.Errorf("the run with a proxy of its own has %+v", p)
	}
}
