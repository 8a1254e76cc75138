package runs

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"warren/events"
	"warren/store"
	"warren/testnet"
)

// The quota of runs is exact under parallel starts. A run that is there, a hold and another workspace take no place.
func TestQuotaOfRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), dir, store.Options{Database: testnet.DatabaseOf(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	ten := int64(10)
	if err := st.Write(t.Context(), func(q *store.Queries) error {
		return store.ErrorOf(q.InsertWorkspace(t.Context(), store.InsertWorkspaceParams{ID: "small", QuotaRunning: &ten}))
	}); err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), Config{Data: t.TempDir(), MaxStarting: 1}, slog.New(slog.DiscardHandler), st, events.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(profile, workspace string) (bool, error) {
		r := newRun(store.NewID(), profile, workspace, starting)
		r.most, r.refused = m.quotaOfRuns(t.Context(), "small", profile)
		_, mine, err := m.claim(r)
		return mine, err
	}
	if _, err := m.Hold(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	if mine, err := claim("other", "large"); !mine || err != nil {
		t.Fatal(mine, err)
	}
	var won atomic.Int64
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			mine, err := claim(fmt.Sprint(n), "small")
			if quota, _ := errors.AsType[*store.QuotaError](err); mine {
				won.Add(1)
			} else if quota == nil || *quota != (store.QuotaError{Quota: "running", Workspace: "small"}) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 10 || m.RunningIn("small") != 10 {
		t.Errorf("%d runs were claimed, %d are counted", won.Load(), m.RunningIn("small"))
	}
	for profile, r := range m.byProfile {
		if r.workspaceID == "small" {
			if mine, err := claim(profile, "small"); mine || err != nil { // the run that is there
				t.Error(mine, err)
			}
			break
		}
	}
}
