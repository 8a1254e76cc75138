package runs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Starts a profile's browser: claim, plan, launch, resolve, ready. Concurrent callers share one run.

// Start returns the profile's current run, or starts a new one.
func (m *Manager) Start(ctx context.Context, row store.Profile, o Options) (*Started, error) {
	for {
		have, mine, err := m.claimStart(ctx, row, o)
		if err != nil {
			return nil, err
		}
		answer, again, err := m.awaitStart(ctx, have, mine)
		if !again {
			return answer, err
		}
	}
}

// claimStart starts a run for the profile, or returns the existing one.
func (m *Manager) claimStart(ctx context.Context, row store.Profile, o Options) (have *run, mine bool, err error) {
	r, life := m.newStart(row)
	r.most, r.refused = m.quotaOfRuns(ctx, row.WorkspaceID, row.ID)
	have, mine, err = m.claim(r)
	if err != nil || !mine {
		r.cancel()
		return have, mine, err
	}
	m.startLife(ctx, life, r, o, func() error { return nil })
	return have, mine, nil
}

// quotaOfRuns returns how many profiles of a workspace may run at once; nil: any number. It refuses a start in a workspace whose quota of
// the disk is used up, and one that other servers' runs leave no room for.
func (m *Manager) quotaOfRuns(ctx context.Context, workspace, profile string) (*int64, error) {
	row, err := m.store.Read().GetWorkspace(ctx, store.GetWorkspaceParams{ID: workspace})
	if err != nil {
		return nil, store.Typed(err)
	}
	if row.QuotaDiskMb != nil && row.DataBytes >= *row.QuotaDiskMb<<20 {
		return nil, QuotaExceeded(workspace, "diskMb")
	}
	if m.cfg.Node == "" || row.QuotaRunning == nil {
		return row.QuotaRunning, nil
	}
	n, err := m.store.Read().CountRunningBeside(ctx, store.CountRunningBesideParams{WorkspaceID: workspace, ID: profile})
	if err == nil && n >= *row.QuotaRunning {
		err = QuotaExceeded(workspace, "running") // before a browser is started for nothing
	}
	return row.QuotaRunning, err
}

// confirmQuota refuses a run that is one too many for its workspace together with those of other servers, in the transaction that records
// its start. Of this server's own the claim has made sure.
func (m *Manager) confirmQuota(ctx context.Context, q *store.Queries, r *run) error {
	if m.cfg.Node == "" || r.most == nil {
		return nil
	}
	n, err := q.CountRunningBeside(ctx, store.CountRunningBesideParams{WorkspaceID: r.workspaceID, ID: r.profileID})
	if err == nil && n >= *r.most {
		err = QuotaExceeded(r.workspaceID, "running")
	}
	return err
}

// QuotaExceeded is the error of a start that a quota of the workspace refuses.
func QuotaExceeded(workspace, quota string) *problem.Error {
	return problem.New(problem.Conflict, "quota_exceeded", "The workspace "+workspace+" has used up its quota `"+quota+"`.").
		Because(&store.QuotaError{Quota: quota, Workspace: workspace})
}

// newStart makes a run in state starting, and the context of its launch.
func (m *Manager) newStart(row store.Profile) (*run, context.Context) {
	r := newRun(store.NewID(), row.ID, row.WorkspaceID, starting)
	launch, cancel := context.WithCancel(m.ctx)
	r.cancel = cancel
	r.phases.Set()
	return r, launch
}

// startLife starts the goroutine that owns the run. The run is planned after turn returns, so that nothing else starts
// or deletes the profile meanwhile.
func (m *Manager) startLife(ctx, launch context.Context, r *run, o Options, turn func() error) {
	ctx = context.WithoutCancel(ctx)
	go m.life(launch, r, o, func() (*plan, error) {
		if err := turn(); err != nil {
			return nil, err
		}
		row, err := m.profile(ctx, o.Asker.Sees, r.profileID)
		if err != nil {
			return nil, err
		}
		r.phases.Lap("claim")
		data, err := m.prepareData(launch, row, o)
		if err != nil && launch.Err() != nil {
			return nil, m.cancelledStart()
		}
		if err != nil {
			return nil, err
		}
		if err := m.fetchPackages(launch, row); err != nil {
			return nil, err
		}
		p, err := m.plan(ctx, row, o)
		if err == nil {
			p.warnings = append(p.warnings, data.warnings...)
			p.spec.CookieKey, p.spec.RestoreCookies, p.spec.PendingCookies = data.cookieKey, data.restore, data.pending
			r.usePackages(p.packages())
			p.spec.PasskeyKey = data.passkeyKey
		}
		return p, err
	})
}

// awaitStart waits for a run's start and returns its answer. again means that the caller may try anew: the start failed
// because of another caller's options, or the run was ending.
func (m *Manager) awaitStart(ctx context.Context, have *run, mine bool) (answer *Started, again bool, err error) {
	old := !mine && isClosed(have.ready)
	if err := have.awaitReady(ctx); err != nil {
		return nil, false, err
	}
	if have.err != nil {
		return nil, !mine && isCallerError(have.err), have.err
	}
	if err := have.awaitCaughtUp(ctx); err != nil {
		return nil, false, err
	}
	answer = have.currentAnswer()
	switch {
	case answer != nil && !answer.known:
		return nil, false, notAnswering()
	case answer != nil && (!old || !isClosed(have.stopc) && have.client.Alive(ctx)):
		return have.answerTo(*answer, mine), false, nil
	case !old:
		return nil, false, m.cancelledStart()
	}
	select { // the run was already ending when the caller came: wait for its end, then start anew
	case <-have.done:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// answerTo returns the answer for a caller. Only the one that started the run gets its phases.
func (r *run) answerTo(a Started, mine bool) *Started {
	if a.Reused, a.run = !mine, r; mine {
		a.phases = r.phases.Phases
	}
	return &a
}

// awaitCaughtUp waits until a run that was adopted has got what changed before.
func (r *run) awaitCaughtUp(ctx context.Context) error {
	if r.caughtUp == nil {
		return nil
	}
	select {
	case <-r.caughtUp:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitReady waits until the run's start has succeeded or failed.
func (r *run) awaitReady(ctx context.Context) error {
	leave := r.join()
	select {
	case <-r.ready:
		leave(false)
		return nil
	case <-ctx.Done():
		leave(true)
		return ctx.Err()
	}
}

// currentAnswer returns the run's answer. It is nil if the run has none, is stopping or was stopped.
func (r *run) currentAnswer() *Started {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == running || r.state == ended && !isClosed(r.stopc) {
		return r.answer
	}
	return nil
}

// isCallerError reports whether a start failed because of its caller's request, so that another caller may succeed. A
// cancelled start is cancelled for every waiter.
func isCallerError(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return ok && (p.Kind.OfCaller() && p.Code != "profile_busy" || p.Code == "proxy_unreachable")
}

// launch starts the browser and records the start.
func (m *Manager) launch(ctx context.Context, r *run, p *plan) error {
	if r.slot == nil {
		r.slot = m.queue.enqueue()
	}
	recorded := make(chan struct{})
	go func() { // concurrently, because the launch need not wait for the disk
		defer close(recorded)
		m.flushPending(r.profileID)
		m.rememberStatus(ctx, r)
		m.announce(r)
	}()
	defer func() { <-recorded }()
	client, state, err := m.launchProcess(ctx, r, p)
	if err != nil {
		return err
	}
	answer := m.buildAnswer(ctx, r, p, client, state)
	<-recorded
	if err = m.recordStart(ctx, r, answer); err != nil {
		m.abandon(r, client)
		return err
	}
	m.watchDebugPort(ctx, r)
	return nil
}

// launchProcess waits for the start's turn and starts the run's process.
func (m *Manager) launchProcess(ctx context.Context, r *run, p *plan) (*shim.Client, *shim.State, error) {
	queued := time.Now()
	release, err := m.takeTurn(ctx, r, p)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	m.tally.queued.Observe(time.Since(queued))
	p.chooseFallbacks()
	if err := m.keepBeforeDowngrade(ctx, p); err != nil {
		return nil, nil, err
	}
	r.phases.Lap("plan")
	client, state, err := m.takeWarm(ctx, p)
	if client == nil && err == nil {
		client, state, err = m.launchCold(ctx, p)
	}
	if err != nil {
		return nil, nil, m.startProblem(err)
	}
	r.phases.Phases = append(r.phases.Phases, state.Phases...)
	r.phases.Set()
	return client, state, nil
}

// launchCold starts a browser. A start whose warm run was lost has not waited for its turn to launch one.
func (m *Manager) launchCold(ctx context.Context, p *plan) (*shim.Client, *shim.State, error) {
	if p.warm != nil {
		release, err := m.claimStarting(ctx)
		if err != nil {
			return nil, nil, err
		}
		defer release()
	}
	var err error
	if p.spec.Group, err = m.groups.tree.Create(p.spec.RunID, p.limits); err != nil {
		return nil, nil, err
	}
	client, state, err := m.spares.Launch(ctx, p.spec)
	if err != nil {
		m.groups.end(p.row.ID, p.spec.Group)
		return nil, nil, err
	}
	m.settling.add(client, time.Now())
	return client, state, nil
}

// buildAnswer stores the process's state in the run and builds the start's answer. It waits for the exit check up to
// exitWait.
func (m *Manager) buildAnswer(ctx context.Context, r *run, p *plan, client *shim.Client, state *shim.State) *Started {
	r.mu.Lock()
	r.client, r.startedWith, r.pendingCheck, r.debugKey = client, p.startedWith(), p.exit, state.DebugKey
	r.mu.Unlock()
	r.proxies, r.upstreamAt, r.proxyOverride, r.rules = state.Upstreams, state.UpstreamAt, p.spec.ForOnce, &p.spec.Rules
	answer := p.answer(state)
	answer.Warnings = append(answer.Warnings, identityWarnings(p.spec.Identity, state)...)
	if w := m.groups.missing(p.limits, p.spec.Group); w != nil {
		answer.Warnings = append(answer.Warnings, *w)
	}
	p.exit.fillAnswer(ctx, answer)
	if isClosed(p.exit.done) && p.exit.result != nil && p.exit.result.OK { // done first: result is written before it is closed
		p.env.Exit = exitFrom(p.exit.result)
	}
	answer.Warnings = slices.Concat(answer.Warnings, p.emulationWarnings(), mismatchWarnings(p.row, p.env))
	return answer
}

// abandon ends the process of a start that failed after its launch.
func (m *Manager) abandon(r *run, client *shim.Client) {
	if err := client.Abandon(StopTime); err != nil {
		m.log.Error("a run whose start failed does not end", "profile", r.profileID, "run", r.id, "cause", err)
		return
	}
	m.groups.end(r.profileID, r.group())
	shim.Forget(m.dir, r.name)
}

// recordStart writes the start to the database, then publishes it.
func (m *Manager) recordStart(ctx context.Context, r *run, answer *Started) error {
	if ctx.Err() != nil {
		return m.cancelledStart()
	}
	text, err := json.Marshal(runRecord{answer, r.startedWith})
	if err != nil {
		return err
	}
	at := answer.StartedAt.UnixMilli()
	ctx = context.WithoutCancel(ctx)
	err = m.store.Write(ctx, func(q *store.Queries) error {
		if err := m.confirmQuota(ctx, q, r); err != nil {
			return err
		}
		err := q.InsertRun(ctx, store.InsertRunParams{ID: r.id, ProfileID: r.profileID, StartedAt: at, Record: string(text)})
		if err != nil {
			return err
		}
		n, err := q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: r.profileID, Status: "running", LastStartedAt: &at,
			NodeID: m.cfg.Node})
		if err == nil && n == 0 {
			err = GivenUp()
		}
		return err
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.answer = answer
	r.mu.Unlock()
	r.to(running)
	m.tally.began(r)
	m.publish(r, "run.started", startedEvent{r.profileID, r.isRestart, r.id})
	m.log.Info("run started", "profile", r.profileID, "run", r.id, "pid", answer.PID, "isolation", answer.Isolation.Network)
	return nil
}

// answer builds the start's answer from the plan and the process's state.
func (p *plan) answer(st *shim.State) *Started {
	a := &Started{known: true}
	a.Info = Info{ID: p.row.ID, ProfileID: p.row.ID, WorkspaceID: p.row.WorkspaceID, RunID: p.spec.RunID, Status: "running",
		StartedAt: st.StartedAt.UTC().Truncate(time.Millisecond), PID: st.PID, Headless: st.Headless,
		Browser:   UsedBrowser{Product: p.installed.Product, Version: st.Browser.Version, Path: p.installed.Path, Match: p.match},
		Requested: Requested{OS: p.row.OS, BrowserVersion: p.row.BrowserVersion}, Effective: p.effective(st),
		Isolation: Isolation{Network: st.Isolation.Network, Files: st.Isolation.Files, Sandbox: st.Isolation.Sandbox},
		Pending:   []string{}, Warnings: append([]Warning{}, p.warnings...)}
	if a.Requested.BrowserVersion == "" {
		a.Requested.BrowserVersion = a.Effective.BrowserVersion
	}
	if p.spec.MaxRun > 0 {
		a.ExpiresAt = new(a.StartedAt.Add(p.spec.MaxRun))
	}
	if st.DebuggerAddress != "" {
		a.DebuggerAddress = &st.DebuggerAddress
	}
	if p.proxy != nil {
		a.Proxy = &Egress{ID: p.proxy.ID, Type: p.proxy.Type}
	}
	a.Warnings = append(a.Warnings, newWarnings(st.Warnings)...)
	return a
}

// Restarts a profile. The new run is the successor of the old one and replaces it when its end is recorded, so that no
// other start comes between.

// Restart ends a profile's run gracefully and starts the next one. A profile without a run is just started. A start or
// restart in progress is joined.
func (m *Manager) Restart(ctx context.Context, row store.Profile, o Options) (*Started, error) {
	for {
		have := m.runOf(row.ID)
		if have == nil || have.isHold || !isClosed(have.ready) {
			return m.Start(ctx, row, o)
		}
		if _, err := m.dryPlan(ctx, row, o); err != nil { // a start that must fail does not end the current run
			return nil, err
		}
		next, mine, err := m.claimRestart(ctx, row, o, have)
		if err != nil {
			return nil, err
		}
		if next == nil {
			continue // the old run ended meanwhile
		}
		answer, again, err := m.awaitStart(ctx, next, mine)
		if !again {
			return answer, err
		}
	}
}

// claimRestart registers a successor and ends the old run. It returns the existing successor if there is one, or nil if
// old is no longer the profile's run.
func (m *Manager) claimRestart(ctx context.Context, row store.Profile, o Options, old *run) (next *run, mine bool, err error) {
	r, launch := m.newStart(row)
	next, mine, err = m.setSuccessor(old, r)
	if err != nil || !mine {
		r.cancel()
		return next, false, err
	}
	m.startLife(ctx, launch, r, o, func() error {
		<-old.done // even if cancelled: until then old is the profile's run
		if launch.Err() == nil {
			m.afterStop(launch, r.profileID)
		}
		if launch.Err() != nil {
			return m.cancelledStart()
		}
		return nil
	})
	old.requestEnd(false)
	return r, true, nil
}

// setSuccessor registers next as the successor of old, or returns the existing one. It returns nil if old is no longer
// its profile's run.
func (m *Manager) setSuccessor(old, next *run) (*run, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closing:
		return nil, false, pool.Stopping()
	case m.byProfile[old.profileID] != old:
		return nil, false, nil
	case old.successor != nil:
		return old.successor, false, nil
	}
	if err := m.mayStart(); err != nil {
		return nil, false, err
	}
	old.successor = next
	m.wg.Add(1)
	return next, true, nil
}

// hasSuccessor reports whether another run will replace this one.
func (m *Manager) hasSuccessor(r *run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.successor != nil
}

// endAll ends a profile's run and its successor, because a stop during a restart is a stop. next is nil if there is no
// successor.
func (m *Manager) endAll(profileID string, force bool) (r, next *run) {
	m.mu.Lock()
	if r = m.byProfile[profileID]; r != nil {
		next = r.successor
	}
	m.mu.Unlock()
	if next != nil {
		next.requestEnd(force)
		m.log.Info("a restart is given up", "profile", profileID)
	}
	if r != nil {
		r.requestEnd(force)
	}
	return r, next
}
