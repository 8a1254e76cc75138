package main

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Decides what a start runs: its browser, proxy, identity, limits and isolation.

// override is a setting of one start that may be absent: then the profile's counts.
type override[T any] struct {
	Set   bool
	Value T
}

// options override the profile for one start.
type options struct {
	Headless       override[*bool] // nil: headed where there is a display
	StartURLs      override[[]string]
	Proxy          override[proxyChoice]
	Preflight      string // off, warn or require; "" is warn
	DebugPort      bool   // open a port of this machine for clients that can only say host:port
	AllowDowngrade bool   // open the profile with an older browser than last time, after a copy of its data
	DryRun         bool   // leave no trace

	Asker asker
}

// asker is the key that asks for a start.
type asker struct {
	Sees    store.Scope
	Key     string // what capabilities remember of it
	Files   bool   // its clients may use files of the machine
	Expires time.Time
}

// proxyChoice is the proxy of one start: an id, one that is picked, or none: direct.
type proxyChoice struct {
	ID   string
	Pick *pick
}

// direct says whether the start goes without a proxy.
func (c proxyChoice) direct() bool { return c.ID == "" && c.Pick == nil }

// plan is a start that was decided: what to run, and what to say of it.
type plan struct {
	row       store.Profile
	proxy     *pool.Proxy
	spec      shim.Spec
	installed shim.Installed
	match     string // exact or nearest: whether installed is of the declared version
	snapshot  string // the version that last opened the profile, whose data are copied before an older browser gets them; "" none
	preflight string
	fallbacks []fallback  // that the profile names, in its order
	checked   *pool.Check // the check that preflight required
	env       identity.Environment
	exit      *exitLookup
	resolved  identity.Resolution
	warnings  []warningJSON
}

// plan reads everything that a start needs and meets every refusal that does not need a browser.
func (rs *runs) plan(ctx context.Context, row store.Profile, o options) (*plan, error) {
	p := &plan{row: row, preflight: "warn"}
	if o.Preflight != "" {
		p.preflight = o.Preflight
	}
	if err := rs.planProxy(ctx, p, o); err != nil {
		return nil, err
	}
	installed, err := rs.choose(ctx, p, o.AllowDowngrade)
	if err != nil {
		return nil, err
	}
	p.installed = installed
	if err := rs.planSpec(p, o); err != nil {
		return nil, err
	}
	p.env = localEnvironment(installed.Major)
	p.env.Proxied = p.proxy != nil
	if p.proxy != nil && !o.Proxy.Set { // a proxy for this run alone has none that stands in for it
		p.fallbacks, err = rs.fallbacksOf(ctx, o.Asker.Sees, row, p.proxy.ID)
	}
	return p, err
}

// planProxy decides which proxy the start goes through.
func (rs *runs) planProxy(ctx context.Context, p *plan, o options) error {
	id := p.row.ProxyID
	if o.Proxy.Set {
		chosen, err := rs.chooseProxy(ctx, p, o)
		if err != nil {
			return err
		}
		id = chosen
	} else if p.row.ProxyMissing {
		return proxyMissing()
	}
	if id == nil {
		return nil
	}
	px, err := rs.pool.Get(ctx, o.Asker.Sees, *id)
	if problem.Is(err, problem.NotFound) || err == nil && px.WorkspaceID != p.row.WorkspaceID {
		return problem.NotValid(problem.Fault{Location: "body.proxyId", Message: "is no proxy of the profile's workspace"})
	}
	if err != nil {
		return err
	}
	p.proxy = &px
	return nil
}

// planSpec says what the run's process is to do.
func (rs *runs) planSpec(p *plan, o options) error {
	row := p.row
	var urls []string
	if err := json.Unmarshal([]byte(row.StartURLs), &urls); err != nil {
		return err
	}
	if o.StartURLs.Set {
		urls = o.StartURLs.Value
	}
	headless := row.Headless
	if o.Headless.Set {
		headless = o.Headless.Value
	}
	runID := store.NewID()
	p.spec = shim.Spec{RunID: runID, ProfileID: row.ID, Name: runName(runID), BrowserPath: p.installed.Path, Product: p.installed.Product,
		Version: p.installed.Version, ProfileDir: rs.profileDir(row.ID), RunDir: rs.dir, Headless: rs.headless(headless), StartURLs: urls,
		ForOnce: o.Proxy.Set, Private: rs.cfg.AllowPrivate, DebugPort: o.DebugPort, StarterFiles: o.Asker.Files, DebugKey: o.Asker.Key,
		WebRTC: row.WebRTC, Rules: rulesOf(row), Background: row.BackgroundTraffic == "allow",
		Protected: rs.cfg.Protected, ReadOnly: rs.cfg.ReadOnly, Writable: rs.cfg.ClientFiles,
		Timeout: rs.cfg.StartTimeout, Grace: rs.cfg.OrphanGrace, FilesQuota: rs.cfg.FilesQuota}
	if rs.cfg.RequireIsolation {
		p.spec.Network, p.spec.Files = shim.Namespace, shim.Namespace
	}
	if row.MaxRunMs != nil {
		p.spec.MaxRun = time.Duration(*row.MaxRunMs) * time.Millisecond
	}
	if row.IdleTimeoutMs != nil {
		p.spec.Idle = time.Duration(*row.IdleTimeoutMs) * time.Millisecond
	}
	if err := rs.planBypasses(p); err != nil {
		return err
	}
	if o.DebugPort {
		if !o.Asker.Expires.IsZero() {
			p.spec.DebugUntil = o.Asker.Expires.UnixMilli()
		}
		p.warnings = append(p.warnings, warningJSON{"debug_port",
			"Any program of this machine can drive this browser through debuggerAddress while it runs and your key stands."})
	}
	return p.planUpstream()
}

// planBypasses lets pages reach what the profile names of this machine and its network.
func (rs *runs) planBypasses(p *plan) error {
	local, warnings, err := rs.localBypasses(p.row)
	if err != nil {
		return err
	}
	via, more := rs.viaBypasses(p.row)
	p.spec.Bypasses, p.warnings = append(local, via...), slices.Concat(p.warnings, warnings, more)
	return nil
}

func (p *plan) planUpstream() (err error) {
	if p.proxy == nil {
		return nil
	}
	if p.row.WebRTC == "default" {
		return problem.NotValid(problem.Fault{Location: "body.webrtc",
			Message: "default is refused with a proxy: it would tell this machine's addresses"})
	}
	p.spec.Upstream, err = upstream(*p.proxy)
	return err
}

func proxyMissing() *problem.Error {
	return problem.New(problem.Conflict, "proxy_missing", "The profile's proxy was deleted while it was in the trash. "+
		"Set proxyId to a proxy, or to null for a direct connection, then start again.")
}

// headless decides where neither the profile nor the start does.
func (rs *runs) headless(want *bool) bool {
	if want != nil {
		return *want
	}
	switch rs.cfg.Headless {
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

// warn adds a warning. One of each code: what is there already is completed.
func (p *plan) warn(w warningJSON) {
	for i, have := range p.warnings {
		if have.Code == w.Code {
			p.warnings[i].Message += " " + w.Message
			return
		}
	}
	p.warnings = append(p.warnings, w)
}

// dryPlan is a start as far as it goes without a browser: with what is known of the exit.
func (rs *runs) dryPlan(ctx context.Context, row store.Profile, o options) (*plan, error) {
	o.DryRun = true // a proxy that is picked now is picked for nobody
	p, err := rs.plan(ctx, row, o)
	if err != nil {
		return nil, err
	}
	if err := rs.requireExit(ctx, p); err != nil {
		return nil, err
	}
	if err := rs.settleIdentity(ctx, p, false); err != nil {
		return nil, err
	}
	p.chooseFallbacks()
	return p, nil
}

// dryRunJSON is what a start would run.
type dryRunJSON struct {
	Arguments   []string      `json:"arguments,omitempty"`
	Environment []string      `json:"environment,omitempty"`
	Effective   effectiveJSON `json:"effective"`
	Warnings    []warningJSON `json:"warnings"`
}

// dryRun says what a start would run, and starts nothing.
func (rs *runs) dryRun(ctx context.Context, row store.Profile, o options) (*dryRunJSON, error) {
	p, err := rs.dryPlan(ctx, row, o)
	if err != nil {
		return nil, err
	}
	arguments, env, warnings, err := shim.Plan(p.spec)
	if err != nil {
		return nil, startProblem(err)
	}
	return &dryRunJSON{Arguments: arguments, Environment: env, Effective: p.effective(nil),
		Warnings: slices.Concat([]warningJSON{}, p.warnings, warningsOf(warnings), p.emulated(), mismatchWarnings(p.row, p.env))}, nil
}
