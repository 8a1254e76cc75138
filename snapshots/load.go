package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"warren/events"
	"warren/packs"
	"warren/problem"
	"warren/store"
)

// Settle ends a load of a profile's folder that a crash interrupted.
func (k *Keeper) Settle(profileID string) error {
	return packs.Settle(k.profileDir(profileID), leftOut{})
}

// ErasedPrefix begins the name of a profile's folder while the profile is deleted for good.
const ErasedPrefix = ".erased-"

// putBack puts a profile's folder back that was set aside for a deletion that failed. There is a row of the profile.
func (k *Keeper) putBack(profileID string) error {
	aside := filepath.Join(k.data, "profiles", ErasedPrefix+profileID)
	if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(k.profileDir(profileID)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(aside, k.profileDir(profileID))
}

// Prepare makes a profile's folder ready: it ends a load that was interrupted. If the folder has no data but there is a
// snapshot, as for a new clone, it loads that and returns it.
func (k *Keeper) Prepare(ctx context.Context, p store.Profile) (loaded *store.Snapshot, err error) {
	if err := errors.Join(k.Settle(p.ID), k.putBack(p.ID)); err != nil {
		return nil, k.problemOf(err)
	}
	if p.HeadID == nil {
		return nil, nil
	}
	if _, err := os.Lstat(k.browserData(p.ID)); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	head, err := k.Get(ctx, store.All(), p.ID, *p.HeadID)
	if err != nil {
		return nil, err
	}
	if err := k.load(ctx, p, head, packs.LoadOptions{}); err != nil {
		return nil, err
	}
	return &head, nil
}

// load makes a profile's folder equal to a snapshot.
func (k *Keeper) load(ctx context.Context, p store.Profile, s store.Snapshot, o packs.LoadOptions) error {
	staged, err := k.stage(ctx, p, s, o)
	if err != nil {
		return err
	}
	return k.problemOf(staged.Swap())
}

// stage writes what a profile's folder will be.
func (k *Keeper) stage(ctx context.Context, p store.Profile, s store.Snapshot, o packs.LoadOptions) (*packs.Staged, error) {
	v, _, err := k.vault(ctx, p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	t, err := k.tree(ctx, v, s)
	if err != nil {
		return nil, k.problemOf(err)
	}
	o.Stamps, o.Filter = k.stampsFile(p.ID), leftOut{}
	staged, err := v.Stage(ctx, t, k.profileDir(p.ID), o)
	return staged, k.problemOf(err)
}

// Rollback makes a profile's data those of a snapshot. What is there is kept first, as a snapshot. The error is
// snapshot_not_found, snapshot_damaged or disk_full, and then the data are as before.
func (k *Keeper) Rollback(ctx context.Context, profileID string, to store.Snapshot) (kept *store.Snapshot, err error) {
	before, made, err := k.Save(ctx, profileID, Request{Reason: BeforeRollback, Always: true})
	if err != nil && !problem.HasCode(err, "profile_empty") && !k.isGone(profileID, err) {
		return nil, err
	}
	if made {
		kept = &before
	}
	p, err := k.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: profileID})
	if err != nil {
		return kept, err
	}
	o := packs.LoadOptions{}
	if made {
		v, _, err := k.vault(ctx, p.WorkspaceID)
		if err != nil {
			return kept, err
		}
		o.From, o.FromStamps = k.profileDir(p.ID), k.stampsFile(p.ID)
		if o.FromTree, err = k.tree(ctx, v, before); err != nil {
			return kept, k.problemOf(err)
		}
	}
	if err := k.replace(ctx, p, to, o); err != nil {
		return kept, err
	}
	k.events.Publish(events.Event{Type: "profile.rolled_back", Workspace: p.WorkspaceID, Data: rolledBack{p.ID, to.ID}})
	return kept, nil
}

// isGone reports whether err is that of Prepare for a profile whose folder is gone, and whose data go on from a snapshot that is gone too.
// There is nothing to keep then.
func (k *Keeper) isGone(profileID string, err error) bool {
	_, found := os.Lstat(k.browserData(profileID))
	return problem.HasCode(err, "snapshot_damaged") && errors.Is(found, fs.ErrNotExist)
}

// replace loads a snapshot, and makes it the head before the folder changes: a full disk keeps both as they are.
func (k *Keeper) replace(ctx context.Context, p store.Profile, to store.Snapshot, o packs.LoadOptions) error {
	staged, err := k.stage(ctx, p, to, o)
	if err != nil {
		return err
	}
	if err := k.setHead(ctx, p.ID, &to.ID); err != nil {
		return errors.Join(err, staged.Drop())
	}
	if err = k.problemOf(staged.Swap()); err == nil {
		return nil
	}
	if back := k.setHead(context.WithoutCancel(ctx), p.ID, p.HeadID); back != nil {
		k.log.Warn("a roll-back failed, and its snapshot is shown as the current one until the next", "profile", p.ID, "cause", back)
	}
	return err
}

// setHead says which snapshot a profile's data go on from. One that was deleted meanwhile is none.
func (k *Keeper) setHead(ctx context.Context, profileID string, head *string) error {
	return k.store.Write(ctx, func(q *store.Queries) error {
		to := head
		if to != nil {
			if _, err := q.GetSnapshot(ctx, store.GetSnapshotParams{ID: *to, ProfileID: profileID}); errors.Is(err, store.ErrNoRow) {
				to = nil
			} else if err != nil {
				return err
			}
		}
		return store.ErrorOf(q.SetHead(ctx, store.SetHeadParams{ID: profileID, HeadID: to}))
	})
}

// rolledBack is the data of profile.rolled_back.
type rolledBack struct {
	ID         string `json:"id"`
	SnapshotID string `json:"snapshotId"`
}

// Clone lets new profiles begin with the data of a snapshot, without a copy of its content. insert writes their rows; it runs in
// the transaction that makes them whole. All of them are there afterwards, or none.
func (k *Keeper) Clone(ctx context.Context, from store.Snapshot, ids []string, insertProfiles func(*store.Queries) error) error {
	v, _, err := k.vault(ctx, from.WorkspaceID)
	if err != nil {
		return err
	}
	t, err := k.tree(ctx, v, from)
	if err != nil {
		return k.problemOf(err)
	}
	made := make([]store.Snapshot, 0, len(ids))
	for _, id := range ids {
		s := store.Snapshot{ID: store.NewID(), ProfileID: id, WorkspaceID: from.WorkspaceID, Parent: &from.ID, Reason: Cloned,
			Browser: from.Browser, Bytes: from.Bytes, CreatedAt: now()}
		made = append(made, s)
		if _, made[len(made)-1].NewBytes, err = v.Branch(ctx, t, subject(s.WorkspaceID, id, s.ID)); err != nil {
			k.forgetTrees(context.WithoutCancel(ctx), v, made)
			return k.problemOf(err)
		}
	}
	err = k.store.Write(ctx, func(q *store.Queries) error {
		if err := insertProfiles(q); err != nil {
			return err
		}
		for _, s := range made {
			if err := k.insert(ctx, q, s, t); err != nil {
				return err
			}
			if _, err := q.SetHead(ctx, store.SetHeadParams{ID: s.ProfileID, HeadID: &s.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		k.forgetTrees(context.WithoutCancel(ctx), v, made)
	}
	return k.problemOf(err)
}
