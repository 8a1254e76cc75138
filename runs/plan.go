package runs

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/cgroup"
	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Decides what a start runs: its browser, proxy, identity, limits and isolation. Decides what its pages reach without the
// proxy: the services in allowLocal, and ports of this machine by localhostVia.

// plan is what a start runs, and the warnings of its answer.
type plan struct {
	row        store.Profile
	proxy      *pool.Proxy
	spec       shim.Spec
	installed  shim.Installed
	match      string // exact or nearest: whether installed has the declared version
	lastOpened string // version that last opened the profile, if an older browser is to open it now; else ""
	preflight  string
	fallbacks  []fallback  // usable fallbacks, in the profile's order
	checked    *pool.Check // the check that preflight required
	env        identity.Environment
	exit       *exitLookup
	resolved   identity.Resolution
	warnings   []Warning
	limits     cgroup.Limits
	warm       *warmRun // reserved for the start; nil: it launches a browser
}

// plan reads everything that a start needs. It makes every refusal that needs no browser.
func (m *Manager) plan(ctx context.Context, row store.Profile, o Options) (*plan, error) {
	p := &plan{row: row, preflight: cmp.Or(o.Preflight, "warn"), limits: m.groups.of(row)}
	if err := m.planProxy(ctx, p, o); err != nil {
		return nil, err
	}
	installed, err := m.chooseBrowser(ctx, p, o.AllowDowngrade)
	if err != nil {
		return nil, err
	}
	p.installed = installed
	if err := m.planSpec(p, o); err != nil {
		return nil, err
	}
	load, warnings, err := m.extensionsFor(ctx, row, o.DryRun)
	if err != nil {
		return nil, err
	}
	p.spec.Extensions = load
	for _, w := range warnings {
		p.warn(w)
	}
	p.env = localEnvironment(installed.Major)
	p.env.Proxied = p.proxy != nil
	if p.proxy != nil && !o.Proxy.Set { // a proxy for this run alone has no fallbacks
		p.fallbacks, err = m.loadFallbacks(ctx, o.Asker.Sees, row, p.proxy.ID)
	}
	return p, err
}

// planProxy decides which proxy the start uses.
func (m *Manager) planProxy(ctx context.Context, p *plan, o Options) error {
	id := p.row.ProxyID
	if o.Proxy.Set {
		chosen, err := m.chooseProxy(ctx, p, o)
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
	px, err := m.pool.Get(ctx, o.Asker.Sees, *id)
	if problem.Is(err, problem.NotFound) || err == nil && px.WorkspaceID != p.row.WorkspaceID {
		return problem.NotValid(problem.Fault{Location: "body.proxyId", Message: NotInWorkspace})
	}
	if err != nil {
		return err
	}
	p.proxy = &px
	return nil
}

// planSpec fills in what the run's process gets.
func (m *Manager) planSpec(p *plan, o Options) error {
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
	p.spec = shim.Spec{RunID: runID, ProfileID: row.ID, Name: Name(runID), BrowserPath: p.installed.Path, Product: p.installed.Product,
		Version: p.installed.Version, ProfileDir: m.profileDir(row.ID), RunDir: m.dir, Headless: m.headless(headless), StartURLs: urls,
		ForOnce: o.Proxy.Set, Private: m.cfg.AllowPrivate, DebugPort: o.DebugPort, StarterFiles: o.Asker.Files, DebugKey: o.Asker.Key,
		WebRTC: row.WebRTC, Passkeys: passkeyMode(row), Rules: hostRules(row), Background: row.BackgroundTraffic == "allow",
		Protected: m.cfg.Protected, ReadOnly: m.cfg.ReadOnly, Writable: m.cfg.ClientFiles,
		Timeout: m.cfg.StartTimeout, Grace: m.cfg.OrphanGrace, FilesQuota: m.cfg.FilesQuota}
	if p.spec.Args = StringsOf(row.Args); len(p.spec.Args) > 0 {
		if err := refusedArguments(p.spec.Args); err != nil {
			return err
		}
	}
	if m.cfg.RequireIsolation {
		p.spec.Network, p.spec.Files = shim.Namespace, shim.Namespace
	}
	if row.MaxRunMs != nil {
		p.spec.MaxRun = time.Duration(*row.MaxRunMs) * time.Millisecond
	}
	if o.MaxRun.Set {
		p.spec.MaxRun = o.MaxRun.Value
	}
	if row.IdleTimeoutMs != nil {
		p.spec.Idle = time.Duration(*row.IdleTimeoutMs) * time.Millisecond
	}
	m.planFreezing(p, row)
	if err := m.planLocal(p); err != nil {
		return err
	}
	m.planLocalhostVia(p)
	if o.DebugPort {
		if !o.Asker.Expires.IsZero() {
			p.spec.DebugUntil = o.Asker.Expires.UnixMilli()
		}
		p.warnings = append(p.warnings, Warning{"debug_port",
			"Any program of this machine can drive this browser through debuggerAddress while it runs and your key is valid."})
	}
	return p.planUpstream()
}

// refusedArguments is the error for arguments that a profile must not have. Requests are refused for them, so that these are from
// elsewhere: an older version, or a database that somebody changed.
func refusedArguments(args []string) error {
	var faults []problem.Fault
	for _, f := range CheckArguments(args) {
		faults = append(faults, problem.Fault{Location: fmt.Sprintf("profile.args[%d]", f.Index), Message: f.Message})
	}
	if faults == nil {
		return nil
	}
	return problem.NotValid(faults...)
}

// CheckArguments returns why arguments are refused that a profile adds to the browser's command line.
func CheckArguments(args []string) []shim.ArgumentFault { return shim.CheckArguments(args) }

func (p *plan) planUpstream() (err error) {
	if p.proxy == nil {
		return nil
	}
	if p.row.WebRTC == "default" {
		return problem.NotValid(problem.Fault{Location: "body.webrtc", Message: LeakingWebRTC})
	}
	p.spec.Upstream, err = upstream(*p.proxy)
	return err
}

// headless decides between headed and headless if neither the profile nor the start does.
func (m *Manager) headless(want *bool) bool {
	if want != nil {
		return *want
	}
	switch m.cfg.Headless {
	case "always":
		return true
	case "never":
		return false
	}
	return !HasDisplay()
}

// HasDisplay reports whether browsers can open windows here: always on macOS and Windows, elsewhere with an X or Wayland display.
func HasDisplay() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// warn adds a warning. If there is one with the same code, its message is extended.
func (p *plan) warn(w Warning) {
	for i, have := range p.warnings {
		if have.Code == w.Code {
			p.warnings[i].Message += " " + w.Message
			return
		}
	}
	p.warnings = append(p.warnings, w)
}

// dryPlan plans a start and resolves its identity from the last known exit, without a browser.
func (m *Manager) dryPlan(ctx context.Context, row store.Profile, o Options) (*plan, error) {
	o.DryRun = true // a dry run records no pick
	p, err := m.plan(ctx, row, o)
	if err != nil {
		return nil, err
	}
	if err := m.requireExit(ctx, p); err != nil {
		return nil, err
	}
	if err := m.resolveIdentity(ctx, p, false); err != nil {
		return nil, err
	}
	p.chooseFallbacks()
	return p, nil
}

// DryRun is what a start would run.
type DryRun struct {
	Arguments   []string  `json:"arguments,omitempty"`
	Environment []string  `json:"environment,omitempty"`
	Effective   Effective `json:"effective"`
	Warnings    []Warning `json:"warnings"`
}

// DryRun returns what a start would run, and starts nothing.
func (m *Manager) DryRun(ctx context.Context, row store.Profile, o Options) (*DryRun, error) {
	p, err := m.dryPlan(ctx, row, o)
	if err != nil {
		return nil, err
	}
	arguments, env, warnings, err := shim.Plan(p.spec)
	if err != nil {
		return nil, m.startProblem(err)
	}
	return &DryRun{Arguments: arguments, Environment: env, Effective: p.effective(nil),
		Warnings: slices.Concat([]Warning{}, p.warnings, newWarnings(warnings), p.emulationWarnings(), mismatchWarnings(p.row, p.env))}, nil
}

// IsOwn reports whether a target is this server's own address.
func (m *Manager) IsOwn(target string) bool {
	host, port, err := net.SplitHostPort(target)
	return err == nil && m.cfg.Own.Is(host, port)
}

// IsOwnPort reports whether this server answers at a port of this machine.
func (m *Manager) IsOwnPort(port string) bool { return m.cfg.Own.Has(port) }

// planLocal adds the services that the profile's pages may reach. Services that the server no longer allows are left out,
// with a warning.
func (m *Manager) planLocal(p *plan) error {
	var targets []string
	if err := json.Unmarshal([]byte(p.row.AllowLocal), &targets); err != nil {
		return err
	}
	var closed []string
	for _, target := range targets {
		v, err := shim.LocalBypass(target)
		if err != nil || !m.cfg.AllowPrivate || m.IsOwn(target) {
			closed = append(closed, target)
			continue
		}
		p.spec.Bypasses = append(p.spec.Bypasses, v)
	}
	if len(closed) > 0 {
		p.warnings = append(p.warnings, Warning{"allow_local_refused", "This server does not allow pages to reach " +
			strings.Join(closed, ", ") + ", which allowLocal names."})
	}
	return nil
}

// planLocalhostVia adds the profile's bypasses to this machine by localhostVia. Those that the server no longer
// allows are left out, with a warning. A second warning lists public names that no longer lead to the internet.
func (m *Manager) planLocalhostVia(p *plan) {
	var closed, public []string
	for _, entry := range StringsOf(p.row.LocalhostVia) {
		name, port, ok := shim.LocalhostName(entry)
		if !ok || !m.cfg.AllowPrivate || m.IsOwnPort(port) {
			closed = append(closed, entry)
			continue
		}
		here := net.JoinHostPort("localhost", port)
		if name != "" {
			p.spec.Bypasses = append(p.spec.Bypasses, shim.Bypass{Host: name, Port: port, Address: here})
			if !isReserved(name) {
				public = append(public, entry)
			}
			continue
		}
		for host, address := range map[string]string{"localhost": here, ".localhost": here,
			"127.0.0.1": net.JoinHostPort("127.0.0.1", port), "::1": net.JoinHostPort("::1", port)} {
			p.spec.Bypasses = append(p.spec.Bypasses, shim.Bypass{Host: host, Port: port, Address: address})
		}
	}
	if len(closed) > 0 {
		p.warnings = append(p.warnings, Warning{"localhost_via_refused", "This server does not allow pages to reach " +
			strings.Join(closed, ", ") + ", which localhostVia names."})
	}
	if len(public) > 0 {
		p.warnings = append(p.warnings, Warning{"localhost_via", "Pages reach this machine, and not the site of that name, at " +
			strings.Join(public, ", ") + ", as localhostVia says."})
	}
}

// isReserved reports whether a name cannot exist in the public DNS (RFC 6761, RFC 6762, RFC 8375, and .internal).
func isReserved(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == name || slices.Contains([]string{"test", "localhost", "example", "invalid", "local", "internal"}, last) ||
		strings.HasSuffix(name, "home.arpa")
}

// planFreezing plans when the run is frozen.
func (m *Manager) planFreezing(p *plan, row store.Profile) {
	after := freezeAfter(row, m.cfg.FreezeAfter, p.spec.Headless)
	switch tree := m.groups.tree; {
	case tree.CanFreeze():
		p.spec.FreezeAfter = after
	case after > 0 && row.FreezeAfter != nil: // serve has said it once of its own
		p.warnings = append(p.warnings, Warning{"freeze_missing", "This server cannot freeze runs: " + tree.Support().String() + "."})
	}
}
