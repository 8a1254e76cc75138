package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/packs"
	"warren/store"
	"warren/testnet"
)

// errCut is what a place says that is not there any more.
var errCut = errors.New("cut")

// watched are blobs that tell of what changes them, before it does.
type watched struct {
	packs.Blobs
	before func(does, name string) error
}

// Put is of packs.Blobs.
func (w watched) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	if err := w.before("put", name); err != nil {
		return err
	}
	return w.Blobs.Put(ctx, name, size, body)
}

// Delete is of packs.Blobs.
func (w watched) Delete(ctx context.Context, name string) error {
	if err := w.before("delete", name); err != nil {
		return err
	}
	return w.Blobs.Delete(ctx, name)
}

// List is of packs.Blobs.
func (w watched) List(ctx context.Context, prefix string) iter.Seq2[packs.Object, error] {
	if err := w.before("list", prefix); err != nil {
		return func(yield func(packs.Object, error) bool) { yield(packs.Object{}, err) }
	}
	return w.Blobs.List(ctx, prefix)
}

// many makes n backups at a place. Before each, the profile has other data, and the snapshot before the last is gone.
func (r *rig) many(to packs.Blobs, n int) (all []*Backup) {
	r.t.Helper()
	p := r.profile()
	var last store.Snapshot
	for i := range n {
		r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat(fmt.Sprint("text ", i, store.NewID()), 100)})
		s := r.save(p.ID, Request{Reason: Asked})
		if i > 0 {
			if err := r.Delete(r.t.Context(), store.All(), r.row(p.ID), last.ID); err != nil {
				r.t.Fatal(err)
			}
		}
		last = s
		all = append(all, r.backup(to))
	}
	return all
}

func (r *rig) options(to packs.Blobs) BackupOptions {
	return BackupOptions{Data: r.data, To: to, Warren: "test", WithKey: true}
}

func (r *rig) backup(to packs.Blobs) *Backup {
	r.t.Helper()
	b, err := MakeBackup(r.t.Context(), r.options(to))
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// wantBackups wants exactly these backups in a place, each of them whole, newest first.
func wantBackups(t *testing.T, at packs.Blobs, want ...*Backup) {
	t.Helper()
	var ids, wanted []string
	all, err := Backups(t.Context(), at)
	for _, b := range all {
		ids = append(ids, b.ID)
	}
	for _, b := range want {
		wanted = append(wanted, b.ID)
		found, err := Check(t.Context(), CheckOptions{From: at, ID: b.ID, ReadAll: true})
		if err != nil || len(found.Faults) > 0 {
			t.Errorf("the backup %s: %+v, %v", b.ID, found, err)
		}
	}
	if err != nil || !slices.Equal(ids, wanted) {
		t.Errorf("backups %q, %v; want %q", ids, err, wanted)
	}
}

// wantNoMore wants nothing in a place that its backups do not need.
func wantNoMore(t *testing.T, at packs.Blobs) {
	t.Helper()
	needed := map[string]bool{}
	all, err := Backups(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	th := &thinning{ThinOptions: ThinOptions{At: at}, needed: needed}
	for _, b := range all {
		for _, name := range []string{backupPrefix, contentsPrefix, databasePrefix} {
			needed[name+b.ID] = true
		}
		if err := th.need(t.Context(), contentsPrefix+b.ID); err != nil {
			t.Fatal(err)
		}
	}
	there := map[string]bool{}
	for o, err := range at.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		there[o.Name] = true
	}
	if !maps.Equal(there, needed) {
		t.Errorf("there are %q, needed are %q", slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(needed)))
	}
}

// TestThin: the newest good backups stay whole, and what only older ones needed is gone. Other data folders' backups stay.
func TestThin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := packs.Folder(dir)
	foreign := newRig(t).many(at, 1)[0]
	r := newRig(t)
	all := r.many(at, 5)
	if err := os.WriteFile(filepath.Join(dir, "packs", "README"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{0, -1} {
		if _, err := Thin(t.Context(), ThinOptions{At: at, Keep: keep, Made: all[4]}); err == nil {
			t.Errorf("%d backups stay", keep)
		}
	}
	if err := at.Delete(t.Context(), all[3].Database.Name); err != nil { // so that it is not good
		t.Fatal(err)
	}
	thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 2, Made: all[4]})
	if err != nil || thinned.Backups != 2 || thinned.Objects != 4 || thinned.Bytes == 0 {
		t.Errorf("%+v, %v", thinned, err)
	}
	if err := errors.Join(at.Delete(t.Context(), backupPrefix+all[3].ID), at.Delete(t.Context(), contentsPrefix+all[3].ID)); err != nil {
		t.Fatal(err)
	}
	wantBackups(t, at, all[4], all[2], foreign)
	thinned, err = Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[2]}) // somebody else has made a newer one meanwhile
	if err != nil || thinned.Backups != 0 {
		t.Errorf("%+v, %v", thinned, err)
	}
	wantBackups(t, at, all[4], all[2], foreign)
	thinned, err = Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[2], clock: time.Now().Add(-time.Hour)}) // it was set back
	if err != nil || thinned.Backups != 1 {
		t.Errorf("%+v, %v", thinned, err)
	}
	wantBackups(t, at, all[2], foreign)
	if err := os.Remove(filepath.Join(dir, "packs", "README")); err != nil {
		t.Errorf("what is not ours: %v", err)
	}
	wantNoMore(t, at)
}

// TestThinSpares: what cannot be understood keeps everything from being removed.
func TestThinSpares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := packs.Folder(dir)
	r := newRig(t)
	all := r.many(at, 3)
	objects := func() (n int) {
		for o := range at.List(t.Context(), "") {
			if isObject(o.Name) {
				n++
			}
		}
		return n
	}
	for what, damage := range map[string]func(path string) error{
		"a backup that cannot be read": func(string) error {
			return os.WriteFile(filepath.Join(dir, backupPrefix, "x"), []byte("{"), 0o600)
		},
		"a backup of the future": func(string) error {
			return os.WriteFile(filepath.Join(dir, backupPrefix, "x"), []byte(`{"version": 99}`), 0o600)
		},
		"contents that are others": func(path string) error { return os.WriteFile(path, []byte("trees/x\n"), 0o600) },
	} {
		path := filepath.Join(dir, contentsPrefix, all[2].ID)
		text, err := os.ReadFile(path)
		if err := errors.Join(err, damage(path)); err != nil {
			t.Fatal(err)
		}
		if thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 3, Made: all[2]}); err == nil || objects() != 6 {
			t.Errorf("%s: %+v, %v", what, thinned, err)
		}
		os.Remove(filepath.Join(dir, backupPrefix, "x")) //nolint:errcheck // it is there in two cases
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := at.Delete(t.Context(), contentsPrefix+all[1].ID); err != nil { // as an older Warren made it
		t.Fatal(err)
	}
	if thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 2, Made: all[2]}); err != nil || thinned.Objects > 0 {
		t.Errorf("what an older backup needs is not known: %+v, %v", thinned, err)
	}
	thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[2], bound: 1})
	if err != nil || thinned.Objects > 0 {
		t.Errorf("after its time: %+v, %v", thinned, err)
	}
	wantBackups(t, at, all[2])
	if thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[2]}); err != nil || thinned.Objects != 4 {
		t.Errorf("the rest: %+v, %v", thinned, err)
	}
	wantBackups(t, at, all[2])
	wantNoMore(t, at)
}

// TestThinIsCut: wherever a thinning is cut, the backups that stay are whole, and the next one removes the rest.
func TestThinIsCut(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	all := newRig(t).many(packs.Folder(whole), 3)
	steps := 0
	for n := 0; ; n++ {
		dir, left := t.TempDir(), n
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		at := packs.Folder(dir)
		_, err := Thin(t.Context(), ThinOptions{Keep: 1, Made: all[2], At: watched{at, func(does, _ string) error {
			if does == "list" {
				return nil
			}
			if left == 0 {
				return errCut
			}
			left--
			return nil
		}}})
		steps++
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		there, listed := Backups(t.Context(), at)
		if listed != nil || len(there) == 0 || there[0].ID != all[2].ID {
			t.Fatalf("after %d steps: %v, %v", n, there, listed)
		}
		for i := range there { // also an old one that is still listed can be restored
			found, err := Check(t.Context(), CheckOptions{From: at, ID: there[i].ID, ReadAll: true})
			if err != nil || len(found.Faults) > 0 {
				t.Errorf("after %d steps the backup %s: %+v, %v", n, there[i].ID, found, err)
			}
		}
		if _, err := Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[2]}); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			break
		}
		removeMarks(t, at)
		wantBackups(t, at, all[2])
		wantNoMore(t, at)
	}
	if steps < 8 {
		t.Errorf("%d steps only", steps)
	}
}

// removeMarks removes the marks of thinnings that were cut, as a backup does that has waited for them.
func removeMarks(t *testing.T, at packs.Blobs) {
	t.Helper()
	if err := awaitThinning(t.Context(), at, 1, nil); err != nil {
		t.Fatal(err)
	}
}

// TestThinBesideBackup: an object that only an old backup needed is needed again by a backup that begins at any moment of a
// thinning, or that is on its way then.
func TestThinBesideBackup(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before", "put thinning/", "list backups/", "list trees/", "delete contents/", "delete trees/",
		"delete packs/", "delete thinning/"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			at := packs.Folder(t.TempDir())
			r := newRig(t)
			r.many(at, 1)
			made := r.sibling().backup(at) // needs nothing of that
			ended, announced, hold, begun := make(chan error, 1), make(chan struct{}), make(chan struct{}), false
			begin := func() {
				begun = true
				say := sync.OnceFunc(func() { close(announced) })
				go func() {
					_, err := MakeBackup(t.Context(), r.options(watched{at, func(does, name string) error {
						if does == "list" && name == thinningPrefix {
							say()
						}
						if moment == "before" && does == "put" && strings.HasPrefix(name, databasePrefix) {
							<-hold
						}
						return nil
					}}))
					ended <- err
				}()
				<-announced
			}
			if moment == "before" {
				begin()
			}
			_, err := Thin(t.Context(), ThinOptions{Keep: 1, Made: made, At: watched{at, func(does, name string) error {
				if !begun && strings.HasPrefix(does+" "+name, moment) {
					begin()
				}
				return nil
			}}})
			close(hold)
			if err := errors.Join(err, <-ended); err != nil {
				t.Fatal(err)
			}
			found, err := Check(t.Context(), CheckOptions{From: at, ReadAll: true})
			if err != nil || len(found.Faults) > 0 || found.Snapshots != 1 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// sibling returns another rig with the same key.
func (r *rig) sibling() *rig {
	r.t.Helper()
	dir := r.t.TempDir()
	key, err := os.ReadFile(filepath.Join(r.data, keyName))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, keyName), key, 0o600)); err != nil {
		r.t.Fatal(err)
	}
	return newRigIn(r.t, dir)
}

// TestThinningThatDied: a backup waits for a thinning no longer than one may take, and removes its mark.
func TestThinningThatDied(t *testing.T) {
	t.Parallel()
	at := packs.Folder(t.TempDir())
	r := newRig(t)
	mark := thinningPrefix + store.NewID()
	if err := at.Put(t.Context(), mark, 0, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	o := r.options(at)
	o.Meter = new(Meter)
	waits, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := MakeBackup(waits, o); ended <- err }()
	testnet.Eventually(t, "the backup waits", func() bool { return o.Meter.Now().Step == stepWaiting })
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	o.patience = 1
	b, err := MakeBackup(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wantBackups(t, at, b)
	wantNoMore(t, at)
}

// TestBackupIsCut: wherever a backup is cut, the one before is the newest, and whole.
func TestBackupIsCut(t *testing.T) {
	t.Parallel()
	r, whole := newRig(t), t.TempDir()
	first := r.many(packs.Folder(whole), 1)[0]
	p := r.profile()
	r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat("more", 100)})
	r.save(p.ID, Request{Reason: Stop})
	for n := 0; ; n++ {
		dir, left := t.TempDir(), n
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		at := packs.Folder(dir)
		made, err := MakeBackup(t.Context(), r.options(watched{at, func(does, _ string) error {
			if left--; left < 0 {
				return errCut
			}
			return nil
		}}))
		if err == nil {
			wantBackups(t, at, made, first)
			if n < 8 {
				t.Errorf("%d steps only", n)
			}
			return
		}
		wantBackups(t, at, first)
	}
}

// TestBackupLooksAgain: what was there when a backup began, and is gone before it ends, makes it fail.
func TestBackupLooksAgain(t *testing.T) {
	t.Parallel()
	at := packs.Folder(t.TempDir())
	r := newRig(t)
	first := r.many(at, 1)[0]
	_, err := MakeBackup(t.Context(), r.options(watched{at, func(does, name string) error {
		if does == "put" && strings.HasPrefix(name, databasePrefix) {
			for o := range at.List(t.Context(), packs.PackPrefix) {
				return at.Delete(t.Context(), o.Name)
			}
		}
		return nil
	}}))
	if err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Error(err)
	}
	if all, err := Backups(t.Context(), at); err != nil || len(all) != 1 || all[0].ID != first.ID {
		t.Errorf("%+v, %v", all, err)
	}
	wantBackups(t, at, r.backup(at), first)
}

// TestLeftBackups: what a backup that failed has left is removed: its contents at once, or after a week if that failed too.
func TestLeftBackups(t *testing.T) {
	t.Parallel()
	at := packs.Folder(t.TempDir())
	r := newRig(t)
	all := r.many(at, 1)
	for _, dies := range []bool{false, true} {
		_, err := MakeBackup(t.Context(), r.options(watched{at, func(does, name string) error {
			if does == "put" && strings.HasPrefix(name, databasePrefix) || dies && does == "delete" {
				return errCut
			}
			return nil
		}}))
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		wantBackups(t, at, all[0])
		if !dies {
			wantNoMore(t, at)
		}
	}
	thin := func() {
		t.Helper()
		if _, err := Thin(t.Context(), ThinOptions{At: at, Keep: 1, Made: all[0]}); err != nil {
			t.Fatal(err)
		}
	}
	thin()
	left := 0
	for o := range at.List(t.Context(), contentsPrefix) {
		if o.Name == all[0].Contents.Name {
			continue
		}
		left++
		old := contentsPrefix + "00" + o.Name[len(contentsPrefix)+2:] // ids begin with the time
		if err := errors.Join(at.Delete(t.Context(), o.Name), at.Put(t.Context(), old, 0, strings.NewReader(""))); err != nil {
			t.Fatal(err)
		}
	}
	if left != 1 {
		t.Errorf("%d contents of backups that may be on their way", left)
	}
	thin()
	wantNoMore(t, at)
}
