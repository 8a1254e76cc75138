package snapshots

import (
	"context"
	"os"
	"path/filepath"

	"warren/packs"
	"warren/problem"
	"warren/store"
)

// Repaired says what a repair did.
type Repaired struct {
	To     store.Snapshot  // what the data are of now
	Kept   *store.Snapshot // what they were before; nil: nothing of them could be kept
	Passed []store.Snapshot
}

// Repair makes a damaged profile's data those of the newest snapshot that Chrome can open. What was there is kept first. Snapshots
// that are damaged too are passed over. It returns nil if there is no other, and then nothing has changed. The profile must not run.
func (k *Keeper) Repair(ctx context.Context, p store.Profile, own OwnFile) (*Repaired, error) {
	all, err := k.List(ctx, store.All(), p.ID)
	if err != nil {
		return nil, err
	}
	done := &Repaired{}
	for _, s := range all {
		opens, err := k.opens(ctx, p, s, own)
		if err != nil {
			return nil, err
		}
		if !opens {
			done.Passed = append(done.Passed, s)
			continue
		}
		done.To = s
		done.Kept, err = k.Rollback(ctx, p.ID, s)
		return done, err
	}
	return nil, nil
}

// opens reports whether Chrome can open a snapshot's data. They are looked at in a folder of their own.
func (k *Keeper) opens(ctx context.Context, p store.Profile, s store.Snapshot, own OwnFile) (bool, error) {
	into, err := os.MkdirTemp(k.data, livePrefix)
	if err != nil {
		return false, k.problemOf(err)
	}
	defer os.RemoveAll(into) //nolint:errcheck // the next collection removes it
	v, _, err := k.vault(ctx, p.WorkspaceID)
	if err != nil {
		return false, err
	}
	t, err := k.tree(ctx, v, s)
	if err == nil {
		err = v.Load(ctx, t, filepath.Join(into, "profile"), packs.LoadOptions{Filter: leftOut{}})
	}
	if err = k.problemOf(err); problem.HasCode(err, "snapshot_damaged") {
		k.log.Warn("a snapshot is passed over, because it is damaged", "profile", p.ID, "snapshot", s.ID, "cause", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	i, err := inspect(ctx, filepath.Join(into, "profile", ofChrome), Inspection{Thorough: true, Own: own})
	return err == nil && i != nil && len(i.found) == 0, k.problemOf(err)
}
