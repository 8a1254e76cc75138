package schedules

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Does what a schedule says with its profiles or proxies, one by one, as the single operations do.

// The actions of schedules.
const (
	Start    = "start"
	Stop     = "stop"
	Check    = "check"
	Snapshot = "snapshot"
	Rotate   = "rotate"
)

// OfProxies reports whether an action is one of proxies. The others are of profiles.
func OfProxies(action string) bool { return action == Check || action == Rotate }

const (
	// maxTargets is how many profiles or proxies an occurrence acts on.
	maxTargets = 100_000
	// maxErrors is how many failures an outcome names.
	maxErrors = 20
)

// occurrence is one time at which a schedule runs.
type occurrence struct {
	row   store.Schedule
	here  bool // another server runs it, and this one acts
	skips bool // a later occurrence was skipped because of it. Guarded by Scheduler.mu

	mu      sync.Mutex
	outcome Occurrence
	ended   []<-chan struct{} // the ends of the runs that it started
	runID   string            // of the run that was started last
	dead    int               // proxies that a check found dead
	cut     bool              // the server was stopping
}

// sees is what a schedule may act on: its workspace.
func (o *occurrence) sees() store.Scope { return store.Only([]string{o.row.WorkspaceID}) }

// run runs an occurrence to its end, and records it.
func (s *Scheduler) run(ctx context.Context, o *occurrence) {
	s.publish(o.row, "schedule.started", startedEvent{o.outcome.DueAt, o.row.ID})
	ids, err := s.targets(ctx, o)
	if err == nil {
		o.outcome.Targets = len(ids)
		s.actOnAll(ctx, o, ids)
		s.awaitRuns(ctx, o)
	}
	o.close(ctx, err)
	if err != nil {
		s.logFailed(ctx, err)
	}
	s.record(ctx, o)
	s.end(o)
	o.mu.Lock()
	ended := endedEvent{o.outcome.Done, o.outcome.Failed, o.row.ID, o.outcome.Status}
	o.mu.Unlock()
	s.publish(o.row, "schedule.ended", ended)
}

// record writes what the occurrence has come to. The server may be ending. While the database does not answer it tries again: until then
// other servers take the occurrence for one that goes on, and skip those after it.
func (s *Scheduler) record(ctx context.Context, o *occurrence) {
	o.mu.Lock()
	text := o.outcome.text()
	detail := map[string]any{"action": o.row.Action, "status": o.outcome.Status, "targets": o.outcome.Targets, "done": o.outcome.Done,
		"failed": o.outcome.Failed}
	o.mu.Unlock()
	write := context.WithoutCancel(ctx)
	for again := false; ; again = true {
		err := s.store.Write(write, func(q *store.Queries) error {
			if again { // the answer to a COMMIT may have been lost
				row, err := q.GetSchedule(write, store.GetScheduleParams{ID: o.row.ID})
				if errors.Is(err, store.ErrNoRow) || err == nil && row.LastRun != nil && *row.LastRun == *text {
					return nil
				}
				if err != nil {
					return err
				}
			}
			n, err := q.SetScheduleRun(write, store.SetScheduleRunParams{ID: o.row.ID, LastRun: text, NodeID: s.cfg.Node})
			if err != nil || n == 0 { // it was deleted meanwhile, or another server took this one for gone
				return err
			}
			return q.Record(store.ByServer("schedule.run", o.row.WorkspaceID, o.row.ID, detail))
		})
		if err == nil {
			return
		}
		s.log.Error("the end of a schedule's occurrence was not recorded", "schedule", o.row.ID, "cause", err)
		if !errors.Is(err, store.ErrBusy) || ctx.Err() != nil {
			return
		}
		pause(ctx)
	}
}

// targets returns the ids that an occurrence acts on.
func (s *Scheduler) targets(ctx context.Context, o *occurrence) (ids []string, err error) {
	named := o.row.ProfileIDs
	if OfProxies(o.row.Action) {
		named = o.row.ProxyIDs
	}
	if named != nil {
		return ids, json.Unmarshal([]byte(*named), &ids)
	}
	if o.row.Tag == nil { // the table has no such row
		return nil, nil
	}
	tags, sees := []string{*o.row.Tag}, o.sees().Filter()
	if OfProxies(o.row.Action) {
		ids, err = s.store.ProxyIDs(ctx, store.ProxyList{Ascending: true, ProxyFilter: store.ProxyFilter{Workspaces: sees,
			WorkspaceID: o.row.WorkspaceID, Tags: tags}})
		if len(ids) > maxTargets {
			return nil, tooManyTargets("proxies", len(ids))
		}
		return ids, err
	}
	found, count, err := s.store.ProfileIDs(ctx, store.ProfileList{Ascending: true, ProfileFilter: store.ProfileFilter{Workspaces: sees,
		WorkspaceID: o.row.WorkspaceID, Tags: tags}}, maxTargets)
	if err == nil && count > maxTargets {
		err = tooManyTargets("profiles", int(count))
	}
	for _, p := range found {
		ids = append(ids, p.ID)
	}
	return ids, err
}

func tooManyTargets(what string, n int) *problem.Error {
	return problem.New(problem.Conflict, "too_many_targets",
		fmt.Sprintf("%d %s have the tag. A schedule acts on at most %d: divide them by other tags.", n, what, maxTargets))
}

// actOnAll acts on every target. The semaphore is shared by all schedules, so that many which are due together take turns.
func (s *Scheduler) actOnAll(ctx context.Context, o *occurrence, ids []string) {
	if o.row.Action == Check {
		s.checkAll(ctx, o, ids)
		return
	}
	turn := s.others
	if o.row.Action == Start {
		turn = s.starts
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, id := range ids {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
		wg.Go(func() {
			defer func() { <-turn }()
			unchanged, err := s.actOn(ctx, o, id)
			s.note(ctx, o, id, unchanged, err)
		})
	}
}

// checkAll checks proxies as POST /proxies/check-all does, in turn with those of other workspaces.
func (s *Scheduler) checkAll(ctx context.Context, o *occurrence, ids []string) {
	var all []pool.Proxy
	for _, id := range ids {
		px, err := s.pool.Get(ctx, o.sees(), id)
		if err != nil {
			s.note(ctx, o, id, false, err)
			continue
		}
		all = append(all, px)
	}
	if len(all) == 0 {
		return
	}
	err := s.pool.CheckMany(ctx, all, func(c *pool.Check) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.outcome.Done++; !c.OK {
			o.dead++
		}
	})
	if err != nil && ctx.Err() == nil {
		s.note(ctx, o, "", false, err)
	}
}

// actOn does the schedule's action to one target. unchanged: nothing was to be done. A panic fails this target alone.
func (s *Scheduler) actOn(ctx context.Context, o *occurrence, id string) (unchanged bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = problem.Hidden(fmt.Errorf("panic: %v", v))
		}
	}()
	if o.row.Action == Rotate {
		rotation, err := s.pool.Rotate(ctx, o.sees(), id)
		return err == nil && !rotation.Changed, err
	}
	row, err := s.profile(ctx, o.sees(), id)
	if err != nil {
		return false, err
	}
	if row.NodeID == nil && o.row.Action == Start && !o.here && s.cfg.Elsewhere != nil {
		return s.startBest(ctx, o, row)
	}
	if s.runs.IsElsewhere(row) {
		return s.actElsewhere(ctx, o, row)
	}
	switch o.row.Action {
	case Start:
		return s.start(ctx, o, row)
	case Stop:
		_, ran, err := s.runs.Stop(ctx, row.ID, false)
		return !ran, err
	default:
		_, _, err = s.runs.LiveSnapshot(ctx, row, snapshots.Request{Reason: snapshots.Asked, Name: o.row.Name})
		if problem.HasCode(err, snapshots.Empty().Code) {
			return true, nil
		}
		return false, err
	}
}

// startBest starts a profile that no server has on the one that fits it best. Where that one refuses before anything has begun, the next
// one is asked, runs.MaxPlaces at most.
func (s *Scheduler) startBest(ctx context.Context, o *occurrence, row store.Profile) (unchanged bool, err error) {
	fit, err := s.cfg.Elsewhere.Best(ctx, row)
	if err != nil {
		return false, err
	}
	for _, id := range fit[:min(len(fit), runs.MaxPlaces)] {
		at := row
		if at.NodeID = &id; !s.runs.IsElsewhere(at) {
			return s.start(ctx, o, row)
		}
		if unchanged, err = s.actElsewhere(ctx, o, at); !runs.RefusedBefore(err) {
			return unchanged, err
		}
		now, failed := s.profile(ctx, o.sees(), row.ID)
		if failed == nil && now.NodeID != nil { // somebody else has started it meanwhile
			return s.actOn(ctx, o, row.ID)
		}
	}
	return unchanged, err
}

// actElsewhere does the schedule's action to a profile whose data another server has.
func (s *Scheduler) actElsewhere(ctx context.Context, o *occurrence, row store.Profile) (unchanged bool, err error) {
	if s.cfg.Elsewhere == nil || o.here {
		return false, s.runs.Unreachable(ctx, *row.NodeID)
	}
	unchanged, ended, err := s.cfg.Elsewhere.Act(ctx, row, o.row)
	if isStopping(err) { // the other one
		return false, s.runs.Unreachable(ctx, *row.NodeID)
	}
	if err == nil && ended != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended = append(o.ended, ended)
	}
	return unchanged, err
}

// profile reads a profile outside the trash.
func (s *Scheduler) profile(ctx context.Context, sees store.Scope, id string) (store.Profile, error) {
	row, err := s.store.Profile(ctx, sees, id, false)
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("profile")
	}
	return row, err
}

// start starts a profile with the schedule's options. One that runs already is left as it is.
func (s *Scheduler) start(ctx context.Context, o *occurrence, row store.Profile) (unchanged bool, err error) {
	options := runs.Options{Asker: runs.Asker{Sees: o.sees()}}
	if o.row.StartURLs != nil {
		options.StartURLs = runs.Override[[]string]{Set: true, Value: runs.StringsOf(*o.row.StartURLs)}
	}
	if o.row.MaxRunMs != nil {
		options.MaxRun = runs.Override[time.Duration]{Set: true, Value: time.Duration(*o.row.MaxRunMs) * time.Millisecond}
	}
	started, err := s.runs.Start(ctx, row, options)
	if err != nil || started.Reused {
		return err == nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended, o.runID = append(o.ended, started.Ended()), started.RunID
	return false, nil
}

// awaitRuns waits for the ends of the runs that the occurrence started. What they came to so far is recorded before.
func (s *Scheduler) awaitRuns(ctx context.Context, o *occurrence) {
	if len(o.ended) == 0 {
		return
	}
	o.mu.Lock()
	o.outcome.Message = o.message()
	o.mu.Unlock()
	s.record(ctx, o)
	for _, ended := range o.ended {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// note counts what came of one target. A failure that its owner cannot mend is logged with its cause.
func (s *Scheduler) note(ctx context.Context, o *occurrence, id string, unchanged bool, err error) {
	p, known := errors.AsType[*problem.Error](err)
	told := known && (p.Kind.OfCaller() || p.Cause == nil)
	if err != nil && !told && ctx.Err() == nil {
		s.log.Error("a schedule failed for a target", "schedule", o.row.ID, "target", id, "cause", err)
	}
	o.add(id, unchanged, err)
}

// add counts what came of one target.
func (o *occurrence) add(id string, unchanged bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		if o.outcome.Done++; unchanged {
			o.outcome.Unchanged++
		}
		return
	}
	o.cut = o.cut || isStopping(err)
	o.outcome.Failed++
	if len(o.outcome.Errors) < maxErrors {
		o.outcome.Errors = append(o.outcome.Errors, failure(id, err))
	}
}

// isStopping reports whether an error is there because the server stops.
func isStopping(err error) bool { return problem.HasCode(err, pool.Stopping().Code) }

// failure is an error as an outcome names it. The cause of one that is no client's stays in the log.
func failure(id string, err error) TargetError {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok {
		p = problem.Hidden(err)
	}
	message := p.Message
	if p.Kind == problem.Internal { // there is no request whose id the log could have
		message = "Something went wrong inside warren. The log has the cause."
	}
	for _, f := range p.Faults {
		message += " " + f.Message
	}
	return TargetError{ID: id, Code: p.Code, Message: message}
}

// close sets the state in which the occurrence ended. err is why it did not begin.
func (o *occurrence) close(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := &o.outcome
	out.EndedAt = new(instant(time.Now()))
	switch {
	case ctx.Err() != nil || o.cut:
		out.Status, out.EndedAt, out.Message = Interrupted, nil, ""
		return
	case err != nil:
		out.Status, out.Message = Failed, failure("", err).Message
		return
	case out.Failed == 0:
		out.Status = Done
	case out.Done == 0:
		out.Status = Failed
	default:
		out.Status = Partial
	}
	out.Message = o.message()
}

// message says in words what the occurrence came to; "" if there is nothing to say. The mutex is held.
func (o *occurrence) message() string {
	what := "profiles"
	if OfProxies(o.row.Action) {
		what = "proxies"
	}
	out := &o.outcome
	switch {
	case out.Targets == 0:
		return "No " + what + " have the tag."
	case out.Failed > 0 && len(out.Errors) > 0:
		return fmt.Sprintf("It failed for %d of %d %s: %s", out.Failed, out.Targets, what, out.Errors[0].Message)
	case o.dead > 0:
		return fmt.Sprintf("%d of %d proxies are dead.", o.dead, out.Targets)
	case out.Unchanged > 0:
		return fmt.Sprintf("%d of %d %s %s.", out.Unchanged, out.Targets, what, map[string]string{Start: "ran already", Stop: "did not run",
			Snapshot: "have no data yet", Rotate: "kept their exit"}[o.row.Action])
	}
	return ""
}
