package runs

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Applies changes of a profile, a proxy or an exit to a running browser: upstreams, host rules and identity. What cannot
// change while it runs becomes pending.

// Timeouts for each part of a change. A process that hangs must not block the caller. Chrome's own settings and busy
// pages take longer (browser/settings_page.go).
const (
	upstreamTime = 5 * time.Second
	rulesTime    = 5 * time.Second
	identityTime = 12 * time.Second
)

// staleWait is how long a change waits for the check of a new exit.
const staleWait = 2 * time.Second

// exitPolicy says how fresh the exit must be.
type exitPolicy int

const (
	useKnown     exitPolicy = iota // use the last good check
	justChecked                    // a check has just ended: use its result
	CheckIfStale                   // check the proxy unless its last good check is recent
)

// Change describes what a reconciliation does besides applying the profile.
type Change struct {
	FollowProfile bool // use the profile's proxy if it has one; otherwise the run keeps its own
	ResetFailover bool // go back from a fallback to the run's own proxy
	CloseOld      bool // close connections through other proxies
	refreshState  bool // first ask the run's process which proxy is in use
	Exit          exitPolicy
}

// reconciliation is one pass over a run. run.reconciling is held.
type reconciliation struct {
	m      *Manager
	r      *run
	client *shim.Client
	row    store.Profile
	change Change
	swap   shim.Swap

	before      *Started
	answer      Started // the run's answer after the pass
	startedWith *startedWith

	again bool // the database did not answer

	wantedUpstreams []shim.Upstream // nil: direct, or not known
	pendingSettings []string        // pending settings except proxies and host rules; nil: not known
	pendingCheck    *exitLookup     // an exit check that outlasts the pass
}

// reconcile reads the profile once, sends what differs, writes one record and publishes one event. Of two concurrent
// changes the later one wins.
func (m *Manager) reconcile(ctx context.Context, r *run, c Change) shim.Swap {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	r.mu.Lock()
	p := reconciliation{m: m, r: r, client: r.client, change: c, before: r.answer, startedWith: r.startedWith}
	isRunning := r.state == running && r.answer != nil
	r.mu.Unlock()
	if !isRunning {
		return p.swap
	}
	p.answer = *p.before
	defer func() {
		if p.again {
			m.reconcileLater(r, c)
		}
	}()
	var err error
	if p.row, err = m.profile(ctx, store.All(), r.profileID); err != nil {
		p.warn("a running profile stays as it is until its next start, or until the database answers", err)
		return p.swap
	}
	if err := p.applyUpstreams(ctx); err != nil {
		p.warn("a running profile keeps its old proxy until its next start", err)
	}
	if err := p.applyRules(ctx); err != nil {
		p.warn("a running profile keeps its old rules until its next start", err)
	}
	if err := p.applyLimits(); err != nil {
		p.warn("a running profile keeps its old limits until its next start", err)
	}
	if err := p.applyIdentity(ctx); err != nil {
		p.warn("a running profile keeps its old identity until its next start", err)
	}
	p.answer.Pending = p.pending()
	if err := p.recordAndPublish(); err != nil {
		p.warn("the record of a running profile could not be written", err)
	}
	if p.pendingCheck != nil {
		m.reconcileAfterCheck(r, p.pendingCheck)
	}
	return p.swap
}

// warn logs what could not be done. It is tried again if the database did not answer.
func (p *reconciliation) warn(message string, err error) {
	p.again = p.again || errors.Is(err, store.ErrBusy)
	p.m.log.Warn(message, "profile", p.r.profileID, "cause", err)
}

// reconcileLater reconciles a run again after a while.
func (m *Manager) reconcileLater(r *run, c Change) {
	m.inBackground(func() {
		select {
		case <-time.After(retryEvery):
			m.reconcile(m.ctx, r, c)
		case <-r.done:
		case <-m.ctx.Done():
		}
	})
}

// applyUpstreams sends the run its proxies if they differ. A run never loses its proxy before its next start.
func (p *reconciliation) applyUpstreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upstreamTime)
	defer cancel()
	r := p.r
	if p.change.refreshState {
		state, err := p.client.State(ctx)
		if err != nil {
			return err
		}
		r.proxies, r.upstreamAt = state.Upstreams, state.UpstreamAt
	}
	own := r.ownProxy()
	if p.change.FollowProfile && p.row.ProxyID != nil && *p.row.ProxyID != own {
		own, p.change.ResetFailover = *p.row.ProxyID, true
	}
	if own == "" {
		return nil
	}
	list, warnings, err := p.m.upstreamsFor(ctx, r, p.row, own)
	if err != nil {
		return err
	}
	if marks := upstreamMarks(list); p.change.ResetFailover || !slices.Equal(marks, r.proxies) {
		p.swap, err = p.client.SetUpstreams(ctx, shim.Upstreams{List: list, ResetFailover: p.change.ResetFailover,
			CloseOld: p.change.CloseOld})
		if err != nil {
			return err
		}
		r.proxies, r.upstreamAt, r.proxyOverride = marks, p.swap.At, r.proxyOverride && !p.change.FollowProfile
	}
	p.wantedUpstreams = list
	p.showUpstream(list, warnings)
	return nil
}

// showUpstream updates the answer: the proxy in use, and the fallbacks that are left out.
func (p *reconciliation) showUpstream(list []shim.Upstream, warnings []Warning) {
	at := p.r.upstreamAt
	if at >= len(list) {
		return
	}
	had := p.answer.Proxy
	if p.swap.Swapped || had == nil || had.ID != list[at].ID || had.Fallback != (at > 0) {
		p.answer.Proxy = &Egress{ID: list[at].ID, Type: string(list[at].Type), Fallback: at > 0}
	}
	kept := slices.DeleteFunc(slices.Clone(p.answer.Warnings), func(w Warning) bool { return w.Code == fallbackLeftOut })
	p.answer.Warnings = append(kept, warnings...)
}

// upstreamsFor returns the proxies that a run should have, its own first, and a warning about fallbacks that are left
// out.
func (m *Manager) upstreamsFor(ctx context.Context, r *run, row store.Profile, own string) (list []shim.Upstream,
	warnings []Warning, err error) {
	px, err := m.pool.Get(ctx, store.All(), own)
	if err != nil {
		return nil, nil, err
	}
	first, err := upstream(px)
	if err != nil {
		return nil, nil, err
	}
	if r.proxyOverride && own == r.ownProxy() {
		return []shim.Upstream{*first}, nil, nil
	}
	all, err := m.loadFallbacks(ctx, store.All(), row, own)
	if err != nil || len(all) == 0 {
		return []shim.Upstream{*first}, nil, err
	}
	check, err := m.pool.LastGood(ctx, px)
	if err != nil {
		return nil, nil, err
	}
	more, warnings := chosenFallbacks(all, row.FallbackCountry, exitFrom(check), r.proxies)
	return append([]shim.Upstream{*first}, more...), warnings, nil
}

// applyRules sends the profile's host rules if they differ.
func (p *reconciliation) applyRules(ctx context.Context) error {
	wanted := hostRules(p.row)
	if p.r.rules != nil && reflect.DeepEqual(*p.r.rules, wanted) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rulesTime)
	defer cancel()
	if err := p.client.SetRules(ctx, wanted); err != nil {
		return err
	}
	p.r.rules = &wanted
	return nil
}

// applyIdentity sends the identity that the profile and the exit resolve to, and finds the settings that wait for the
// next start.
func (p *reconciliation) applyIdentity(ctx context.Context) error {
	if p.startedWith == nil { // the record of the start cannot be read
		return nil
	}
	check, err := p.exitCheck(ctx)
	if err != nil {
		return err
	}
	env := localEnvironment(majorVersion(p.before.Browser.Version))
	env.Proxied, env.Exit = p.r.proxyInUse() != "", exitFrom(check)
	now, err := identity.Resolve(declared(p.row), env)
	if err != nil {
		return err
	}
	next := *p.startedWith
	next.Identity = p.startedWith.nextIdentity(now, env.Zone)
	refused := p.sendIdentity(ctx, &next)
	next.updateAnswer(&p.answer, *p.startedWith, now.Settings)
	p.pendingSettings = next.pending(p.row, shimIdentity(now.Values), env.Zone)
	if px := p.answer.Proxy; p.change.Exit != useKnown && px != nil && check != nil && px.ID == *check.ID {
		filled := *px
		filled.setCheck(check)
		p.answer.Proxy = &filled
	}
	p.startedWith = &next
	return refused
}

// sendIdentity sends an identity to the run's process. Parts that are refused keep their former value.
func (p *reconciliation) sendIdentity(ctx context.Context, next *startedWith) error {
	if reflect.DeepEqual(next.Identity, p.startedWith.Identity) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identityTime)
	defer cancel()
	languages, err := p.client.SetIdentity(ctx, next.Identity)
	switch {
	case err != nil:
		next.Identity = p.startedWith.Identity
	case !slices.Equal(languages, next.Identity.Languages): // Chrome refused the languages
		next.Identity.Languages = p.startedWith.Identity.Languages
	}
	return err
}

// exitCheck returns the last good check of the run's proxy; nil: not known. A check that takes longer than staleWait
// continues as p.pendingCheck.
func (p *reconciliation) exitCheck(ctx context.Context) (*pool.Check, error) {
	id := p.r.proxyInUse()
	if id == "" {
		return nil, nil
	}
	px, err := p.m.pool.Get(ctx, store.All(), id)
	if problem.Is(err, problem.NotFound) { // deleted after the profile got another proxy; the run still uses it
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mayCheck := p.change.Exit == CheckIfStale || p.swap.Swapped
	if mayCheck && declared(p.row).FollowsExit() && px.Recent() == nil {
		if err := px.Usable(); err != nil {
			return nil, err
		}
		e := p.m.lookUpExit(ctx, &px, "warn")
		c, err := e.wait(ctx, staleWait)
		if err == nil && c.OK {
			return c, nil
		}
		if errors.Is(err, errStillChecking) {
			p.pendingCheck = e
		}
	}
	return p.m.pool.LastGood(ctx, px)
}

// pending returns, sorted, the settings that wait for the next start. Where they cannot be computed, the former ones
// stay.
func (p *reconciliation) pending() []string {
	r, own, members := p.r, p.r.ownProxy(), p.pendingSettings
	if members == nil {
		computed := []string{"proxyId", "fallbackProxyIds"}
		if r.rules != nil {
			computed = append(computed, "allowHosts", "denyHosts", "logHosts")
		}
		if p.startedWith != nil {
			computed = append(computed, "limits")
		}
		members = slices.DeleteFunc(slices.Clone(p.before.Pending), func(m string) bool { return slices.Contains(computed, m) })
	}
	hasID := func(u shim.Upstream, m shim.UpstreamMark) bool { return u.ID == m.ID } // whatever its revision
	switch {
	case r.proxyOverride:
	case p.row.ProxyID != nil && *p.row.ProxyID != own, p.row.ProxyID == nil && own != "":
		members = append(members, "proxyId")
	case p.wantedUpstreams != nil && !slices.EqualFunc(p.wantedUpstreams, r.proxies, hasID):
		members = append(members, "fallbackProxyIds")
	}
	if r.rules != nil {
		members = append(members, differing(ruleSettings(*r.rules, hostRules(p.row)))...)
	}
	if b := p.startedWith; b != nil && (b.Group != nil || p.row.Limits != nil) { // nothing limits the others, now or later
		members = append(members, differing(limitSettings(b.Limits, p.m.groups.of(p.row)))...)
	}
	slices.Sort(members)
	return members
}

// recordAndPublish stores the run's new answer, writes it to the database and publishes run.updated, if anything
// changed.
func (p *reconciliation) recordAndPublish() error {
	r := p.r
	r.mu.Lock()
	p.answer.known, p.answer.DebuggerAddress = r.answer.known, r.answer.DebuggerAddress // may have changed during the pass
	same := reflect.DeepEqual(r.answer.Info, p.answer.Info) && reflect.DeepEqual(r.startedWith, p.startedWith)
	if !same {
		answer := p.answer
		r.answer, r.startedWith = &answer, p.startedWith
	}
	text, err := json.Marshal(runRecord{r.answer, r.startedWith})
	r.mu.Unlock()
	if same || err != nil {
		return err
	}
	defer p.m.publishUpdate(r)
	return p.m.writeState(func(ctx context.Context, q *store.Queries) error {
		return store.ErrorOf(q.SetRunRecord(ctx, store.SetRunRecordParams{ID: r.id, Record: string(text)}))
	})
}

func upstreamMarks(list []shim.Upstream) (out []shim.UpstreamMark) {
	for _, u := range list {
		out = append(out, shim.UpstreamMark{ID: u.ID, Revision: u.Revision})
	}
	return out
}

// proxyInUse returns the id of the proxy for new connections; "" none. run.reconciling is held.
func (r *run) proxyInUse() string { return r.proxyAt(r.upstreamAt) }

// ownProxy returns the id of the first proxy, which the fallbacks replace if it is dead; "" none. run.reconciling is
// held.
func (r *run) ownProxy() string { return r.proxyAt(0) }

// proxyAt returns the id of the proxy at a place in the order of use; "" none. run.reconciling is held.
func (r *run) proxyAt(i int) string {
	if i >= len(r.proxies) {
		return ""
	}
	return r.proxies[i].ID
}

// usesProxy reports whether the run has a proxy, in use or as a fallback.
func (r *run) usesProxy(proxyID string) bool {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	return slices.ContainsFunc(r.proxies, func(m shim.UpstreamMark) bool { return m.ID == proxyID })
}

// reconcileAfterCheck reconciles a run when an exit check has ended. The check has its own timeout.
func (m *Manager) reconcileAfterCheck(r *run, e *exitLookup) {
	m.inBackground(func() {
		select {
		case <-e.done: // the exit's country may be known now, and with it the usable fallbacks
			m.reconcile(m.ctx, r, Change{Exit: justChecked})
		case <-r.done:
		case <-m.ctx.Done():
		}
	})
}

// runsInWorkspace returns the running and stopping runs of a workspace.
func (m *Manager) runsInWorkspace(workspace string) (out []*run) {
	for _, run := range m.List(store.All(), workspace) {
		if r := m.runOf(run.ProfileID); r != nil && r.id == run.RunID {
			out = append(out, r)
		}
	}
	return out
}

// ExitMoved reconciles every run in the workspace whose proxy has a new exit.
func (m *Manager) ExitMoved(ctx context.Context, workspace, proxyID string) {
	var wg sync.WaitGroup
	for _, r := range m.runsInWorkspace(workspace) {
		if r.showsProxy(proxyID) {
			wg.Go(func() { m.reconcile(ctx, r, Change{Exit: justChecked}) })
		}
	}
	wg.Wait()
}

// showsProxy reports whether the run's answer names a proxy as the one in use.
func (r *run) showsProxy(proxyID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer != nil && r.answer.Proxy != nil && r.answer.Proxy.ID == proxyID
}

// FollowExits reconciles runs whenever a check finds a new exit of their proxy, until ctx ends.
func (m *Manager) FollowExits(ctx context.Context) {
	for {
		moves := m.pool.AwaitMoves(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, move := range moves {
			m.inBackground(func() { m.ExitMoved(m.ctx, move.Workspace, move.ProxyID) })
		}
	}
}

// Changed is the effect of a proxy change on one run.
type Changed struct {
	Run  Info
	Swap shim.Swap
}

// ProxyChanged returns every run that has the proxy. If moved, the runs get its new address and credentials. All runs
// are changed concurrently, so that hanging processes do not add up.
func (m *Manager) ProxyChanged(ctx context.Context, row store.Proxy, moved, closeOld bool) (out []Changed) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, r := range m.runsInWorkspace(row.WorkspaceID) {
		wg.Go(func() {
			if !r.usesProxy(row.ID) {
				return
			}
			var swap shim.Swap
			if moved {
				swap = m.reconcile(ctx, r, Change{CloseOld: closeOld, Exit: CheckIfStale})
			}
			if _, now := m.Status(r.profileID, ""); now != nil {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, Changed{*now, swap})
			}
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b Changed) int { return strings.Compare(a.Run.RunID, b.Run.RunID) })
	return out
}

// proxyFailed publishes that a run's proxy is dead and a fallback replaces it, then reconciles the run.
func (m *Manager) proxyFailed(r *run, n shim.Notice) {
	m.inBackground(func() { // if this server is stopping, the next one asks the run
		m.publish(r, "run.fallback", fallbackEvent{string(n.Code), n.From, r.profileID, r.id, n.To})
		m.log.Warn("a run's proxy is dead; the next one replaces it", "profile", r.profileID, "run", r.id, "from", n.From, "to",
			n.To, "code", n.Code)
		m.reconcile(m.ctx, r, Change{refreshState: true, Exit: CheckIfStale}) // the notice may be older than the last change
	})
}

// Failback returns a run from a fallback to its own proxy.
func (m *Manager) Failback(ctx context.Context, profileID string) (*Info, error) {
	r := m.runOf(profileID)
	if r == nil || !r.isRunning() {
		return nil, NotRunning()
	}
	m.reconcile(ctx, r, Change{ResetFailover: true, Exit: CheckIfStale})
	_, run := m.Status(profileID, "")
	if run == nil {
		return nil, NotRunning()
	}
	return run, nil
}

// ProfileChanged applies the profile's changes to its run, if it has one.
func (m *Manager) ProfileChanged(ctx context.Context, profileID string, c Change) {
	if r := m.runOf(profileID); r != nil {
		m.reconcile(ctx, r, c)
	}
}

// applyLimits sets the limits of the profile, if they differ. A limit of memory that is below what the run has would end
// it: it waits for the next start.
func (p *reconciliation) applyLimits() error {
	b := p.startedWith
	if b == nil || b.Group == nil {
		return nil
	}
	wanted := p.m.groups.of(p.row)
	if b.Limits == wanted {
		return nil
	}
	if wanted.MemoryBytes > 0 && memoryAwake(b.Group.Usage()) > wanted.MemoryBytes/10*9 {
		wanted.MemoryBytes = b.Limits.MemoryBytes
	}
	if err := b.Group.Set(wanted); err != nil {
		return errors.Join(err, b.Group.Set(b.Limits))
	}
	next := *b
	next.Limits = wanted
	p.startedWith = &next
	return nil
}
