package nodes

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/problem"
	"warren/store"
	"warren/testnet"
)

// quick is a beat for tests, in which a server counts as gone after 0.9 s.
const quick = 300 * time.Millisecond

// server is a server of a database, as far as nodes see it.
type server struct {
	cfg Config
	st  *store.Store
	log *testnet.Buffer
}

// newServer opens a database as a server with the data folder does. The folder of the first one has the key of the database.
func newServer(t *testing.T, url, data, key string) *server {
	t.Helper()
	st, err := store.Open(t.Context(), data, store.Options{Database: url, SecretKeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &server{st: st, log: new(testnet.Buffer), cfg: Config{Data: data, Name: filepath.Base(data), Address: "http://127.0.0.1:1",
		Version: "1.0", Labels: map[string]string{"zone": "a"}, Capacity: 7, BeatEvery: quick}}
}

// newServers are servers with a database and data folders of their own.
func newServers(t *testing.T, count int) (all []*server) {
	t.Helper()
	url, first := testnet.Postgres(t), t.TempDir()
	for i := range count {
		data, key := first, ""
		if i > 0 {
			data, key = t.TempDir(), filepath.Join(first, "secret.key")
		}
		all = append(all, newServer(t, url, data, key))
	}
	return all
}

func (s *server) join(ctx context.Context) (*Node, error) {
	return Join(ctx, s.cfg, slog.New(slog.NewTextHandler(s.log, nil)), s.st)
}

func (s *server) mustJoin(t *testing.T) *Node {
	t.Helper()
	n, err := s.join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Leave)
	return n
}

// row returns the row of a node.
func (s *server) row(t *testing.T, id string) store.Node {
	t.Helper()
	row, err := s.st.Read().GetNode(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("not in time: ", what)
		}
	}
}

// crash ends a server without an order: its beat moves no more.
func (n *Node) crash() {
	n.cancel()
	<-n.done
}

// TestJoin: a server has a row whose beat moves, ends in order, and has the same id and drains as before when it comes back.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := newServers(t, 1)[0]
	n := s.mustJoin(t)
	first := s.row(t, n.ID())
	if first.Name != s.cfg.Name || first.Address != s.cfg.Address || first.Version != "1.0" || first.Capacity != 7 ||
		first.Labels != `{"zone":"a"}` || first.Stopped || first.Draining {
		t.Errorf("%+v", first)
	}
	until(t, "the beat moves", func() bool { return s.row(t, n.ID()).Beat > first.Beat+1 })
	all, err := n.List(t.Context())
	if err != nil || len(all) != 1 || !all[0].Self || all[0].State != Up || all[0].Seen > n.goneAfter() || all[0].Labels["zone"] != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	err = s.st.Write(t.Context(), func(q *store.Queries) error { return n.Drain(t.Context(), q, n.ID(), true, false) })
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the beat tells of the drain", func() bool { return n.isDraining() })
	n.Leave()
	if row := s.row(t, n.ID()); !row.Stopped || row.Beat == first.Beat {
		t.Errorf("after an end in order: %+v", row)
	}
	again := s.mustJoin(t)
	row := s.row(t, again.ID())
	if again.ID() != n.ID() || row.Incarnation == first.Incarnation || row.Stopped || !again.isDraining() {
		t.Errorf("again: %+v, draining %v", row, again.isDraining())
	}
	if info, err := os.Stat(filepath.Join(s.cfg.Data, fileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	err = s.st.Write(t.Context(), func(q *store.Queries) error { return n.Drain(t.Context(), q, "other", true, false) })
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Code != "node_not_found" {
		t.Errorf("an unknown node: %v", err)
	}
}

// TestDrainUntilRestart: a drain that is meant until a restart ends with it, also where the server was killed. One for good does not.
func TestDrainUntilRestart(t *testing.T) {
	t.Parallel()
	s := newServers(t, 1)[0]
	const until, good, off = "until", "good", "off"
	for _, c := range []struct {
		asked []string
		ends  func(*Node)
		want  bool // it drains after the restart
	}{
		{[]string{until}, (*Node).crash, false},
		{[]string{until, until}, (*Node).Leave, false},
		{[]string{until, good}, (*Node).crash, true},
		{[]string{off, good, until}, (*Node).crash, true},
		{[]string{off, until, off, good}, (*Node).Leave, true},
		{[]string{off, good, off, until}, (*Node).crash, false},
	} {
		n := s.mustJoin(t)
		for _, how := range c.asked {
			err := s.st.Write(t.Context(), func(q *store.Queries) error {
				return n.Drain(t.Context(), q, n.ID(), how != off, how == until)
			})
			if err != nil {
				t.Fatal(err)
			}
			n.Drained(n.ID(), how != off)
		}
		if !n.isDraining() || !s.row(t, n.ID()).Draining {
			t.Errorf("%v: it does not drain", c.asked)
		}
		c.ends(n)
		again := s.mustJoin(t)
		if got := again.isDraining(); got != c.want || s.row(t, n.ID()).Draining != c.want {
			t.Errorf("%v: it drains after the restart: %v", c.asked, got)
		}
		again.Leave()
	}
}

func (n *Node) isDraining() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// TestJoinAtOnce: of several servers with one id that start at the same moment one has it, and the others are told which.
func TestJoinAtOnce(t *testing.T) {
	t.Parallel()
	all := newServers(t, 4)
	id := `{"id":"` + store.NewID() + `"}`
	for _, s := range all {
		if err := store.WriteFile(filepath.Join(s.cfg.Data, fileName), id); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		var group sync.WaitGroup
		joined, errs := make([]*Node, len(all)), make([]error, len(all))
		begin := make(chan struct{})
		for i, s := range all {
			group.Go(func() {
				<-begin
				joined[i], errs[i] = s.join(t.Context())
			})
		}
		close(begin)
		group.Wait()
		won := 0
		for i, n := range joined {
			switch {
			case n != nil:
				won++
				defer n.Leave()
			case !errors.Is(errs[i], ErrTaken) || !strings.Contains(errs[i].Error(), "uses the id of this one"):
				t.Errorf("%v", errs[i])
			}
		}
		if won != 1 {
			t.Fatalf("%d servers have the id: %v", won, errs)
		}
		for _, n := range joined {
			n.Leave()
		}
	}
}

// TestJoinAfterACrash: a server whose beat stands still keeps its next process off for a while, and no other server.
func TestJoinAfterACrash(t *testing.T) {
	t.Parallel()
	all := newServers(t, 2)
	n := all[0].mustJoin(t)
	n.crash()
	all[1].mustJoin(t).crash()
	began := time.Now()
	n = all[0].mustJoin(t)
	if took := time.Since(began); took < quick {
		t.Errorf("it took over after %s", took)
	}
	n.crash()
	list, err := n.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	until(t, "both are unreachable", func() bool {
		list, err = n.List(t.Context())
		return err == nil && list[0].State == Unreachable && list[1].State == Unreachable
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all[0].join(ctx); err == nil {
		t.Error("a start that is told to stop joins")
	}
}

// TestCopiedFolder: a second process with the id of another is refused, and one whose id was taken over starts nothing more.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	all := newServers(t, 2)
	n := all[0].mustJoin(t)
	text, err := os.ReadFile(filepath.Join(all[0].cfg.Data, fileName))
	if err == nil {
		err = os.WriteFile(filepath.Join(all[1].cfg.Data, fileName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all[1].join(t.Context()); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "copy of the other") {
		t.Errorf("the copy: %v", err)
	}
	n.crash()
	all[0].cfg.BeatEvery = time.Hour // it is frozen after its first beat
	sleeper := &Node{cfg: all[0].cfg, id: n.id, incarnation: n.incarnation, log: n.log, store: n.store}
	other := all[1].mustJoin(t)
	if err := sleeper.moveBeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := sleeper.Fault(); p == nil || p.Code != "node_conflict" || !strings.Contains(p.Message, all[1].cfg.Name) {
		t.Errorf("the one that was taken over: %v", p)
	}
	if other.Fault() != nil || !strings.Contains(all[0].log.String(), "starts no browsers any more") {
		t.Errorf("%v, %s", other.Fault(), all[0].log)
	}
}

// TestRemovedNode: a server whose row is gone starts nothing more.
func TestRemovedNode(t *testing.T) {
	t.Parallel()
	s := newServers(t, 1)[0]
	n := s.mustJoin(t)
	err := s.st.Write(t.Context(), func(q *store.Queries) error { return store.ErrorOf(q.DeleteNode(t.Context(), n.ID())) })
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it knows", func() bool { return n.Fault() != nil })
	if p := n.Fault(); p.Code != "node_conflict" || !strings.Contains(p.Message, "was removed") {
		t.Errorf("%v", p)
	}
}

// TestRemove: only a node that is gone is removed. Its runs are lost then and its profiles are stopped; their data are given up if that is
// asked for.
func TestRemove(t *testing.T) {
	t.Parallel()
	all := newServers(t, 2)
	n := all[0].mustJoin(t)
	st := all[1].st
	write := func(fn func(q *store.Queries) error) error { return st.Write(t.Context(), fn) }
	for id, status := range map[string]string{"a": "running", "b": "starting", "c": "failed"} {
		err := write(func(q *store.Queries) error {
			_, err := q.EnsureWorkspace(t.Context(), store.EnsureWorkspaceParams{ID: "w"})
			if err == nil {
				err = insertProfile(t.Context(), q, id)
			}
			if err == nil {
				_, err = q.SetProfileStatus(t.Context(), store.SetProfileStatusParams{ID: id, Status: status})
			}
			if err == nil {
				_, err = q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: n.ID()})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := write(func(q *store.Queries) error {
		return q.InsertRun(t.Context(), store.InsertRunParams{ID: "r", ProfileID: "a", StartedAt: 1, Record: "{}"})
	})
	if err != nil {
		t.Fatal(err)
	}
	var r Removed
	remove := func(forget bool) error {
		return write(func(q *store.Queries) (err error) { r, err = n.Remove(t.Context(), q, n.ID(), forget); return err })
	}
	if err := remove(false); !problem.HasCode(err, "node_alive") {
		t.Errorf("a node that lives: %v", err)
	}
	n.crash()
	until(t, "it is gone", func() bool { return !problem.HasCode(remove(false), "node_alive") })
	if r != (Removed{Name: all[0].cfg.Name, Lost: 1, Profiles: 3}) {
		t.Errorf("%+v", r)
	}
	run, err := st.Read().GetRun(t.Context(), store.GetRunParams{ID: "r"})
	if err != nil || run.Outcome != "lost" || run.EndedAt == nil {
		t.Errorf("the run: %+v, %v", run, err)
	}
	for id, want := range map[string]string{"a": "stopped", "b": "stopped", "c": "failed"} {
		row, err := st.Profile(t.Context(), store.All(), id, false)
		if err != nil || row.Status != want || row.NodeID == nil || id == "a" && (row.LastRun == nil ||
			!strings.Contains(*row.LastRun, `"reason":"lost"`)) {
			t.Errorf("%s: %+v, %v", id, row, err)
		}
	}
	if err := remove(false); !problem.HasCode(err, "node_not_found") {
		t.Errorf("a second time: %v", err)
	}
	back := all[0].mustJoin(t)
	back.Leave()
	if err := write(func(q *store.Queries) error { return keepSnapshot(t.Context(), q, "a", "s") }); err != nil {
		t.Fatal(err)
	}
	if err := remove(true); err != nil {
		t.Fatal(err)
	}
	if row, err := st.Profile(t.Context(), store.All(), "a", false); err != nil || row.NodeID != nil || row.HeadID != nil {
		t.Errorf("given up: %+v, %v", row, err)
	}
	if all, err := st.Read().ListSnapshots(t.Context(), store.ListSnapshotsParams{ProfileID: "a"}); err != nil || len(all) > 0 {
		t.Errorf("snapshots that nobody can read: %v, %v", all, err)
	}
	if err := remove(true); !problem.HasCode(err, "node_not_found") {
		t.Errorf("without profiles: %v", err)
	}
}

// keepSnapshot makes the row of a snapshot that a profile's data go on from.
func keepSnapshot(ctx context.Context, q *store.Queries, profileID, id string) error {
	err := q.InsertSnapshot(ctx, store.InsertSnapshotParams{ID: id, ProfileID: profileID, WorkspaceID: "w", Reason: "stop"})
	if err == nil {
		_, err = q.SetHead(ctx, store.SetHeadParams{ID: profileID, HeadID: &id})
	}
	return err
}

// TestLostDatabase: a server that loses the database goes on, and its beat moves again when the database is back.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	s := newServer(t, db.NewDatabase(), t.TempDir(), "")
	n := s.mustJoin(t)
	before := s.row(t, n.ID()).Beat
	db.Kill()
	until(t, "it says so", func() bool { return strings.Contains(s.log.String(), "does not reach the database") })
	db.Start()
	until(t, "it says so", func() bool { return strings.Contains(s.log.String(), "reaches the database again") })
	until(t, "the beat moves", func() bool { // a connection of before fails once
		row, err := s.st.Read().GetNode(t.Context(), n.ID())
		return err == nil && row.Beat > before
	})
	if n.Fault() != nil {
		t.Error(n.Fault())
	}
}

// TestNodeFile: a file of the id that cannot be read is an error with advice.
func TestNodeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := readID(dir)
	if again, _ := readID(dir); err != nil || again != id {
		t.Errorf("%s, %s, %v", id, again, err)
	}
	for _, text := range []string{"", "{}", `{"id":"x"}`, "null"} {
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readID(dir); err == nil || !strings.Contains(err.Error(), "restore the file") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestAlone: a server with a database of its own is the only node, and drains until its end.
func TestAlone(t *testing.T) {
	t.Parallel()
	n := Alone(Config{Name: "only", Address: "http://127.0.0.1:1", Version: "1.0"})
	all, err := n.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "local" || all[0].Name != "only" || all[0].State != Up || !all[0].Self ||
		all[0].Draining {
		t.Errorf("%+v, %v", all, err)
	}
	if err := n.Drain(t.Context(), nil, "local", true, false); err != nil {
		t.Error(err)
	}
	n.Drained("local", true)
	if one, err := n.Get(t.Context(), "local"); err != nil || !one.Draining {
		t.Errorf("%+v, %v", one, err)
	}
	if err := n.Drain(t.Context(), nil, "other", true, false); err == nil {
		t.Error("an unknown node drains")
	}
	if n.Owner() != "" || n.Fault() != nil {
		t.Errorf("%q, %v", n.Owner(), n.Fault())
	}
	n.Leave()
}

// TestClocksApart: a database whose clock is a day ahead, or behind, changes nothing for those that share it. The ages of beats are by its
// clock, and beats are watched with the own.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			url, data := testnet.OwnPostgresAt(t, ahead).NewDatabase(), t.TempDir()
			s := newServer(t, url, data, "")
			n := s.mustJoin(t)
			row := s.row(t, n.ID())
			if off := time.Duration(row.StartedAt-time.Now().UnixMilli()) * time.Millisecond; (off - ahead).Abs() > time.Hour {
				t.Fatalf("the database's clock is %v ahead, want %v", off, ahead)
			}
			until(t, "the beat moves", func() bool { return s.row(t, n.ID()).Beat > row.Beat+1 })
			all, err := n.List(t.Context())
			if err != nil || len(all) != 1 || all[0].State != Up || all[0].Seen < 0 || all[0].Seen > n.goneAfter() {
				t.Errorf("%+v, %v", all, err)
			}
			copied := newServer(t, url, t.TempDir(), filepath.Join(data, "secret.key"))
			text, err := os.ReadFile(filepath.Join(data, fileName))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(copied.cfg.Data, fileName), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := copied.join(t.Context()); !errors.Is(err, ErrTaken) {
				t.Errorf("a second server with this id: %v", err)
			}
			n.crash()
			copied.mustJoin(t) // once the beat counts as gone
		})
	}
}
