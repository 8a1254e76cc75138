package runs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"warren/cgroup"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// run is one life of a profile's browser, from start to exit.
type run struct {
	id, profileID, workspaceID string
	name                       string // base name of its files
	most                       *int64 // runs of its workspace at once; nil: no limit
	refused                    error  // why it must not be begun; nil: it may
	isHold                     bool   // a placeholder that prevents a start (Hold); it has no browser
	statusBefore               string // the profile's status before the start
	isRestart                  bool   // the run replaced another one (Restart)

	successor *run // replaces this run when it ends; nil: none. Guarded by Manager.mu

	mu           sync.Mutex
	state        stage // only to writes it
	answer       *Started
	startedWith  *startedWith // nil if no record of the start can be read
	packages     []string     // SHA-256 of the packages of extensions that it loads or has loaded
	pendingCheck *exitLookup  // the exit check that outlasted the start
	waiters      int          // callers that wait for the start
	frozenSince  *time.Time   // nil: the browser is not frozen
	countedIn    *census      // nil: it is not in Manager.byProfile, or is a hold
	client       *shim.Client

	debugKey string // the key for which the debug port is open; "" none

	capabilitiesMu    sync.Mutex // held while capabilities are changed
	ownSecretMu       sync.Mutex // held while a key's own capability is created
	endedCapabilities []string   // ids of revoked and expired capabilities. Guarded by Manager.mu

	reconciling   sync.Mutex          // held during a reconciliation
	proxies       []shim.UpstreamMark // in order of use, the profile's proxy first; none: direct
	upstreamAt    int                 // index in proxies of the one in use
	rules         *shim.Rules         // host rules in force; nil: not known
	proxyOverride bool                // the start named a proxy for this run alone; the profile's does not apply

	recorded recordedTraffic // traffic that is already in the database

	phases shim.Stopwatch // of its start. Only the owner uses it before ready is closed; constant afterwards

	slot      *slot         // in the start queue, or held by the run; nil: none. Only the owner uses it
	abandoned chan struct{} // closed when no caller waits for the start any more

	cancel    context.CancelFunc // cancels the launch
	stopc     chan struct{}      // closed when a stop is requested
	killc     chan struct{}      // closed when a forced stop is requested
	ready     chan struct{}      // closed when the start has succeeded or failed
	caughtUp  chan struct{}      // closed when an adopted run has got what changed before; nil: there is nothing to wait for
	err       error              // why the start failed; valid after ready is closed
	done      chan struct{}      // closed when the end is recorded
	endReport *End               // valid after done is closed
}

func newRun(id, profileID, workspaceID string, s stage) *run {
	return &run{id: id, name: Name(id), profileID: profileID, workspaceID: workspaceID, state: s, statusBefore: "stopped",
		cancel: func() {}, stopc: make(chan struct{}), killc: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{}),
		abandoned: make(chan struct{})}
}

// newHold makes a placeholder that prevents a profile from starting.
func newHold(profileID string) *run {
	hold := newRun("", profileID, "", stopping)
	hold.isHold = true
	close(hold.ready)
	return hold
}

// requestEnd asks the run's owner to end it. A start in progress is cancelled.
func (r *run) requestEnd(force bool) {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isClosed(r.stopc) {
		close(r.stopc)
	}
	if force && !isClosed(r.killc) {
		close(r.killc)
	}
}

// isRunning reports whether the run has started and is not stopping.
func (r *run) isRunning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == running && r.client != nil
}

// process returns the connection to the run's process. The error is profile_not_running before the browser is ready.
func (r *run) process() (*shim.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil {
		return nil, problem.New(problem.Conflict, "profile_not_running", "The profile's browser is not ready yet.")
	}
	return r.client, nil
}

// stage is where a run is between its claim and its recorded end.
type stage uint8

const (
	starting stage = iota // being planned, queued or launched
	running               // its start is recorded, or it was adopted
	stopping              // a stop was requested; a hold is always in this state
	ended                 // its end is recorded, or its start failed
)

// String returns the state's name in the API and the database. An ended run has no such name, because its profile shows
// the status of its last run.
func (s stage) String() string { return [...]string{"starting", "running", "stopping", "ended"}[s] }

// successors returns the states that may follow s.
func (s stage) successors() []stage {
	return [...][]stage{
		starting: {running, ended},
		running:  {stopping, ended},
		stopping: {ended},
		ended:    nil,
	}[s]
}

// to moves the run to the next state. It returns false and changes nothing if next may not follow. Nothing else writes
// the state.
func (r *run) to(next stage) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.state.successors(), next) {
		return false
	}
	r.recount(func() { r.state = next })
	return true
}

// count has the run counted in a census from now on; nil: in none.
func (r *run) count(in *census) {
	if r.isHold {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recount(func() { r.countedIn = in })
}

// recount changes what the census counts. r.mu is held.
func (r *run) recount(change func()) {
	r.addTo(r.countedIn, -1)
	change()
	r.addTo(r.countedIn, 1)
}

func (r *run) addTo(c *census, n int64) {
	if c == nil {
		return
	}
	c.at[r.state].Add(n)
	if r.frozenSince != nil && r.state == running {
		c.frozen.Add(n)
	}
}

// now returns the run's state.
func (r *run) now() stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// The types that a run's process takes and returns.
type (
	// Process is a connection to the process of one run.
	Process = shim.Client
	// Rights are what a client of a run may do.
	Rights = shim.Rights
	// Shot describes a screenshot of a page.
	Shot = shim.Shot
	// Paper describes a page printed to PDF.
	Paper = shim.Paper
	// PageError is the reason why a screenshot or PDF failed.
	PageError = shim.PageError
	// Installed is a browser of this machine.
	Installed = shim.Installed
	// Download is a file that a browser downloads or has downloaded.
	Download = shim.Download
	// Phase is a part of a start and the time that it took.
	Phase = shim.Phase
	// ListedBrowser is a browser of this machine and the place where it was found.
	ListedBrowser = shim.Listed
	// InstallProgress says how far the installation of a browser is.
	InstallProgress = shim.InstallProgress
)

// TicketProtocol is the prefix of the WebSocket subprotocol that carries a ticket.
const TicketProtocol = shim.TicketProtocol

// life is the one owner of a run: it plans, queues, launches and records the run, then supervises it to its end. Changes
// that arrive before the start is answered are reconciled first.
func (m *Manager) life(ctx context.Context, r *run, o Options, makePlan func() (*plan, error)) {
	defer r.cancel()
	p, err := makePlan()
	if err == nil {
		err = m.enterStartQueue(r)
	}
	if err != nil { // nothing has begun, so the profile keeps its status
		m.tally.started(err, r.phases.Phases)
		r.err = err
		m.release(r)
		close(r.ready)
		return
	}
	p.spec.RunID, p.spec.Name = r.id, r.name
	if err := m.launch(ctx, r, p); err != nil {
		m.tally.started(err, r.phases.Phases)
		r.err = err
		m.recordFailedStart(r, err)
		close(r.ready)
		return
	}
	m.reconcile(m.ctx, r, Change{FollowProfile: !o.Proxy.Set})
	if r.pendingCheck != nil && !isClosed(r.pendingCheck.done) { // the start did not wait for the check
		m.reconcileAfterCheck(r, r.pendingCheck)
	}
	r.phases.Lap("record")
	m.tally.started(nil, r.phases.Phases)
	close(r.ready)
	m.supervise(r)
}

// recordFailedStart records a start that failed. If no browser was launched, the profile returns to its former status. A run that may have
// been recorded gets an end.
func (m *Manager) recordFailedStart(r *run, err error) {
	p, ok := errors.AsType[*problem.Error](err)
	if errors.Is(err, store.ErrUnknown) {
		p, ok = problem.Hidden(err), true
	}
	if !ok || p.Kind.OfCaller() || p.Code == "proxy_unreachable" || p.Code == "capacity_exceeded" || p.Code == "server_stopping" {
		r.to(ended)
		m.writeEnd(r.profileID, &pendingEnd{status: r.statusBefore})
		m.publish(r, "profile.status", statusEvent{r.profileID, r.statusBefore})
		m.release(r)
		return
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	end := &End{RunID: r.id, StartedAt: at, EndedAt: at, Status: "failed", Reason: "start_failed"}
	if output, ok := p.Details.(LastWords); ok {
		end.Lines = output.Lines
		if output.ExitCode != nil {
			end.ExitCode = *output.ExitCode
		}
	}
	m.recordAndRelease(r, end)
	m.publish(r, "run.ended", endedEvent{ID: r.profileID, Reason: "start_failed", RunID: r.id, Status: "failed"})
	m.log.Warn("a start failed", "profile", r.profileID, "run", r.id, "code", p.Code, "cause", err)
}

// forceTime is how long a run's process may take for a forced stop before it is killed.
const forceTime = 5 * time.Second

// supervise watches a running browser, stops it on request and records its end.
func (m *Manager) supervise(r *run) {
	stopc, killc := r.stopc, r.killc
	var timeout <-chan time.Time
	for !isClosed(r.client.Done()) {
		select {
		case <-r.client.Done():
		case <-stopc:
			if stopc = nil; killc != nil { // else a forced stop is under way, with its own timeout
				timeout = time.After(StopTime)
			}
			r.to(stopping)
			m.announce(r)
			go m.requestStop(r, false)
		case <-killc:
			killc, timeout = nil, time.After(forceTime)
			go m.requestStop(r, true)
		case n := <-r.client.Notices():
			m.onNotice(r, n)
		case <-timeout:
			timeout = nil
			m.log.Error("a run's process does not answer; it is killed", "profile", r.profileID, "run", r.id, "cause", r.client.Kill())
		case <-m.ctx.Done(): // the server stops; the shim lives on, or was stopped by Shutdown
			if !isClosed(r.client.Done()) {
				r.client.Release()
				m.release(r)
				return
			}
		}
	}
	r.mu.Lock()
	startedAt := r.answer.StartedAt
	r.mu.Unlock()
	last := newEnd(r.id, startedAt, r.client.End())
	end := r.client.End()
	used := m.groups.end(r.profileID, r.group())
	last.setUsage(used, end)
	m.tally.end(r, last.Reason, end, used)
	m.finish(r, last)
}

// requestStop sends a stop request to the run's shim. The owner sees the end by itself.
func (m *Manager) requestStop(r *run, force bool) {
	if _, err := r.client.Stop(m.ctx, force); err != nil && m.ctx.Err() == nil {
		m.log.Warn("a run's process refuses to stop", "profile", r.profileID, "run", r.id, "cause", err)
	}
}

// finish records and publishes the end of a run that had a browser.
func (m *Manager) finish(r *run, last *End) {
	restarts := m.hasSuccessor(r)
	m.recordAndRelease(r, last)
	m.publish(r, "run.ended", endedEvent{r.profileID, last.Reason, &restarts, r.id, last.Status, last.Memory})
	m.log.Info("run ended", "profile", r.profileID, "run", r.id, "reason", last.Reason, "method", last.Method, "exit", last.ExitCode)
}

// newEnd converts a shim's end report.
func newEnd(runID string, startedAt time.Time, e shim.End) *End {
	l := &End{RunID: runID, StartedAt: startedAt, EndedAt: e.EndedAt.UTC().Truncate(time.Millisecond), Status: "stopped",
		Reason: string(e.Outcome), Method: string(e.Method), ExitCode: e.ExitCode, Signal: e.Signal,
		BytesUp: e.BytesUp, BytesDown: e.BytesDown, ByRules: e.ByRules, Lines: e.Lines, traffic: e.Traffic, hosts: e.Hosts}
	if e.Outcome == shim.Failed {
		l.Reason = "crashed"
	}
	if e.Outcome == shim.Failed || e.Outcome == shim.Lost {
		l.Status = "failed"
	}
	l.DurationMs = max(0, l.EndedAt.Sub(l.StartedAt).Milliseconds()) // the clock may have been set back meanwhile
	return l
}

// onNotice handles a notice of the run's process.
func (m *Manager) onNotice(r *run, n shim.Notice) {
	switch n.Reason {
	case shim.ReasonMoved:
		m.proxyFailed(r, n)
		return
	case shim.ReasonFrozen:
		m.onFrozen(r, n.Since)
		return
	}
	var ends *time.Time
	if n.EndsAt != nil {
		ends = new(n.EndsAt.UTC().Truncate(time.Millisecond))
	}
	m.publish(r, "run.expiring", expiringEvent{ends, r.profileID, n.Reason, r.id})
}

// group returns the run's control group; nil: it has none.
func (r *run) group() *cgroup.Group {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.startedWith == nil {
		return nil
	}
	return r.startedWith.Group
}

// onFrozen handles the notice that the run's browser is frozen; nil: that it goes on.
func (m *Manager) onFrozen(r *run, since *time.Time) {
	if !r.setFrozen(since) {
		return
	}
	if since == nil {
		m.publish(r, "run.thawed", runEvent{r.profileID, r.id})
		return
	}
	m.publish(r, "run.frozen", frozenEvent{r.profileID, r.id, since.UTC().Truncate(time.Millisecond)})
}

// setFrozen sets since when the run's browser is frozen, and reports whether that is news.
func (r *run) setFrozen(since *time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.frozenSince == since || r.frozenSince != nil && since != nil && r.frozenSince.Equal(*since)
	r.recount(func() { r.frozenSince = since })
	return !same
}

// info returns what everybody may know of the run. r.mu is held, and the run has an answer.
func (r *run) info() Info {
	j := r.answer.Info
	j.Status = r.state.String()
	if r.frozenSince != nil {
		j.FrozenSince = new(r.frozenSince.UTC().Truncate(time.Millisecond))
	}
	return j
}
