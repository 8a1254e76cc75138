package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// A start that fails says why, and leaves nothing behind.

// failedStart starts a profile, wants it refused, and wants the failure on the profile and nothing left of it.
func (s *liveServer) failedStart(id string, status int, code string) problemView {
	s.t.Helper()
	p := s.refused("POST", "/profiles/"+id+"/start", nil, status, code)
	v := s.get(id)
	if status >= 500 && (v.Status != "failed" || v.LastRun == nil || v.LastRun.Reason != "start_failed") {
		s.t.Errorf("after %s the profile shows %s, %+v", code, v.Status, v.LastRun)
	}
	if v.Run != nil {
		s.t.Errorf("after %s the profile shows the run %+v", code, v.Run)
	}
	s.nothingLeft()
	return p
}

// A missing browser is refused with its path and with advice.
func TestBrowserMissing(t *testing.T) {
	t.Parallel()
	s := newTestbed(t).serve("--browser", "/nowhere/chromium")
	id := s.profile(nil)
	p := s.refused("POST", "/profiles/"+id+"/start", nil, 503, "browser_not_found")
	if !strings.Contains(p.Detail, "/nowhere/chromium") || !strings.Contains(strings.ToLower(p.Detail), "install") {
		t.Errorf("the refusal does not help: %s", p.Detail)
	}
	if v := s.get(id); v.Status != "stopped" {
		t.Errorf("a start that never began leaves the profile %s", v.Status)
	}
	s.nothingLeft()
}

// A browser that exits at once is refused with its exit code and its last lines.
func TestBrowserExitsAtOnce(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", g.script("broken", "echo one >&2; echo cannot open display: canary >&2; exit 7"))
	id := s.profile(nil)
	p := s.failedStart(id, 503, "browser_failed")
	if p.ExitCode == nil || *p.ExitCode != 7 || len(p.Lines) != 2 || !strings.Contains(p.Lines[1], "canary") {
		t.Errorf("browser_failed carries exit code %v, lines %q", p.ExitCode, p.Lines)
	}
	if l := s.get(id).LastRun; l.ExitCode != 7 || len(l.Lines) != 2 || l.RunID == "" {
		t.Errorf("the last run is %+v", l)
	}
	s.terminate()
	needBrowser(t)
	s = g.serve()
	s.start(id, nil)
	if v := s.get(id); v.Status != "running" {
		t.Errorf("the next start leaves the profile %s", v.Status)
	}
	s.stop(id)
	if v := s.get(id); v.Status != "stopped" || v.LastRun.Reason != "stopped" {
		t.Errorf("after the next stop the profile shows %s, %+v", v.Status, v.LastRun)
	}
}

// A browser that never answers, holds on to life and has children, is ended with all of them.
func TestBrowserNeverAnswers(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--start-timeout", "1s", "--browser",
		g.script("silent", "trap '' INT TERM HUP; sleep 1000 & echo waiting for canary; while :; do sleep 1; done"))
	began := time.Now()
	p := s.failedStart(s.profile(nil), 504, "start_timeout")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v with --start-timeout 1s", took)
	}
	if len(p.Lines) == 0 || !strings.Contains(p.Lines[0], "canary") {
		t.Errorf("start_timeout carries the lines %q", p.Lines)
	}
}

// A profile whose folder another run holds is not started twice.
func TestProfileHeld(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", g.script("broken", "exit 7"))
	id := s.profile(nil)
	dir := filepath.Join(s.data, "profiles", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	s.failedStart(id, 409, "profile_running")
	if v := s.get(id); v.Status != "stopped" {
		t.Errorf("a refused start leaves the profile %s", v.Status)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	s.failedStart(id, 503, "browser_failed") // it gets as far as the browser
	failed := s.get(id).LastRun
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	defer lock.Unlock() //nolint:errcheck // the file goes with the test
	s.failedStart(id, 409, "profile_running")
	if v := s.get(id); v.Status != "failed" || v.LastRun.RunID != failed.RunID {
		t.Errorf("a refused start of a failed profile leaves it %s, %+v", v.Status, v.LastRun)
	}
}
