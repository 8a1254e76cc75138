package api

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/nodes"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// The operations that start, restart and stop a profile.

// startInput overrides the profile for one run.
type startInput struct {
	Headless  opt[bool]         `json:"headless,omitempty"`
	StartURLs opt[[]string]     `json:"startUrls,omitempty"`
	ProxyID   opt[proxyIDInput] `json:"proxyId,omitempty" doc:"For this run alone; null: direct. An object picks one of the proxies of the workspace that have a tag and are not known to be dead: random; leastUsed (by the fewest runs now); roundRobin (in turn); sticky (the one that the profile was given for this tag before)."`
	Preflight string            `json:"preflight,omitempty" nullable:"true" enum:"off,warn,require" doc:"Look the exit up at start. require: refuse when the proxy is dead. Default: warn."`
	DryRun    bool              `json:"dryRun,omitempty" nullable:"true" doc:"Answer what would be run, and start nothing. The server that would be chosen answers, and does not get the profile."`
	DebugPort bool              `json:"debugPort,omitempty" nullable:"true" doc:"Open a port of this machine (in 127.77.0.0/16) for clients that can only say host:port, as Selenium does."`

	AllowDowngrade bool `json:"allowDowngrade,omitempty" nullable:"true" doc:"Open the profile with an older browser than last time, which may damage it, after a snapshot of its data was made (the warning downgraded names it). Without it that is 409 browser_too_old."`
	Repair         bool `json:"repair,omitempty" nullable:"true" doc:"If the browser could not open the profile's data: go back to the newest snapshot that opens, after a snapshot of what is there was made (the warning repaired names both). Without it that is 409 profile_damaged."`
	SetAside       bool `json:"setAside,omitempty" nullable:"true" doc:"With repair: if no snapshot opens, move what is damaged out of the profile's data into a folder beside them, and let the browser begin it anew (the warning set_aside says where it is). Nothing is deleted."`
}

func (startInput) example() any {
	return map[string]any{"headless": true, "startUrls": []string{"https://example.com/"}}
}

type startRequest struct {
	ProfilePath
	Body *startInput `required:"false"`
}

func (startRequest) problems() []*problem.Error {
	dead := exampleCheck()
	dead.OK, dead.Status, dead.ExitIP, dead.LatencyMs, dead.IPVersion = false, "dead", nil, nil, nil
	dead.Error = &pool.CheckError{Stage: "connect", Code: "connection_refused", Message: "Nothing listens at the proxy's address."}
	return append([]*problem.Error{
		problem.New(problem.Upstream, "proxy_unreachable",
			"The profile's proxy does not work, so the browser was not started.").With(&dead),
		runs.IdentityMismatch([]identity.Mismatch{{Code: "timezone_mismatch", Location: "profile.timezone",
			Message: "The time zone is Asia/Tokyo, but the proxy is in Europe/Berlin, where clocks show another time. " +
				"Choose auto or Europe/Berlin."}}),
		runs.BrowserTooOld("156.0.8078.79", 156, runs.Installed{Product: "Chromium", Version: "150.0.7871.100"}),
		exampleDamage(),
		exampleQuota(), runs.ExtensionMissing("Blocker"), runs.CancelledStart(), pool.Stopping(), nodes.Draining(), exampleElsewhere(),
		nodes.Taken("warren-1", "https://warren-1.example:7777"),
		nodes.NoServer([]string{"warren-1 is draining", `warren-2 has the label zone "paris", not "berlin"`}),
		pool.PasswordUnreadable(nil), runs.NoProxyToPick()}, noBrowserProblems()...)
}

// exampleDamage is a start that is refused because of damaged data.
func exampleDamage() *problem.Error {
	return runs.ProfileDamaged(runs.DamagedData{Head: new(exampleSnapshotID),
		Damaged: []snapshots.Damage{{File: "Default/Cookies", Problem: "It is no SQLite database."}},
		Snapshots: []store.Snapshot{{ID: exampleSnapshotID, ProfileID: exampleProfileID, Reason: snapshots.Stop,
			Browser: "156.0.8078.79", Bytes: 135056589, NewBytes: 7130316, CreatedAt: exampleTime().UnixMilli()}}}, false)
}

// noBrowserProblems returns the errors of every operation that starts a browser.
func noBrowserProblems() []*problem.Error {
	failed := problem.New(problem.Unavailable, "browser_failed",
		"The browser ended while it started. `exitCode` and `lines` say how; `warren doctor` looks for the cause.")
	failed.Details = runs.LastWords{ExitCode: new(127), Lines: []string{"error while loading shared libraries: libnss3.so"}}
	return []*problem.Error{
		problem.New(problem.Conflict, "proxy_missing", "The profile's proxy was deleted while it was in the trash. "+
			"Set proxyId to a proxy, or to null for a direct connection, then start again."),
		runs.StartQueueFull(), failed,
		problem.New(problem.Unavailable, "browser_not_found", "no Chromium was found. Install it with: apt-get install -y chromium"),
		problem.New(problem.Timeout, "start_timeout", "The browser did not take commands in time, and was ended. "+
			"`lines` holds what it said; --start-timeout gives it longer.")}
}

// Resolve checks the request by itself.
func (in *startRequest) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	if in.Body == nil {
		in.Body = &startInput{}
	}
	if in.Body.StartURLs.given() {
		f.startURLs("body.startUrls", in.Body.StartURLs.Value)
	}
	f.require(!in.Body.SetAside || in.Body.Repair, "body.setAside", "Give repair too: a snapshot that opens comes first.")
	if from := in.Body.ProxyID.Value.From; from != nil {
		from.Tag = f.plain("body.proxyId.tag", from.Tag, 1, 64)
	}
	return f.errors()
}

func (in *startRequest) storedFaults(ctx context.Context, s *API) (faults, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return s.checkStartProxy(ctx, in.Body.ProxyID, row)
}

// proxyIDInput is the proxyId of a start: an id, or what to pick from.
type proxyIDInput struct {
	ID   string
	From *pickFrom
}

// pickFrom says which proxies there are to pick from, and how.
type pickFrom struct {
	Tag  string `json:"tag"`
	Pick string `json:"pick"`
}

// UnmarshalJSON takes an id or an object.
func (c *proxyIDInput) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.ID)
	}
	c.From = new(pickFrom)
	return json.Unmarshal(b, c.From, json.RejectUnknownMembers(true))
}

// Schema is either shape, or null.
func (proxyIDInput) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString},
		{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"tag", "pick"}, Properties: map[string]*huma.Schema{
			"tag":  {Type: huma.TypeString, MinLength: new(1), MaxLength: new(64)},
			"pick": {Type: huma.TypeString, Enum: []any{"random", "leastUsed", "roundRobin", "sticky"}}}},
		nullSchema(),
	}, Examples: []any{exampleProxyID}}
}

// options are the request as package runs takes it, for a caller.
func (in *startInput) options(c *caller) runs.Options {
	o := runs.Options{Preflight: in.Preflight, DebugPort: in.DebugPort, AllowDowngrade: in.AllowDowngrade, Repair: in.Repair,
		SetAside: in.SetAside, DryRun: in.DryRun, Asker: c.asker(),
		StartURLs: runs.Override[[]string]{Set: in.StartURLs.Set, Value: in.StartURLs.Value}}
	o.Headless.Set, o.Proxy.Set = in.Headless.Set, in.ProxyID.Set
	if in.Headless.given() {
		o.Headless.Value = new(in.Headless.Value)
	}
	o.Proxy.Value.ID = in.ProxyID.Value.ID
	if from := in.ProxyID.Value.From; from != nil {
		o.Proxy.Value.Pick = &runs.Pick{Tag: from.Tag, How: from.Pick}
	}
	return o
}

// asker is the caller's key as a start knows it.
func (c *caller) asker() runs.Asker { return runs.NewAsker(c.Holder, c.mark) }

// startResponse is the answer of a start.
type startResponse struct {
	Timing string `header:"Server-Timing" doc:"What the start's parts took, in milliseconds (W3C Server Timing). Absent where the run was there before."`
	Body   startAnswer
}

// serverTiming writes phases as the value of a Server-Timing header.
func serverTiming(phases []runs.Phase) string {
	parts := make([]string, len(phases))
	for i, p := range phases {
		parts[i] = fmt.Sprintf("%s;dur=%.2f", p.Name, float64(p.Took.Microseconds())/1000)
	}
	return strings.Join(parts, ", ")
}

func (s *API) startProfile(ctx context.Context, in *startRequest) (*startResponse, error) {
	return s.startBy(ctx, in, s.runs.Start)
}

func (s *API) restartProfile(ctx context.Context, in *startRequest) (*startResponse, error) {
	return s.startBy(ctx, in, s.runs.Restart)
}

// joinAction is a start or a restart in the audit that began nothing, since a run was there or on its way. Its caller gets the run's
// addresses.
const joinAction = "profile.join"

// starter is a way to start a browser: runs.Manager's Start or Restart.
type starter func(context.Context, store.Profile, runs.Options) (*runs.Started, error)

// startBy checks the request against the profile, and answers with the run.
func (s *API) startBy(ctx context.Context, in *startRequest, start starter) (*startResponse, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	f, err := s.checkStartProxy(ctx, in.Body.ProxyID, row)
	if err := cmp.Or(err, f.problem()); err != nil {
		return nil, err
	}
	out, o := &startResponse{}, in.Body.options(callerOf(ctx))
	if in.Body.DryRun {
		requestOf(ctx).unchanged = true
		nothingToRecord(ctx)
		out.Body.dry, err = s.runs.DryRun(ctx, row, o)
		return out, err
	}
	answer, err := start(ctx, row, o)
	if err != nil {
		return nil, err
	}
	if answer.Reused { // nothing has started: the caller gets addresses of a run
		requestOf(ctx).audit.action = joinAction
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"runId": answer.RunID})
	out.Body.started, out.Timing = answer, serverTiming(answer.Phases())
	return out, s.addresses(ctx, answer)
}

// checkStartProxy returns the faults of a proxy that the profile could not have either. What to pick one from is
// looked at when the run is planned.
func (s *API) checkStartProxy(ctx context.Context, id opt[proxyIDInput], row store.Profile) (f faults, err error) {
	if !id.given() || id.Value.From != nil {
		return nil, nil
	}
	asked := ProfileInput{ProxyID: opt[string]{Set: true, Value: id.Value.ID}}
	asked.merge(&row)
	err = asked.checkProxies(ctx, s.store.Read(), callerOf(ctx), row, &f)
	return f, err
}

// startAnswer is start's answer, or with dryRun what would be run.
type startAnswer struct {
	started *runs.Started
	dry     *runs.DryRun
}

func (startAnswer) example() any { return exampleStart() }

func exampleStart() runs.Started {
	return runs.Started{WsEndpoint: "ws://127.0.0.1:7777/cdp/CAPABILITY", CdpURL: "http://127.0.0.1:7777/cdp/CAPABILITY",
		LiveURL: "http://127.0.0.1:7777/live#CAPABILITY",
		Info: runs.Info{ID: exampleProfileID, ProfileID: exampleProfileID, WorkspaceID: "default", RunID: exampleRunID, Status: "running",
			StartedAt: exampleTime(), PID: 4711, Headless: true,
			Browser:   runs.UsedBrowser{Product: "Chromium", Version: "156.0.8078.79", Path: "/usr/lib/chromium/chromium", Match: "exact"},
			Requested: runs.Requested{OS: "linux", BrowserVersion: "156"},
			Effective: runs.Effective{OS: "linux", BrowserVersion: "156",
				UserAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
				Timezone:  "Europe/Berlin", Locale: []string{"de-DE", "de", "en-US", "en"}, Geolocation: jsontext.Value("null"),
				WebRTC: "proxy_only"},
			Proxy: &runs.Egress{ID: exampleProxyID, Type: "socks5", ExitIP: new("203.0.113.7"), Country: new("DE"),
				Timezone: new("Europe/Berlin"), LatencyMs: new(int64(84)), CheckedAt: new(exampleTime())},
			Isolation: runs.Isolation{Network: "namespace", Files: "namespace", Sandbox: true},
			Pending:   []string{}, Warnings: []runs.Warning{}}}
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
	return &huma.Schema{AnyOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[runs.Started](), true, ""), r.Schema(reflect.TypeFor[runs.DryRun](), true, "")}}
}

type stopInput struct {
	Force bool `json:"force,omitempty" nullable:"true" doc:"Kill the browser: unwritten data is lost."`
}

func (stopInput) example() any { return map[string]any{"force": false} }

// StopAnswer is the result of a stop.
type StopAnswer struct {
	ID      string    `json:"id"`
	Stopped bool      `json:"stopped" doc:"false: nothing ran."`
	Status  string    `json:"status" enum:"stopped,failed"`
	Method  string    `json:"method,omitempty" doc:"How the browser was ended: close, interrupt or kill."`
	LastRun *runs.End `json:"lastRun" doc:"null if nothing ran, or if a start was cancelled."`
}

func (StopAnswer) example() any {
	return StopAnswer{ID: exampleProfileID, Stopped: true, Status: "stopped", Method: "close", LastRun: exampleLastRun()}
}

func exampleLastRun() *runs.End {
	return &runs.End{RunID: exampleRunID, StartedAt: exampleTime(), EndedAt: exampleTime().Add(time.Minute), DurationMs: 60000,
		Status: "stopped", Reason: "stopped", Method: "close", BytesUp: 48213, BytesDown: 1903422}
}

type stopRequest struct {
	ProfilePath
	Body *stopInput `required:"false"`
}

func (stopRequest) problems() []*problem.Error { return []*problem.Error{runs.CannotEnd()} }

func (s *API) stopProfile(ctx context.Context, in *stopRequest) (*struct{ Body StopAnswer }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	last, ran, err := s.runs.Stop(ctx, row.ID, in.Body != nil && in.Body.Force)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body StopAnswer }{StopAnswer{ID: row.ID, Status: "stopped", LastRun: last, Stopped: ran}}
	if last != nil {
		out.Body.Method = last.Method
	}
	if row, err = s.profileRow(ctx, in.ID, false); err == nil && row.Status == "failed" {
		out.Body.Status = "failed"
	}
	return out, nil
}
