package snapshots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/packs"
	"warren/problem"
	"warren/store"
	"warren/testnet"
)

// TestCollectAgainstCommits: saves, clones, deletions and collections of one workspace at once, in random orders. Profiles hold one of
// three texts, so that they share packs all the time. The collection gives no grace: it takes at once whatever no snapshot names.
// Afterwards every snapshot is whole, and nothing is left over.
func TestCollectAgainstCommits(t *testing.T) {
	t.Parallel()
	r := eagerRig(t)
	r.rounds(t, 40)
}

// The same many times. WARREN_ROUNDS is how often.
func TestCollectAgainstCommitsLong(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	r := eagerRig(t)
	n, err := strconv.Atoi(cmp.Or(os.Getenv("WARREN_ROUNDS"), "200"))
	if err != nil {
		t.Fatal(err)
	}
	r.rounds(t, n)
}

// eagerRig is a rig without grace, with two profiles.
func eagerRig(t *testing.T) *rig {
	dir, err := os.MkdirTemp("/dev/shm", "warren-") // thousands of commits would wait for the disk
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := newRigIn(t, dir)
	r.untouched, r.going = -time.Hour, -time.Hour
	r.blobs = dawdling{r.blobs}
	return r
}

// dawdling are blobs that let the others go ahead before and after each step, for a random while.
type dawdling struct{ packs.Blobs }

func dawdle() {
	for range rand.IntN(3) * rand.IntN(2000) {
		runtime.Gosched()
	}
}

// Put implements packs.Blobs.
func (d dawdling) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	dawdle()
	defer dawdle()
	return d.Blobs.Put(ctx, name, size, body)
}

// Get implements packs.Blobs.
func (d dawdling) Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error) {
	defer dawdle()
	return d.Blobs.Get(ctx, name, at, length)
}

// Delete implements packs.Blobs.
func (d dawdling) Delete(ctx context.Context, name string) error {
	dawdle()
	defer dawdle()
	return d.Blobs.Delete(ctx, name)
}

// rounds runs the actors at once, round after round, and looks at what they leave.
func (r *rig) rounds(t *testing.T, n int) {
	first, second := r.profile(), r.profile()
	refused := 0
	for i := range n {
		var wg sync.WaitGroup
		var mu sync.Mutex
		act := func(times int, do func(random *rand.Rand) error) {
			random := rand.New(rand.NewPCG(uint64(i), rand.Uint64())) //nolint:gosec // the numbers are no secrets
			wg.Go(func() {
				for range times {
					dawdle()
					if err := do(random); err != nil {
						mu.Lock()
						refused++
						mu.Unlock()
						p, ok := errors.AsType[*problem.Error](err)
						if !ok || p.Code != "snapshot_damaged" && p.Code != "snapshot_not_found" {
							t.Errorf("round %d: %v", i, err)
						}
					}
				}
			})
		}
		for _, p := range []store.Profile{first, second} {
			act(2, func(random *rand.Rand) error {
				r.put(p.ID, map[string]string{"chrome/Cookies": strings.Repeat(fmt.Sprint(random.IntN(3)), 500)})
				_, _, err := r.Save(t.Context(), p.ID, Request{Reason: Stop, Always: random.IntN(2) == 0})
				return err
			})
			act(3, func(random *rand.Rand) error { return r.deleteAny(p.ID, random) })
		}
		act(1, func(*rand.Rand) error { return r.cloneNewest(first.ID) })
		act(6, func(*rand.Rand) error { return r.collectPacks(t.Context(), time.Now()) })
		wg.Wait()
		if r.whole(t); t.Failed() {
			t.Fatalf("in round %d", i)
		}
		r.keepOnly(t, first.ID, second.ID)
	}
	t.Logf("%d rounds, %d refusals without grace", n, refused)
	for range 2 {
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.nothingLeft(t)
}

// deleteAny deletes one of a profile's snapshots.
func (r *rig) deleteAny(profile string, random *rand.Rand) error {
	all, err := r.List(r.t.Context(), store.All(), profile)
	if err != nil || len(all) == 0 {
		return err
	}
	return r.Delete(r.t.Context(), store.All(), r.row(profile), all[random.IntN(len(all))].ID)
}

// cloneNewest clones a profile from its newest snapshot.
func (r *rig) cloneNewest(profile string) error {
	all, err := r.List(r.t.Context(), store.All(), profile)
	if err != nil || len(all) == 0 {
		return err
	}
	id := store.NewID()
	return r.Clone(r.t.Context(), all[0], []string{id}, func(q *store.Queries) error { return insertProfile(q, id) })
}

// keepOnly deletes all other profiles.
func (r *rig) keepOnly(t *testing.T, ids ...string) {
	for _, s := range r.allSnapshots(t) {
		if !slices.Contains(ids, s.ProfileID) {
			r.write(func(q *store.Queries) error {
				return store.ErrorOf(q.DeleteProfile(t.Context(), store.DeleteProfileParams{ID: s.ProfileID}))
			})
		}
	}
}

// whole wants every snapshot to be readable to the last byte.
func (r *rig) whole(t *testing.T) {
	for _, s := range r.allSnapshots(t) {
		v, _, err := r.vault(t.Context(), s.WorkspaceID)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := r.tree(t.Context(), v, s)
		if err == nil {
			err = v.Check(t.Context(), tree, true)
		}
		if err != nil {
			t.Errorf("the snapshot %s (%s): %v", s.ID, s.Reason, err)
		}
	}
}

func (r *rig) allSnapshots(t *testing.T) (out []store.Snapshot) {
	err := r.store.Write(t.Context(), func(q *store.Queries) (err error) {
		out, err = q.ListSnapshotsAfter(t.Context(), store.ListSnapshotsAfterParams{Limit: 1_000_000})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nothingLeft wants no object that no snapshot needs.
func (r *rig) nothingLeft(t *testing.T) {
	needed := map[string]bool{}
	for _, s := range r.allSnapshots(t) {
		needed[packs.TreePrefix+s.ID] = true
		v, _, err := r.vault(t.Context(), s.WorkspaceID)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := r.tree(t.Context(), v, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, pack := range tree.Packs {
			needed[packs.PackPrefix+pack.Name[:2]+"/"+pack.Name] = true
		}
	}
	for o, err := range r.blobs.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if !needed[o.Name] {
			t.Errorf("%s is left", o.Name)
		}
	}
}
