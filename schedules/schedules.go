// Package schedules starts, stops, keeps, checks and rotates at the times that schedules say. It also starts the profiles
// that start with the server.
package schedules

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/pool"
	"warren/runs"
	"warren/store"
)

// The database holds what is due next. An occurrence is taken off it before it runs, so that a crash never repeats one, and so that of
// several servers of the database one alone runs it. All of them look at least each maxWait. Then times are of the database's clock.

const (
	// grace is how late an occurrence may be and still run. An older one was missed.
	grace = time.Minute
	// clockSlack is how far the clock may be set back without a new plan for cron expressions, so that a small correction
	// repeats no occurrence. Intervals are planned anew at once.
	clockSlack = time.Hour
	// maxWait is the longest time between two looks at the database: timers do not see the clock being set, nor a sleep of
	// the machine.
	maxWait = 10 * time.Second
	// maxTaken is how many schedules one look takes on.
	maxTaken = 100
	// writePause is the pause before something is written again that the database did not take.
	writePause = time.Second
)

// Config says which of the servers that share a database this one is. The zero value is a server with a database of its own.
type Config struct {
	Node      string    // this server's id
	Nodes     Nodes     // all servers
	Elsewhere Elsewhere // nil: schedules fail with node_unreachable for a profile whose data another server has
}

// Nodes are the servers of a database.
type Nodes interface {
	// Lives reports whether the server of an id runs.
	Lives(ctx context.Context, node string) (bool, error)
}

// Elsewhere reaches the other servers.
type Elsewhere interface {
	// Best returns the ids of the servers that may start a profile without data, the best first: at least one, or an error.
	Best(ctx context.Context, profile store.Profile) (ids []string, err error)
	// Labelled reports whether this server has the labels that the placement of a profile without data asks for.
	Labelled(placement *string) (bool, error)
	// Act does a schedule's action to a profile whose data another server has. unchanged: nothing was to be done. ended is closed when a
	// run ends that was started; nil: none was.
	Act(ctx context.Context, profile store.Profile, of store.Schedule) (unchanged bool, ended <-chan struct{}, err error)
}

// Scheduler runs the schedules of a server.
type Scheduler struct {
	cfg    Config
	log    *slog.Logger
	store  *store.Store
	events *events.Log
	pool   *pool.Pool
	runs   *runs.Manager
	starts chan struct{} // semaphore: starts that wait for their answer
	others chan struct{} // semaphore: other actions
	wake   chan struct{} // holds a token when a schedule was changed

	occurrences sync.WaitGroup

	mu       sync.Mutex
	underway map[string]*occurrence // by the schedule's id
}

// atOnce is how many actions of all schedules go on at the same time, of starts and of others each.
const atOnce = 100

// New makes a scheduler. Keep runs it.
func New(cfg Config, log *slog.Logger, st *store.Store, ev *events.Log, px *pool.Pool, rs *runs.Manager) *Scheduler {
	starts := min(atOnce, max(1, rs.Pressure().MaxQueue/2)) // schedules leave room in the queue for callers
	return &Scheduler{cfg: cfg, log: log, store: st, events: ev, pool: px, runs: rs, starts: make(chan struct{}, starts),
		others: make(chan struct{}, atOnce), wake: make(chan struct{}, 1), underway: map[string]*occurrence{}}
}

// Changed tells the scheduler that a schedule was made or changed.
func (s *Scheduler) Changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Keep runs what is due until ctx ends. It then waits for the occurrences that go on, which ctx ends too.
func (s *Scheduler) Keep(ctx context.Context) {
	defer s.occurrences.Wait()
	s.logFailed(ctx, s.store.Write(ctx, func(q *store.Queries) error {
		return store.ErrorOf(q.InterruptSchedules(ctx, s.cfg.Node))
	}))
	for {
		wait := time.Second
		now, err := s.Now(ctx)
		s.logFailed(ctx, err)
		if err == nil {
			wait = s.tick(ctx, now)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// Now returns the time by which schedules are due. Of several servers each takes it from their database, so that no clock is ahead.
func (s *Scheduler) Now(ctx context.Context) (time.Time, error) {
	if !s.store.Shared() {
		return time.Now(), nil
	}
	at, err := s.store.Read().DatabaseTime(ctx)
	return time.UnixMilli(at), err
}

func (s *Scheduler) logFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("schedules failed", "cause", err)
	}
}

// tick takes on what is due at now, and returns how long to wait for what is due next.
func (s *Scheduler) tick(ctx context.Context, now time.Time) (wait time.Duration) {
	wait, err := s.take(ctx, now)
	if err != nil {
		s.logFailed(ctx, err)
		return time.Second
	}
	return wait
}

func (s *Scheduler) take(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	q := s.store.Read()
	ahead, err := q.ListSchedulesAhead(ctx, store.ListSchedulesAheadParams{Now: now.UnixMilli(),
		Slack: now.Add(clockSlack).UnixMilli(), Limit: maxTaken})
	if err != nil {
		return 0, err
	}
	for _, row := range ahead {
		if err := s.planAnew(ctx, row, now); err != nil {
			return 0, err
		}
	}
	due, err := q.ListSchedulesDue(ctx, store.ListSchedulesDueParams{Now: now.UnixMilli(), Limit: maxTaken})
	if err != nil {
		return 0, err
	}
	for _, row := range due {
		if err := s.takeOne(ctx, row, now); err != nil {
			return 0, err
		}
	}
	next, err := q.NextScheduled(ctx)
	switch {
	case err != nil:
		return 0, err
	case len(next) == 0:
		return maxWait, nil
	}
	return min(max(0, time.UnixMilli(next[0]).Sub(now)), maxWait), nil
}

// planAnew plans a schedule that was planned while the clock was ahead. What was due meanwhile is not known.
func (s *Scheduler) planAnew(ctx context.Context, row store.Schedule, now time.Time) error {
	w, err := Of(row)
	if err != nil {
		return s.giveUp(ctx, row, now, err)
	}
	s.log.Warn("the clock was set back, so a schedule is planned anew", "schedule", row.ID)
	_, err = s.plan(ctx, row, store.PlanScheduleParams{NextAt: Millis(w.First(now)), PlannedAt: now.UnixMilli()})
	return err
}

// giveUp plans nothing more for a schedule that cannot be read. The API refuses such ones, so that it is from another version, or its
// time zone is gone from the system.
func (s *Scheduler) giveUp(ctx context.Context, row store.Schedule, now time.Time, cause error) error {
	s.log.Error("a schedule cannot be read, so it is not run any more", "schedule", row.ID, "cause", cause)
	last := Occurrence{At: instant(now), DueAt: instant(now), EndedAt: new(instant(now)), Status: Failed, Errors: []TargetError{},
		Message: "The schedule's time cannot be read. Enter its cron expression and its time zone again."}
	planned, err := s.plan(ctx, row, store.PlanScheduleParams{PlannedAt: now.UnixMilli(), LastRun: last.text()})
	if planned {
		s.publish(row, "schedule.ended", endedEvent{ID: row.ID, Status: last.Status})
	}
	return err
}

// plan writes where a schedule goes on. It reports false if somebody else changed the schedule meanwhile. While the database does not
// answer it tries again: a COMMIT whose answer was lost has taken the occurrence, which then nobody else runs.
func (s *Scheduler) plan(ctx context.Context, row store.Schedule, p store.PlanScheduleParams) (planned bool, err error) {
	p.ID, p.Revision, p.Due = row.ID, row.Revision, *row.NextAt
	for again := false; ; again = true {
		err = s.store.Write(ctx, func(q *store.Queries) error {
			n, err := q.PlanSchedule(ctx, p)
			if planned = n > 0; err != nil || planned || !again || p.LastRun == nil {
				return err
			}
			now, err := q.GetSchedule(ctx, store.GetScheduleParams{ID: row.ID})
			if errors.Is(err, store.ErrNoRow) {
				return nil
			}
			planned = err == nil && now.NodeID == s.cfg.Node && now.PlannedAt == p.PlannedAt && now.LastRun != nil &&
				*now.LastRun == *p.LastRun
			return err
		})
		if !errors.Is(err, store.ErrBusy) || ctx.Err() != nil {
			return planned && err == nil, err
		}
		s.logFailed(ctx, err)
		pause(ctx)
	}
}

// pause waits before something is written again that the database did not take.
func pause(ctx context.Context) {
	select {
	case <-time.After(writePause):
	case <-ctx.Done():
	}
}

// takeOne takes a schedule on that is due: it runs the occurrence that is in time, and counts those that were missed.
func (s *Scheduler) takeOne(ctx context.Context, row store.Schedule, now time.Time) error {
	w, err := Of(row)
	if err != nil {
		return s.giveUp(ctx, row, now, err)
	}
	due := time.UnixMilli(*row.NextAt)
	missed, last := w.passed(due, now, grace)
	o := &occurrence{row: row, outcome: Occurrence{At: instant(now), DueAt: instant(last), Status: Running, Errors: []TargetError{}}}
	acts := !last.IsZero() || row.CatchUp
	switch {
	case !last.IsZero():
		missed--
	case acts:
		o.outcome.DueAt, o.outcome.CaughtUp = instant(due), true
	}
	p := store.PlanScheduleParams{NextAt: Millis(w.After(due, now)), PlannedAt: now.UnixMilli(), Missed: missed}
	if missed > 0 {
		p.MissedAt = new(now.UnixMilli())
	}
	skipped, first := false, false
	if acts {
		if skipped, first, err = s.begin(ctx, o, &p); err != nil {
			return err
		}
	}
	began := time.Now()
	planned, err := s.plan(ctx, row, p)
	if planned && missed > 0 {
		s.log.Warn("a schedule missed occurrences", "schedule", row.ID, "missed", missed, "since", due.UTC())
		s.publish(row, "schedule.missed", missedEvent{o.outcome.CaughtUp, row.ID, missed, instant(due)})
	}
	if planned && first {
		s.publish(row, "schedule.skipped", skippedEvent{o.outcome.DueAt, row.ID})
	}
	if acts && !skipped {
		s.launch(ctx, o, planned, time.Since(began) > grace && !row.CatchUp)
	}
	return err
}

// launch runs an occurrence beside the caller, if it was planned. If that took too long, it is recorded as interrupted.
func (s *Scheduler) launch(ctx context.Context, o *occurrence, planned, late bool) {
	switch {
	case !planned:
		s.end(o)
	case late:
		o.outcome.Status = Interrupted
		s.record(ctx, o)
		s.end(o)
	default:
		s.occurrences.Go(func() { s.run(ctx, o) })
	}
}

// begin notes that an occurrence goes on, and what its row says of it. If the one before still goes on, skipped is true, and first for the
// first one that it skips.
func (s *Scheduler) begin(ctx context.Context, o *occurrence, p *store.PlanScheduleParams) (skipped, first bool, err error) {
	if skipped, first, err = s.goesOnElsewhere(ctx, o.row); err != nil {
		return false, false, err
	}
	if !skipped {
		skipped, first = s.beginHere(o)
	}
	if skipped {
		p.Skipped, p.SkippedAt = 1, &p.PlannedAt
	} else {
		p.LastRun, p.NodeID = o.outcome.text(), &s.cfg.Node
	}
	return skipped, first, nil
}

// beginHere is begin for the occurrences that this server runs.
func (s *Scheduler) beginHere(o *occurrence) (skipped, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.underway[o.row.ID]; before != nil {
		first, before.skips = !before.skips, true
		return true, first
	}
	s.underway[o.row.ID] = o
	return false, false
}

// goesOnElsewhere reports whether another server that lives runs an occurrence of a schedule, and whether no later one was skipped yet.
func (s *Scheduler) goesOnElsewhere(ctx context.Context, row store.Schedule) (goesOn, first bool, err error) {
	if s.cfg.Node == "" || row.NodeID == s.cfg.Node || row.LastRun == nil {
		return false, false, nil
	}
	var last Occurrence
	if err := json.Unmarshal([]byte(*row.LastRun), &last); err != nil || last.Status != Running {
		return false, false, err
	}
	goesOn, err = s.cfg.Nodes.Lives(ctx, row.NodeID)
	return goesOn, row.SkippedAt == nil || *row.SkippedAt < last.At.UnixMilli(), err
}

// end notes that an occurrence does not go on any more.
func (s *Scheduler) end(o *occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.underway, o.row.ID)
}

func (s *Scheduler) publish(row store.Schedule, kind string, data any) {
	s.events.Publish(events.Event{Type: kind, Workspace: row.WorkspaceID, Data: data})
}

// Millis returns a time as the database has it; nil for the zero time.
func Millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMilli())
}

// instant is a time as answers have it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// text returns the outcome as the database has it.
func (o Occurrence) text() *string {
	b, err := json.Marshal(o)
	if err != nil { // plain values always marshal
		return nil
	}
	return new(string(b))
}
