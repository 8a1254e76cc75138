package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/disk"
	"warren/packs"
	"warren/problem"
	"warren/store"
)

// Why a snapshot was made.
const (
	Stop            = "stop"             // its run was closed
	Asked           = "asked"            // somebody asked for it
	Live            = "live"             // the same, while its browser ran
	BeforeRollback  = "before_rollback"  // what a roll-back replaced
	BeforeDowngrade = "before_downgrade" // before an older browser opened it
	Cloned          = "clone"            // what a clone began with
	FromArchive     = "import"           // what came out of an archive
)

// Request says why a snapshot is made.
type Request struct {
	Reason string
	Name   string
	Pinned bool
	Always bool // make one even if nothing has changed since the last one
}

// errPacksGone says that packs which a save counted on were deleted meanwhile.
var errPacksGone = errors.New("packs that the snapshot needs are gone")

// Save makes a snapshot of a profile's folder, from which its data go on. If nothing has changed since the last one it returns
// that, and made is false. The error is profile_empty if there is nothing to keep, and disk_full.
func (k *Keeper) Save(ctx context.Context, profileID string, r Request) (s store.Snapshot, made bool, err error) {
	p, err := k.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: profileID})
	if err != nil {
		return s, false, err
	}
	if _, err := k.Prepare(ctx, p); err != nil {
		return s, false, err
	}
	if _, err := os.Lstat(k.browserData(p.ID)); err != nil {
		return s, false, Empty()
	}
	select {
	case k.saving <- struct{}{}:
		defer func() { <-k.saving }()
	case <-ctx.Done():
		return s, false, ctx.Err()
	}
	return k.saveFrom(ctx, p, r, source{dir: k.profileDir(p.ID), stamps: k.stampsFile(p.ID)})
}

// SaveLive makes a snapshot of a profile whose browser runs, from a copy of its folder. torn are the databases that never held still.
func (k *Keeper) SaveLive(ctx context.Context, p store.Profile, r Request) (s store.Snapshot, torn []string, err error) {
	into, err := os.MkdirTemp(k.data, livePrefix)
	if err != nil {
		return s, nil, k.problemOf(err)
	}
	defer os.RemoveAll(into)
	if torn, err = copyLive(ctx, k.profileDir(p.ID), filepath.Join(into, "profile")); err != nil {
		return s, nil, k.problemOf(err)
	}
	r.Reason, r.Always = Live, true
	s, _, err = k.saveFrom(ctx, p, r, source{dir: filepath.Join(into, "profile"), copied: true})
	return s, torn, err
}

// livePrefix begins the names of copies of running profiles.
const livePrefix = ".live-"

// source is the folder that is kept.
type source struct {
	dir    string
	stamps string // "": all of it is read
	copied bool   // it is a copy: the profile's data do not go on from it
}

// saveFrom makes a snapshot of a folder.
func (k *Keeper) saveFrom(ctx context.Context, p store.Profile, r Request, from source) (s store.Snapshot, made bool, err error) {
	v, wrote, err := k.vault(ctx, p.WorkspaceID)
	if err != nil {
		return s, false, err
	}
	head, tree := k.head(ctx, v, p)
	s, made, err = k.save(ctx, v, p, r, from, head, tree)
	if errors.Is(err, errPacksGone) { // every pack is written again
		s, made, err = k.save(ctx, v, p, r, from, nil, nil)
	}
	if err != nil {
		k.dropPending(context.WithoutCancel(ctx), wrote.wrote)
		return s, false, k.problemOf(err)
	}
	if made {
		k.publish("created", s)
	}
	return s, made, nil
}

// head returns the snapshot that a profile's data go on from, and its tree; nil if there is none, or none that can be read.
func (k *Keeper) head(ctx context.Context, v *packs.Vault, p store.Profile) (*store.Snapshot, *packs.Tree) {
	if p.HeadID == nil {
		return nil, nil
	}
	s, err := k.Get(ctx, store.All(), p.ID, *p.HeadID)
	if problem.Is(err, problem.NotFound) { // it was deleted
		return nil, nil
	}
	var tree *packs.Tree
	if err == nil {
		tree, err = k.tree(ctx, v, s)
	}
	if err != nil {
		k.log.Warn("a snapshot cannot be read; the next one keeps everything anew", "profile", p.ID, "snapshot", *p.HeadID, "cause", err)
		return nil, nil
	}
	return &s, tree
}

// save keeps the folder, and commits the snapshot.
func (k *Keeper) save(ctx context.Context, v *packs.Vault, p store.Profile, r Request, from source, head *store.Snapshot,
	parent *packs.Tree) (s store.Snapshot, made bool, err error) {
	s = store.Snapshot{ID: store.NewID(), ProfileID: p.ID, WorkspaceID: p.WorkspaceID, Reason: r.Reason, Name: r.Name, Pinned: r.Pinned,
		Browser: k.lastBrowser(p.ID), CreatedAt: now()}
	saved, err := v.Save(ctx, from.dir, packs.SaveOptions{Subject: subject(p.WorkspaceID, p.ID, s.ID), Parent: parent,
		Stamps: from.stamps, Filter: leftOut{}, Always: r.Always,
		About: map[string]string{"browser": s.Browser, "system": runtime.GOOS}})
	if err != nil {
		return s, false, err
	}
	if saved.Same {
		return *head, false, k.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.ClearSnapshotDue(ctx, p.ID)) })
	}
	if parent != nil {
		s.Parent = &parent.ID
	}
	s.Bytes, s.NewBytes = saved.Tree.Bytes(), saved.NewBytes
	dropped, err := k.commit(ctx, s, saved.Tree, !from.copied)
	if err != nil {
		return s, false, errors.Join(err, v.Forget(context.WithoutCancel(ctx), s.ID))
	}
	k.forgetTrees(context.WithoutCancel(ctx), v, dropped)
	for _, d := range dropped {
		k.publish("deleted", d)
	}
	return s, true, nil
}

// commit writes a snapshot's row, makes it the head if asked, and removes the rows of those that are not kept any longer.
func (k *Keeper) commit(ctx context.Context, s store.Snapshot, t *packs.Tree, isHead bool) (dropped []store.Snapshot, err error) {
	err = k.store.Write(ctx, func(q *store.Queries) error {
		if err := k.insert(ctx, q, s, t); err != nil {
			return err
		}
		head := s.ID
		if isHead {
			if _, err := q.SetHead(ctx, store.SetHeadParams{ID: s.ProfileID, HeadID: &s.ID}); err != nil {
				return err
			}
		} else if p, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: s.ProfileID}); err != nil {
			return err
		} else if p.HeadID != nil {
			head = *p.HeadID
		}
		all, err := q.ListSnapshots(ctx, store.ListSnapshotsParams{ProfileID: s.ProfileID})
		if err != nil {
			return err
		}
		dropped = expendable(all, head, now())
		for _, d := range dropped {
			if _, err := q.DeleteSnapshot(ctx, store.DeleteSnapshotParams{ID: d.ID, ProfileID: d.ProfileID}); err != nil {
				return err
			}
		}
		return nil
	})
	return dropped, err
}

// insert writes a snapshot's row and the packs that it needs. All of them must be there, and the server's own. So the server has the data
// of a profile that has no server yet: no other may begin it.
func (k *Keeper) insert(ctx context.Context, q *store.Queries, s store.Snapshot, t *packs.Tree) error {
	names := make([]string, len(t.Packs))
	for i, pack := range t.Packs {
		names[i] = pack.Name
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	n, err := q.KeepPacks(ctx, store.KeepPacksParams{Names: string(list), Now: now(), NodeID: k.node})
	if err != nil {
		return err
	}
	if n != int64(len(names)) {
		return errPacksGone
	}
	if err := q.InsertSnapshot(ctx, store.InsertSnapshotParams(s)); err != nil {
		return err
	}
	if k.node != "" {
		if _, err := q.PlaceProfile(ctx, store.PlaceProfileParams{ID: s.ProfileID, NodeID: k.node}); err != nil {
			return err
		}
	}
	return q.AddSnapshotPacks(ctx, store.AddSnapshotPacksParams{SnapshotID: s.ID, Names: string(list)})
}

// browserData is the folder of a profile's user data.
func (k *Keeper) browserData(id string) string { return filepath.Join(k.profileDir(id), "chrome") }

// lastBrowser is the version that last opened a profile; "" if it is not known. Chrome writes it into the file "Last Version"
// (chrome/browser/downgrade/downgrade_utils.cc).
func (k *Keeper) lastBrowser(id string) string {
	text, err := os.ReadFile(filepath.Join(k.browserData(id), "Last Version"))
	if err != nil || len(text) > 64 {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Empty is the error for a profile that has no data.
func Empty() *problem.Error {
	return problem.New(problem.Conflict, "profile_empty", "The profile has never run, so it has no data yet. Start it first.")
}

// Damaged is the error for a snapshot whose objects are not what was written.
func Damaged(err error) *problem.Error {
	return problem.New(problem.Conflict, "snapshot_damaged", "The snapshot's files are damaged or gone, so it cannot be used; nothing was "+
		"changed. Choose another one. The log says what was found.").Because(err)
}

// problemOf gives errors of the disk and of damaged objects their kind.
func (k *Keeper) problemOf(err error) error { return k.ProblemOf(err) }

// ProblemOf gives errors of files their kind: disk_full, data_unwritable or snapshot_damaged. Others stay as they are.
func (k *Keeper) ProblemOf(err error) error {
	switch {
	case disk.IsFull(err):
		return problem.DiskFull(err)
	case errors.Is(err, packs.ErrDamaged), errors.Is(err, packs.ErrNone), errors.Is(err, errPacksGone):
		return Damaged(err)
	case errors.Is(err, fs.ErrPermission):
		return problem.New(problem.Unavailable, "data_unwritable", "The data folder cannot be read or written; nothing was changed. "+
			"Give this user the right to it.").Because(err)
	}
	return err
}
