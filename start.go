package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// startInput overrides the profile for one run.
type startInput struct {
	Headless  opt[bool]        `json:"headless,omitempty"`
	StartURLs opt[[]string]    `json:"startUrls,omitempty"`
	ProxyID   opt[proxyChoice] `json:"proxyId,omitempty" doc:"For this run alone; null: direct. An object picks one of the proxies of the workspace that have a tag and are not known to be dead: random; leastUsed (by the fewest runs now); roundRobin (in turn); sticky (the one that the profile was given for this tag before)."`
	Preflight string           `json:"preflight,omitempty" nullable:"true" enum:"off,warn,require" doc:"Look the exit up at start. require: refuse when the proxy is dead. Default: warn."`
	DryRun    bool             `json:"dryRun,omitempty" nullable:"true" doc:"Answer what would be run, and start nothing."`
	DebugPort bool             `json:"debugPort,omitempty" nullable:"true" doc:"Open a port of this machine (in 127.77.0.0/16) for clients that can only say host:port, as Selenium does."`

	AllowDowngrade bool `json:"allowDowngrade,omitempty" nullable:"true" doc:"Open the profile with an older browser than last time, which may damage it, after a copy of its data was made beside it (the warning downgraded says where). Without it that is 409 browser_too_old."`
}

type startRequest struct {
	ProfilePath
	Body *startInput `required:"false"`
}

// Resolve checks everything at once, also what only the database knows.
func (in *startRequest) Resolve(ctx huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &startInput{}
	}
	if in.Body.StartURLs.given() {
		f.startURLs("body.startUrls", in.Body.StartURLs.Value)
	}
	if from := in.Body.ProxyID.Value.From; from != nil {
		in.Body.ProxyID.Value.From.Tag = f.plain("body.proxyId.tag", from.Tag, 1, 64)
	} else if in.Body.ProxyID.given() {
		req := requestOf(ctx.Context())
		row, err := req.server.profileRow(ctx.Context(), in.ID, false)
		if err != nil {
			return []error{fromError(err)}
		}
		asked := profileInput{ProxyID: opt[string]{Set: true, Value: in.Body.ProxyID.Value.ID}}
		if err := asked.checkProxy(ctx.Context(), req.server.store.Read(), req.caller, row.WorkspaceID, &row, &f); err != nil {
			return []error{internal(err)}
		}
	}
	return f.errors()
}

// dryRunJSON is what a start would run.
type dryRunJSON struct {
	Arguments   []string      `json:"arguments,omitempty"`
	Environment []string      `json:"environment,omitempty"`
	Effective   effectiveJSON `json:"effective"`
	Warnings    []warningJSON `json:"warnings"`
}

// plan is a start that was decided: what to run, and what to say of it.
type plan struct {
	row       store.Profile
	proxy     *store.Proxy
	spec      shim.Spec
	installed shim.Installed
	match     string // exact or nearest: whether installed is of the declared version
	snapshot  string // the version that last opened the profile, whose data are copied before an older browser gets them; "" none
	preflight string
	fallbacks []fallback // that the profile names, in its order
	checked   *checkJSON // the check that preflight required
	around    surroundings
	exit      *exitLookup
	resolved  resolution
	warnings  []warningJSON
}

// plan reads everything that a start needs and meets every refusal that does not need a browser.
func (s *server) plan(ctx context.Context, row store.Profile, in *startInput) (*plan, error) {
	p := &plan{row: row, preflight: "warn"}
	if in.Preflight != "" {
		p.preflight = in.Preflight
	}
	proxyID := row.ProxyID
	if in.ProxyID.Set {
		id, err := s.chooseProxy(ctx, p, in)
		if err != nil {
			return nil, err
		}
		proxyID = id
	} else if row.ProxyMissing {
		return nil, conflict("proxy_missing", "The profile's proxy was deleted while it was in the trash. Set proxyId to a proxy, or to null for a direct connection, then start again.")
	}
	if proxyID != nil {
		px, err := s.store.Read().GetProxy(ctx, store.GetProxyParams{ID: *proxyID, Workspaces: callerOf(ctx).filter})
		if errors.Is(err, store.ErrNoRow) || err == nil && px.WorkspaceID != row.WorkspaceID {
			return nil, invalid(fault{Location: "body.proxyId", Message: "is no proxy of the profile's workspace"})
		}
		if err != nil {
			return nil, err
		}
		p.proxy = &px
	}
	installed, err := s.runs.choose(ctx, p, in.AllowDowngrade)
	if err != nil {
		return nil, err
	}
	p.installed = installed
	if err := s.fillSpec(ctx, p, in); err != nil {
		return nil, err
	}
	p.around = here(installed.Major)
	p.around.proxied = p.proxy != nil
	if p.proxy != nil && !in.ProxyID.Set { // a proxy for this run alone has none that stands in for it
		p.fallbacks, err = s.fallbacksOf(ctx, row, p.proxy.ID)
	}
	return p, err
}

func (s *server) fillSpec(ctx context.Context, p *plan, in *startInput) error {
	runID := newID()
	var urls []string
	if err := json.Unmarshal([]byte(p.row.StartURLs), &urls); err != nil {
		return err
	}
	in.StartURLs.merge(&urls, nil)
	headless := p.row.Headless
	mergePtr(in.Headless, &headless)
	p.spec = shim.Spec{RunID: runID, ProfileID: p.row.ID, Name: runName(runID), BrowserPath: p.installed.Path, Product: p.installed.Product, Version: p.installed.Version,
		ProfileDir: s.profileDir(p.row.ID), RunDir: s.runs.dir, Headless: s.headless(headless), StartURLs: urls,
		ForOnce: in.ProxyID.Set, Private: s.cfg.allowPrivate(), DebugPort: in.DebugPort, StarterFiles: callerOf(ctx).has(scopeFiles), DebugKey: callerOf(ctx).mark, WebRTC: p.row.WebRTC,
		Protected: s.cfg.covered(), ReadOnly: s.cfg.readOnly(), Writable: s.cfg.ClientFiles,
		Timeout: s.cfg.StartTimeout, Grace: s.cfg.OrphanGrace, FilesQuota: s.cfg.FilesQuota.bytes()}
	if s.cfg.RequireIsolation {
		p.spec.Network, p.spec.Files = shim.Namespace, shim.Namespace
	}
	detours, warnings, err := s.detours(p.row)
	if err != nil {
		return err
	}
	via, more := s.viaDetours(p.row)
	p.spec.Bypasses, p.warnings = append(detours, via...), slices.Concat(p.warnings, warnings, more)
	p.spec.Rules = rulesOf(p.row)
	p.spec.Background = p.row.BackgroundTraffic == "allow"
	if p.row.MaxRunMs != nil {
		p.spec.MaxRun = time.Duration(*p.row.MaxRunMs) * time.Millisecond
	}
	if p.row.IdleTimeoutMs != nil {
		p.spec.Idle = time.Duration(*p.row.IdleTimeoutMs) * time.Millisecond
	}
	if in.DebugPort {
		if key := callerOf(ctx); !key.expires.IsZero() {
			p.spec.DebugUntil = key.expires.UnixMilli()
		}
		p.warnings = append(p.warnings, warningJSON{"debug_port", "Any program of this machine can drive this browser through debuggerAddress while it runs and your key stands."})
	}
	if p.proxy == nil {
		return nil
	}
	if p.row.WebRTC == "default" {
		return invalid(fault{Location: "body.webrtc", Message: "default is refused with a proxy: it would tell this machine's addresses"})
	}
	u, err := s.upstream(*p.proxy)
	p.spec.Upstream = u
	return err
}

// newCapability makes 256 random bits that open one run.
func newCapability() string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// headless decides where neither the profile nor the start does.
func (s *server) headless(want *bool) bool {
	if want != nil {
		return *want
	}
	switch s.cfg.Headless {
	case "always":
		return true
	case "never":
		return false
	}
	return !hasDisplay()
}

func hasDisplay() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

func (s *server) startProfile(ctx context.Context, in *startRequest) (*struct{ Body startAnswer }, error) {
	return s.startBy(ctx, in, s.start)
}

// startBy answers a start, whichever way it comes to its run.
func (s *server) startBy(ctx context.Context, in *startRequest, start func(context.Context, store.Profile, *startInput) (*startJSON, error)) (*struct{ Body startAnswer }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body startAnswer }{}
	if in.Body.DryRun {
		p, err := s.plan(ctx, row, in.Body)
		if err != nil {
			return nil, err
		}
		if err := s.runs.requireExit(ctx, p); err != nil {
			return nil, err
		}
		if err := s.runs.settleIdentity(ctx, p, false); err != nil {
			return nil, err
		}
		p.chooseFallbacks()
		out.Body.dry, err = s.dryRun(p)
		return out, err
	}
	answer, err := start(ctx, row, in.Body)
	if err != nil {
		return nil, err
	}
	out.Body.started = answer
	return out, s.addresses(ctx, answer)
}

// startAnswer is start's answer, or with dryRun what would be run.
type startAnswer struct {
	started *startJSON
	dry     *dryRunJSON
}

// MarshalJSON writes the one that is there.
func (a startAnswer) MarshalJSON() ([]byte, error) {
	if a.dry != nil {
		return json.Marshal(a.dry)
	}
	return json.Marshal(a.started)
}

// Schema is either.
func (startAnswer) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[startJSON](), true, ""), r.Schema(reflect.TypeFor[dryRunJSON](), true, "")}}
}

func (s *server) dryRun(p *plan) (*dryRunJSON, error) {
	arguments, env, warnings, err := shim.Plan(p.spec)
	if err != nil {
		return nil, startProblem(err)
	}
	out := &dryRunJSON{Arguments: arguments, Environment: env, Warnings: append([]warningJSON{}, p.warnings...)}
	out.Effective = p.effective(nil)
	out.Warnings = slices.Concat(out.Warnings, warningsOf(warnings), p.emulated(), mismatchWarnings(p.row, p.around))
	return out, nil
}

// start gives the profile's run: the one that is there, or a new one. Many at once share one.
func (s *server) start(ctx context.Context, row store.Profile, in *startInput) (*startJSON, error) {
	for {
		have, mine, err := s.claimStart(ctx, row, in)
		if err != nil {
			return nil, err
		}
		answer, again, err := s.awaitStart(ctx, have, mine)
		if !again {
			return answer, err
		}
	}
}

// awaitStart waits for a run and gives it. again says that it came to nothing that is the caller's: it tries anew.
func (s *server) awaitStart(ctx context.Context, have *profileRun, mine bool) (answer *startJSON, again bool, err error) {
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
		again = !mine && isCallersOwn(have.err)
		return nil, again, have.err
	}
	have.mu.Lock()
	status, answer := have.status, have.answer
	have.mu.Unlock()
	if status == "running" && answer != nil && !answer.known {
		return nil, false, conflict("profile_busy", "The run of an earlier server does not answer. Stop it, with force if it must be, then start again.")
	}
	if status == "running" && answer != nil && (!old || !isClosed(have.halt) && have.client.Alive(ctx)) {
		a := *answer
		a.Reused, a.run = !mine, have
		return &a, false, nil
	}
	if !old {
		return nil, false, cancelledStart()
	}
	select { // it was on its way out already when we came: wait for its end, then start anew
	case <-have.gone:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// isCallersOwn says whether a start failed by what its caller asked for: who asks for something else may have better luck. A start that
// was given up was so for everyone who waits for it.
func isCallersOwn(err error) bool {
	var p *problem
	return errors.As(err, &p) && (p.Status < 500 && p.Code != "profile_busy" || p.Code == "proxy_unreachable")
}

// claimStart begins the profile's run, or returns the one that is there.
func (s *server) claimStart(ctx context.Context, row store.Profile, in *startInput) (have *profileRun, mine bool, err error) {
	r, launch := s.newStart(row)
	have, mine, err = s.runs.claim(r)
	if err != nil || !mine {
		r.cancel()
		return have, mine, err
	}
	s.begin(ctx, launch, r, row, in, func() error { return nil })
	return have, mine, nil
}

// newStart is a run that is to be, and what its launch lives in.
func (s *server) newStart(row store.Profile) (*profileRun, context.Context) {
	r := newRun(row.ID, row.WorkspaceID, "starting")
	launch, cancel := context.WithCancel(s.runs.ctx)
	r.cancel = cancel
	return r, launch
}

// begin sets a run's life off. It is decided when turn has come.
func (s *server) begin(ctx, launch context.Context, r *profileRun, row store.Profile, in *startInput, turn func() error) {
	ctx = context.WithoutCancel(ctx)
	decide := func() (*plan, error) {
		if err := turn(); err != nil {
			return nil, err
		}
		row, err := s.profileRow(ctx, row.ID, false) // as it is now that nobody else starts or deletes it
		if err != nil {
			return nil, err
		}
		return s.plan(ctx, row, in)
	}
	go s.runs.life(launch, r, decide, func() {
		s.refreshProxy(ctx, r, proxyWish{ofProfile: !in.ProxyID.Set})
		s.refreshRules(ctx, r)
		s.redress(ctx, r, exitAsKnown)
		s.followLate(ctx, r)
	})
}

// launch brings the browser up. While it launches the exit is looked up.
func (rs *runs) launch(ctx context.Context, r *profileRun, p *plan) error {
	if r.place == nil {
		r.place = rs.room.queue()
	}
	begun := make(chan struct{})
	go func() { // beside the launch, which need not wait for the disk; what comes of it is written after
		defer close(begun)
		rs.payOwed(r.profileID)
		rs.noteBefore(ctx, r)
		rs.move(r, "starting") //nolint:errcheck // what comes of it is written in any case
	}()
	defer func() { <-begun }()
	if err := rs.takeTurn(ctx, r, p); err != nil {
		return err
	}
	p.chooseFallbacks()
	if err := rs.keepSnapshot(ctx, p); err != nil {
		<-rs.slots
		return err
	}
	client, state, err := shim.Launch(ctx, rs.exe, p.spec)
	<-rs.slots
	if err != nil {
		return startProblem(err)
	}
	r.mu.Lock()
	r.client, r.began, r.late, r.debugKey = client, p.startedWith(), p.exit, state.DebugKey
	r.mu.Unlock()
	r.proxies, r.at, r.forOnce, r.rules = state.Upstreams, state.UpstreamAt, p.spec.ForOnce, &p.spec.Rules
	answer := p.answer(state)
	answer.Warnings = append(answer.Warnings, differs(p.spec.Identity, state)...)
	p.exit.fill(ctx, answer)
	if isClosed(p.exit.done) && p.exit.result != nil && p.exit.result.OK { // in this order: it is written until then
		p.around.exit = p.exit.result
	}
	answer.Warnings = slices.Concat(answer.Warnings, p.emulated(), mismatchWarnings(p.row, p.around))
	if ctx.Err() != nil {
		err = cancelledStart()
	} else {
		<-begun
		if err = rs.recordStart(ctx, r, answer); err == nil {
			rs.admitDebugger(ctx, r)
		}
	}
	if err != nil {
		if err := client.Abandon(stopTime); err != nil {
			rs.log.Error("a run whose start failed does not end", "profile", r.profileID, "run", r.id, "cause", err)
		} else {
			shim.Forget(rs.dir, r.name)
		}
	}
	return err
}

// recordStart makes the run known: on disk first, then to everyone.
func (rs *runs) recordStart(ctx context.Context, r *profileRun, answer *startJSON) error {
	text, err := json.Marshal(runRecord{answer, r.began})
	if err != nil {
		return err
	}
	at := int64(answer.StartedAt)
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
	rs.events.publish("run.started", r.workspaceID, map[string]any{"id": r.profileID, "runId": r.id, "restarted": r.restarted})
	rs.log.Info("run started", "profile", r.profileID, "run", r.id, "pid", answer.PID, "isolation", answer.Isolation.Network)
	return nil
}

// enterQueue lets a start wait for its turn, when not too many do; takeTurn must follow. One that has its place already waits for nobody.
func (rs *runs) enterQueue(r *profileRun) error {
	if rs.queued.Add(1) <= int64(rs.cfg.MaxQueue) || r != nil && r.place != nil {
		return nil
	}
	rs.queued.Add(-1)
	rs.room.refused()
	return startQueueFull()
}

// takeTurn leaves the queue when a run more may be there and fewer browsers start than may at once, and takes a place among these. What preflight
// requires is looked at before, and so is what pages are told, by an exit that is looked up for it: a dead proxy holds nobody up. A leak
// test (r is nil) is no run, and looks no exit up.
func (rs *runs) takeTurn(ctx context.Context, r *profileRun, p *plan) error {
	defer rs.queued.Add(-1)
	if err := rs.requireExit(ctx, p); err != nil {
		return err
	}
	if err := rs.settleIdentity(ctx, p, r != nil); err != nil {
		return err
	}
	if r != nil {
		if err := rs.awaitPlace(ctx, r); err != nil {
			return err
		}
	}
	select {
	case rs.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelledStart()
	}
}

// answer puts a run's state into start's words.
func (p *plan) answer(st *shim.State) *startJSON {
	a := &startJSON{known: true}
	a.RunJSON = RunJSON{ID: p.row.ID, ProfileID: p.row.ID, WorkspaceID: p.row.WorkspaceID, RunID: p.spec.RunID, Status: "running",
		StartedAt: timestamp(st.StartedAt.UnixMilli()), PID: st.PID, Headless: st.Headless,
		Browser:   browserJSON{Product: p.installed.Product, Version: st.Browser.Version, Path: p.installed.Path, Match: p.match},
		Requested: requestedJSON{OS: p.row.OS, BrowserVersion: p.row.BrowserVersion}, Effective: p.effective(st),
		Isolation: isolationJSON{Network: st.Isolation.Network, Files: st.Isolation.Files, Sandbox: st.Isolation.Sandbox},
		Pending:   []string{}, Warnings: append([]warningJSON{}, p.warnings...)}
	if a.Requested.BrowserVersion == "" {
		a.Requested.BrowserVersion = a.Effective.BrowserVersion
	}
	if p.spec.MaxRun > 0 {
		a.ExpiresAt = ptr(a.StartedAt + timestamp(p.spec.MaxRun.Milliseconds()))
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
