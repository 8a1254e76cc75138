package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"warren/packs"
	"warren/store"
)

// Removes old backups, and the objects that no backup needs any more, while others may be made at the same place.
//
// A backup first says what it will need (contents/), and then looks whether somebody removes objects (thinning/). Whoever removes
// some says so first, and then reads what is needed. So one of the two sees the other: the thinning spares what the backup
// needs, or the backup waits. A thinning gives up long before those who wait for it do.
const (
	thinningPrefix = "thinning/"
	thinFor        = 10 * time.Minute // how long a thinning removes objects
	awaitThinFor   = 15 * time.Minute // how long a backup waits for one
	pollThinning   = time.Second
	// leftAfter is how old the contents of no backup must be to be the rest of one that failed. It is longer than maxBackup.
	leftAfter = 7 * 24 * time.Hour
)

// ThinOptions say which backups stay.
type ThinOptions struct {
	At    packs.Blobs
	Keep  int     // how many of the newest good backups of this data folder stay; 1 at least
	Made  *Backup // the backup that was just made, which stays whatever clocks say
	Meter *Meter  // counts what is removed; nil: nobody looks

	bound time.Duration // 0: thinFor
	clock time.Time     // zero: the machine's
}

// Thinned says what was removed.
type Thinned struct {
	Backups int
	Objects int
	Bytes   int64 // of the objects
}

// Thin removes the backups of the data folder of o.Made beyond the newest good ones, and then what no backup needs. A backup is
// good if everything that it needs is there. Older ones that are not good go too, but only with as many good ones as shall stay.
// Backups of other data folders stay. What is not reached in ten minutes, or before a crash, the next call removes.
func Thin(ctx context.Context, o ThinOptions) (*Thinned, error) {
	if o.Keep < 1 || o.Made == nil {
		return nil, errors.New("at least one backup must stay")
	}
	if o.bound == 0 {
		o.bound = thinFor
	}
	t := &thinning{ThinOptions: o, began: time.Now(), sizes: map[string]int64{}, backups: map[string]*Backup{}, needed: map[string]bool{}}
	t.Meter.again(stepRemoving)
	mark := thinningPrefix + store.NewID()
	if err := o.At.Put(ctx, mark, 0, strings.NewReader("")); err != nil {
		return nil, err
	}
	err := t.run(ctx)
	return &t.Thinned, errors.Join(err, o.At.Delete(context.WithoutCancel(ctx), mark))
}

// thinning is one call of Thin.
type thinning struct {
	ThinOptions
	Thinned
	began   time.Time
	sizes   map[string]int64   // of the objects of the place, but those that were removed
	backups map[string]*Backup // by id
	needed  map[string]bool    // trees, packs and packages
}

func (t *thinning) run(ctx context.Context) error {
	if err := t.read(ctx); err != nil {
		return fmt.Errorf("no old backup is removed: %w", err)
	}
	old, err := t.old(ctx)
	if err != nil {
		return err
	}
	if err := t.forget(ctx, old); err != nil {
		return err
	}
	if err := t.dropLeft(ctx); err != nil {
		return err
	}
	for id, b := range t.backups {
		if _, told := t.sizes[contentsPrefix+id]; !told && b.Objects > 0 {
			return nil // an older Warren made it: what it needs is not told, so that every object stays until it is gone
		}
	}
	for name := range t.sizes {
		if strings.HasPrefix(name, contentsPrefix) {
			if err := t.need(ctx, name); err != nil {
				return fmt.Errorf("no object is removed: %w", err)
			}
		}
	}
	return t.sweep(ctx)
}

// read lists the place, and reads its backups.
func (t *thinning) read(ctx context.Context) error {
	for _, prefix := range []string{contentsPrefix, backupPrefix, databasePrefix, thinningPrefix, packs.TreePrefix, packs.PackPrefix,
		packagesPrefix} {
		for o, err := range t.At.List(ctx, prefix) {
			if err != nil {
				return err
			}
			t.sizes[o.Name] = o.Size
		}
	}
	for name := range t.sizes {
		id, ok := strings.CutPrefix(name, backupPrefix)
		if !ok {
			continue
		}
		b, err := readBackup(ctx, t.At, name)
		switch {
		case errors.Is(err, packs.ErrNone): // another thinning removed it
		case err != nil:
			return err
		case b.Version > backupVersion || b.ID != id:
			return fmt.Errorf("%s was made by warren %s, and this one cannot read it", name, b.Warren)
		default:
			t.backups[id] = b
		}
	}
	return nil
}

// old returns the ids of the backups that go, oldest first.
func (t *thinning) old(ctx context.Context) (ids []string, err error) {
	good := 1 // the one that was just made
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(t.backups))) {
		b := t.backups[id]
		if id == t.Made.ID || b.Origin != t.Made.Origin && b.Origin != "" || t.isNewer(id) {
			continue
		}
		if good >= t.Keep {
			ids = append(ids, id)
			continue
		}
		is, err := t.good(ctx, b)
		if err != nil {
			return nil, err
		}
		if is {
			good++
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// isNewer reports whether a backup was begun after the one that was just made: by another process, since then. It stays, and counts when
// that process thins. One that is of a time to come was made by a clock that was set back since.
func (t *thinning) isNewer(id string) bool {
	now := t.clock
	if now.IsZero() {
		now = time.Now()
	}
	return id > t.Made.ID && madeBefore(id, now.Add(time.Second))
}

// good reports whether a backup's database and all its objects are there.
func (t *thinning) good(ctx context.Context, b *Backup) (bool, error) {
	if size, there := t.sizes[b.Database.Name]; !there || size != b.Database.Size {
		return false, nil
	}
	if b.Contents == nil {
		return true, nil // an older Warren made it, and this is all that is known
	}
	names, err := t.contents(ctx, contentsPrefix+b.ID)
	for _, name := range names {
		if _, there := t.sizes[name]; !there {
			return false, err
		}
	}
	return len(names) == int(b.Objects), err
}

// contents reads which objects a backup needs: none if nobody knows, or if another thinning removed it.
func (t *thinning) contents(ctx context.Context, name string) ([]string, error) {
	body, err := t.At.Get(ctx, name, 0, -1)
	if errors.Is(err, packs.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(body, maxObject))
	if err != nil {
		return nil, err
	}
	if id := strings.TrimPrefix(name, contentsPrefix); t.backups[id] != nil && t.backups[id].Contents != nil {
		want := t.backups[id].Contents
		if err := want.check(text); err != nil {
			return nil, err
		}
	}
	return strings.Fields(string(text)), nil
}

// need notes what a backup needs, also one that is being made.
func (t *thinning) need(ctx context.Context, contents string) error {
	names, err := t.contents(ctx, contents)
	for _, name := range names {
		t.needed[name] = true
	}
	return err
}

// forget removes backups, but for their objects. Whenever that is cut, the next thinning takes the rest. The disk has one step before
// the next begins: after a power cut no backup is listed whose database or objects are gone.
func (t *thinning) forget(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, kind := range []string{contentsPrefix, backupPrefix, databasePrefix} {
		for _, id := range ids {
			if err := t.drop(ctx, kind+id); err != nil {
				return err
			}
			if kind == backupPrefix {
				delete(t.backups, id)
				t.Thinned.Backups++
			}
		}
		if disk, waits := t.At.(packs.Syncer); waits {
			if err := disk.Sync(ctx, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *thinning) drop(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := t.At.Delete(ctx, name); err != nil {
			return err
		}
		delete(t.sizes, name)
	}
	return nil
}

// dropLeft removes what backups that failed, and thinnings that crashed, have left.
func (t *thinning) dropLeft(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(t.sizes)) {
		kind, id := path.Split(name)
		if _, err := uuid.Parse(id); err != nil {
			continue
		}
		_, announced := t.sizes[contentsPrefix+id]
		left := false
		switch kind {
		case contentsPrefix: // its backup may be on the way
			left = t.backups[id] == nil && madeBefore(id, time.Now().Add(-leftAfter))
		case databasePrefix:
			left = t.backups[id] == nil && !announced
		case thinningPrefix:
			left = madeBefore(id, time.Now().Add(-leftAfter))
		}
		if left {
			if err := t.drop(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes the objects that nobody needs, as far as its time goes. What has another name than an object of ours stays.
func (t *thinning) sweep(ctx context.Context) error {
	for name, size := range t.sizes {
		if t.needed[name] || !isObject(name) {
			continue
		}
		if t.late() {
			return nil
		}
		if err := t.At.Delete(ctx, name); err != nil {
			return err
		}
		t.Thinned.Objects++
		t.Bytes += size
		t.Meter.object(size)
	}
	return nil
}

// isObject reports whether a name is one of a pack, of a tree or of a package.
func isObject(name string) bool {
	id := path.Base(name)
	return len(id) == 64 && (name == packs.PackName(id) || name == packageName(id)) ||
		uuid.Validate(id) == nil && name == packs.TreePrefix+id
}

// late reports whether those who wait may soon wait no more. One clock stands while a machine sleeps, the other may be set.
func (t *thinning) late() bool {
	now := time.Now()
	return now.Sub(t.began) > t.bound || now.Round(0).Sub(t.began.Round(0)) > t.bound
}

// awaitThinning waits until nobody removes objects. One that takes longer than it may is dead: its mark is removed.
func awaitThinning(ctx context.Context, at packs.Blobs, patience time.Duration, m *Meter) error {
	seen := map[string]time.Time{}
	poll := time.NewTicker(pollThinning)
	defer poll.Stop()
	for {
		waiting := false
		for o, err := range at.List(ctx, thinningPrefix) {
			if err != nil {
				return err
			}
			if _, known := seen[o.Name]; !known {
				seen[o.Name] = time.Now()
			}
			if time.Since(seen[o.Name]) < patience {
				waiting = true
			} else if err := at.Delete(ctx, o.Name); err != nil {
				return err
			}
		}
		if !waiting {
			return nil
		}
		m.begin(stepWaiting)
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
