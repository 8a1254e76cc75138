package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Starts a profile's browser: claim, plan, launch, settle, ready. Many callers at once share one run.

// start gives the profile's run: the one that is there, or a new one.
func (rs *runs) start(ctx context.Context, row store.Profile, o options) (*startJSON, error) {
	for {
		have, mine, err := rs.claimStart(ctx, row, o)
		if err != nil {
			return nil, err
		}
		answer, again, err := rs.awaitStart(ctx, have, mine)
		if !again {
			return answer, err
		}
	}
}

// claimStart begins the profile's run, or returns the one that is there.
func (rs *runs) claimStart(ctx context.Context, row store.Profile, o options) (have *profileRun, mine bool, err error) {
	r, life := rs.newStart(row)
	have, mine, err = rs.claim(r)
	if err != nil || !mine {
		r.cancel()
		return have, mine, err
	}
	rs.begin(ctx, life, r, o, func() error { return nil })
	return have, mine, nil
}

// newStart is a run that is to be, and the context that its launch lives in.
func (rs *runs) newStart(row store.Profile) (*profileRun, context.Context) {
	r := newRun(row.ID, row.WorkspaceID, "starting")
	launch, cancel := context.WithCancel(rs.ctx)
	r.cancel = cancel
	return r, launch
}

// begin sets a run's life off. It is planned when turn returns: by then nobody else starts or deletes the profile.
func (rs *runs) begin(ctx, launch context.Context, r *profileRun, o options, turn func() error) {
	ctx = context.WithoutCancel(ctx)
	go rs.life(launch, r, o, func() (*plan, error) {
		if err := turn(); err != nil {
			return nil, err
		}
		row, err := rs.profile(ctx, o.Asker.Sees, r.profileID)
		if err != nil {
			return nil, err
		}
		return rs.plan(ctx, row, o)
	})
}

// awaitStart waits for a run and gives it. again says that it failed by what another caller asked for: this one may try with its own options.
func (rs *runs) awaitStart(ctx context.Context, have *profileRun, mine bool) (answer *startJSON, again bool, err error) {
	old := !mine && isClosed(have.ready)
	leave := have.want()
	select {
	case <-have.ready:
		leave(false)
	case <-ctx.Done():
		leave(true)
		return nil, false, ctx.Err()
	}
	if have.err != nil {
		return nil, !mine && isCallersOwn(have.err), have.err
	}
	have.mu.Lock()
	status, answer := have.status, have.answer
	have.mu.Unlock()
	running := status == "running" && answer != nil
	switch {
	case running && !answer.known:
		return nil, false, notAnswering()
	case running && (!old || !isClosed(have.halt) && have.client.Alive(ctx)):
		a := *answer
		a.Reused, a.run = !mine, have
		return &a, false, nil
	case !old:
		return nil, false, cancelledStart()
	}
	select { // it was ending already when the caller came: wait for its end, then start anew
	case <-have.gone:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// isCallersOwn says whether a start failed by what its caller asked for: another caller with other options may succeed. A cancelled start is
// cancelled for every waiter.
func isCallersOwn(err error) bool {
	var p *problem.Error
	return errors.As(err, &p) && (p.Kind.OfCaller() && p.Code != "profile_busy" || p.Code == "proxy_unreachable")
}

// launch brings the browser up and records its start.
func (rs *runs) launch(ctx context.Context, r *profileRun, p *plan) error {
	if r.place == nil {
		r.place = rs.room.queue()
	}
	begun := make(chan struct{})
	go func() { // beside the launch, which need not wait for the disk
		defer close(begun)
		rs.payOwed(r.profileID)
		rs.noteBefore(ctx, r)
		rs.move(r, "starting") //nolint:errcheck // what comes of it is written in any case
	}()
	defer func() { <-begun }()
	client, state, err := rs.launchProcess(ctx, r, p)
	if err != nil {
		return err
	}
	answer := rs.started(ctx, r, p, client, state)
	<-begun
	if err = rs.recordStart(ctx, r, answer); err != nil {
		rs.abandon(r, client)
		return err
	}
	rs.admitDebugger(ctx, r)
	return nil
}

// launchProcess waits for the start's turn and starts the run's process.
func (rs *runs) launchProcess(ctx context.Context, r *profileRun, p *plan) (*shim.Client, *shim.State, error) {
	release, err := rs.takeTurn(ctx, r, p)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	p.chooseFallbacks()
	if err := rs.keepSnapshot(ctx, p); err != nil {
		return nil, nil, err
	}
	client, state, err := shim.Launch(ctx, rs.exe, p.spec)
	if err != nil {
		return nil, nil, startProblem(err)
	}
	return client, state, nil
}

// started takes over what the run's process says, and makes the start's answer of it. It waits for the exit as long as a start may.
func (rs *runs) started(ctx context.Context, r *profileRun, p *plan, client *shim.Client, state *shim.State) *startJSON {
	r.mu.Lock()
	r.client, r.began, r.late, r.debugKey = client, p.startedWith(), p.exit, state.DebugKey
	r.mu.Unlock()
	r.proxies, r.at, r.forOnce, r.rules = state.Upstreams, state.UpstreamAt, p.spec.ForOnce, &p.spec.Rules
	answer := p.answer(state)
	answer.Warnings = append(answer.Warnings, differs(p.spec.Identity, state)...)
	p.exit.fill(ctx, answer)
	if isClosed(p.exit.done) && p.exit.result != nil && p.exit.result.OK { // in this order: it is written until then
		p.env.Exit = exitFrom(p.exit.result)
	}
	answer.Warnings = slices.Concat(answer.Warnings, p.emulated(), mismatchWarnings(p.row, p.env))
	return answer
}

// abandon ends the process of a start that failed after all.
func (rs *runs) abandon(r *profileRun, client *shim.Client) {
	if err := client.Abandon(StopTime); err != nil {
		rs.log.Error("a run whose start failed does not end", "profile", r.profileID, "run", r.id, "cause", err)
		return
	}
	shim.Forget(rs.dir, r.name)
}

// recordStart makes the run known: on disk first, then to everyone.
func (rs *runs) recordStart(ctx context.Context, r *profileRun, answer *startJSON) error {
	if ctx.Err() != nil {
		return cancelledStart()
	}
	text, err := json.Marshal(runRecord{answer, r.began})
	if err != nil {
		return err
	}
	at := answer.StartedAt.UnixMilli()
	ctx = context.WithoutCancel(ctx)
	err = rs.store.Write(ctx, func(q *store.Queries) error {
		if err := q.InsertRun(ctx, store.InsertRunParams{ID: r.id, ProfileID: r.profileID, StartedAt: at, Record: string(text)}); err != nil {
			return err
		}
		_, err := q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: r.profileID, Status: "running", LastStartedAt: &at})
		return err
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.answer, r.status = answer, "running"
	r.mu.Unlock()
	rs.events.Publish(events.Event{Type: "run.started", Workspace: r.workspaceID, Data: map[string]any{"id": r.profileID, "runId": r.id, "restarted": r.restarted}})
	rs.log.Info("run started", "profile", r.profileID, "run", r.id, "pid", answer.PID, "isolation", answer.Isolation.Network)
	return nil
}

// answer puts a run's state into start's words.
func (p *plan) answer(st *shim.State) *startJSON {
	a := &startJSON{known: true}
	a.RunJSON = RunJSON{ID: p.row.ID, ProfileID: p.row.ID, WorkspaceID: p.row.WorkspaceID, RunID: p.spec.RunID, Status: "running",
		StartedAt: st.StartedAt.UTC().Truncate(time.Millisecond), PID: st.PID, Headless: st.Headless,
		Browser:   browserJSON{Product: p.installed.Product, Version: st.Browser.Version, Path: p.installed.Path, Match: p.match},
		Requested: requestedJSON{OS: p.row.OS, BrowserVersion: p.row.BrowserVersion}, Effective: p.effective(st),
		Isolation: isolationJSON{Network: st.Isolation.Network, Files: st.Isolation.Files, Sandbox: st.Isolation.Sandbox},
		Pending:   []string{}, Warnings: append([]warningJSON{}, p.warnings...)}
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
		a.Proxy = &exitJSON{ID: p.proxy.ID, Type: p.proxy.Type}
	}
	a.Warnings = append(a.Warnings, warningsOf(st.Warnings)...)
	return a
}

func warningsOf(in []shim.Warning) []warningJSON {
	out := []warningJSON{}
	for _, w := range in {
		out = append(out, warningJSON{w.Code, w.Message})
	}
	return out
}
