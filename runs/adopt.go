package runs

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Adopts the runs that an earlier server left. Nothing is removed of a process that may still live.

// maxAdopting is how many runs are adopted concurrently. Each takes file descriptors.
const maxAdopting = 32

// adopting runs functions, maxAdopting of them at once.
type adopting struct {
	sem chan struct{}
	wg  sync.WaitGroup
}

func newAdopting() *adopting { return &adopting{sem: make(chan struct{}, maxAdopting)} }

// begin waits until fewer than maxAdopting functions run.
func (a *adopting) begin(fn func()) {
	a.sem <- struct{}{}
	a.wg.Go(func() {
		defer func() { <-a.sem }()
		fn()
	})
}

// Adopt takes over the runs of an earlier server. It records the end of those that are gone. When it returns, every
// run is known. What changed in the last moments of that server is sent to them afterwards: until then they run as they
// did without a server, through the proxy that they have. A start that joins one waits for that.
func (m *Manager) Adopt(ctx context.Context) error {
	if err := m.claimData(ctx); err != nil {
		return err
	}
	open, err := m.store.Read().ListOpenRuns(ctx, m.cfg.Node)
	if err != nil {
		return err
	}
	newest := map[string]string{} // by profile; rows come oldest first
	for _, row := range open {
		newest[row.ProfileID] = row.ID
	}
	known, answering := map[string]bool{}, make([]*run, len(open))
	now := newAdopting()
	for i, row := range open {
		known[Name(row.ID)] = true
		if newest[row.ProfileID] == row.ID {
			now.begin(func() { answering[i] = m.adoptOne(ctx, row) })
		} else { // the profile has a later run, so this one has ended without a record
			now.begin(func() { m.recordSuperseded(row) })
		}
	}
	names, err := shim.Names(m.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			now.begin(func() { m.closeOrphan(ctx, name) })
		}
	}
	now.wg.Wait()
	m.sweepGroups()
	m.inBackground(func() { m.catchUp(answering) })
	m.inBackground(func() {
		if n := m.groups.tree.RemoveStale(); n > 0 {
			m.log.Info("control groups that servers of other data folders have left are removed", "groups", n)
		}
	})
	// Without a run, a profile that is starting or stopping is stopped.
	return m.store.Write(ctx, func(q *store.Queries) error {
		for _, status := range []string{"starting", "stopping"} {
			_, err := q.ResetStatus(ctx, store.ResetStatusParams{FromStatus: status, ToStatus: "stopped", NodeID: m.cfg.Node})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// catchUp reconciles runs that were adopted.
func (m *Manager) catchUp(adopted []*run) {
	later := newAdopting()
	for _, r := range adopted {
		if r != nil {
			later.begin(func() {
				defer close(r.caughtUp)
				m.reconcileAdopted(m.ctx, r)
			})
		}
	}
	later.wg.Wait()
}

// recordSuperseded records the end of a run that is not its profile's last. The profile's status and last run stay.
func (m *Manager) recordSuperseded(row store.Run) {
	end := shim.Remains(m.dir, Name(row.ID), "") // its processes are gone, because a later run locked the profile's folder
	last := newEnd(row.ID, Millis(row.StartedAt), end)
	m.writeEnd(row.ProfileID, &pendingEnd{name: Name(row.ID), end: last, superseded: true})
	m.log.Info("the end of an earlier run is recorded", "profile", row.ProfileID, "run", row.ID, "reason", last.Reason)
}

// adoptOne adopts one run, and returns it if its process answers and the run is to be reconciled. A run whose process
// does not answer, but may live, is held until it answers.
func (m *Manager) adoptOne(ctx context.Context, row store.Run) *run {
	askCtx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	name, dir := Name(row.ID), m.profileDir(row.ProfileID)
	client, state, err := shim.Adopt(askCtx, m.dir, name, m.profileDir)
	if err != nil && errors.Is(askCtx.Err(), context.Canceled) {
		return nil // this server is already stopping; the next one tries again
	}
	record := m.readRecord(row)
	if err != nil && shim.Gone(err, dir) {
		end := shim.Remains(m.dir, name, dir)
		last := newEnd(row.ID, Millis(row.StartedAt), end)
		last.setUsage(m.groups.end(row.ProfileID, record.group()), end)
		m.writeEnd(row.ProfileID, &pendingEnd{name: name, end: last})
		m.log.Info("a run ended while no server was there", "profile", row.ProfileID, "run", row.ID, "reason", last.Reason)
		return nil
	}
	if err != nil {
		m.log.Warn("a run's process does not answer; the run is held", "profile", row.ProfileID, "run", row.ID, "cause", err)
		client = shim.Hold(m.dir, name, dir)
	}
	r := newRun(row.ID, row.ProfileID, row.WorkspaceID, running)
	r.answer, r.startedWith, r.client = record.Started, record.Began, client
	if record.Began != nil {
		r.usePackages(record.Began.Packages)
	}
	close(r.ready)
	if state != nil {
		r.caughtUp = make(chan struct{})
	}
	if _, mine, err := m.claim(r); err != nil || !mine {
		client.Release()
		return nil
	}
	r.slot = m.queue.occupy()
	// The former server did not receive these completely.
	if err := shim.DropUnfinishedUploads(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Warn("unfinished uploads stay until the profile's next start", "profile", row.ProfileID, "cause", err)
	}
	if state != nil {
		m.syncState(ctx, r, state)
	}
	m.announce(r)
	m.tally.began(r)
	go m.supervise(r)
	m.log.Info("adopted a run", "profile", r.profileID, "run", r.id, "pid", record.PID, "answers", state != nil)
	if state == nil {
		go m.waitForState(r)
		return nil
	}
	return r
}

// readRecord reads the record of a run. Of one that cannot be read nothing is known.
func (m *Manager) readRecord(row store.Run) runRecord {
	record := runRecord{Started: new(Started)}
	if err := json.Unmarshal([]byte(row.Record), &record); err != nil {
		m.log.Error("the record of a run cannot be read", "profile", row.ProfileID, "run", row.ID, "cause", err)
	}
	return record
}

// syncState copies a shim's state into an adopted run.
func (m *Manager) syncState(ctx context.Context, r *run, state *shim.State) {
	r.reconciling.Lock()
	r.proxies, r.upstreamAt, r.proxyOverride = state.Upstreams, state.UpstreamAt, state.ForOnce
	r.reconciling.Unlock()
	r.setFrozen(state.FrozenSince)
	r.mu.Lock()
	a := *r.answer
	a.known = true
	if state.DebuggerAddress == "" {
		a.DebuggerAddress = nil
	}
	r.answer, r.debugKey = &a, state.DebugKey
	r.mu.Unlock()
	if state.Ending {
		r.to(stopping)
	}
	m.watchDebugPort(ctx, r)
	for _, c := range state.Capabilities {
		if err := m.reopenCapability(ctx, r, c); err != nil {
			m.log.Info("a capability ended, since its key is gone", "profile", r.profileID, "run", r.id, "cause", err)
		}
	}
}

// The pauses between two requests to a shim that does not answer.
const (
	minStatePause = 50 * time.Millisecond
	maxStatePause = 5 * time.Second
)

// waitForState asks a shim for its state until it answers, or the run ends.
func (m *Manager) waitForState(r *run) {
	for pause := minStatePause; ; pause = min(2*pause, maxStatePause) {
		state, err := r.client.State(m.ctx)
		if err == nil {
			m.syncState(m.ctx, r, state)
			m.reconcileAdopted(m.ctx, r)
			return
		}
		select {
		case <-r.done: // supervise recorded the end, or this server releases the run
			return
		case <-time.After(pause):
		}
	}
}

// reconcileAdopted applies the profile to an adopted run. The former server may have died between writing a change and
// sending it.
func (m *Manager) reconcileAdopted(ctx context.Context, r *run) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	r.reconciling.Lock()
	forOnce := r.proxyOverride
	r.reconciling.Unlock()
	m.reconcile(ctx, r, Change{FollowProfile: !forOnce})
	m.recordTraffic(ctx, r)
}

// closeOrphan closes a run whose start was never recorded, because its server died, or which is offline.
func (m *Manager) closeOrphan(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client, _, err := shim.Adopt(ctx, m.dir, name, m.profileDir)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // this server is already stopping; the next one tries again
	}
	if err != nil && !shim.Gone(err, "") {
		m.log.Warn("a run without a record does not answer; it closes by itself", "name", name, "cause", err)
		m.forgetWhenGone(shim.Hold(m.dir, name, ""), name)
		return
	}
	if err == nil {
		if _, err := client.Stop(ctx, false); err != nil {
			m.log.Warn("a run without a record does not end", "name", name, "cause", err)
			m.forgetWhenGone(client, name)
			return
		}
	}
	shim.Forget(m.dir, name)
}

// forgetWhenGone removes the files of a run without a record in the background, as soon as its process is gone.
func (m *Manager) forgetWhenGone(c *shim.Client, name string) {
	m.inBackground(func() {
		select {
		case <-c.Done():
			shim.Forget(m.dir, name)
		case <-m.ctx.Done():
			c.Release()
		}
	})
}

// sweepGroups removes the groups of runs that are over. Those that may live are spared: runs with a record or files, and
// warm runs of an earlier server, which end by themselves.
func (m *Manager) sweepGroups() {
	names, err := shim.Names(m.dir)
	if err != nil {
		return
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	m.mu.Lock()
	for _, r := range m.byProfile {
		known[Name(r.id)] = true
		if g := r.group(); g != nil {
			known[g.Name()] = true
		}
	}
	m.mu.Unlock()
	removed, err := m.groups.tree.Sweep(func(name string) bool {
		if known[name] || known[Name(name)] {
			return true
		}
		pids, err := m.groups.tree.Group(name).PIDs()
		return strings.HasPrefix(name, warmGroup) && (err != nil || len(pids) > 0)
	})
	if len(removed) > 0 || err != nil {
		m.log.Info("control groups of runs that are over are removed", "groups", removed, "cause", err)
	}
}
