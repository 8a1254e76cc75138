package runs

import (
	"os"
	"testing"

	"warren/store"
)

// TestFoldersAreClaimed: a server that starts has the profiles that no server has and whose folders lie with it, and no others.
func TestFoldersAreClaimed(t *testing.T) {
	t.Parallel()
	a := newRig(t, func(c *Config) { c.Node = "one" })
	here, free, taken := a.newProfile(), a.newProfile(), a.newProfile()
	a.write(func(q *store.Queries) error {
		return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: taken, NodeID: "two"}))
	})
	for _, id := range []string{here, taken} {
		if err := os.MkdirAll(a.profileDir(id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(a.profileDir(free)); err != nil {
		t.Fatal(err)
	}
	if err := a.Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{here: "one", free: "", taken: "two"} {
		row, err := a.store.Profile(t.Context(), store.All(), id, false)
		at := ""
		if row.NodeID != nil {
			at = *row.NodeID
		}
		if err != nil || at != want {
			t.Errorf("a profile belongs to %q, want %q (%v)", at, want, err)
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
