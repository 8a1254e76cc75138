package snapshots

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/packs"
	"warren/store"
	"warren/testnet"
)

// between are blobs that call a function before a step of one kind.
type between struct {
	packs.Blobs
	put, deleted func(name string) error
}

// Put implements packs.Blobs.
func (b between) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	if err := b.put(name); err != nil {
		return err
	}
	return b.Blobs.Put(ctx, name, size, body)
}

// Delete implements packs.Blobs.
func (b between) Delete(ctx context.Context, name string) error {
	if err := b.deleted(name); err != nil {
		return err
	}
	return b.Blobs.Delete(ctx, name)
}

// TestServersSaveTheSame: a server keeps equal data of two profiles, and one of the saves fails, so that its pack is deleted. Another
// server keeps the same data meanwhile. What it says of its own pack keeps nobody from seeing that this one is gone.
func TestServersSaveTheSame(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	b.saving = make(chan struct{}, 2)
	text := strings.Repeat("the same of all ", 1000)
	onA, onB, fails := a.profile(), b.profile(), b.profile()
	for r, ids := range map[*rig][]string{a: {onA.ID}, b: {onB.ID, fails.ID}} {
		for _, id := range ids {
			r.put(id, map[string]string{"chrome/Cookies": text})
		}
	}
	var other, elsewhere sync.Once
	var fromA store.Snapshot
	trees := 0
	b.blobs = between{b.blobs, func(name string) error {
		if !strings.HasPrefix(name, packs.TreePrefix) {
			return nil
		}
		if trees++; trees == 2 {
			return errors.New("no room")
		}
		other.Do(func() {
			if _, _, err := b.Save(t.Context(), fails.ID, Request{Reason: Stop}); err == nil {
				t.Error("the save has to fail")
			}
		})
		return nil
	}, func(name string) error {
		if strings.HasPrefix(name, packs.PackPrefix) {
			elsewhere.Do(func() { fromA = a.save(onA.ID, Request{Reason: Stop}) })
		}
		return nil
	}}
	fromB := b.save(onB.ID, Request{Reason: Stop})
	if fromA.ID == "" {
		t.Fatal("the other server has saved nothing")
	}
	wantCookies(t, b.Keeper, fromB.ID, text)
	wantCookies(t, a.Keeper, fromA.ID, text)
}

// TestServersCollectTheirOwn: equal data on two servers are two packs. Each server deletes its own, when its own snapshot is gone, whoever
// collects first. None lets go what another has.
func TestServersCollectTheirOwn(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	text := strings.Repeat("the same of both ", 1000)
	fromA, fromB := a.keep("node-a", text), b.keep("node-b", text)
	for _, r := range []*rig{a, b} {
		r.untouched, r.going = -time.Hour, -time.Hour
	}
	collect := func(all ...*rig) {
		t.Helper()
		for range 3 {
			for _, r := range all {
				if err := r.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := func(r *rig, want int, rows int64) {
		t.Helper()
		got, _ := r.objects()
		var left int64
		var bytes int64
		err := eachPack(t.Context(), r.store, func(string) error { left++; return nil })
		if w, of := r.store.Read().GetWorkspace(t.Context(), store.GetWorkspaceParams{ID: "w"}); of == nil {
			bytes = w.DataBytes
		}
		if err != nil || got != want || left != rows || (bytes == 0) != (rows == 0) {
			t.Errorf("%s: %d packs, want %d; %d rows, want %d; %d bytes, %v", r.data, got, want, left, rows, bytes, err)
		}
	}
	remove := func(r *rig, s store.Snapshot) {
		t.Helper()
		r.write(func(q *store.Queries) error {
			return store.ErrorOf(q.DeleteProfile(context.Background(), store.DeleteProfileParams{ID: s.ProfileID}))
		})
	}
	collect(a, b)
	want(a, 1, 2)
	want(b, 1, 2)
	remove(a, fromA)
	collect(b)
	want(a, 1, 1)
	collect(a)
	want(a, 0, 1)
	want(b, 1, 1)
	wantCookies(t, b.Keeper, fromB.ID, text)
	remove(b, fromB)
	collect(a, b)
	want(a, 0, 0)
	want(b, 0, 0)
}

// TestServersPlaceTheirData: a clone begins with data that one server has. No other server may begin it.
func TestServersPlaceTheirData(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	from := a.keep("node-a", "cookies")
	clone := store.NewID()
	err := a.Clone(t.Context(), from, []string{clone}, func(q *store.Queries) error { return insertProfile(q, clone) })
	if err != nil {
		t.Fatal(err)
	}
	if at := b.row(clone).NodeID; at == nil || *at != "node-a" {
		t.Errorf("%v", at)
	}
}

// TestServersTakeCopiedPacks: packs of a copied database are of no server. The one that has them takes them over, and deletes them when
// nothing needs them any more. So do others with the rows of a server that was removed.
func TestServersTakeCopiedPacks(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	text := strings.Repeat("copied ", 1000)
	copied, own := a.keep("", text), a.keep("node-a", text)
	nodes := func(want ...string) {
		t.Helper()
		var got []string
		err := eachPack(t.Context(), a.store, func(name string) error {
			row, err := a.store.Read().GetPack(t.Context(), name)
			got = append(got, row.NodeID)
			return err
		})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	nodes("", "node-a")
	for _, r := range []*rig{b, a} {
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	nodes("node-a", "node-a")
	wantCookies(t, a.Keeper, copied.ID, text)
	wantCookies(t, a.Keeper, own.ID, text)
	for _, id := range []string{copied.ProfileID, own.ProfileID} {
		a.write(func(q *store.Queries) error {
			return store.ErrorOf(q.DeleteProfile(context.Background(), store.DeleteProfileParams{ID: id}))
		})
	}
	bytes := func() int64 {
		w, err := b.store.Read().GetWorkspace(t.Context(), store.GetWorkspaceParams{ID: "w"})
		if err != nil {
			t.Fatal(err)
		}
		return w.DataBytes
	}
	b.untouched, b.going = -time.Hour, -time.Hour
	if err := b.Collect(t.Context()); err != nil || bytes() == 0 {
		t.Errorf("another server's packs: %d bytes, %v", bytes(), err)
	}
	b.write(func(q *store.Queries) error { return store.ErrorOf(q.DeleteNode(context.Background(), "node-a")) })
	if err := b.Collect(t.Context()); err != nil || bytes() != 0 {
		t.Errorf("a removed server's packs: %d bytes, %v", bytes(), err)
	}
}

// TestServerIsGivenUp: the profiles of a server that was given up start anew elsewhere, and their new server can be backed up.
func TestServerIsGivenUp(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	other, id := a.keep("node-a", "other"), a.keep("node-a", "lost").ProfileID
	b.write(func(q *store.Queries) error {
		return errors.Join(store.ErrorOf(q.DeleteSnapshotsOfNode(context.Background(), "node-a")),
			store.ErrorOf(q.UnplaceProfiles(context.Background(), "node-a")),
			store.ErrorOf(q.PlaceProfile(context.Background(), store.PlaceProfileParams{ID: id, NodeID: "node-b"})),
			store.ErrorOf(q.PlaceProfile(context.Background(), store.PlaceProfileParams{ID: other.ProfileID, NodeID: "node-c"})))
	})
	if loaded, err := b.Prepare(t.Context(), b.row(id)); err != nil || loaded != nil {
		t.Errorf("%v, %v", loaded, err)
	}
	o := BackupOptions{Data: b.data, To: packs.Folder(t.TempDir()), Database: url, KeyFile: key}
	if _, err := MakeBackup(t.Context(), o); err != nil {
		t.Error(err)
	}
}
