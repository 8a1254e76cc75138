package snapshots

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"warren/packs"
	"warren/problem"
	"warren/store"
)

// What is kept of a profile's snapshots, beside those that are pinned.
const (
	keepLast = 7  // the newest
	keepDays = 14 // of so many days the newest of each, in UTC
)

// expendable returns the snapshots that are not kept any longer. all are those of a profile, newest first. The head, pinned ones
// and the newest one that was made of a closed browser are always kept.
func expendable(all []store.Snapshot, head string, now int64) (out []store.Snapshot) {
	const day = 24 * int64(time.Hour/time.Millisecond)
	days := map[int64]bool{}
	closed := false
	for i, s := range all {
		today := s.CreatedAt / day
		keep := s.Pinned || s.ID == head || i < keepLast || !closed && s.Reason != Live
		if now/day-today < keepDays && !days[today] {
			keep = true
		}
		closed = closed || s.Reason != Live
		days[today] = true
		if !keep {
			out = append(out, s)
		}
	}
	return out
}

// Change is what a person says of a snapshot. Nil keeps it.
type Change struct {
	Name   *string
	Pinned *bool
}

// Update changes what a person says of a snapshot.
func (k *Keeper) Update(ctx context.Context, sees store.Scope, profileID, id string, c Change) (s store.Snapshot, err error) {
	err = k.store.Write(ctx, func(q *store.Queries) error {
		s, err = q.UpdateSnapshot(ctx, store.UpdateSnapshotParams{ID: id, ProfileID: profileID, Name: c.Name, Pinned: c.Pinned,
			Workspaces: sees.Filter()})
		if errors.Is(err, store.ErrNoRow) {
			return problem.Missing("snapshot")
		}
		return err
	})
	if err == nil {
		k.publish("updated", s)
	}
	return s, err
}

// Delete deletes a snapshot. The error is snapshot_in_use if it is all that there is of the profile's data.
func (k *Keeper) Delete(ctx context.Context, sees store.Scope, p store.Profile, id string) error {
	s, err := k.Get(ctx, sees, p.ID, id)
	if err != nil {
		return err
	}
	if p.HeadID != nil && *p.HeadID == id {
		if _, err := os.Lstat(k.browserData(p.ID)); errors.Is(err, fs.ErrNotExist) {
			return InUse()
		}
	}
	v, _, err := k.vault(ctx, s.WorkspaceID)
	if err != nil {
		return err
	}
	err = k.store.Write(ctx, func(q *store.Queries) error {
		n, err := q.DeleteSnapshot(ctx, store.DeleteSnapshotParams{ID: id, ProfileID: p.ID, Workspaces: sees.Filter()})
		if err == nil && n == 0 {
			return problem.Missing("snapshot")
		}
		if err == nil {
			_, err = q.DropHead(ctx, store.DropHeadParams{ID: p.ID, HeadID: id})
		}
		return err
	})
	if err != nil {
		return err
	}
	k.forgetTrees(context.WithoutCancel(ctx), v, []store.Snapshot{s})
	k.publish("deleted", s)
	return nil
}

// InUse is the error for a snapshot that is all that there is of its profile's data.
func InUse() *problem.Error {
	return problem.New(problem.Conflict, "snapshot_in_use", "The profile has not run since it was cloned, and its data are in this "+
		"snapshot alone. Start the profile first, or delete the profile.")
}

// forgetTrees deletes the trees of snapshots that have no row any more. One that cannot be deleted stays for the collection.
func (k *Keeper) forgetTrees(ctx context.Context, v *packs.Vault, gone []store.Snapshot) {
	for _, s := range gone {
		if err := v.Forget(ctx, s.ID); err != nil {
			k.log.Warn("the tree of a deleted snapshot stays for a while", "snapshot", s.ID, "cause", err)
		}
	}
}
