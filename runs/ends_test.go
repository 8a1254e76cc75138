package runs

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"warren/events"
	"warren/problem"
	"warren/shim"
	"warren/store"
	"warren/testnet"

	"github.com/go-json-experiment/json"
)

// A failed start that cannot be written becomes a pending end.
func TestFailureIsWrittenLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), dir, store.Options{Database: testnet.DatabaseOf(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	st.Close() // all writes fail from now on
	m, err := New(t.Context(), Config{Data: t.TempDir(), MaxStarting: 1}, slog.New(slog.DiscardHandler), st, events.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRun("the-run", "the-profile", "default", starting)
	if _, mine, err := m.claim(r); !mine || err != nil {
		t.Fatal(mine, err)
	}
	m.recordFailedStart(r, problem.New(problem.Unavailable, "browser_failed", "x"))
	if status, _ := m.Status("the-profile", "starting"); status != "failed" || m.pendingEnds["the-profile"][0].end.RunID != "the-run" {
		t.Errorf("the profile shows %s, pending is %+v", status, m.pendingEnds)
	}
}

// A start that is cancelled while writes fail leaves the profile as it was, at once. On disk it does so when writes
// succeed again.
func TestCancelledStartIsWrittenLater(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	proxyID := a.newProxy("127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	id := a.newProfile(func(p *store.InsertProfileParams) { p.ProxyID = &proxyID })
	started := make(chan struct{})
	go func() {
		defer close(started)
		_, err := a.Start(t.Context(), a.row(id), Options{Preflight: "require", Asker: everyone})
		wantCode(t, err, "profile_busy")
	}()
	await(t, "the start is written", func() bool { return a.row(id).Status == "starting" })
	a.refuseStatus()
	if _, ran, err := a.Stop(t.Context(), id, false); err != nil || !ran {
		t.Errorf("the stop: %v, %v", ran, err)
	}
	<-started
	if got := a.status(id); got != "stopped" {
		t.Errorf("then the profile shows %s", got)
	}
	if got := a.row(id).Status; got != "starting" {
		t.Fatalf("the database says %s: it took the write", got)
	}
	a.allowStatus()
	a.flushPending("")
	if got := a.row(id).Status; got != "stopped" || len(a.pendingEnds) != 0 {
		t.Errorf("in the end the database says %s, pending is %v", got, a.pendingEnds)
	}
}

// A start that is cancelled because the server stops says so, and the profile is as it was before.
func TestServerStopsDuringStart(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	proxyID := a.newProxy("127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	id := a.newProfile(func(p *store.InsertProfileParams) { p.ProxyID = &proxyID })
	started := make(chan struct{})
	go func() {
		defer close(started)
		_, err := a.Start(t.Context(), a.row(id), Options{Preflight: "require", Asker: everyone})
		wantCode(t, err, "server_stopping")
	}()
	await(t, "the start is written", func() bool { return a.row(id).Status == "starting" })
	a.Shutdown(t.Context())
	<-started
	if row := a.row(id); row.Status != "stopped" || row.LastRun != nil {
		t.Errorf("then the profile is %s, with the last run %v", row.Status, row.LastRun)
	}
	_, err = a.Start(t.Context(), a.row(id), Options{Asker: everyone})
	wantCode(t, err, "server_stopping")
}

// All pending ends are written. An older one never overwrites a newer one.
func TestPendingEndsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	for _, newerFirst := range []bool{false, true} {
		id, m := a.newProfile(), a.Manager
		first, second := a.runOf(id, 1000), a.runOf(id, 2000)
		end := func(run, status, reason string, at int64) *pendingEnd {
			return &pendingEnd{name: Name(run), end: &End{RunID: run, StartedAt: Millis(at), EndedAt: Millis(at + 1),
				Status: status, Reason: reason}}
		}
		a.refuseStatus()
		m.writeEnd(id, end(first, "failed", "crashed", 1000))
		if newerFirst {
			a.allowStatus()
			m.writeEnd(id, end(second, "stopped", "stopped", 2000))
		} else {
			m.writeEnd(id, end(second, "stopped", "stopped", 2000))
			if last := m.pendingEndOf(id, first); last == nil || last.Reason != "crashed" {
				t.Errorf("meanwhile the first run's end is %+v", last)
			}
			a.allowStatus()
		}
		if got := a.status(id); got != "stopped" {
			t.Errorf("newer first %v: the profile shows %s", newerFirst, got)
		}
		m.flushPending("")
		var last End
		row := a.row(id)
		if err := json.Unmarshal([]byte(*row.LastRun), &last); err != nil {
			t.Fatal(err)
		}
		if last.RunID != second || row.Status != "stopped" {
			t.Errorf("newer first %v: the profile is %s, its last run %+v", newerFirst, row.Status, last)
		}
		if one, two := a.endOf(first), a.endOf(second); one != "crashed" || two != "stopped" || len(m.pendingEnds) != 0 {
			t.Errorf("newer first %v: the runs ended %q and %q, pending is %v", newerFirst, one, two, m.pendingEnds)
		}
	}
}

// Invalid traffic from a run's process does not prevent its end from being written.
func TestBadTrafficDoesNotKeepTheEnd(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	run := a.runOf(id, 1000)
	a.writeEnd(id, &pendingEnd{end: &End{RunID: run, StartedAt: Millis(1000), EndedAt: Millis(2000), Status: "stopped", Reason: "stopped",
		traffic: []shim.Traffic{{Day: 1, BytesUp: -5}, {Day: 2, BytesUp: 7, BytesDown: 9, Connections: 1}}}})
	if got := a.endOf(run); got != "stopped" {
		t.Errorf("the run's end is %q", got)
	}
	rows, err := a.store.Read().ListTrafficOfProfile(t.Context(), store.ListTrafficOfProfileParams{ProfileID: id, ToDay: 10})
	if err != nil || len(rows) != 1 || rows[0].BytesUp != 7 {
		t.Errorf("the traffic is %+v, %v", rows, err)
	}
}

// If the ends of two runs are missing, the later run is the profile's last, in either order of adoption.
func TestTwoOpenRunsOfAProfile(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	first, second := a.runOf(id, 1000), a.runOf(id, 2000)
	text, err := json.Marshal(shim.End{Outcome: shim.Expired, EndedAt: time.UnixMilli(3000)})
	if err != nil {
		t.Fatal(err)
	}
	next := a.again(func() {
		// With a folder, the processes of the first run are searched for.
		if err := os.MkdirAll(filepath.Join(a.dir, "profiles", id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a.dir, "run", Name(second)+".end"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	var last End
	if err := json.Unmarshal([]byte(*next.row(id).LastRun), &last); err != nil || next.status(id) != "stopped" ||
		last.RunID != second || last.Reason != "expired" {
		t.Errorf("the profile shows %s, its last run %+v, %v", next.status(id), last, err)
	}
	if got := next.endOf(first); got != "lost" {
		t.Errorf("the earlier run's end is %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, "run", "*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// An end that a new server finds but cannot write counts at once. It is written later.
func TestEndFoundAtBootIsWrittenLater(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	run := a.runOf(id, 1000)
	next := a.again(func() { a.refuseStatus() })
	if status, running := next.Status(id, "running"); status != "failed" || running != nil {
		t.Errorf("the profile shows %s, %+v", status, running)
	}
	if got := next.row(id).Status; got != "running" {
		t.Fatalf("the database says %s: it took the write", got)
	}
	next.allowStatus()
	next.flushPending("")
	row := next.row(id)
	if row.Status != "failed" || row.LastRun == nil || !strings.Contains(*row.LastRun, run) {
		t.Errorf("in the end the database says %+v", row)
	}
}

// A start that is refused before it begins leaves the profile's status.
func TestRefusedStartLeavesAFailedProfile(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	a.rewrite(`UPDATE profiles SET status = 'failed' WHERE id = ?`, id)
	a.queued.Store(int64(a.cfg.MaxQueue))
	_, err := a.Start(t.Context(), a.row(id), Options{Asker: everyone})
	wantCode(t, err, "start_queue_full")
	_, err = a.LeakTest(t.Context(), a.row(id), everyone, LeakTestTime)
	wantCode(t, err, "start_queue_full")
	a.queued.Store(0)
	if got := a.row(id).Status; got != "failed" {
		t.Errorf("then the profile is %s", got)
	}
}

// The folder of a profile whose deletion was never written is restored. The folder of a deleted profile is removed.
func TestDeletionThatWasNeverWritten(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	kept, trashed, gone := a.newProfile(), a.newProfile(), store.NewID()
	a.trash(trashed)
	both := a.newProfile()
	folder := func(name string) string { return filepath.Join(a.dir, "profiles", name) }
	write := func(name, text string) {
		if err := os.MkdirAll(folder(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder(name), "Cookies"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.again(func() {
		for _, id := range []string{kept, trashed, gone, both} {
			write(erasedPrefix+id, id)
		}
		write(both, "newer")
	})
	for _, id := range []string{kept, trashed} {
		if text, err := os.ReadFile(filepath.Join(folder(id), "Cookies")); err != nil || string(text) != id {
			t.Errorf("the profile has %q, %v", text, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder(both), "Cookies")); err != nil || string(text) != "newer" {
		t.Errorf("a folder that was there has %q, %v", text, err)
	}
	if left, _ := filepath.Glob(folder(erasedPrefix + "*")); fmt.Sprint(left) != fmt.Sprint([]string{folder(erasedPrefix + both)}) {
		t.Errorf("left aside: %v", left)
	}
}

// Rules that a run's process refuses are pending at once.
func TestRefusedRulesArePending(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile(func(p *store.InsertProfileParams) { p.DenyHosts = `["a.example"]` })
	r := newRun(store.NewID(), id, "default", running)
	r.rules = &shim.Rules{}
	r.client = shim.Hold(t.TempDir(), r.name, "") // no process answers
	defer r.client.Release()
	r.answer = &Started{Info: Info{Pending: []string{"os"}}}
	a.reconcile(t.Context(), r, Change{})
	if got := fmt.Sprint(r.answer.Pending); got != "[denyHosts os]" {
		t.Errorf("pending: %s", got)
	}
}
