package main

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file proves what a profile is when something of it could not be written, and that it is written at last.

// rewrite changes the database beside the server, as another program would.
func (a *testAPI) rewrite(t testing.TB, statement string, args ...any) {
	t.Helper()
	changeData(t, a.dir, statement, args...)
}

func changeData(t testing.TB, dir, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "warren.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// No status can be written any more, as on a full disk.
const (
	refuseStatus = `CREATE TRIGGER refused BEFORE UPDATE OF status ON profiles BEGIN SELECT RAISE(ABORT, 'no status is written'); END`
	allowStatus  = `DROP TRIGGER refused`
)

// row reads a profile as the database has it.
func (a *testAPI) row(t testing.TB, id string) store.Profile {
	t.Helper()
	row, err := a.srv.store.Read().GetProfileAny(t.Context(), store.GetProfileAnyParams{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// runOf writes that a run has begun.
func (a *testAPI) runOf(t testing.TB, profile string, at int64) (id string) {
	t.Helper()
	id = store.NewID()
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		if err := q.InsertRun(t.Context(), store.InsertRunParams{ID: id, ProfileID: profile, StartedAt: at, Record: `{"id":"x"}`}); err != nil {
			return err
		}
		_, err := q.SetProfileStatus(t.Context(), store.SetProfileStatusParams{ID: profile, Status: "running", LastStartedAt: &at})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func (a *testAPI) endOf(t testing.TB, runID string) (outcome string) {
	t.Helper()
	row, err := a.srv.store.Read().GetRun(t.Context(), store.GetRunParams{ID: runID})
	if err != nil {
		t.Fatal(err)
	}
	return row.Outcome
}

// Without a run nothing is under way, whatever was written last.
func TestNothingIsUnderWayWithoutARun(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	for _, c := range []struct{ written, last, want string }{
		{"starting", "", "stopped"}, {"stopping", "", "stopped"},
		{"starting", `{"runId":"x","status":"failed","reason":"crashed"}`, "failed"}, {"stopping", `{"runId":"x","status":"stopped","reason":"stopped"}`, "stopped"},
	} {
		var last any
		if c.last != "" {
			last = c.last
		}
		a.rewrite(t, `UPDATE profiles SET status = ?, last_run = ?, version = version + 1 WHERE id = ?`, c.written, last, id)
		if got := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).text("status"); got != c.want {
			t.Errorf("written %s, last run %s: the profile shows %s", c.written, c.last, got)
		}
		if got := a.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200).text("status"); got != c.want {
			t.Errorf("written %s, last run %s: explain shows %s", c.written, c.last, got)
		}
	}
}

// A start that is given up while nothing can be written leaves the profile as it was, at once, and on disk when that takes writes again.
func TestGivenUpStartIsOwed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id := a.profile(t, "proxyId", a.proxy(t, "host", "127.0.0.1", "port", l.Addr().(*net.TCPAddr).Port))
	started := make(chan struct{})
	go func() {
		defer close(started)
		a.do(t, "POST", "/profiles/"+id+"/start", map[string]any{"preflight": "require"}).refused(t, 409, "profile_busy")
	}()
	waitFor(t, "the start is written", func() bool { return a.row(t, id).Status == "starting" })
	a.rewrite(t, refuseStatus)
	a.do(t, "POST", "/profiles/"+id+"/stop", nil).want(t, 200)
	<-started
	if got := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).text("status"); got != "stopped" {
		t.Errorf("then the profile shows %s", got)
	}
	if got := a.row(t, id).Status; got != "starting" {
		t.Fatalf("the database says %s: it took the write", got)
	}
	a.rewrite(t, allowStatus)
	a.srv.runs.payOwed("")
	if got := a.row(t, id).Status; got != "stopped" || len(a.srv.runs.owed) != 0 {
		t.Errorf("in the end the database says %s, owed is %v", got, a.srv.runs.owed)
	}
}

// Ends that could not be written are all written, and an older one never over a newer one.
func TestOwedEndsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, newerFirst := range []bool{false, true} {
		id, rs := a.profile(t), a.srv.runs
		first, second := a.runOf(t, id, 1000), a.runOf(t, id, 2000)
		end := func(run, status, reason string, at int64) *owedEnd {
			return &owedEnd{name: runName(run), last: &lastRunJSON{RunID: run, StartedAt: millis(at), EndedAt: millis(at + 1), Status: status, Reason: reason}}
		}
		a.rewrite(t, refuseStatus)
		rs.settle(id, end(first, "failed", "crashed", 1000))
		if newerFirst {
			a.rewrite(t, allowStatus)
			rs.settle(id, end(second, "stopped", "stopped", 2000))
		} else {
			rs.settle(id, end(second, "stopped", "stopped", 2000))
			a.do(t, "GET", "/profiles/"+id+"/runs", nil).want(t, 200).equal(t, "data.1.reason", "crashed")
			a.rewrite(t, allowStatus)
		}
		a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "status", "stopped")
		rs.payOwed("")
		var last lastRunJSON
		row := a.row(t, id)
		if err := json.Unmarshal([]byte(*row.LastRun), &last); err != nil {
			t.Fatal(err)
		}
		if last.RunID != second || row.Status != "stopped" {
			t.Errorf("newer first %v: the profile is %s, its last run %+v", newerFirst, row.Status, last)
		}
		if one, two := a.endOf(t, first), a.endOf(t, second); one != "crashed" || two != "stopped" || len(rs.owed) != 0 {
			t.Errorf("newer first %v: the runs ended %q and %q, owed is %v", newerFirst, one, two, rs.owed)
		}
	}
}

// What a run's process says of its traffic never keeps the run's end from being written.
func TestBadTrafficDoesNotKeepTheEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	run := a.runOf(t, id, 1000)
	a.srv.runs.settle(id, &owedEnd{last: &lastRunJSON{RunID: run, StartedAt: millis(1000), EndedAt: millis(2000), Status: "stopped", Reason: "stopped",
		traffic: []shim.Traffic{{Day: 1, BytesUp: -5}, {Day: 2, BytesUp: 7, BytesDown: 9, Connections: 1}}}})
	if got := a.endOf(t, run); got != "stopped" {
		t.Errorf("the run's end is %q", got)
	}
	a.do(t, "GET", "/profiles/"+id+"/traffic", nil).want(t, 200).equal(t, "bytesUp", 7.0)
}

// serveAgain ends a server and begins the next one on the same data.
func (a *testAPI) serveAgain(t testing.TB, meanwhile func()) *testAPI {
	t.Helper()
	cfg := *a.srv.cfg
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	return serveAPI(t, &cfg)
}

// Of two runs whose end was never written the later one is the profile's last, whichever is looked at first.
func TestTwoOpenRunsOfAProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	first, second := a.runOf(t, id, 1000), a.runOf(t, id, 2000)
	text, err := json.Marshal(shim.End{Outcome: shim.Expired, EndedAt: time.UnixMilli(3000)})
	if err != nil {
		t.Fatal(err)
	}
	next := a.serveAgain(t, func() {
		if err := os.MkdirAll(filepath.Join(a.dir, "profiles", id), 0o700); err != nil { // so that the processes of the first are looked for
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a.dir, "run", runName(second)+".end"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	r := next.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
	r.equal(t, "status", "stopped")
	r.equal(t, "lastRun.runId", second)
	r.equal(t, "lastRun.reason", "expired")
	if got := next.endOf(t, first); got != "lost" {
		t.Errorf("the earlier run's end is %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, "run", "*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// An end that a new server finds and cannot write counts at once, and is written when it can be.
func TestEndFoundAtBootIsOwed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	run := a.runOf(t, id, 1000)
	next := a.serveAgain(t, func() { changeData(t, a.dir, refuseStatus) })
	r := next.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
	r.equal(t, "status", "failed")
	r.equal(t, "run", nil)
	if got := next.row(t, id).Status; got != "running" {
		t.Fatalf("the database says %s: it took the write", got)
	}
	next.rewrite(t, allowStatus)
	next.srv.runs.payOwed("")
	next.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "lastRun.runId", run)
	if got := next.row(t, id).Status; got != "failed" {
		t.Errorf("in the end the database says %s", got)
	}
}

// A start that is refused before anything has begun leaves the profile as it is.
func TestRefusedStartLeavesAFailedProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	a.rewrite(t, `UPDATE profiles SET status = 'failed', version = version + 1 WHERE id = ?`, id)
	a.srv.runs.queued.Store(int64(a.srv.cfg.MaxQueue))
	a.do(t, "POST", "/profiles/"+id+"/start", nil).refused(t, 429, "start_queue_full")
	a.srv.runs.queued.Store(0)
	if got := a.row(t, id).Status; got != "failed" {
		t.Errorf("then the profile is %s", got)
	}
}

// The folder of a profile whose deletion was never written comes back; that of one which is gone does not.
func TestDeletionThatWasNeverWritten(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	kept, trashed, gone := a.profile(t), a.profile(t), store.NewID()
	a.do(t, "DELETE", "/profiles/"+trashed, nil).want(t, 204)
	both := a.profile(t)
	folder := func(name string) string { return filepath.Join(a.dir, "profiles", name) }
	write := func(name, text string) {
		if err := os.MkdirAll(folder(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder(name), "Cookies"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.serveAgain(t, func() {
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

// Rules that a run's process does not take are pending at once.
func TestRefusedRulesArePending(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t, "denyHosts", []string{"a.example"})
	r := newRun(id, "default", "running")
	r.id, r.name, r.rules = store.NewID(), "nobody", &shim.Rules{}
	r.client = shim.Hold(t.TempDir(), r.name, "") // nobody answers
	defer r.client.Release()
	r.answer = &startJSON{RunJSON: RunJSON{Pending: []string{"os"}}}
	a.srv.runs.reconcile(t.Context(), r, change{})
	if got := fmt.Sprint(r.answer.Pending); got != "[denyHosts os]" {
		t.Errorf("pending: %s", got)
	}
}
