package snapshots

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"warren/packs"
	"warren/store"
)

// How long what no snapshot names is kept. No save takes so long.
const (
	untouched = 24 * time.Hour // a pack that nobody has touched, or a tree
	going     = time.Hour      // a pack that was chosen
)

// collectAtOnce is how many packs one look at the database brings.
const collectAtOnce = 200

// Collect deletes the packs and trees that no snapshot needs any more. Of several servers that share a database each deletes its own. The
// packs of one whose row was removed are forgotten by any other. It knows those that it still has as soon as it is back.
func (k *Keeper) Collect(ctx context.Context) error {
	errs := []error{k.collectPacks(ctx, time.Now()), k.collectObjects(ctx, time.Now()), k.collectFolders(time.Now())}
	if s, ok := k.blobs.(packs.Sweeper); ok {
		_, err := s.Sweep(ctx, max(k.going, time.Minute))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// RemoveUnfinished removes what a server has left that was killed while it copied or imported. Only a server that has the data
// folder to itself may call it, at its start.
func (k *Keeper) RemoveUnfinished() error {
	return removeFolders(k.data, time.Time{}, livePrefix, importPrefix)
}

// collectFolders removes folders of copies, backups and checks that were killed, and archives that were being received. A backup may
// take days.
func (k *Keeper) collectFolders(at time.Time) error {
	return errors.Join(removeFolders(k.data, at.Add(-k.untouched), livePrefix, checkFolder, importPrefix),
		removeFolders(k.data, at.Add(-killed), backupFolder))
}

// removeFolders removes what lies in the data folder, begins so, and was not changed since; zero: all of that.
func removeFolders(data string, before time.Time, beginnings ...string) error {
	entries, err := os.ReadDir(data)
	for _, e := range entries {
		ours := func(beginning string) bool { return strings.HasPrefix(e.Name(), beginning) }
		if !slices.ContainsFunc(beginnings, ours) {
			continue
		}
		if info, gone := e.Info(); gone == nil && (before.IsZero() || info.ModTime().Before(before)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(data, e.Name())))
		}
	}
	return err
}

// collectPacks chooses packs, and deletes those that were chosen an hour ago.
func (k *Keeper) collectPacks(ctx context.Context, at time.Time) error {
	err := k.store.Write(ctx, func(q *store.Queries) error {
		return store.ErrorOf(q.LetPacksGo(ctx, store.LetPacksGoParams{Now: at.UnixMilli(), Before: at.Add(-k.untouched).UnixMilli(),
			NodeID: k.node}))
	})
	if err != nil {
		return err
	}
	for {
		names, err := k.store.Read().ListPacksGoing(ctx, store.ListPacksGoingParams{Before: at.Add(-k.going).UnixMilli(),
			NodeID: k.node, Limit: collectAtOnce})
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := k.deletePack(ctx, name); err != nil {
				return err
			}
		}
		if len(names) < collectAtOnce || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// deletePack deletes a pack that was chosen to go: no snapshot can name it any more. The object goes first, since nobody would
// know of it without its row. Whoever wants the pack meanwhile announces it, waits, and writes it again.
func (k *Keeper) deletePack(ctx context.Context, name string) error {
	k.collecting.Lock()
	defer k.collecting.Unlock()
	row, err := k.store.Read().GetPack(ctx, name)
	if errors.Is(err, store.ErrNoRow) || err == nil && row.State != "going" {
		return nil
	}
	if err != nil {
		return err
	}
	if err := packs.DeletePack(ctx, k.blobs, name); err != nil {
		return err
	}
	return k.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.ForgetPack(ctx, name)) })
}

// dropPending deletes what a save has written that failed, so that a full disk gets its room back.
func (k *Keeper) dropPending(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	list, err := json.Marshal(names)
	if err == nil {
		err = k.store.Write(ctx, func(q *store.Queries) error {
			return store.ErrorOf(q.LetPendingGo(ctx, store.LetPendingGoParams{Names: string(list), Now: now(), NodeID: k.node}))
		})
	}
	for i := 0; err == nil && i < len(names); i++ {
		err = k.deletePack(ctx, names[i])
	}
	if err != nil {
		k.log.Warn("what a snapshot has written that failed stays for a day", "cause", err)
	}
}

// collectObjects finds objects without a row: trees that no snapshot has are deleted, unknown packs become known to the
// collection. Both are there after a crash, and after an older database was put back. So do packs whose row says no server, after the
// database was copied: they are this one's from then on.
func (k *Keeper) collectObjects(ctx context.Context, at time.Time) error {
	var unknown []packs.Object
	for o, err := range k.blobs.List(ctx, "") {
		if err != nil {
			return err
		}
		if unknown = append(unknown, o); len(unknown) == collectAtOnce {
			if err := k.collectUnknown(ctx, at, unknown); err != nil {
				return err
			}
			unknown = unknown[:0]
		}
	}
	return k.collectUnknown(ctx, at, unknown)
}

func (k *Keeper) collectUnknown(ctx context.Context, at time.Time, objects []packs.Object) error {
	sizes := map[string]int64{}
	var trees, names []string
	for _, o := range objects {
		if strings.HasPrefix(o.Name, packs.PackPrefix) {
			names = append(names, path.Base(o.Name))
			sizes[path.Base(o.Name)] = o.Size
		} else if id, ok := strings.CutPrefix(o.Name, packs.TreePrefix); ok && madeBefore(id, at.Add(-k.untouched)) {
			trees = append(trees, id)
		}
	}
	knownTrees, err1 := k.known(ctx, trees, k.store.Read().ListSnapshotIDs)
	knownPacks, err2 := k.known(ctx, names, func(ctx context.Context, list string) ([]string, error) {
		return k.store.Read().ListPackNames(ctx, store.ListPackNamesParams{Names: list, NodeID: k.node})
	})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, id := range trees {
		if !knownTrees[id] {
			if err := k.blobs.Delete(ctx, packs.TreePrefix+id); err != nil {
				return err
			}
		}
	}
	return k.store.Write(ctx, func(q *store.Queries) error {
		for _, name := range names {
			if knownPacks[name] {
				continue
			}
			err := q.AnnouncePack(ctx, store.AnnouncePackParams{Name: name, Bytes: sizes[name], Now: at.UnixMilli(), NodeID: k.node})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// known returns which names a query finds.
func (k *Keeper) known(ctx context.Context, names []string, find func(context.Context, string) ([]string, error)) (map[string]bool, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, string(list))
	known := map[string]bool{}
	for _, name := range found {
		known[name] = true
	}
	return known, err
}

// madeBefore reports whether an id (UUIDv7, RFC 9562) is older than a time. Another name is not.
func madeBefore(id string, at time.Time) bool {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return false
	}
	sec, ns := u.Time().UnixTime()
	return time.Unix(sec, ns).Before(at)
}
