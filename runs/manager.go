package runs

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/snapshots"
	"warren/store"
)

// Keeps the map of runs. Each profile has one owner goroutine, which alone changes its run from start to end. The map's
// mutex is held for lookups and inserts only. A run lives as long as the server, not as long as a request.

// Manager starts, changes and ends the runs of one data folder.
type Manager struct {
	cfg    Config
	log    *slog.Logger
	store  *store.Store
	events *events.Log
	pool   *pool.Pool
	exe    string // this program, which also serves as the shim
	dir    string // folder of the runs' sockets and reports

	ctx      context.Context // ends with the server
	startSem chan struct{}   // one token per browser that is being launched
	queued   atomic.Int64
	queue    queue
	settling settling
	spares   *shim.Spares
	groups   *groups
	warm     *warmRuns

	snapshots *snapshots.Keeper
	collected time.Time // when the sweep last deleted what no snapshot needs

	leakTestSem chan struct{} // one token for the leak test that runs
	packages    packages

	mu            sync.Mutex
	byProfile     map[string]*run
	byCap         map[[32]byte]*Capability // by the secret's SHA-256
	pendingEnds   map[string][]*pendingEnd // by profile, oldest first
	retrying      bool                     // they are tried again
	pickedProxies map[string]string        // by profile: the proxy picked by tag for its run or for its pending start
	pickMu        sync.Mutex               // held while a proxy is picked
	flushing      sync.Mutex               // held while pending ends are written
	closing       bool
	refusal       *problem.Error // of every start; nil: none
	wg            sync.WaitGroup

	found   atomic.Pointer[foundBrowser]
	listed  atomic.Pointer[listedBrowsers]
	catalog shim.Catalog
	machine machineMeter
	tally   runTally
	census  census // of the runs in byProfile
}

// New makes a manager of the runs of cfg.Data. No run begins before Adopt or Start. When ctx ends, the manager releases
// its runs.
func New(ctx context.Context, cfg Config, log *slog.Logger, st *store.Store, ev *events.Log, px *pool.Pool) (*Manager, error) {
	exe := cfg.Executable
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	m := &Manager{cfg: cfg, log: log, queue: queue{limit: cfg.MaxRunning}, warm: newWarmRuns(),
		groups: openGroups(cfg, log), store: st, events: ev, pool: px, exe: exe,
		dir: filepath.Join(cfg.Data, "run"),
		ctx: ctx, startSem: make(chan struct{}, cfg.MaxStarting), leakTestSem: make(chan struct{}, 1), byProfile: map[string]*run{},
		byCap: map[[32]byte]*Capability{}, pendingEnds: map[string][]*pendingEnd{}, pickedProxies: map[string]string{}}
	m.tally.spans = cfg.Spans
	m.snapshots = snapshots.New(cfg.Data, log, st, ev)
	m.spares = shim.NewSpares(exe, m.dir, log)
	m.machine.sample(time.Now())
	return m, nil
}

// profile reads a profile that the scope allows. A profile in the trash is not found.
func (m *Manager) profile(ctx context.Context, sees store.Scope, id string) (store.Profile, error) {
	row, err := m.store.Profile(ctx, sees, id, false)
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("profile")
	}
	return row, err
}

// runOf returns the profile's run; nil if it has none.
func (m *Manager) runOf(profileID string) *run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byProfile[profileID]
}

// runningProcess returns the profile's run and the connection to its process; both nil if it does not run. During a
// start it fails, because the start empties the folder.
func (m *Manager) runningProcess(profileID string) (*run, *shim.Client, error) {
	run := m.runOf(profileID)
	if run == nil || run.isHold {
		return nil, nil, nil
	}
	client, err := run.process()
	if err != nil {
		return nil, nil, StartsJustNow()
	}
	return run, client, nil
}

// Status returns a profile's current status and run. resting is the status to use if there is no run (StatusAtRest).
func (m *Manager) Status(profileID, resting string) (string, *Info) {
	m.mu.Lock()
	r, pending := m.byProfile[profileID], m.pendingEnds[profileID]
	m.mu.Unlock()
	if r == nil || r.isHold {
		return statusWithPending(pending, resting), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == ended && r.endReport != nil:
		return r.endReport.Status, nil
	case r.state == ended:
		return r.statusBefore, nil
	case r.answer == nil || r.state == starting:
		return r.state.String(), nil
	}
	j := r.info()
	return j.Status, &j
}

// announce writes the run's status to the database and publishes it. Only the run's owner calls it. A failed write is
// logged, because the state in memory counts while the run exists.
func (m *Manager) announce(r *run) {
	status := r.now().String()
	m.recordStatus(r.profileID, status) //nolint:errcheck // logged by recordStatus; the state in memory counts
	m.publish(r, "profile.status", statusEvent{r.profileID, status})
}

// claim registers r as the profile's only run, or returns the existing one.
func (m *Manager) claim(r *run) (*run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return nil, false, pool.Stopping()
	}
	if have := m.byProfile[r.profileID]; have != nil {
		return have, false, nil
	}
	if err := m.mayStart(); err != nil && !r.isHold {
		return nil, false, err
	}
	if r.refused != nil {
		return nil, false, r.refused
	}
	if r.most != nil && int64(m.countIn(r.workspaceID)) >= *r.most {
		return nil, false, QuotaExceeded(r.workspaceID, "running")
	}
	m.byProfile[r.profileID] = r
	r.count(&m.census)
	m.wg.Add(1)
	return r, true, nil
}

// RunningIn returns how many profiles of a workspace run here, those that start and that end included.
func (m *Manager) RunningIn(workspace string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.countIn(workspace)
}

// countIn is RunningIn for a caller that holds mu.
func (m *Manager) countIn(workspace string) (n int) {
	for _, r := range m.byProfile {
		if !r.isHold && r.workspaceID == workspace {
			n++
		}
	}
	return n
}

// inBackground runs fn beside the caller, unless the server is stopping. Wait waits for it.
func (m *Manager) inBackground(fn func()) {
	leave, err := m.beginWork()
	if err != nil {
		return
	}
	go func() {
		defer leave()
		fn()
	}()
}

// beginWork counts background work that is no run, so that Wait waits for it. leave ends it.
func (m *Manager) beginWork() (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return nil, pool.Stopping()
	}
	m.wg.Add(1)
	return m.wg.Done, nil
}

// release removes the run and wakes everyone who waits for its end.
func (m *Manager) release(r *run) {
	m.mu.Lock()
	delete(m.byProfile, r.profileID)
	r.count(nil)
	delete(m.pickedProxies, r.profileID)
	if next := r.successor; next != nil { // the successor inherits the queue slot, so that no other start takes it
		m.byProfile[r.profileID] = next
		next.count(&m.census)
		if !next.isHold {
			next.isRestart, next.slot, r.slot = true, r.slot, nil
		}
	}
	m.dropCapabilities(r)
	m.mu.Unlock()
	r.to(ended)
	m.queue.release(r.slot)
	close(r.done)
	m.wg.Done()
}

// Stop ends a profile's run, or cancels its start. ran reports whether there was a run. last is nil if its browser never
// ran. A run that cannot be ended is an error.
func (m *Manager) Stop(ctx context.Context, profileID string, force bool) (last *End, ran bool, err error) {
	r, next := m.endAll(profileID, force)
	if r == nil {
		return nil, false, nil
	}
	done := r.done
	if next != nil {
		done = next.done // the successor ends after the current run
	}
	select {
	case <-done:
		return r.endReport, !r.isHold, nil
	case <-time.After(3 * StopTime):
		return nil, !r.isHold, CannotEnd()
	case <-ctx.Done():
		return nil, !r.isHold, ctx.Err()
	}
}

// Hold stops a profile's run and prevents a new one until release is called.
func (m *Manager) Hold(ctx context.Context, profileID string) (release func(), err error) {
	for {
		release, have, err := m.tryHold(profileID)
		if err != nil || release != nil {
			return release, err
		}
		m.endAll(profileID, false)
		select {
		case <-have.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryHold prevents a profile from starting until release is called. If the profile runs, release is nil and have the run.
func (m *Manager) tryHold(profileID string) (release func(), have *run, err error) {
	hold := newHold(profileID)
	have, mine, err := m.claim(hold)
	if err != nil || !mine {
		return nil, have, err
	}
	return func() { m.release(hold) }, hold, nil
}

// List returns the running and stopping runs in workspaces that the scope allows, newest first. A workspace other than
// "" narrows the list to that one.
func (m *Manager) List(sees store.Scope, workspace string) []Info {
	m.mu.Lock()
	all := make([]*run, 0, len(m.byProfile))
	for _, r := range m.byProfile {
		if sees.Sees(r.workspaceID) && (workspace == "" || workspace == r.workspaceID) {
			all = append(all, r)
		}
	}
	m.mu.Unlock()
	out := []Info{}
	for _, r := range all {
		r.mu.Lock()
		if r.answer != nil && (r.state == running || r.state == stopping) {
			out = append(out, r.info())
		}
		r.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(b.RunID, a.RunID) })
	return out
}

// KeepSpare keeps a process ready for the next start, until Shutdown.
func (m *Manager) KeepSpare() { m.spares.Keep() }

// Shutdown refuses new starts and closes every run gracefully. With KeepBrowsers it leaves the runs to the next server.
func (m *Manager) Shutdown(ctx context.Context) {
	m.mu.Lock()
	m.closing = true
	ids := slices.Collect(maps.Keys(m.byProfile))
	m.mu.Unlock()
	m.spares.Close()
	if m.cfg.KeepBrowsers {
		return
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			if _, _, err := m.Stop(ctx, id, false); err != nil && !errors.Is(err, context.Canceled) {
				m.log.Error("a run did not end in time", "profile", id, "cause", err)
			}
		})
	}
	wg.Wait()
	m.awaitHolds(ctx)
}

// awaitHolds waits for what goes on with profiles that do not run, such as the snapshots of runs that were just closed. When ctx
// ends, the next server makes those.
func (m *Manager) awaitHolds(ctx context.Context) {
	m.mu.Lock()
	var holds []*run
	for _, r := range m.byProfile {
		if r.isHold {
			holds = append(holds, r)
		}
	}
	m.mu.Unlock()
	for _, r := range holds {
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
	}
}

// Wait returns when every run is released and all background work is done.
func (m *Manager) Wait() {
	m.wg.Wait()
	m.groups.tree.Close()
}

// Refuse makes every start and restart fail with p; nil: starts are taken. What runs or starts already goes on.
func (m *Manager) Refuse(p *problem.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = p
}

// EndRuns has every run and start end in order, since their profiles are not this server's any more. It does not wait for them.
func (m *Manager) EndRuns() {
	m.mu.Lock()
	var ids []string
	for id, r := range m.byProfile {
		if !r.isHold {
			ids = append(ids, id)
		}
	}
	m.mu.Unlock()
	for _, id := range ids {
		m.endAll(id, false)
	}
}

// mayStart returns why no run may begin; nil: it may. The caller holds m.mu.
func (m *Manager) mayStart() error {
	if m.refusal != nil {
		return m.refusal
	}
	return nil
}

// CountRuns returns how many profiles run or stop now.
func (m *Manager) CountRuns() int {
	return count(&m.census.at[running]) + count(&m.census.at[stopping])
}
