package main

import (
	"context"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// This file holds the operations that start and restart a profile.

// startInput overrides the profile for one run.
type startInput struct {
	Headless  opt[bool]         `json:"headless,omitempty"`
	StartURLs opt[[]string]     `json:"startUrls,omitempty"`
	ProxyID   opt[proxyIDInput] `json:"proxyId,omitempty" doc:"For this run alone; null: direct. An object picks one of the proxies of the workspace that have a tag and are not known to be dead: random; leastUsed (by the fewest runs now); roundRobin (in turn); sticky (the one that the profile was given for this tag before)."`
	Preflight string            `json:"preflight,omitempty" nullable:"true" enum:"off,warn,require" doc:"Look the exit up at start. require: refuse when the proxy is dead. Default: warn."`
	DryRun    bool              `json:"dryRun,omitempty" nullable:"true" doc:"Answer what would be run, and start nothing."`
	DebugPort bool              `json:"debugPort,omitempty" nullable:"true" doc:"Open a port of this machine (in 127.77.0.0/16) for clients that can only say host:port, as Selenium does."`

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
			return []error{problem.Hidden(err)}
		}
	}
	return f.errors()
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
			"tag": {Type: huma.TypeString, MinLength: new(1), MaxLength: new(64)}, "pick": {Type: huma.TypeString, Enum: []any{"random", "leastUsed", "roundRobin", "sticky"}}}},
		nullSchema(),
	}, Examples: []any{exampleProxyID}}
}

// options are what the runs take of it, for a caller.
func (in *startInput) options(c *caller) options {
	o := options{Preflight: in.Preflight, DebugPort: in.DebugPort, AllowDowngrade: in.AllowDowngrade, DryRun: in.DryRun, Asker: c.asker()}
	if in.Headless.Set {
		o.Headless.Set = true
		mergePtr(in.Headless, &o.Headless.Value)
	}
	if in.StartURLs.Set {
		o.StartURLs = override[[]string]{true, in.StartURLs.Value}
	}
	if in.ProxyID.Set {
		o.Proxy.Set = true
		if in.ProxyID.given() {
			o.Proxy.Value.ID = in.ProxyID.Value.ID
			if from := in.ProxyID.Value.From; from != nil {
				o.Proxy.Value.Pick = &pick{from.Tag, from.Pick}
			}
		}
	}
	return o
}

// asker is the caller's key as a start knows it.
func (c *caller) asker() asker {
	return askerOf(c.Holder, c.mark)
}

func (s *server) startProfile(ctx context.Context, in *startRequest) (*struct{ Body startAnswer }, error) {
	return s.startBy(ctx, in, s.runs.start)
}

func (s *server) restartProfile(ctx context.Context, in *startRequest) (*struct{ Body startAnswer }, error) {
	return s.startBy(ctx, in, s.runs.restart)
}

// startBy answers a start, whichever way it comes to its run.
func (s *server) startBy(ctx context.Context, in *startRequest, start func(context.Context, store.Profile, options) (*startJSON, error)) (*struct{ Body startAnswer }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out, o := &struct{ Body startAnswer }{}, in.Body.options(callerOf(ctx))
	if in.Body.DryRun {
		out.Body.dry, err = s.runs.dryRun(ctx, row, o)
		return out, err
	}
	answer, err := start(ctx, row, o)
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
