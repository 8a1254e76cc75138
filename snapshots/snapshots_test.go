package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/events"
	"warren/packs"
	"warren/problem"
	"warren/store"
	"warren/testnet"
)

// rig is a keeper with a data folder and a database of its own.
type rig struct {
	*Keeper
	t testing.TB
}

func newRig(t testing.TB) *rig { return newRigIn(t, t.TempDir()) }

func newRigIn(t testing.TB, dir string) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), dir, store.Options{Database: testnet.DatabaseOf(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	r := &rig{New(dir, slog.New(slog.DiscardHandler), st, events.New()), t}
	r.write(func(q *store.Queries) error {
		_, err := q.EnsureWorkspace(context.Background(), store.EnsureWorkspaceParams{ID: "w", Now: 1})
		return err
	})
	return r
}

func (r *rig) write(fn func(*store.Queries) error) {
	r.t.Helper()
	if err := r.store.Write(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// profile makes a profile without data.
func (r *rig) profile() store.Profile {
	r.t.Helper()
	id := store.NewID()
	r.write(func(q *store.Queries) error { return insertProfile(q, id) })
	return r.row(id)
}

func insertProfile(q *store.Queries, id string) error {
	_, err := q.InsertProfile(context.Background(), store.InsertProfileParams{ID: id, WorkspaceID: "w", Name: "p", OS: "linux", Tags: "[]",
		SearchKey: store.SearchKey("p", ""), StartURLs: "[]", Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "off",
		BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn", FallbackProxyIDs: "[]", FallbackCountry: "same",
		AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Args: "[]", Passkeys: "off", Extensions: "[]", CreatedAt: 1, UpdatedAt: 1})
	return err
}

func (r *rig) row(id string) store.Profile {
	r.t.Helper()
	p, err := r.store.Read().GetProfileAny(context.Background(), store.GetProfileAnyParams{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// put writes files of a profile's folder.
func (r *rig) put(id string, files map[string]string) {
	r.t.Helper()
	for path, text := range files {
		at := filepath.Join(r.profileDir(id), path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// files returns the files of a profile's folder, but for the stamps.
func (r *rig) files(id string) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	dir := r.profileDir(id)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "stamps.json" {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path) //nolint:errcheck // it is below
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) save(id string, q Request) store.Snapshot {
	r.t.Helper()
	s, _, err := r.Save(r.t.Context(), id, q)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// objects counts the packs and trees on the disk.
func (r *rig) objects() (packsThere, trees int) {
	r.t.Helper()
	for o, err := range r.blobs.List(context.Background(), "") {
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.HasPrefix(o.Name, packs.PackPrefix) {
			packsThere++
		} else {
			trees++
		}
	}
	return packsThere, trees
}

func wantFiles(t testing.TB, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("files %v, want %v", got, want)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// TestRollback: a roll-back brings back what a snapshot has, keeps what was there, and leaves what is in no snapshot.
func TestRollback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	_, _, err := r.Save(t.Context(), p.ID, Request{Reason: Asked})
	wantCode(t, err, "profile_empty")
	first := map[string]string{"chrome/Last Version": "156.0.1.2", "chrome/Default/Cookies": "one", "home/.pki/nssdb/cert9.db": "c",
		"files/downloads/x": "mine", ".lock": ""}
	r.put(p.ID, first)
	one := r.save(p.ID, Request{Reason: Stop})
	if one.Browser != "156.0.1.2" || one.Reason != Stop || one.Bytes != int64(len("156.0.1.2onec")) || one.NewBytes == 0 {
		t.Errorf("%+v", one)
	}
	if again, made, err := r.Save(t.Context(), p.ID, Request{Reason: Stop}); err != nil || made || again.ID != one.ID {
		t.Errorf("nothing has changed: %v, %v, %v", again, made, err)
	}
	r.put(p.ID, map[string]string{"chrome/Default/Cookies": "two", "chrome/Default/More": "m", "files/downloads/y": "too"})
	second := r.files(p.ID)
	kept, err := r.Rollback(t.Context(), p.ID, one)
	if err != nil || kept == nil || kept.Reason != BeforeRollback {
		t.Fatalf("%v, %v", kept, err)
	}
	first["files/downloads/y"] = "too"
	wantFiles(t, r.files(p.ID), first)
	if head := r.row(p.ID).HeadID; head == nil || *head != one.ID {
		t.Errorf("the head is %v", head)
	}
	if _, err := r.Rollback(t.Context(), p.ID, *kept); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, r.files(p.ID), second)
	if all, err := r.List(t.Context(), store.All(), p.ID); err != nil || len(all) != 3 {
		t.Errorf("%d snapshots, %v", len(all), err)
	}
}

// TestRollbackToDamaged: a snapshot that cannot be read changes nothing.
func TestRollbackToDamaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat("old", 1000)})
	one := r.save(p.ID, Request{Reason: Stop})
	var pack string
	for o := range r.blobs.List(t.Context(), packs.PackPrefix) {
		pack = filepath.Join(r.data, "snapshots", o.Name)
	}
	text, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	text[40] ^= 1
	if err := os.WriteFile(pack, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.put(p.ID, map[string]string{"chrome/Cookies": "new"})
	_, err = r.Rollback(t.Context(), p.ID, one)
	wantCode(t, err, "snapshot_damaged")
	wantFiles(t, r.files(p.ID), map[string]string{"chrome/Cookies": "new"})
}

// TestRollbackFromGone: a profile whose folder is gone, and whose newest snapshot is gone too, goes back to an older one.
func TestRollbackFromGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	first := map[string]string{"chrome/Cookies": strings.Repeat("old", 1000)}
	r.put(p.ID, first)
	one := r.save(p.ID, Request{Reason: Stop})
	before, err := filepath.Glob(filepath.Join(r.data, "snapshots", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat("new", 1000)})
	two := r.save(p.ID, Request{Reason: Stop})
	after, err := filepath.Glob(filepath.Join(r.data, "snapshots", "*", "*"))
	if err != nil || len(after) == len(before) {
		t.Fatalf("%v, then %v: %v", before, after, err)
	}
	for _, file := range after {
		if !slices.Contains(before, file) {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.RemoveAll(r.profileDir(p.ID)); err != nil {
		t.Fatal(err)
	}
	_, err = r.Rollback(t.Context(), p.ID, two)
	wantCode(t, err, "snapshot_damaged")
	if _, err := r.Rollback(t.Context(), p.ID, one); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, r.files(p.ID), first)
}

// TestClone: clones begin with the data of a snapshot, take no room for its content, and go their own way.
func TestClone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	r.put(p.ID, map[string]string{"chrome/Cookies": "signed in", "chrome/Big": strings.Repeat("x", 1<<20)})
	from := r.save(p.ID, Request{Reason: Asked})
	packsBefore, _ := r.objects()
	ids := store.NewIDs(5)
	refused := errors.New("refused")
	insert := func(q *store.Queries) error {
		for _, id := range ids {
			if err := insertProfile(q, id); err != nil {
				return err
			}
		}
		return nil
	}
	err := r.Clone(t.Context(), from, ids, func(q *store.Queries) error { return errors.Join(insert(q), refused) })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if _, trees := r.objects(); trees != 1 {
		t.Errorf("%d trees after a clone that was refused", trees)
	}
	if err := r.Clone(t.Context(), from, ids, insert); err != nil {
		t.Fatal(err)
	}
	if packsNow, trees := r.objects(); packsNow != packsBefore || trees != 6 {
		t.Errorf("%d packs before, %d now, %d trees", packsBefore, packsNow, trees)
	}
	clone := r.row(ids[0])
	wantCode(t, r.Delete(t.Context(), store.All(), clone, *clone.HeadID), "snapshot_in_use")
	if loaded, err := r.Prepare(t.Context(), clone); err != nil || loaded == nil || loaded.ID != *clone.HeadID {
		t.Fatalf("%v, %v", loaded, err)
	}
	wantFiles(t, r.files(ids[0]), r.files(p.ID))
	if loaded, err := r.Prepare(t.Context(), clone); err != nil || loaded != nil {
		t.Errorf("a second time: %v, %v", loaded, err)
	}
	r.put(ids[0], map[string]string{"chrome/Cookies": "another one"})
	if s := r.save(ids[0], Request{Reason: Stop}); s.NewBytes > 10_000 {
		t.Errorf("a change of 11 bytes wrote %d", s.NewBytes)
	}
	other := r.row(ids[1])
	if _, err := r.Prepare(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, r.files(ids[1]), r.files(p.ID))
}

// TestExpendable: what is kept of many snapshots.
func TestExpendable(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var all []store.Snapshot // one every six hours for 30 days, newest first
	for i := range 120 {
		all = append(all, store.Snapshot{ID: fmt.Sprint(i), Reason: Stop, CreatedAt: at.Add(-time.Duration(i) * 6 * time.Hour).UnixMilli()})
	}
	all[100].Pinned = true
	kept := func(head string, all []store.Snapshot) (ids []string) {
		gone := expendable(all, head, at.UnixMilli())
		for _, s := range all {
			if !slices.ContainsFunc(gone, func(g store.Snapshot) bool { return g.ID == s.ID }) {
				ids = append(ids, s.ID)
			}
		}
		return ids
	}
	want := []string{"0", "1", "2", "3", "4", "5", "6"} // three days, the newest of which are 0, 3
	for i := 7; i < 3+4*13; i += 4 {                    // one of each other day
		want = append(want, fmt.Sprint(i))
	}
	if got := kept("0", all); !slices.Equal(got, append(want, "100")) {
		t.Errorf("kept %v, want %v and 100", got, want)
	}
	if got := kept("110", all); !slices.Contains(got, "110") {
		t.Error("the head is not kept")
	}
	for i := range 50 {
		all[i].Reason = Live
	}
	old := all[:60]
	for i := range old {
		old[i].CreatedAt -= 100 * 24 * time.Hour.Milliseconds()
	}
	if got := kept("0", old); !slices.Equal(got, []string{"0", "1", "2", "3", "4", "5", "6", "50"}) {
		t.Errorf("kept %v: the newest of a closed browser is 50", got)
	}
}

// TestRollbackToDeleted: a snapshot that is deleted while a roll-back goes to it is no head afterwards.
func TestRollbackToDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	r.put(p.ID, map[string]string{"chrome/Cookies": "old"})
	one := r.save(p.ID, Request{Reason: Asked})
	r.put(p.ID, map[string]string{"chrome/Cookies": "new"})
	r.save(p.ID, Request{Reason: Stop})
	r.blobs = deletesRow{r.blobs, r, one}
	if _, err := r.Rollback(t.Context(), p.ID, one); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, r.files(p.ID), map[string]string{"chrome/Cookies": "old"})
	if head := r.row(p.ID).HeadID; head != nil {
		t.Errorf("the head is %s, which was deleted", *head)
	}
}

// deletesRow are blobs that have a snapshot's row deleted when its tree was read.
type deletesRow struct {
	packs.Blobs
	r   *rig
	row store.Snapshot
}

// Get implements packs.Blobs.
func (d deletesRow) Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error) {
	if name == packs.TreePrefix+d.row.ID {
		d.r.write(func(q *store.Queries) error {
			return store.ErrorOf(q.DeleteSnapshot(ctx, store.DeleteSnapshotParams{ID: d.row.ID, ProfileID: d.row.ProfileID}))
		})
	}
	return d.Blobs.Get(ctx, name, at, length)
}
