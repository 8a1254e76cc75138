package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file takes over what an earlier server left running. Nothing of a process that may live is removed.

// adopt takes over what an earlier server left running, and records the end of what is no more.
// catchUp is called with each run that is there.
func (rs *runs) adopt(ctx context.Context, catchUp func(context.Context, *profileRun)) error {
	open, err := rs.store.Read().ListOpenRuns(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var wg sync.WaitGroup
	for _, row := range open {
		known[runName(row.ID)] = true
		wg.Go(func() { rs.adoptOne(ctx, row, catchUp) })
	}
	names, err := shim.Names(rs.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			wg.Go(func() { rs.dismiss(ctx, name) })
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

// adoptOne takes one run over. One whose process lives and does not answer is held as it is, and learnt about when it does.
func (rs *runs) adoptOne(ctx context.Context, row store.Run, catchUp func(context.Context, *profileRun)) {
	asking, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	name, dir := runName(row.ID), rs.profileDir(row.ProfileID)
	client, state, err := shim.Adopt(asking, rs.dir, name, rs.profileDir)
	if err != nil && errors.Is(asking.Err(), context.Canceled) {
		return // this server is told to stop already; the next one looks again
	}
	if err != nil && asking.Err() == nil { // it is gone: one that is only slow lets the time pass
		last := lastRun(row.ID, timestamp(row.StartedAt), shim.Remains(rs.dir, name, dir))
		if rs.recordEnd(row.ProfileID, last) == nil {
			shim.Forget(rs.dir, name)
		}
		rs.log.Info("a run ended while no server was there", "profile", row.ProfileID, "run", row.ID, "reason", last.Reason)
		return
	}
	if err != nil {
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
	if state != nil {
		rs.know(r, state)
	}
	rs.move(r, r.status)
	go rs.attend(r)
	if state != nil {
		catchUp(ctx, r)
	} else {
		go rs.learn(r, catchUp)
	}
	rs.log.Info("adopted a run", "profile", r.profileID, "run", r.id, "pid", record.PID, "answers", state != nil)
}

// know takes over what a shim says of an adopted run.
func (rs *runs) know(r *profileRun, state *shim.State) {
	r.swap.Lock()
	r.proxies, r.at, r.forOnce = state.Upstreams, state.UpstreamAt, state.ForOnce
	r.swap.Unlock()
	r.mu.Lock()
	a := *r.answer
	a.capability = state.Capability
	r.answer = &a
	if state.Ending {
		r.status = "stopping"
	}
	r.mu.Unlock()
	rs.admit(r)
	for _, c := range state.Capabilities {
		rs.open(r, c, false)
	}
}

// learn asks a shim that did not answer in time until it does, or its run is over.
func (rs *runs) learn(r *profileRun, catchUp func(context.Context, *profileRun)) {
	rs.log.Warn("a run's process does not answer; it is left as it is", "profile", r.profileID, "run", r.id)
	state, err := r.client.State(rs.ctx)
	if err != nil {
		return // attend sees the end
	}
	rs.know(r, state)
	catchUp(rs.ctx, r)
}

// catchUp gives an adopted run the proxy that it should have: the server before this one may have died when a change was written, and
// not yet told.
func (s *server) catchUp(ctx context.Context, r *profileRun) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	ctx = s.asOurselves(ctx)
	r.swap.Lock()
	forOnce := r.forOnce
	r.swap.Unlock()
	s.refreshProxy(ctx, r, proxyWish{ofProfile: !forOnce})
	s.refreshRules(ctx, r)
	s.runs.noteTraffic(ctx, r)
	s.redress(ctx, r, exitAsKnown)
}

// dismiss closes a run whose start was never acknowledged: the server died before it was recorded.
func (rs *runs) dismiss(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client, _, err := shim.Adopt(ctx, rs.dir, name, rs.profileDir)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // this server is told to stop already; the next one looks again
	}
	if err != nil && ctx.Err() != nil {
		rs.log.Warn("a run without a record does not answer; it is left to close by itself", "name", name)
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

// asOurselves is a context for what no caller asked for: it sees everything.
func (s *server) asOurselves(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{caller: newCaller("", allScopes(), nil), server: s})
}
