package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"warren/store"
	"warren/testnet"
)

// newRigs opens managers on one database, each a server of its own.
func newRigs(t testing.TB, count int) (all []*rig) {
	t.Helper()
	database := testnet.Postgres(t)
	for i := range count {
		cfg := newRig(t).cfg
		cfg.Node, cfg.Data = fmt.Sprint("node", i), t.TempDir()
		if i > 0 {
			secret, err := os.ReadFile(filepath.Join(all[0].dir, "secret.key"))
			if err == nil {
				err = os.WriteFile(filepath.Join(cfg.Data, "secret.key"), secret, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, openRigOn(t, cfg, database))
	}
	return all
}

// TestPickOfServers: starts at one moment through several servers take each proxy in turn, none twice before all have had their turn.
func TestPickOfServers(t *testing.T) {
	t.Parallel()
	all := newRigs(t, 3)
	var ids []string
	for i := range 12 {
		ids = append(ids, all[0].newProxy(fmt.Sprintf("p%d.example", i), 1080, "de"))
	}
	var profiles []store.Profile
	for range ids {
		profiles = append(profiles, all[0].row(all[0].newProfile()))
	}
	for round := range 5 {
		var mu sync.Mutex
		picked := map[string]int{}
		var picking sync.WaitGroup
		for i, row := range profiles {
			picking.Go(func() {
				id, _, err := all[i%len(all)].pickProxy(t.Context(), everyone.Sees, row, Pick{"de", "roundRobin"}, false)
				mu.Lock()
				defer mu.Unlock()
				if picked[id]++; err != nil {
					t.Error(err)
				}
			})
		}
		picking.Wait()
		for _, id := range ids {
			if picked[id] != 1 {
				t.Errorf("round %d: a proxy was picked %d times", round, picked[id])
			}
		}
	}
}

// TestPickLeastUsedOfServers: a start takes the proxy that the fewest runs use, those of other servers included.
func TestPickLeastUsedOfServers(t *testing.T) {
	t.Parallel()
	all := newRigs(t, 2)
	one, two := all[0], all[1]
	var ids []string
	for i := range 3 {
		ids = append(ids, one.newProxy(fmt.Sprintf("p%d.example", i), 1080, "de"))
	}
	runsThere := func(proxy string) (run string) {
		profile := two.newProfile()
		run = two.runOf(profile, 1)
		two.write(func(q *store.Queries) error {
			if err := store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: profile, NodeID: two.cfg.Node})); err != nil {
				return err
			}
			record := `{"proxy":null}`
			if proxy != "" {
				record = `{"proxy":{"id":"` + proxy + `"}}`
			}
			return store.ErrorOf(q.SetRunRecord(t.Context(), store.SetRunRecordParams{ID: run, Record: record}))
		})
		return run
	}
	runsThere("")
	next := func() string {
		id, _, err := one.pickProxy(t.Context(), everyone.Sees, one.row(one.newProfile()), Pick{"de", "leastUsed"}, true)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := runsThere(ids[0])
	if got := next(); got != ids[1] {
		t.Errorf("it takes %s, want %s", got, ids[1])
	}
	runsThere(ids[1])
	if got := next(); got != ids[2] {
		t.Errorf("it takes %s, want %s", got, ids[2])
	}
	runsThere(ids[2])
	two.write(func(q *store.Queries) error {
		return store.ErrorOf(q.EndRun(t.Context(), store.EndRunParams{ID: first, EndedAt: 2, Outcome: "stopped", Record: "{}"}))
	})
	if got := next(); got != ids[0] {
		t.Errorf("after the end of its run it takes %s, want %s", got, ids[0])
	}
}
