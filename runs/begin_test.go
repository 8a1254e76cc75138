package runs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"warren/shim"
	"warren/state"
	"warren/store"
)

// TestBegin: a profile that begins with cookies is there with them or not at all. That holds if the server was killed before the row was
// there. It holds too between the row and the folder's name.
func TestBegin(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	a.newProfile() // its workspace has a secret
	begin := func() []Beginning {
		return []Beginning{{ID: store.NewID(), Workspace: "default", Cookies: []state.Cookie{{Name: "a", Value: "1", Domain: "a.example",
			Path: "/", Session: true, Expires: -1}}}}
	}
	named := func(id string) bool {
		key, err := a.snapshots.CookieKey(t.Context(), "default", id, shim.CookieKeySize)
		return err == nil && shim.CookiesPend(a.profileDir(id), id, key)
	}
	left := func() int {
		asides, err := filepath.Glob(filepath.Join(a.dir, "profiles", erasedPrefix+"*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(asides)
	}
	made, failed, killed, late := begin(), begin(), begin(), begin()
	if err := a.Begin(t.Context(), made, func(*store.Queries) error { return nil }); err != nil || !named(made[0].ID) {
		t.Errorf("%v", err)
	}
	no := errors.New("no")
	if err := a.Begin(t.Context(), failed, func(*store.Queries) error { return no }); !errors.Is(err, no) || left() != 0 {
		t.Errorf("%v, and %d folders stay", err, left())
	}
	late[0].ID = a.newProfile()
	if err := errors.Join(a.writeAside(t.Context(), killed), a.writeAside(t.Context(), late)); err != nil || left() != 2 {
		t.Fatal(err)
	}
	if err := a.RecoverDeletions(t.Context()); err != nil || left() != 0 {
		t.Errorf("%v, and %d folders stay", err, left())
	}
	if _, err := os.Lstat(a.profileDir(killed[0].ID)); err == nil || !named(late[0].ID) {
		t.Error("the folder without a row is there, or the one with a row is not")
	}
}
