package snapshots

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"warren/events"
	"warren/packs"
	"warren/store"
)

// TestBackupAndRestore is a drill. Snapshots are kept while one backup after another is made. Each brings back everything that was
// acknowledged before it began.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		place := t.TempDir()
		underLoad(t, func(int) drillPlace { return openPlace(packs.Folder(place)) })
	})
	t.Run("tar", func(t *testing.T) {
		t.Parallel()
		place := t.TempDir()
		underLoad(t, func(round int) drillPlace { return tarPlace(t, filepath.Join(place, fmt.Sprint(round, ".tar"))) })
	})
}

// drillPlace is where the backup of a drill goes to, and where it is read from.
type drillPlace struct {
	to     packs.Blobs
	finish func(error) error
	from   func() packs.Blobs
}

// openPlace is a place that several backups go to.
func openPlace(at packs.Blobs) drillPlace {
	return drillPlace{at, func(err error) error { return err }, func() packs.Blobs { return at }}
}

func tarPlace(t *testing.T, path string) drillPlace {
	tar, err := NewTar(path)
	if err != nil {
		t.Fatal(err)
	}
	return drillPlace{tar, tar.Finish, func() packs.Blobs {
		from, closer, err := OpenTar(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closer.Close() })
		return from
	}}
}

// underLoad makes two backups while snapshots are kept, and holds each to what was acknowledged before it began.
func underLoad(t *testing.T, place func(round int) drillPlace) {
	r := newRig(t)
	var mu sync.Mutex
	acknowledged := map[string]string{} // the cookies by snapshot
	load, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			p := r.profile()
			for i := 0; load.Err() == nil; i++ {
				text := strings.Repeat(fmt.Sprint(worker, i, " "), 10)
				r.put(p.ID, map[string]string{"chrome/Cookies": text})
				s, _, err := r.Save(t.Context(), p.ID, Request{Reason: Stop, Pinned: true})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[s.ID] = text
				mu.Unlock()
			}
		})
	}
	for round := range 2 {
		mu.Lock()
		want := maps.Clone(acknowledged)
		mu.Unlock()
		drill(t, r, place(round), want)
	}
	stop()
	wg.Wait()
}

// drill makes a backup, restores it to a new folder, and wants these snapshots in it.
func drill(t *testing.T, r *rig, place drillPlace, want map[string]string) {
	o := r.options(place.to)
	o.Meter = new(Meter)
	b, err := MakeBackup(t.Context(), o)
	if err = place.finish(err); err != nil {
		t.Fatal(err)
	}
	if p := o.Meter.Now(); p.Done != p.Total || p.Total != b.Objects || p.Bytes < b.Database.Size {
		t.Errorf("%+v of %d objects", p, b.Objects)
	}
	from := place.from()
	found, err := Check(t.Context(), CheckOptions{From: from, ReadAll: true})
	if err != nil || len(found.Faults) > 0 || found.Unneeded > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	data, meter := filepath.Join(t.TempDir(), "restored"), new(Meter)
	back, err := Restore(t.Context(), RestoreOptions{From: from, Data: data, Meter: meter})
	if err != nil || back.ID != b.ID {
		t.Fatalf("%+v, %v", back, err)
	}
	if p := meter.Now(); p.Done != p.Total || p.Total != b.Objects || p.Bytes < b.Database.Size {
		t.Errorf("%+v of %d objects", p, b.Objects)
	}
	if _, err := Restore(t.Context(), RestoreOptions{From: from, Data: data}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := New(data, r.log, st, events.New())
	for id, text := range want {
		wantCookies(t, k, id, text)
	}
}

// wantCookies rolls the profile of a snapshot back to it, and reads a file.
func wantCookies(t *testing.T, k *Keeper, id, text string) {
	all, err := k.store.Read().ListSnapshotsAfter(t.Context(), store.ListSnapshotsAfterParams{Limit: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.ID != id {
			continue
		}
		if _, err := k.Rollback(t.Context(), s.ProfileID, s); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(k.browserData(s.ProfileID), "Cookies"))
		if err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
		return
	}
	t.Errorf("the snapshot %s is lost", id)
}

// TestBackupIsIncremental: what the target has is not written again.
func TestBackupIsIncremental(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(i * i >> 7)
	}
	r.put(p.ID, map[string]string{"chrome/Big": string(random)})
	r.save(p.ID, Request{Reason: Stop})
	to := packs.Folder(t.TempDir())
	o := BackupOptions{Data: r.data, To: to, Warren: "test", WithKey: true}
	first, err := MakeBackup(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Meter = new(Meter)
	second, err := MakeBackup(t.Context(), o)
	if p := o.Meter.Now(); p.Done != first.Objects || p.Total != first.Objects {
		t.Errorf("%+v of %d objects", p, first.Objects)
	}
	if err != nil || second.Written != second.Database.Size+second.Contents.Size || first.Written <= second.Written ||
		second.Objects != first.Objects {
		t.Errorf("written %d, then %d with a database of %d; %v", first.Written, second.Written, second.Database.Size, err)
	}
	if all, err := Backups(t.Context(), to); err != nil || len(all) != 2 || all[0].ID != second.ID {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestCheckFindsFaults: a flipped bit, a missing object and rows that disagree are found; a backup of them fails.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat("x", 5000)})
	s := r.save(p.ID, Request{Reason: Stop})
	check := func(all bool) []string {
		t.Helper()
		found, err := Check(t.Context(), CheckOptions{Data: r.data, ReadAll: all})
		if err != nil {
			t.Fatal(err)
		}
		return found.Faults
	}
	if faults := check(true); len(faults) > 0 {
		t.Fatal(faults)
	}
	for o := range r.blobs.List(t.Context(), "") {
		path := filepath.Join(r.data, "snapshots", o.Name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		flipped := append([]byte{}, whole...)
		flipped[len(flipped)/2] ^= 1
		for what, text := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)-1], "gone": nil} {
			if err := errors.Join(os.Remove(path), os.WriteFile(path, text, 0o600)); err != nil {
				t.Fatal(err)
			}
			if what == "gone" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if len(check(true)) == 0 {
				t.Errorf("%s %s is not found", o.Name, what)
			}
			if what != "flipped" && len(check(false)) == 0 {
				t.Errorf("%s %s is not found without reading all", o.Name, what)
			}
			if _, err := MakeBackup(t.Context(), BackupOptions{Data: r.data, To: packs.Folder(t.TempDir())}); err == nil {
				t.Errorf("%s %s is backed up", o.Name, what)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if faults := check(true); len(faults) > 0 {
		t.Fatal(faults)
	}
	r.write(func(q *store.Queries) error {
		return store.ErrorOf(q.DropHead(t.Context(), store.DropHeadParams{ID: p.ID, HeadID: s.ID}))
	})
	r.write(func(q *store.Queries) error {
		return store.ErrorOf(q.SetHead(t.Context(), store.SetHeadParams{ID: p.ID, HeadID: new("none")}))
	})
	if faults := check(false); len(faults) != 1 || !strings.Contains(faults[0], p.ID) {
		t.Errorf("a head that is gone: %v", faults)
	}
}
