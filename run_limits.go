package main

import (
	"time"

	"warren/events"
	"warren/shim"
)

// This file tells of runs that are about to be closed by their limits, and of those that changed.

// heed sees to what a run's process has to tell.
func (rs *runs) heed(r *profileRun, n shim.Notice) {
	if n.Reason == shim.ReasonMoved {
		rs.proxyFailed(r, n)
		return
	}
	rs.publishNotice(r, n)
}

// publishNotice tells everyone when a run will be closed, or with endsAt null that it will not be after all.
func (rs *runs) publishNotice(r *profileRun, n shim.Notice) {
	var ends *time.Time
	if n.EndsAt != nil {
		ends = new(n.EndsAt.UTC().Truncate(time.Millisecond))
	}
	rs.events.Publish(events.Event{Type: "run.expiring", Workspace: r.workspaceID, Data: map[string]any{"id": r.profileID, "runId": r.id, "reason": n.Reason, "endsAt": ends}})
}

// publishUpdate tells that a run shows something else than before: its proxy, its exit, what its pages are told.
func (rs *runs) publishUpdate(r *profileRun) {
	rs.events.Publish(events.Event{Type: "run.updated", Workspace: r.workspaceID, Data: map[string]any{"id": r.profileID, "runId": r.id}})
}
