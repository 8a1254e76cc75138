package main

import (
	"context"
	"errors"
	"time"

	"warren/events"
	"warren/problem"
)

// This file is the life of a run, as its one owner sees it.

// life is the one owner of a run: it plans, queues, launches, records, and stays until the run's end is recorded. Others see the run before its start is
// answered: what they changed meanwhile is reconciled first.
func (rs *runs) life(ctx context.Context, r *profileRun, o options, decide func() (*plan, error)) {
	defer r.cancel()
	p, err := decide()
	if err == nil {
		err = rs.enterQueue(r)
	}
	if err != nil { // nothing has begun: the profile stays as it is
		r.err = err
		rs.leave(r)
		close(r.ready)
		return
	}
	r.id, r.name = p.spec.RunID, p.spec.Name
	if err := rs.launch(ctx, r, p); err != nil {
		r.err = err
		rs.failed(r, err)
		close(r.ready)
		return
	}
	rs.reconcile(rs.ctx, r, change{followProfile: !o.Proxy.Set})
	if r.late != nil && !isClosed(r.late.done) { // the start could not wait for it
		rs.follow(r, r.late)
	}
	close(r.ready)
	rs.attend(r)
}

// failed records a start that came to nothing. Where no browser was tried the profile is again what it was before.
func (rs *runs) failed(r *profileRun, err error) {
	var p *problem.Error
	if !errors.As(err, &p) || p.Kind.OfCaller() || p.Code == "proxy_unreachable" || p.Code == "capacity_exceeded" {
		r.mu.Lock()
		r.status = r.before
		r.mu.Unlock()
		rs.settle(r.profileID, &owedEnd{status: r.before})
		rs.events.Publish(events.Event{Type: "profile.status", Workspace: r.workspaceID, Data: map[string]any{"id": r.profileID, "status": r.before}})
		rs.leave(r)
		return
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	last := &lastRunJSON{RunID: r.id, StartedAt: at, EndedAt: at, Status: "failed", Reason: "start_failed"}
	if said, ok := p.Details.(LastWords); ok {
		last.Lines = said.Lines
		if said.ExitCode != nil {
			last.ExitCode = *said.ExitCode
		}
	}
	rs.bury(r, last)
	rs.events.Publish(events.Event{Type: "run.ended", Workspace: r.workspaceID, Data: map[string]any{"id": r.profileID, "runId": r.id, "status": "failed", "reason": "start_failed"}})
	rs.log.Warn("a start failed", "profile", r.profileID, "run", r.id, "code", p.Code, "cause", err)
}
