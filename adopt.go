package main

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file takes over what an earlier server left running. Nothing of a process that may live is removed.

// adoptAtOnce is how many runs are looked for at a time: each takes descriptors, of which a server may be short.
const adoptAtOnce = 32

// adopt takes over what an earlier server left running, and records the end of what is no more.
func (rs *runs) adopt(ctx context.Context) error {
	open, err := rs.store.Read().ListOpenRuns(ctx)
	if err != nil {
		return err
	}
	newest := map[string]string{} // by profile; the oldest come first
	for _, row := range open {
		newest[row.ProfileID] = row.ID
	}
	known := map[string]bool{}
	places := make(chan struct{}, adoptAtOnce)
	var wg sync.WaitGroup
	begin := func(fn func()) {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			fn()
		})
	}
	for _, row := range open {
		known[runName(row.ID)] = true
		if newest[row.ProfileID] == row.ID {
			begin(func() { rs.adoptOne(ctx, row) })
		} else { // a later one has begun since, and a profile has one run: the end of this one was never written
			begin(func() { rs.recordPast(row) })
		}
	}
	names, err := shim.Names(rs.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			begin(func() { rs.dismiss(ctx, name) })
		}
	}
	wg.Wait()
	// What is on the way in the database and has no run came to nothing.
	return rs.store.Write(ctx, func(q *store.Queries) error {
		for _, status := range []string{"starting", "stopping"} {
			if _, err := q.ResetStatus(ctx, store.ResetStatusParams{FromStatus: status, ToStatus: "stopped"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordPast records the end of a run that is not the last of its profile: the profile's own status and last run are of a later one.
func (rs *runs) recordPast(row store.Run) {
	end := shim.Remains(rs.dir, runName(row.ID), "") // its processes have gone, since a later run holds the profile, or did
	last := lastRun(row.ID, millis(row.StartedAt), end)
	rs.settle(row.ProfileID, &owedEnd{name: runName(row.ID), last: last, past: true})
	rs.log.Info("the end of an earlier run is recorded at last", "profile", row.ProfileID, "run", row.ID, "reason", last.Reason)
}

// adoptOne takes one run over. One that is not proved to be gone is held as it is, and learnt about when it answers.
func (rs *runs) adoptOne(ctx context.Context, row store.Run) {
	asking, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	name, dir := runName(row.ID), rs.profileDir(row.ProfileID)
	client, state, err := shim.Adopt(asking, rs.dir, name, rs.profileDir)
	if err != nil && errors.Is(asking.Err(), context.Canceled) {
		return // this server is told to stop already; the next one looks again
	}
	if err != nil && shim.Gone(err, dir) {
		last := lastRun(row.ID, millis(row.StartedAt), shim.Remains(rs.dir, name, dir))
		rs.settle(row.ProfileID, &owedEnd{name: name, last: last})
		rs.log.Info("a run ended while no server was there", "profile", row.ProfileID, "run", row.ID, "reason", last.Reason)
		return
	}
	if err != nil {
		rs.log.Warn("a run's process does not answer; it is left as it is", "profile", row.ProfileID, "run", row.ID, "cause", err)
		client = shim.Hold(rs.dir, name, dir)
	}
	record := runRecord{startJSON: new(startJSON)}
	if err := json.Unmarshal([]byte(row.Record), &record); err != nil {
		rs.log.Error("the record of a run that goes on cannot be read", "profile", row.ProfileID, "run", row.ID, "cause", err)
	}
	r := newRun(row.ProfileID, row.WorkspaceID, "running")
	r.id, r.name, r.answer, r.began, r.client = row.ID, name, record.startJSON, record.Began, client
	close(r.ready)
	if _, mine, err := rs.claim(r); err != nil || !mine {
		client.Release()
		return
	}
	r.place = rs.room.take()
	if err := shim.DropUnfinishedUploads(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // which the server before this one did not get whole
		rs.log.Warn("unfinished uploads stay until the profile's next start", "profile", row.ProfileID, "cause", err)
	}
	if state != nil {
		rs.know(ctx, r, state)
	}
	rs.move(r, r.status) //nolint:errcheck // its end is written in any case
	go rs.attend(r)
	if state != nil {
		rs.catchUp(ctx, r)
	} else {
		go rs.learn(r)
	}
	rs.log.Info("adopted a run", "profile", r.profileID, "run", r.id, "pid", record.PID, "answers", state != nil)
}

// know takes over what a shim says of an adopted run.
func (rs *runs) know(ctx context.Context, r *profileRun, state *shim.State) {
	r.reconciling.Lock()
	r.proxies, r.at, r.forOnce = state.Upstreams, state.UpstreamAt, state.ForOnce
	r.reconciling.Unlock()
	r.mu.Lock()
	a := *r.answer
	a.known = true
	if state.DebuggerAddress == "" {
		a.DebuggerAddress = nil
	}
	r.answer, r.debugKey = &a, state.DebugKey
	if state.Ending {
		r.status = "stopping"
	}
	r.mu.Unlock()
	rs.admitDebugger(ctx, r)
	for _, c := range state.Capabilities {
		if err := rs.readmit(ctx, r, c); err != nil {
			rs.log.Info("a capability ended, since its key is gone", "profile", r.profileID, "run", r.id, "cause", err)
		}
	}
}

// The pauses between two questions to a shim that does not answer.
const (
	firstAsk   = 50 * time.Millisecond
	longestAsk = 5 * time.Second
)

// learn asks a shim that did not answer in time until it does, or its run is over.
func (rs *runs) learn(r *profileRun) {
	for pause := firstAsk; ; pause = min(2*pause, longestAsk) {
		state, err := r.client.State(rs.ctx)
		if err == nil {
			rs.know(rs.ctx, r, state)
			rs.catchUp(rs.ctx, r)
			return
		}
		select {
		case <-r.gone: // attend has seen the end, or this server lets go
			return
		case <-time.After(pause):
		}
	}
}

// catchUp gives an adopted run the proxy that it should have: the server before this one may have died when a change was written, and
// not yet told.
func (rs *runs) catchUp(ctx context.Context, r *profileRun) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	r.reconciling.Lock()
	forOnce := r.forOnce
	r.reconciling.Unlock()
	rs.reconcile(ctx, r, change{followProfile: !forOnce})
	rs.noteTraffic(ctx, r)
}

// dismiss closes a run whose start was never acknowledged: the server died before it was recorded.
func (rs *runs) dismiss(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client, _, err := shim.Adopt(ctx, rs.dir, name, rs.profileDir)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // this server is told to stop already; the next one looks again
	}
	if err != nil && !shim.Gone(err, "") {
		rs.log.Warn("a run without a record does not answer; it is left to close by itself", "name", name, "cause", err)
		return
	}
	if err == nil {
		if _, err := client.Stop(ctx, false); err != nil {
			rs.log.Warn("a run without a record does not end", "name", name, "cause", err)
			return
		}
	}
	shim.Forget(rs.dir, name)
}
