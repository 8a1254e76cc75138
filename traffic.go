package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"warren/shim"
	"warren/store"
)

// This file keeps what went through each proxy, by run and day. A run tells its sums; they are written at its end, when it is adopted, each
// minute, and when somebody asks.

// noted is what of a run's traffic was written down last.
type noted struct {
	sync.Mutex // held while it is asked and written: who waits for it has it from who came before
	begun      time.Time
	sums       []shim.Traffic
}

// noteTraffic asks a run what has gone through its proxies, and writes down what is new. One that does not answer tells it later.
func (rs *runs) noteTraffic(ctx context.Context, r *profileRun) {
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	if client == nil {
		return
	}
	came := time.Now()
	r.noted.Lock()
	defer r.noted.Unlock()
	if r.noted.begun.After(came) {
		return
	}
	r.noted.begun = time.Now()
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	said, err := client.Traffic(ctx)
	if err != nil || slices.Equal(said, r.noted.sums) {
		return
	}
	if rs.record(func(ctx context.Context, q *store.Queries) error { // logged, and said again
		return upsertTraffic(ctx, q, store.Run{ID: r.id, ProfileID: r.profileID, WorkspaceID: r.workspaceID}, said)
	}) == nil {
		r.noted.sums = said
	}
}

// noteAllTraffic does it for those runs that which says, at once.
func (rs *runs) noteAllTraffic(ctx context.Context, which func(*profileRun) bool) {
	rs.mu.Lock()
	var all []*profileRun
	for _, r := range rs.byProfile {
		if !r.bar && which(r) {
			all = append(all, r)
		}
	}
	rs.mu.Unlock()
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() { rs.noteTraffic(ctx, r) })
	}
	wg.Wait()
}

// upsertTraffic writes a run's sums.
func upsertTraffic(ctx context.Context, q *store.Queries, run store.Run, said []shim.Traffic) error {
	for _, t := range said {
		if min(t.Day, t.BytesUp, t.BytesDown, t.Connections) < 0 { // the table takes none such, and the end of the run is worth more
			continue
		}
		if err := q.UpsertTraffic(ctx, store.UpsertTrafficParams{RunID: run.ID, ProxyID: t.ProxyID, Day: t.Day, ProfileID: run.ProfileID, WorkspaceID: run.WorkspaceID,
			BytesUp: t.BytesUp, BytesDown: t.BytesDown, Connections: t.Connections}); err != nil {
			return fmt.Errorf("traffic of run %s: %w", run.ID, err)
		}
	}
	return nil
}

// trafficDaysKept is for how long it is known what went through.
const trafficDaysKept = 400

// purgeTraffic forgets what is older.
func (rs *runs) purgeTraffic(ctx context.Context) error {
	return rs.store.Write(ctx, func(q *store.Queries) error {
		_, err := q.PurgeTraffic(ctx, dayOf(time.Now())-trafficDaysKept)
		return err
	})
}

// dayLength is a day in seconds.
const dayLength = 24 * 60 * 60

// dayOf counts days since 1970, in UTC.
func dayOf(t time.Time) int64 { return t.Unix() / dayLength }
