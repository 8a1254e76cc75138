package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"warren/cgroup"
	"warren/shim"
	"warren/store"
)

// Keeps warm runs: browsers that are up before their profile is known (shim/warm.go). A start of a profile without data
// takes one, if its browser was launched with the settings that the start needs. All others launch a browser.
//
// What Chrome fixes at its launch is all of the identity, the browser, the isolation and the folders. So warm runs have
// the settings of the last start of a profile without data, which the next one often shares.

const (
	// warmPause is how long no browser must have been starting before another warm run is launched.
	warmPause = 250 * time.Millisecond
	// The pauses after a warm run that did not start, or died.
	minWarmPause = time.Second
	maxWarmPause = time.Minute
	// warmMemory is how many bytes the machine must have available for another warm run: several times a browser's own.
	warmMemory = 1 << 30
)

// warmRuns holds the warm runs of a manager.
type warmRuns struct {
	wake chan struct{} // has a value when a run is missing

	mu       sync.Mutex
	settings *shim.Spec // the next one is launched with its settings; nil: not known
	all      []*warmRun
	used     time.Time // when a browser was last started, or a run was taken
}

// warmRun is one browser that no start has reserved.
type warmRun struct {
	settings shim.Spec
	ready    chan struct{} // closed when it has started, or not
	process  *shim.Warm    // valid after ready is closed; nil: it did not start
	group    *cgroup.Group // as process
}

func newWarmRuns() *warmRuns { return &warmRuns{wake: make(chan struct{}, 1)} }

func (m *Manager) warmDir() string { return filepath.Join(m.cfg.Data, "profiles", ".warm") }

// KeepWarm keeps --warm runs ready until ctx ends, and then ends them. The first ones are for profiles like row.
func (m *Manager) KeepWarm(ctx context.Context, row store.Profile) {
	if err := shim.CleanWarm(m.warmDir()); err != nil {
		m.log.Warn("what the warm runs of an earlier server left stays", "cause", err)
	}
	if m.cfg.Warm == 0 {
		return
	}
	if err := errors.Join(shim.CheckIsolation(), shim.CheckFiles()); err != nil {
		m.log.Warn("--warm keeps no run: it needs namespaces of network and files", "cause", err)
		return
	}
	defer m.endWarm(func(*warmRun) bool { return true })
	if p, err := m.dryPlan(ctx, row, Options{Asker: Asker{Sees: store.All()}}); err == nil {
		m.warm.follow(p.spec)
	}
	for pause := minWarmPause; ctx.Err() == nil; {
		wait, err := m.refillWarm(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			m.log.Warn("a warm run did not start", "cause", err)
			wait, pause = pause, min(2*pause, maxWarmPause)
		case err == nil && wait == 0:
			pause = minWarmPause
		}
		m.warm.await(ctx, wait)
	}
}

// await returns after a time, or when a run is missing. Without a time it waits for that alone.
func (w *warmRuns) await(ctx context.Context, wait time.Duration) {
	var late <-chan time.Time
	wake := w.wake
	if wait > 0 {
		late, wake = time.After(wait), nil
	}
	select {
	case <-wake:
	case <-late:
	case <-ctx.Done():
	}
}

// refillWarm launches one warm run if one is missing and the machine is idle. It returns after how long to look again;
// 0: when one is missing.
func (m *Manager) refillWarm(ctx context.Context) (wait time.Duration, err error) {
	w := m.warm
	w.mu.Lock()
	settings := w.settings
	w.mu.Unlock()
	if settings == nil {
		return 0, nil
	}
	if !m.isIdle() {
		return warmPause, nil
	}
	m.endWarm(func(r *warmRun) bool { return !r.settings.SameLaunch(*settings) })
	if w.count() >= m.cfg.Warm {
		return 0, nil
	}
	if !hasRoom(machineMemory()) {
		return minWarmPause, nil
	}
	return warmPause, m.launchWarm(ctx, *settings)
}

// hasRoom reports whether another browser fits into the memory; nil: the system does not tell.
func hasRoom(memory *Memory) bool { return memory == nil || memory.AvailableBytes >= warmMemory }

// launchWarm launches one warm run. A start may reserve it meanwhile.
func (m *Manager) launchWarm(ctx context.Context, settings shim.Spec) (err error) {
	r := &warmRun{settings: settings, ready: make(chan struct{})}
	m.warm.mu.Lock()
	m.warm.all = append(m.warm.all, r)
	m.warm.mu.Unlock()
	name := Name(store.NewID())
	if r.group, err = m.groups.tree.Create(warmGroup+name, cgroup.Limits{}); err == nil {
		settings.Group = r.group
		r.process, err = shim.LaunchWarm(ctx, m.exe, settings, m.warmDir(), name)
	}
	close(r.ready)
	if err != nil {
		m.groups.end("", r.group)
		m.warm.remove(r)
		return err
	}
	m.inBackground(func() {
		<-r.process.Exited()
		if m.warm.remove(r) {
			m.groups.end("", r.group)
			m.log.Info("a warm run has ended, and is replaced")
			m.warm.use(time.Now().Add(minWarmPause)) // a browser that dies at once does not keep the machine busy
		}
	})
	return nil
}

// isIdle reports whether no browser is starting, or waits to, and none was a moment ago.
func (m *Manager) isIdle() bool {
	busy := m.queued.Load() > 0 || len(m.startSem) > 0
	m.mu.Lock()
	for _, r := range m.byProfile {
		busy = busy || r.now() == starting
	}
	m.mu.Unlock()
	m.warm.mu.Lock()
	defer m.warm.mu.Unlock()
	if busy {
		m.warm.used = time.Now()
	}
	return !busy && time.Since(m.warm.used) >= warmPause
}

// follow has the next warm runs be launched with the settings of a start.
func (w *warmRuns) follow(spec shim.Spec) {
	spec.CookieKey = nil // of the start's own profile
	w.mu.Lock()
	w.settings, w.used = &spec, time.Now()
	w.mu.Unlock()
	w.poke()
}

// use notes when a browser was started. Warm runs are launched a pause later.
func (w *warmRuns) use(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = at
}

// poke says that a run is missing.
func (w *warmRuns) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // it is said already
	}
}

// count returns how many there are, with those that are being launched.
func (w *warmRuns) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// countReady returns how many a start with the last settings could take at once.
func (w *warmRuns) countReady() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.all {
		if isClosed(r.ready) && w.settings != nil && r.settings.SameLaunch(*w.settings) {
			n++
		}
	}
	return n
}

// remove removes a run, and reports whether it was there: only then may the caller take it or end it.
func (w *warmRuns) remove(r *warmRun) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.removeLocked(r)
}

// removeLocked is remove for a caller that holds the lock.
func (w *warmRuns) removeLocked(r *warmRun) bool {
	i := slices.Index(w.all, r)
	if i < 0 {
		return false
	}
	w.all = slices.Delete(w.all, i, i+1)
	w.poke()
	return true
}

// reserve removes a run for a start and returns it, first one that is ready; nil if there is none for it. It looks and
// removes under one lock: of two starts at once each gets a run of its own.
func (w *warmRuns) reserve(spec shim.Spec) (found *warmRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.all {
		if r.settings.SameLaunch(spec) && (found == nil || isClosed(r.ready) && !isClosed(found.ready)) {
			found = r
		}
	}
	w.removeLocked(found)
	return found
}

// endWarm ends the runs for which which returns true.
func (m *Manager) endWarm(which func(*warmRun) bool) {
	m.warm.mu.Lock()
	all := slices.Clone(m.warm.all)
	m.warm.mu.Unlock()
	var wg sync.WaitGroup
	for _, r := range all {
		if which(r) && m.warm.remove(r) {
			wg.Go(func() { m.endWarmRun(r) })
		}
	}
	wg.Wait()
}

// end ends a run that is reserved.
func (r *warmRun) end() {
	if <-r.ready; r.process != nil {
		r.process.End()
	}
}

// endWarmRun ends a run that is reserved, and removes its group.
func (m *Manager) endWarmRun(r *warmRun) {
	r.end()
	m.groups.end("", r.group)
}

// reserveWarm reserves a warm run for a start; nil if there is none for it. Warm runs follow the start's settings.
func (m *Manager) reserveWarm(p *plan) *warmRun {
	// Extensions begin with their first start, and that belongs to the profile: they must not begin without its proxy.
	if m.cfg.Warm == 0 || len(p.spec.Extensions) > 0 || p.lastOpened != "" || p.row.LastStartedAt != 0 || !isMissing(p.spec.ProfileDir) {
		return nil
	}
	defer m.warm.follow(p.spec)
	return m.warm.reserve(p.spec)
}

// isMissing reports whether a folder does not exist, or is empty.
func isMissing(dir string) bool {
	entries, err := os.ReadDir(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// takeWarm completes a start with the run that is reserved for it. Without one it returns no client and no error, and
// also if the run could not be taken. Nothing was loaded then, and the start goes on with a browser of its own.
func (m *Manager) takeWarm(ctx context.Context, p *plan) (*shim.Client, *shim.State, error) {
	r := p.warm
	if r == nil {
		return nil, nil, nil
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		m.inBackground(func() { m.endWarmRun(r) })
		return nil, nil, ctx.Err()
	}
	if r.process == nil {
		return nil, nil, nil
	}
	if err := r.group.Set(p.limits); err != nil {
		m.log.Warn("a warm run gets no limits, and another browser is started", "profile", p.row.ID, "cause", err)
		m.inBackground(func() { m.endWarmRun(r) })
		return nil, nil, nil
	}
	p.spec.Group = r.group
	client, state, err := r.process.Take(ctx, p.spec)
	if err != nil {
		m.groups.end(p.row.ID, r.group)
		p.spec.Group = nil
	}
	if f, ok := errors.AsType[*shim.Failure](err); ok && f.Cold {
		m.log.Warn("a warm run was not taken, and another browser is started", "profile", p.row.ID, "cause", err)
		return nil, nil, nil
	}
	return client, state, err
}
