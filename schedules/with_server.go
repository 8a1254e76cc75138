package schedules

import (
	"context"
	"sync"

	"warren/events"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Starts the profiles that start with the server.

// maxToldEvents is how many profiles without room an event tells of. The log of events is short.
const maxToldEvents = 50

// StartWithServer starts the profiles that have startWithServer and do not run, in the order of their creation. They wait in
// the queue of starts, as many at once as --max-starting. No more are started than --max-running leaves room for. Of several servers each
// starts the profiles whose data it has. One that no server has yet starts on the first one whose labels fit its placement, and the others
// leave it alone. A failure is logged, and an event tells of it. It returns when each start has its answer, or when ctx ends.
func (s *Scheduler) StartWithServer(ctx context.Context) {
	rows, err := s.store.Read().ListProfilesToStart(ctx, store.ListProfilesToStartParams{NodeID: s.cfg.Node, Limit: maxTargets})
	if err != nil {
		s.logFailed(ctx, err)
		return
	}
	var wanted []store.ListProfilesToStartRow
	for _, row := range rows {
		if status, _ := s.runs.Status(row.ID, ""); status == "" && s.mayPlace(row) { // with a status it was adopted
			wanted = append(wanted, row)
		}
	}
	busy := s.runs.Pressure()
	if busy.MaxRunning != nil {
		room := min(max(0, *busy.MaxRunning-busy.Running), len(wanted))
		s.leaveOut(wanted[room:], *busy.MaxRunning)
		wanted = wanted[:room]
	}
	turns := make(chan store.ListProfilesToStartRow)
	var wg sync.WaitGroup
	for range min(busy.MaxStarting, len(wanted)) {
		wg.Go(func() {
			for row := range turns {
				s.startOne(ctx, row)
			}
		})
	}
	for _, row := range wanted {
		if ctx.Err() == nil {
			turns <- row
		}
	}
	close(turns)
	wg.Wait()
}

// mayPlace reports whether a profile may start here as far as its placement says. One that has its data here may.
func (s *Scheduler) mayPlace(row store.ListProfilesToStartRow) bool {
	if row.NodeID != nil || s.cfg.Elsewhere == nil {
		return true
	}
	has, err := s.cfg.Elsewhere.Labelled(row.Placement)
	if err != nil {
		s.log.Error("a profile is not started with the server", "profile", row.ID, "cause", err)
	}
	return has && err == nil
}

// startOne starts a profile with the rights of its workspace.
func (s *Scheduler) startOne(ctx context.Context, at store.ListProfilesToStartRow) {
	sees := store.Only([]string{at.WorkspaceID})
	row, err := s.profile(ctx, sees, at.ID)
	if err == nil {
		_, err = s.runs.Start(ctx, row, runs.Options{Asker: runs.Asker{Sees: sees}})
	}
	if err == nil {
		s.logFailed(ctx, s.store.Write(ctx, func(q *store.Queries) error {
			return q.Record(store.ByServer("profile.start", at.WorkspaceID, at.ID, map[string]any{"reason": "startWithServer"}))
		}))
	}
	if err == nil || ctx.Err() != nil || isStopping(err) || problem.HasCode(err, "node_unreachable") {
		return // of the last, another server was first
	}
	s.log.Warn("a profile was not started with the server", "profile", at.ID, "cause", err)
	s.notStarted(at, err)
}

// leaveOut tells of profiles for which --max-running leaves no room.
func (s *Scheduler) leaveOut(rows []store.ListProfilesToStartRow, limit int) {
	if len(rows) == 0 {
		return
	}
	s.log.Warn("not all profiles were started with the server: --max-running leaves no room", "left out", len(rows), "max-running", limit,
		"first", rows[0].ID)
	for _, row := range rows[:min(len(rows), maxToldEvents)] {
		s.notStarted(row, problem.New(problem.Unavailable, "capacity_exceeded",
			"The profile was not started with the server: --max-running leaves no room. Stop others, or serve with a higher number."))
	}
}

func (s *Scheduler) notStarted(at store.ListProfilesToStartRow, err error) {
	f := failure(at.ID, err)
	s.events.Publish(events.Event{Type: "profile.start_failed", Workspace: at.WorkspaceID, Data: notStartedEvent{f.Code, at.ID, f.Message}})
}
