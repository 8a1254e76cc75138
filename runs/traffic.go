package runs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"warren/shim"
	"warren/store"
)

// Records the traffic through each proxy, by run and day. Runs report totals, which are written each minute, on request,
// at adoption and at the run's end.

// recordedTraffic is the traffic of a run that was last written.
type recordedTraffic struct {
	sync.Mutex // held during a request and its write; a waiter reuses the result of the one before
	askedAt    time.Time
	totals     []shim.Traffic
}

// recordTraffic asks a run for its traffic and writes what is new. A run that does not answer is asked again later.
func (m *Manager) recordTraffic(ctx context.Context, r *run) {
	client, err := r.process()
	if err != nil {
		return
	}
	arrived := time.Now()
	r.recorded.Lock()
	defer r.recorded.Unlock()
	if r.recorded.askedAt.After(arrived) {
		return
	}
	r.recorded.askedAt = time.Now()
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	totals, err := client.Traffic(ctx)
	if err != nil || slices.Equal(totals, r.recorded.totals) {
		return
	}
	if m.writeState(func(ctx context.Context, q *store.Queries) error { // a failure is logged, and the totals are written next time
		return upsertTraffic(ctx, q, store.Run{ID: r.id, ProfileID: r.profileID, WorkspaceID: r.workspaceID}, totals)
	}) == nil {
		r.recorded.totals = totals
	}
}

// RecordTraffic records the traffic of the runs of a workspace and a profile, concurrently. "" selects all.
func (m *Manager) RecordTraffic(ctx context.Context, workspaceID, profileID string) {
	m.mu.Lock()
	var all []*run
	for _, r := range m.byProfile {
		if !r.isHold && (workspaceID == "" || r.workspaceID == workspaceID) && (profileID == "" || r.profileID == profileID) {
			all = append(all, r)
		}
	}
	m.mu.Unlock()
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() { m.recordTraffic(ctx, r) })
	}
	wg.Wait()
}

// upsertTraffic writes a run's totals.
func upsertTraffic(ctx context.Context, q *store.Queries, run store.Run, totals []shim.Traffic) error {
	for _, t := range totals {
		if min(t.Day, t.BytesUp, t.BytesDown, t.Connections) < 0 { // the table refuses negative numbers, and the run's end must be written
			continue
		}
		if err := q.UpsertTraffic(ctx, store.UpsertTrafficParams{RunID: run.ID, ProxyID: t.ProxyID, Day: t.Day,
			ProfileID: run.ProfileID, WorkspaceID: run.WorkspaceID,
			BytesUp: t.BytesUp, BytesDown: t.BytesDown, Connections: t.Connections}); err != nil {
			return fmt.Errorf("traffic of run %s: %w", run.ID, err)
		}
	}
	return nil
}

// maxTrafficDays is how many days the traffic is kept.
const maxTrafficDays = 400

// purgeTraffic deletes older traffic.
func (m *Manager) purgeTraffic(ctx context.Context) error {
	before := DayOf(time.Now()) - maxTrafficDays
	return m.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.PurgeTraffic(ctx, before)) })
}

// DayLength is a day in seconds.
const DayLength = 24 * 60 * 60

// DayOf counts days since 1970, in UTC.
func DayOf(t time.Time) int64 { return t.Unix() / DayLength }

// statsTime is how long a list waits for the answers of the runs.
const statsTime = time.Second
