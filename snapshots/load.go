package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"warren/events"
	"warren/packs"
	"warren/store"
)

// Settle ends a load of a profile's folder that a crash interrupted.
func (k *Keeper) Settle(profileID string) error {
	return packs.Settle(k.profileDir(profileID), leftOut{})
}

// Prepare makes a profile's folder ready: it ends a load that was interrupted. If the folder has no data but there is a
// snapshot, as for a new clone, it loads that and returns it.
func (k *Keeper) Prepare(ctx context.Context, p store.Profile) (loaded *store.Snapshot, err error) {
	if err := k.Settle(p.ID); err != nil {
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
	v, _, err := k.vault(ctx, p.WorkspaceID)
	if err != nil {
		return err
	}
	t, err := k.tree(ctx, v, s)
	if err != nil {
		return k.problemOf(err)
	}
	o.Stamps, o.Filter = k.stampsFile(p.ID), leftOut{}
	return k.problemOf(v.Load(ctx, t, k.profileDir(p.ID), o))
}

// Rollback makes a profile's data those of a snapshot. What is there is kept first, as a snapshot. The error is
// snapshot_not_found, snapshot_damaged or disk_full, and then the data are as before.
func (k *Keeper) Rollback(ctx context.Context, profileID string, to store.Snapshot) (kept *store.Snapshot, err error) {
	before, made, err := k.Save(ctx, profileID, Request{Reason: BeforeRollback, Always: true})
	if err != nil && !isEmpty(err) {
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
	if err := k.load(ctx, p, to, o); err != nil {
		return kept, err
	}
	err = k.store.Write(ctx, func(q *store.Queries) error {
		head := &to.ID
		if _, err := q.GetSnapshot(ctx, store.GetSnapshotParams{ID: to.ID, ProfileID: p.ID}); errors.Is(err, store.ErrNoRow) {
			head = nil // it was deleted meanwhile
		} else if err != nil {
			return err
		}
		return store.ErrorOf(q.SetHead(ctx, store.SetHeadParams{ID: p.ID, HeadID: head}))
	})
	if err != nil {
		return kept, err
	}
	k.events.Publish(events.Event{Type: "profile.rolled_back", Workspace: p.WorkspaceID, Data: rolledBack{p.ID, to.ID}})
	return kept, nil
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
			if err := insert(ctx, q, s, t); err != nil {
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
