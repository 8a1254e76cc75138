package runs

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"warren/problem"
	"warren/snapshots"
	"warren/store"
	"warren/testnet"
)

// TestDataAreClaimed: a server that starts has the profiles that no server has and whose folders or snapshots lie with it, and no others.
func TestDataAreClaimed(t *testing.T) {
	t.Parallel()
	a := newRig(t, func(c *Config) { c.Node = "one" })
	want := map[string]string{} // servers, by profile
	add := func(node, takenBy string, saved, folder bool) (snapshot string) {
		t.Helper()
		id := a.newProfile()
		want[id] = node
		chrome := filepath.Join(a.profileDir(id), "chrome")
		err := errors.Join(os.MkdirAll(chrome, 0o700), os.WriteFile(filepath.Join(chrome, "Cookies"), []byte("x"), 0o600))
		if saved && err == nil {
			var s store.Snapshot
			s, _, err = a.save(t.Context(), id, snapshots.Request{Reason: snapshots.Asked})
			snapshot = s.ID
		}
		if !folder && err == nil {
			err = os.RemoveAll(a.profileDir(id))
		}
		if err != nil {
			t.Fatal(err)
		}
		if takenBy != "" {
			a.write(func(q *store.Queries) error {
				return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: takenBy}))
			})
		}
		return snapshot
	}
	add("one", "", false, true)
	add("one", "", true, false)
	add("", "", false, false)
	add("two", "two", false, true)
	add("two", "two", true, false)
	elsewhere := add("", "", true, false)
	if err := os.Remove(filepath.Join(a.dir, "snapshots", "trees", elsewhere)); err != nil {
		t.Fatal(err)
	}
	if err := a.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, node := range want {
		at := ""
		if row := a.row(id); row.NodeID != nil {
			at = *row.NodeID
		}
		if at != node {
			t.Errorf("a profile belongs to %q, want %q", at, node)
		}
	}
}

// TestSweepOfTwoServers: a server purges the trash of its own profiles, and of those without data. Many of another server keep none of them
// waiting.
func TestSweepOfTwoServers(t *testing.T) {
	t.Parallel()
	a := newRig(t, func(c *Config) { c.Node = "one" })
	var others []string
	for range 101 { // one more than a sweep takes
		id := a.newProfile()
		a.write(func(q *store.Queries) error {
			return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: "two"}))
		})
		a.trash(id)
		others = append(others, id)
	}
	own, free := a.newProfile(), a.newProfile()
	a.write(func(q *store.Queries) error {
		return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: own, NodeID: "one"}))
	})
	a.trash(own)
	a.trash(free)
	if err := a.emptyTrash(t.Context(), soon()); err != nil {
		t.Fatal(err)
	}
	if a.there(own) || a.there(free) {
		t.Error("profiles of others keep its own waiting")
	}
	for _, id := range others {
		if !a.there(id) {
			t.Fatal("it purged a profile whose data another server has")
		}
	}
}

// TestFollowsLater: a server has to apply a change to a run while it does not reach the database. It does so when it reaches it again.
func TestFollowsLater(t *testing.T) {
	t.Parallel()
	database := testnet.Postgres(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	link := testnet.NewLink(t, u.Host)
	r := newRigOn(t, link.Through(t, database))
	id := r.newProfile()
	f := r.startFake(id)
	db := testnet.OpenURL(t, database)
	defer db.Close()
	if _, err := db.Exec(`UPDATE profiles SET deny_hosts = '["secret.example"]' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	r.store.Forget()
	link.To("127.0.0.1:1") // nobody listens there
	r.ProfileChanged(t.Context(), id, Change{})
	if n := len(f.process.Rules()); n != 0 {
		t.Fatalf("%d rules without the database", n)
	}
	link.To(u.Host)
	testnet.Eventually(t, "the run has its rules", func() bool { return len(f.process.Rules()) == 1 })
}

// TestGivenUpProfile: a server whose data of a profile were given up records no start and no end there any more. Another server may run it.
func TestGivenUpProfile(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Node = "one" })
	id := r.newProfile()
	f := r.startFake(id)
	if err := r.recordStatus(id, "running"); err != nil || r.row(id).Status != "running" {
		t.Errorf("its own profile is %s, %v", r.row(id).Status, err)
	}
	r.write(func(q *store.Queries) error {
		return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: "two"}))
	})
	if err := r.recordEnd(id, &End{RunID: f.id, Status: "stopped"}); err != nil {
		t.Error(err)
	}
	if row := r.row(id); row.Status != "running" || row.LastRun != nil {
		t.Errorf("after an end of before, a profile of another server is %s, %v", row.Status, row.LastRun)
	}
	next := newRun(store.NewID(), id, "default", starting)
	if err := r.recordStart(t.Context(), next, &Started{}); !problem.HasCode(err, "node_unreachable") {
		t.Errorf("a start was recorded: %v", err)
	}
	if _, err := r.store.Read().GetRun(t.Context(), store.GetRunParams{ID: next.id}); !errors.Is(err, store.ErrNoRow) {
		t.Errorf("a run was recorded: %v", err)
	}
}
