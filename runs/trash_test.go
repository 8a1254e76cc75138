package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"warren/store"
)

// TestHistoryOfRunsIsBounded: a profile's history keeps the newest runs only.
func TestHistoryOfRunsIsBounded(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	profile := a.newProfile()
	var ids []string
	for i := range maxPastRuns + 5 {
		ids = append(ids, store.NewID())
		if err := a.store.Write(t.Context(), func(q *store.Queries) error {
			return q.InsertRun(t.Context(), store.InsertRunParams{ID: ids[i], ProfileID: profile, StartedAt: int64(i), Record: "{}"})
		}); err != nil {
			t.Fatal(err)
		}
		if err := a.recordEnd(profile, &End{RunID: ids[i], Status: "stopped", Reason: "stopped",
			EndedAt: time.Now().UTC().Truncate(time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
	}
	q := a.store.Read()
	if n, err := q.CountRunsOfProfile(t.Context(), store.CountRunsOfProfileParams{ProfileID: profile}); err != nil || n != maxPastRuns {
		t.Errorf("%d runs are kept (%v), want %d", n, err, maxPastRuns)
	}
	for i, want := range map[int]error{4: store.ErrNoRow, 5: nil, maxPastRuns + 4: nil} {
		if _, err := q.GetRun(t.Context(), store.GetRunParams{ID: ids[i]}); !errors.Is(err, want) {
			t.Errorf("run %d: %v, want %v", i, err, want)
		}
	}
}

// TestTrashIsEmptied: the sweep removes a profile and its folder after --trash-days in the trash.
func TestTrashIsEmptied(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	old, live := a.newProfile(), a.newProfile()
	folder := filepath.Join(a.dir, "profiles", old)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	a.trash(old)
	listener := a.events.Subscribe(func(string, string) bool { return true }, "")
	if err := a.Sweep(t.Context(), true); err != nil { // too early: it was put there just now
		t.Error(err)
	}
	if !a.there(old) {
		t.Error("the sweep took what had just been put there")
	}
	if err := a.emptyTrash(t.Context(), soon()); err != nil { // as the sweep does after --trash-days
		t.Error(err)
	}
	if a.there(old) || !a.there(live) {
		t.Errorf("in the trash: %v; beside it: %v", a.there(old), a.there(live))
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if got := <-listener.C; got.Type != "profile.deleted" ||
		!strings.Contains(string(got.Text()), `"data":{"id":"`+old+`","permanent":true}`) {
		t.Errorf("the event is %s", got.Text())
	}
}

// TestRestoredStays: a profile that is restored or starts after the sweep has listed it keeps its folder.
func TestRestoredStays(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	folder := filepath.Join(a.dir, "profiles", id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	a.trash(id)
	release, _, _ := a.tryHold(id) // as a start does
	if err := a.purge(t.Context(), store.ListTrashedBeforeRow{ID: id, WorkspaceID: "default"}, soon()); err != nil {
		t.Error(err)
	}
	release()
	a.write(func(q *store.Queries) error {
		_, err := q.RestoreProfile(t.Context(), store.RestoreProfileParams{ID: id})
		return err
	})
	if err := a.purge(t.Context(), store.ListTrashedBeforeRow{ID: id, WorkspaceID: "default"}, soon()); err != nil {
		t.Error(err)
	}
	if !a.there(id) {
		t.Error("it is gone")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the folder did not stay: %v", err)
	}
	a.trash(id)
	if err := a.purge(t.Context(), store.ListTrashedBeforeRow{ID: id, WorkspaceID: "default"}, soon()); err != nil { // this one is removed
		t.Error(err)
	}
	if a.there(id) {
		t.Error("it is still there")
	}
}

// TestFolderThatStays: a profile whose folder cannot be renamed is not removed. 204 means that its cookies are gone.
func TestFolderThatStays(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	if err := os.MkdirAll(filepath.Join(a.dir, "profiles", id), 0o700); err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(a.dir, "profiles", erasedPrefix+id, "full")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	written := false
	err := a.removeProfile(t.Context(), id, func(*store.Queries) error { written = true; return nil })
	if err == nil || written {
		t.Errorf("removed all the same: %v", err)
	}
	if !a.there(id) {
		t.Error("it is gone")
	}
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	if err := a.Erase(t.Context(), store.All(), id, func(*store.Queries) error { return nil }); err != nil || a.there(id) {
		t.Errorf("then it is not removed: %v", err)
	}
}
