package main

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Brings a running browser to what its profile, its proxy and its exit now say: its upstreams, its host rules and its identity. What cannot change
// while it runs is noted as pending.

// How long a run's process may take for one part of a change. A process that hangs must not hold up whoever asked. Chrome's own settings and busy
// pages take longer (browser/languages.go).
const (
	upstreamTime = 5 * time.Second
	rulesTime    = 5 * time.Second
	identityTime = 12 * time.Second
)

// staleWait is how long a change waits for a new exit's check.
const staleWait = 2 * time.Second

// exitPolicy says how fresh the exit must be.
type exitPolicy int

const (
	useKnown     exitPolicy = iota // use the last good check
	justChecked                    // a check has just ended
	checkIfStale                   // check the proxy where it has no good check of the last minutes
)

// change says what a reconciliation does beyond keeping to the profile.
type change struct {
	followProfile bool // take the profile's proxy, when it has one; else the run's own stays
	resetFailover bool // go back to the run's own proxy, if a fallback stands in for it
	closeOld      bool // close connections through another proxy
	ask           bool // ask the run's process first which proxy is in use
	exit          exitPolicy
}

// reconciliation is one pass over a run. The run's lock is held.
type reconciliation struct {
	rs     *runs
	r      *profileRun
	client *shim.Client
	row    store.Profile
	change change
	swap   shim.Swap

	before *startJSON
	answer startJSON // what the run shows after it
	began  *startedWith

	wanted []shim.Upstream // what the run's upstreams should be; nil: direct, or not known
	fixed  []string        // the settings that wait for the next start, but for proxies and host rules; nil: not known
	late   *exitLookup     // a check that outlasts the change
}

// reconcile does it: it reads once, sends what differs, writes one record and publishes one event. Of two changes at once the later one stays.
func (rs *runs) reconcile(ctx context.Context, r *profileRun, c change) shim.Swap {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	r.mu.Lock()
	p := reconciliation{rs: rs, r: r, client: r.client, change: c, before: r.answer, began: r.began}
	running := r.status == "running" && r.answer != nil
	r.mu.Unlock()
	if !running {
		return p.swap
	}
	p.answer = *p.before
	var err error
	if p.row, err = rs.profile(ctx, store.All(), r.profileID); err != nil {
		p.warn("a running profile stays as it is until its next start", err)
		return p.swap
	}
	if err := p.upstreams(ctx); err != nil {
		p.warn("a running profile keeps its old proxy until its next start", err)
	}
	if err := p.rules(ctx); err != nil {
		p.warn("a running profile keeps its old rules until its next start", err)
	}
	if err := p.identity(ctx); err != nil {
		p.warn("a running profile keeps what its pages are told until its next start", err)
	}
	p.answer.Pending = p.pending()
	if err := p.record(); err != nil {
		p.warn("what a running profile shows could not be written", err)
	}
	if p.late != nil {
		rs.follow(r, p.late)
	}
	return p.swap
}

func (p *reconciliation) warn(message string, err error) {
	p.rs.log.Warn(message, "profile", p.r.profileID, "cause", err)
}

// upstreams gives the run the proxies that it should have. A run never loses its proxy before its next start.
func (p *reconciliation) upstreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upstreamTime)
	defer cancel()
	r := p.r
	if p.change.ask {
		state, err := p.client.State(ctx)
		if err != nil {
			return err
		}
		r.proxies, r.at = state.Upstreams, state.UpstreamAt
	}
	own := r.own()
	if p.change.followProfile && p.row.ProxyID != nil && *p.row.ProxyID != own {
		own, p.change.resetFailover = *p.row.ProxyID, true
	}
	if own == "" {
		return nil
	}
	list, warnings, err := p.rs.upstreamsFor(ctx, r, p.row, own)
	if err != nil {
		return err
	}
	if marks := marksOf(list); p.change.resetFailover || !slices.Equal(marks, r.proxies) {
		p.swap, err = p.client.SetUpstreams(ctx, shim.Upstreams{List: list, ResetFailover: p.change.resetFailover, CloseOld: p.change.closeOld})
		if err != nil {
			return err
		}
		r.proxies, r.at, r.forOnce = marks, p.swap.At, r.forOnce && !p.change.followProfile
	}
	p.wanted = list
	p.showUpstream(list, warnings)
	return nil
}

// showUpstream writes into the run which proxy is in use, and which of the profile's fallbacks are left out.
func (p *reconciliation) showUpstream(list []shim.Upstream, warnings []warningJSON) {
	at := p.r.at
	if at >= len(list) {
		return
	}
	had := p.answer.Proxy
	if p.swap.Swapped || had == nil || had.ID != list[at].ID || had.Fallback != (at > 0) {
		p.answer.Proxy = &exitJSON{ID: list[at].ID, Type: string(list[at].Type), Fallback: at > 0}
	}
	kept := slices.DeleteFunc(slices.Clone(p.answer.Warnings), func(w warningJSON) bool { return w.Code == fallbackLeftOut })
	p.answer.Warnings = append(kept, warnings...)
}

// upstreamsFor are the proxies that a run should have, with its own in front, and which of the profile's fallbacks are left out.
func (rs *runs) upstreamsFor(ctx context.Context, r *profileRun, row store.Profile, own string) (list []shim.Upstream, warnings []warningJSON, err error) {
	px, err := rs.pool.Get(ctx, store.All(), own)
	if err != nil {
		return nil, nil, err
	}
	first, err := upstream(px)
	if err != nil {
		return nil, nil, err
	}
	if r.forOnce && own == r.own() {
		return []shim.Upstream{*first}, nil, nil
	}
	all, err := rs.fallbacksOf(ctx, store.All(), row, own)
	if err != nil || len(all) == 0 {
		return []shim.Upstream{*first}, nil, err
	}
	check, err := rs.pool.LastGood(ctx, px)
	if err != nil {
		return nil, nil, err
	}
	more, warnings := chosenFallbacks(all, row.FallbackCountry, exitFrom(check), r.proxies)
	return append([]shim.Upstream{*first}, more...), warnings, nil
}

// rules has the run keep to its profile's host rules.
func (p *reconciliation) rules(ctx context.Context) error {
	wanted := rulesOf(p.row)
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

// identity tells pages what the profile and the exit come to, and notes what waits for the next start.
func (p *reconciliation) identity(ctx context.Context) error {
	if p.began == nil { // the record of the run cannot be read
		return nil
	}
	check, err := p.exit(ctx)
	if err != nil {
		return err
	}
	env := localEnvironment(majorOf(p.before.Browser.Version))
	env.Proxied, env.Exit = p.r.inUse() != "", exitFrom(check)
	now, err := identity.Resolve(declared(p.row), env)
	if err != nil {
		return err
	}
	next := *p.began
	next.Identity = p.began.next(now, env.Zone)
	refused := p.tell(ctx, &next)
	next.show(&p.answer, *p.began, now.Settings)
	p.fixed = next.pending(p.row, told(now.Values), env.Zone)
	if px := p.answer.Proxy; p.change.exit != useKnown && px != nil && check != nil && px.ID == *check.ID {
		filled := *px
		filled.fill(check)
		p.answer.Proxy = &filled
	}
	p.began = &next
	return refused
}

// tell sends an identity to the run's pages. What they do not take stays as it was.
func (p *reconciliation) tell(ctx context.Context, next *startedWith) error {
	if reflect.DeepEqual(next.Identity, p.began.Identity) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identityTime)
	defer cancel()
	languages, err := p.client.SetIdentity(ctx, next.Identity)
	switch {
	case err != nil:
		next.Identity = p.began.Identity
	case !slices.Equal(languages, next.Identity.Languages): // Chrome did not take them
		next.Identity.Languages = p.began.Identity.Languages
	}
	return err
}

// exit gives the last good check of the run's proxy; nil is not known. A check that takes longer than staleWait goes on as p.late.
func (p *reconciliation) exit(ctx context.Context) (*pool.Check, error) {
	id := p.r.inUse()
	if id == "" {
		return nil, nil
	}
	px, err := p.rs.pool.Get(ctx, store.All(), id)
	if problem.Is(err, problem.NotFound) { // it was deleted when the profile had another already, and the run goes on through it
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	wanted := p.change.exit == checkIfStale || p.swap.Swapped
	if wanted && declared(p.row).FollowsExit() && px.Recent() == nil {
		if err := px.Usable(); err != nil {
			return nil, err
		}
		e := p.rs.lookUpExit(ctx, &px, "warn")
		c, err := e.wait(ctx, staleWait)
		if err == nil && c.OK {
			return c, nil
		}
		if errors.Is(err, errStillChecking) {
			p.late = e
		}
	}
	return p.rs.pool.LastGood(ctx, px)
}

// pending names the settings that wait for the next start, sorted. Where they are not known those of before stay.
func (p *reconciliation) pending() []string {
	r, own, members := p.r, p.r.own(), p.fixed
	if members == nil {
		again := []string{"proxyId", "fallbackProxyIds"}
		if r.rules != nil {
			again = append(again, "allowHosts", "denyHosts", "logHosts")
		}
		members = slices.DeleteFunc(slices.Clone(p.before.Pending), func(m string) bool { return slices.Contains(again, m) })
	}
	switch {
	case r.forOnce:
	case p.row.ProxyID != nil && *p.row.ProxyID != own, p.row.ProxyID == nil && own != "":
		members = append(members, "proxyId")
	case p.wanted != nil && !slices.EqualFunc(p.wanted, r.proxies, func(u shim.Upstream, m shim.UpstreamMark) bool { return u.ID == m.ID }):
		members = append(members, "fallbackProxyIds")
	}
	members = append(members, pendingRules(r.rules, rulesOf(p.row))...)
	slices.Sort(members)
	return members
}

// pendingRules names the lists of hosts that a run does not keep to; has is nil when it is not known.
func pendingRules(has *shim.Rules, wanted shim.Rules) (members []string) {
	if has == nil {
		return nil
	}
	if !slices.Equal(wanted.Allow, has.Allow) {
		members = append(members, "allowHosts")
	}
	if !slices.Equal(wanted.Deny, has.Deny) {
		members = append(members, "denyHosts")
	}
	if wanted.Log != has.Log {
		members = append(members, "logHosts")
	}
	return members
}

// record makes known what the run shows now, if that has changed.
func (p *reconciliation) record() error {
	r := p.r
	r.mu.Lock()
	p.answer.known, p.answer.DebuggerAddress = r.answer.known, r.answer.DebuggerAddress // what may have changed meanwhile
	same := reflect.DeepEqual(r.answer.RunJSON, p.answer.RunJSON) && reflect.DeepEqual(r.began, p.began)
	if !same {
		answer := p.answer
		r.answer, r.began = &answer, p.began
	}
	text, err := json.Marshal(runRecord{r.answer, r.began})
	r.mu.Unlock()
	if same || err != nil {
		return err
	}
	defer p.rs.publishUpdate(r)
	return p.rs.record(func(ctx context.Context, q *store.Queries) error {
		_, err := q.SetRunRecord(ctx, store.SetRunRecordParams{ID: r.id, Record: string(text)})
		return err
	})
}

func marksOf(list []shim.Upstream) (out []shim.UpstreamMark) {
	for _, u := range list {
		out = append(out, shim.UpstreamMark{ID: u.ID, Revision: u.Revision})
	}
	return out
}

// inUse is the id of the proxy that new connections go through; "" none. The run's lock is held.
func (r *profileRun) inUse() string {
	if r.at >= len(r.proxies) {
		return ""
	}
	return r.proxies[r.at].ID
}

// own is the id of the first proxy, which others stand in for; "" none. The run's lock is held.
func (r *profileRun) own() string {
	if len(r.proxies) == 0 {
		return ""
	}
	return r.proxies[0].ID
}

// uses says whether a run has a proxy, in use or as a fallback.
func (r *profileRun) uses(proxyID string) bool {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	return slices.ContainsFunc(r.proxies, func(m shim.UpstreamMark) bool { return m.ID == proxyID })
}

// follow reconciles a run when the check of its exit is over. A check has a deadline of its own.
func (rs *runs) follow(r *profileRun, e *exitLookup) {
	leave, err := rs.enter()
	if err != nil {
		return // the server stops
	}
	go func() {
		defer leave()
		select {
		case <-e.done: // its country may be known by now, and with it who stands in for it
			rs.reconcile(rs.ctx, r, change{exit: justChecked})
		case <-r.gone:
		case <-rs.ctx.Done():
		}
	}()
}

// inWorkspace are the runs of a workspace that go on.
func (rs *runs) inWorkspace(workspace string) (out []*profileRun) {
	for _, run := range rs.list(store.All(), workspace) {
		if r := rs.of(run.ProfileID); r != nil && r.id == run.RunID {
			out = append(out, r)
		}
	}
	return out
}

// exitMoved reconciles every run whose proxy comes out elsewhere than before.
func (rs *runs) exitMoved(ctx context.Context, workspace, proxyID string) {
	var wg sync.WaitGroup
	for _, r := range rs.inWorkspace(workspace) {
		if r.goesThrough(proxyID) {
			wg.Go(func() { rs.reconcile(ctx, r, change{exit: justChecked}) })
		}
	}
	wg.Wait()
}

// goesThrough says whether the run shows a proxy as the one in use.
func (r *profileRun) goesThrough(proxyID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answer != nil && r.answer.Proxy != nil && r.answer.Proxy.ID == proxyID
}

// keepFollowing reconciles runs whenever a check finds that their proxy has moved, until ctx ends.
func (rs *runs) keepFollowing(ctx context.Context) {
	for {
		moves := rs.pool.AwaitMoves(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, m := range moves {
			leave, err := rs.enter()
			if err != nil {
				return // the server stops
			}
			go func() {
				defer leave()
				rs.exitMoved(rs.ctx, m.Workspace, m.ProxyID)
			}()
		}
	}
}

// changedRun is what a change of a proxy has done to a run.
type changedRun struct {
	run  RunJSON
	swap shim.Swap
}

// proxyChanged gives every run of a proxy its new address and credentials, when it moved, all at once: those that hang are waited for together.
func (rs *runs) proxyChanged(ctx context.Context, row store.Proxy, moved, closeOld bool) (out []changedRun) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, r := range rs.inWorkspace(row.WorkspaceID) {
		wg.Go(func() {
			if !r.uses(row.ID) {
				return
			}
			var swap shim.Swap
			if moved {
				swap = rs.reconcile(ctx, r, change{closeOld: closeOld, exit: checkIfStale})
			}
			if _, now := rs.look(r.profileID, ""); now != nil {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, changedRun{*now, swap})
			}
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b changedRun) int { return strings.Compare(a.run.RunID, b.run.RunID) })
	return out
}

// proxyFailed reconciles a run whose proxy was dead, and that goes on through the next.
func (rs *runs) proxyFailed(r *profileRun, n shim.Notice) {
	leave, err := rs.enter()
	if err != nil {
		return // the server stops; the next one asks the run
	}
	go func() {
		defer leave()
		rs.events.Publish(events.Event{Type: "run.fallback", Workspace: r.workspaceID,
			Data: map[string]any{"id": r.profileID, "runId": r.id, "from": n.From, "to": n.To, "code": n.Code}})
		rs.log.Warn("a run's proxy is dead; it goes on through the next", "profile", r.profileID, "run", r.id, "from", n.From, "to", n.To, "code", n.Code)
		rs.reconcile(rs.ctx, r, change{ask: true, exit: checkIfStale}) // what the notice says may be from before a change
	}()
}

// failback takes a run back to its own proxy.
func (rs *runs) failback(ctx context.Context, profileID string) (*RunJSON, error) {
	r := rs.of(profileID)
	if r == nil || !r.goesOn() {
		return nil, notRunning()
	}
	rs.reconcile(ctx, r, change{resetFailover: true, exit: checkIfStale})
	_, run := rs.look(profileID, "")
	if run == nil {
		return nil, notRunning()
	}
	return run, nil
}

// profileChanged brings a profile's run, if there is one, to what the profile says now.
func (rs *runs) profileChanged(ctx context.Context, profileID string, c change) {
	if r := rs.of(profileID); r != nil {
		rs.reconcile(ctx, r, c)
	}
}
