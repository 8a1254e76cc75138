package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warren/proxy"
	"warren/shim"
	"warren/store"
)

// This file holds what runs. The rules are: one owner per profile, a goroutine that lives from start to end and alone
// changes the run; the map's mutex is held for lookups and inserts only; a run's life hangs on the server, never on a request.

// runs knows every run of this data folder.
type runs struct {
	cfg     *serveConfig
	log     *slog.Logger
	store   *store.Store
	events  *events
	checks  proxy.CheckGroup[*checkJSON] // of saved proxies
	limiter *proxy.FairLimiter           // of checks of many
	// exitMoved is called when a check finds that a proxy comes out elsewhere than before.
	exitMoved func(ctx context.Context, workspace, proxyID string)
	exe       string // this very binary, which is also the shim
	dir       string // the runs' sockets and reports

	ctx    context.Context // the server's life
	slots  chan struct{}   // as many browsers start at once as there are places
	queued atomic.Int64
	room   room

	testing chan struct{} // holds the one leak test that runs

	mu        sync.Mutex
	byProfile map[string]*profileRun
	byCap     map[[32]byte]*capability // by the secret's SHA-256
	owed      map[string][]*owedEnd    // by profile, the oldest first
	chosen    map[string]string        // by profile: the proxy that its start under way, or its run, was given by a tag
	picking   sync.Mutex               // held while one is chosen
	paying    sync.Mutex               // held while they are written
	closing   bool
	wg        sync.WaitGroup

	moved func(*profileRun, shim.Notice) // is told when a run's proxy was dead and it goes on through the next

	found   atomic.Pointer[foundBrowser]
	listed  atomic.Pointer[listedBrowsers]
	catalog shim.Catalog
	machine machineMeter
	sockets keyedSockets
}

// profileRun is one life of a profile's browser, from start to exit.
type profileRun struct {
	id, profileID, workspaceID string
	name                       string // of its files
	bar                        bool   // no run at all: it keeps one from starting
	before                     string // the profile's status before the start
	restarted                  bool   // it took the place of another run

	next *profileRun // takes its place when it ends; nil: none. The map's mutex is held for it

	mu     sync.Mutex
	status string // starting, running, stopping
	answer *startJSON
	began  *startedWith // what it was started with; nil when no record of it can be read
	late   *exitLookup  // a check that was not over when the start was
	wanted int          // how many wait for its start
	client *shim.Client

	debugKey string // for which its port for debuggers is open; "" none

	granting sync.Mutex // held while its capabilities are changed
	owning   sync.Mutex // held while a key gets one of its own
	spent    []string   // of those that were made, the ids of those that are over. The map's mutex is held for it

	swap    sync.Mutex          // held while its proxy is changed
	proxies []shim.UpstreamMark // in the order of their use; none: direct
	at      int                 // the place of the one in use
	rules   *shim.Rules         // that it keeps; nil: not known
	forOnce bool                // the proxy is this run's alone, whatever the profile has

	noted noted // traffic that is written down

	place    *place        // in the queue, or among those that run; nil: none. Its owner's alone
	deserted chan struct{} // closed when nobody waits for its start any more

	cancel context.CancelFunc // of the launch
	halt   chan struct{}      // closed when it is to end
	force  chan struct{}      // closed when it is to end by force
	ready  chan struct{}      // closed when the start has succeeded or failed
	err    error              // why it failed; only after ready
	gone   chan struct{}      // closed when its end is recorded
	last   *lastRunJSON       // only after gone
}

func newRun(profileID, workspaceID, status string) *profileRun {
	return &profileRun{profileID: profileID, workspaceID: workspaceID, status: status, before: "stopped", cancel: func() {},
		halt: make(chan struct{}), force: make(chan struct{}), ready: make(chan struct{}), gone: make(chan struct{}),
		deserted: make(chan struct{})}
}

// end asks the run's owner to end it. A start under way is given up.
func (r *profileRun) end(force bool) {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isClosed(r.halt) {
		close(r.halt)
	}
	if force && !isClosed(r.force) {
		close(r.force)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lastRunJSON is how a run ended.
type lastRunJSON struct {
	RunID      string    `json:"runId"`
	StartedAt  timestamp `json:"startedAt"`
	EndedAt    timestamp `json:"endedAt"`
	DurationMs int64     `json:"durationMs"`
	Status     string    `json:"status" enum:"stopped,failed"`
	Reason     string    `json:"reason" enum:"stopped,closed,orphaned,expired,idle,crashed,lost,start_failed" doc:"closed: by its window; expired: maxRunMs; idle: idleTimeoutMs; orphaned: its server did not come back in time; lost: gone without a word."`
	Method     string    `json:"method,omitempty" doc:"What it took to end the browser: close, interrupt or kill."`
	ExitCode   int       `json:"exitCode"`
	Signal     string    `json:"signal,omitempty"`
	BytesUp    int64     `json:"bytesUp"`
	BytesDown  int64     `json:"bytesDown"`
	ByRules    int64     `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused."`
	Lines      []string  `json:"lines,omitempty" doc:"The browser's last lines, after a failure."`

	traffic []shim.Traffic // what the run said at its end
	hosts   *shim.Hosts
}

// runName names the run's files: the last 12 digits of its id, which are random (RFC 9562, 5.7), since a socket's path is short.
func runName(runID string) string { return runID[max(0, len(runID)-12):] }

func newRuns(ctx context.Context, cfg *serveConfig, log *slog.Logger, st *store.Store, ev *events, checker *proxy.Checker) (*runs, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	rs := &runs{cfg: cfg, log: log, room: room{most: cfg.MaxRunning}, store: st, events: ev, checks: proxy.CheckGroup[*checkJSON]{Checker: checker}, limiter: &proxy.FairLimiter{Slots: checksAtOnce(cfg.CheckAtOnce, openFiles())}, exe: exe, dir: filepath.Join(cfg.Data, "run"),
		ctx: ctx, slots: make(chan struct{}, cfg.MaxStarting), testing: make(chan struct{}, 1), byProfile: map[string]*profileRun{}, byCap: map[[32]byte]*capability{}, owed: map[string][]*owedEnd{}, chosen: map[string]string{},
		sockets: keyedSockets{byKey: map[string]map[context.Context]context.CancelFunc{}}}
	rs.machine.look(time.Now())
	return rs, nil
}

// of is the profile's run, nil when there is none.
func (rs *runs) of(profileID string) *profileRun {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.byProfile[profileID]
}

// look gives a profile's status and run as they are now. resting is what it is when there is no run (atRest).
func (rs *runs) look(profileID, resting string) (string, *RunJSON) {
	rs.mu.Lock()
	r, owed := rs.byProfile[profileID], rs.owed[profileID]
	rs.mu.Unlock()
	if r == nil || r.bar {
		return owedStatus(owed, resting), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answer == nil || r.status == "starting" {
		return r.status, nil
	}
	j := r.answer.RunJSON
	j.Status = r.status
	return r.status, &j
}

// move, which the run's owner alone calls, changes the run's status and tells the database and the listeners. A status that cannot be written is
// logged. While there is a run what it says counts.
func (rs *runs) move(r *profileRun, status string) error {
	r.mu.Lock()
	r.status = status
	r.mu.Unlock()
	err := rs.recordStatus(r.profileID, status)
	rs.events.publish("profile.status", r.workspaceID, map[string]any{"id": r.profileID, "status": status})
	return err
}

func (rs *runs) recordStatus(profileID, status string) error {
	return rs.record(func(ctx context.Context, q *store.Queries) error {
		_, err := q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: profileID, Status: status})
		return err
	})
}

// noteBefore keeps what the profile is before its start, for the case that nothing comes of it.
func (rs *runs) noteBefore(ctx context.Context, r *profileRun) {
	row, err := rs.store.Read().GetProfile(context.WithoutCancel(ctx), store.GetProfileParams{ID: r.profileID})
	rs.mu.Lock()
	owed := rs.owed[r.profileID]
	rs.mu.Unlock()
	if err == nil && owedStatus(owed, atRest(row)) == "failed" {
		r.before = "failed"
	}
}

func (rs *runs) record(fn func(context.Context, *store.Queries) error) error {
	ctx := context.WithoutCancel(rs.ctx)
	err := rs.store.Write(ctx, func(q *store.Queries) error { return fn(ctx, q) })
	if err != nil {
		rs.log.Error("a run's state could not be written", "cause", err)
	}
	return err
}

// claim makes the caller's run the profile's only one, or returns the one that is there.
func (rs *runs) claim(r *profileRun) (*profileRun, bool, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closing {
		return nil, false, stoppingProblem()
	}
	if have := rs.byProfile[r.profileID]; have != nil {
		return have, false, nil
	}
	rs.byProfile[r.profileID] = r
	rs.wg.Add(1)
	return r, true, nil
}

func stoppingProblem() *problem {
	return problemFor(503, "server_stopping", "The server is stopping; start again when it is back.").because(errStopped)
}

func cannotEnd() *problem {
	return conflict("profile_busy", "The run's process does not answer and could not be ended. The log says which one it is: end it by hand, then stop again.")
}

// enter counts work that is no run, so that a stop waits for it, until leave is called.
func (rs *runs) enter() (leave func(), err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closing {
		return nil, stoppingProblem()
	}
	rs.wg.Add(1)
	return rs.wg.Done, nil
}

// leave takes the run out; what waits for its end goes on.
func (rs *runs) leave(r *profileRun) {
	rs.mu.Lock()
	delete(rs.byProfile, r.profileID)
	delete(rs.chosen, r.profileID)
	if next := r.next; next != nil { // it has the place in the queue too: others who wait would else come before it
		rs.byProfile[r.profileID] = next
		next.restarted, next.place, r.place = true, r.place, nil
	}
	rs.dropCapabilities(r)
	rs.mu.Unlock()
	rs.room.leave(r.place)
	close(r.gone)
	rs.wg.Done()
}

// forceTime is how long a run's process may take to end by force, before it is killed itself.
const forceTime = 5 * time.Second

// attend sees to a run that goes on: it ends it when that is asked for, and records its end.
func (rs *runs) attend(r *profileRun) {
	halt, force := r.halt, r.force
	var late <-chan time.Time
	for !isClosed(r.client.Done()) {
		select {
		case <-r.client.Done():
		case <-halt:
			if halt = nil; force != nil { // else it ends by force already, and its time runs
				late = time.After(stopTime)
			}
			rs.move(r, "stopping") //nolint:errcheck // its end is written in any case
			go rs.tell(r, false)
		case <-force:
			force, late = nil, time.After(forceTime)
			go rs.tell(r, true)
		case n := <-r.client.Notices():
			rs.heed(r, n)
		case <-late:
			late = nil
			rs.log.Error("a run's process does not answer; it is killed", "profile", r.profileID, "run", r.id, "cause", r.client.Kill())
		case <-rs.ctx.Done(): // the server goes; the shim goes on, or was stopped by shutdown
			if !isClosed(r.client.Done()) {
				r.client.Release()
				rs.leave(r)
				return
			}
		}
	}
	r.mu.Lock()
	startedAt := r.answer.StartedAt
	r.mu.Unlock()
	rs.finish(r, lastRun(r.id, startedAt, r.client.End()))
}

// tell passes the wish to end on to the run's shim. The owner sees the end by itself.
func (rs *runs) tell(r *profileRun, force bool) {
	if _, err := r.client.Stop(rs.ctx, force); err != nil && rs.ctx.Err() == nil {
		rs.log.Warn("a run's process does not take the word to stop", "profile", r.profileID, "run", r.id, "cause", err)
	}
}

// finish is the end of a run that was there.
func (rs *runs) finish(r *profileRun, last *lastRunJSON) {
	restarts := rs.follows(r)
	rs.bury(r, last)
	rs.events.publish("run.ended", r.workspaceID, map[string]any{"id": r.profileID, "runId": r.id, "status": last.Status, "reason": last.Reason, "restarts": restarts})
	rs.log.Info("run ended", "profile", r.profileID, "run", r.id, "reason", last.Reason, "method", last.Method, "exit", last.ExitCode)
}

// lastRun puts a shim's end report into the API's words.
func lastRun(runID string, startedAt timestamp, e shim.End) *lastRunJSON {
	l := &lastRunJSON{RunID: runID, StartedAt: startedAt, EndedAt: timestamp(e.EndedAt.UnixMilli()), Status: "stopped",
		Reason: string(e.Outcome), Method: string(e.Method), ExitCode: e.ExitCode, Signal: e.Signal,
		BytesUp: e.BytesUp, BytesDown: e.BytesDown, ByRules: e.ByRules, Lines: e.Lines, traffic: e.Traffic, hosts: e.Hosts}
	if e.Outcome == shim.Failed {
		l.Reason = "crashed"
	}
	if e.Outcome == shim.Failed || e.Outcome == shim.Lost {
		l.Status = "failed"
	}
	l.DurationMs = max(0, int64(l.EndedAt-l.StartedAt)) // the clock may have been set back meanwhile
	return l
}

func (rs *runs) profileDir(id string) string { return filepath.Join(rs.cfg.Data, "profiles", id) }

// folderBytes adds up the files below dir.
func folderBytes(dir string) (sum int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error { //nolint:errcheck // what cannot be read counts nothing
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// stop ends a profile's run, or gives up its start. It says whether there was one, and how it ended: nil when its browser
// never ran. What cannot be ended is an error.
func (rs *runs) stop(ctx context.Context, profileID string, force bool) (last *lastRunJSON, ran bool, err error) {
	r, next := rs.giveUp(profileID, force)
	if r == nil {
		return nil, false, nil
	}
	gone := r.gone
	if next != nil {
		gone = next.gone // it goes after the other one
	}
	late := time.NewTimer(3 * stopTime)
	defer late.Stop()
	select {
	case <-gone:
		return r.last, !r.bar, nil
	case <-late.C:
		return nil, !r.bar, cannotEnd()
	case <-ctx.Done():
		return nil, !r.bar, ctx.Err()
	}
}

// close stops a profile's run and keeps a new one from starting until release is called.
func (rs *runs) close(ctx context.Context, profileID string) (release func(), err error) {
	bar := newRun(profileID, "", "stopping")
	bar.bar = true
	close(bar.ready)
	for {
		have, mine, err := rs.claim(bar)
		if err != nil {
			return nil, err
		}
		if mine {
			return func() { rs.leave(bar) }, nil
		}
		rs.giveUp(profileID, false)
		select {
		case <-have.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// bar keeps a profile from starting until release is called; nil when it runs, or the server stops.
func (rs *runs) bar(profileID string) (release func()) {
	bar := newRun(profileID, "", "stopping")
	bar.bar = true
	close(bar.ready)
	if _, mine, err := rs.claim(bar); err != nil || !mine {
		return nil
	}
	return func() { rs.leave(bar) }
}

// list gives the runs that go on and that c may see, newest first.
func (rs *runs) list(c *caller, workspace string) []RunJSON {
	rs.mu.Lock()
	all := make([]*profileRun, 0, len(rs.byProfile))
	for _, r := range rs.byProfile {
		if c.sees(r.workspaceID) && (workspace == "" || workspace == r.workspaceID) {
			all = append(all, r)
		}
	}
	rs.mu.Unlock()
	out := []RunJSON{}
	for _, r := range all {
		r.mu.Lock()
		if r.answer != nil && r.status != "starting" {
			j := r.answer.RunJSON
			j.Status = r.status
			out = append(out, j)
		}
		r.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b RunJSON) int { return strings.Compare(b.RunID, a.RunID) })
	return out
}

// shutdown refuses new starts and closes every run gracefully, or leaves them to the next server.
func (rs *runs) shutdown(ctx context.Context) {
	rs.mu.Lock()
	rs.closing = true
	ids := make([]string, 0, len(rs.byProfile))
	for id := range rs.byProfile {
		ids = append(ids, id)
	}
	rs.mu.Unlock()
	if rs.cfg.KeepBrowsers {
		return
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if _, _, err := rs.stop(ctx, id, false); err != nil && !errors.Is(err, context.Canceled) {
				rs.log.Error("a run did not end in time", "profile", id, "cause", err)
			}
		})
	}
	wg.Wait()
}
