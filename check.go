package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/proxy"
	"warren/store"
)

// checkJSON is one probe of a proxy (contract, Check).
type checkJSON struct {
	ID             *string         `json:"id" doc:"The proxy; null for one that is not saved."`
	OK             bool            `json:"ok" doc:"Whether a browser would get through."`
	Status         string          `json:"status" enum:"alive,dead"`
	ExitIP         *string         `json:"exitIp" doc:"The address that the world sees." example:"203.0.113.7"`
	IPVersion      *int            `json:"ipVersion" enum:"4,6"`
	Country        *string         `json:"country" doc:"ISO 3166-1, two letters." example:"DE"`
	CountryName    *string         `json:"countryName" example:"Germany"`
	Timezone       *string         `json:"timezone" example:"Europe/Berlin"`
	GeoSource      *string         `json:"geoSource" doc:"Where the country is from: answer (of the check service) or geoip (--geoip)."`
	LatencyMs      *int64          `json:"latencyMs"`
	Timings        timingsJSON     `json:"timings"`
	RemoteDNS      bool            `json:"remoteDns" doc:"Whether the proxy resolves the names."`
	ExitChanged    bool            `json:"exitChanged" doc:"The exit is another than at the last good check."`
	UsedByProfiles []string        `json:"usedByProfiles" doc:"The profiles that use this proxy, 100 at most."`
	CheckedAt      timestamp       `json:"checkedAt"`
	DurationMs     int64           `json:"durationMs"`
	Error          *checkErrorJSON `json:"error"`
}

// timingsJSON: null where a stage was not reached or not needed.
type timingsJSON struct {
	ResolveMs   *int64 `json:"resolveMs"`
	ConnectMs   *int64 `json:"connectMs"`
	TLSMs       *int64 `json:"tlsMs"`
	HandshakeMs *int64 `json:"handshakeMs"`
	FirstByteMs *int64 `json:"firstByteMs"`
}

type checkErrorJSON struct {
	Stage   string `json:"stage" enum:"resolve,connect,tls,greeting,auth,request,response"`
	Code    string `json:"code" enum:"dns_failed,connection_refused,connection_closed,timed_out,host_unreachable,tls_failed,not_a_proxy,auth_required,auth_failed,request_refused,target_unreachable,bad_response,blocked_address"`
	Message string `json:"message"`
}

type checkBody struct{ Body checkJSON }

// checkOf puts a probe's result into the API's words.
func checkOf(id *string, r proxy.Result) *checkJSON {
	c := &checkJSON{ID: id, OK: r.OK, Status: "dead", ExitIP: orNull(r.ExitIP), Country: orNull(r.Place.Country),
		CountryName: orNull(r.Place.CountryName), Timezone: orNull(r.Place.Timezone), GeoSource: orNull(r.Source),
		RemoteDNS: r.RemoteDNS, UsedByProfiles: []string{}, CheckedAt: timestamp(r.CheckedAt.UnixMilli()), DurationMs: r.Duration.Milliseconds(),
		Timings: timingsJSON{ms(r.Timings.Resolve), ms(r.Timings.Connect), ms(r.Timings.TLS), ms(r.Timings.Handshake), ms(r.Timings.FirstByte)}}
	if r.IPVersion != 0 {
		c.IPVersion = &r.IPVersion
	}
	if r.OK {
		c.Status, c.LatencyMs = "alive", ptr(r.Latency.Milliseconds())
	}
	if r.Err != nil {
		c.Error = &checkErrorJSON{Stage: string(r.Err.Stage), Code: string(r.Err.Code), Message: r.Err.Message}
	}
	return c
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func ms(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return ptr(d.Milliseconds())
}

// keptCheck is what one probe has led to, for all who wait for it.
type keptCheck struct {
	check *checkJSON
	err   error
}

// check probes a saved proxy and keeps the result. Simultaneous checks of one proxy share one probe, which is kept and told
// of once.
func (rs *runs) check(ctx context.Context, row store.Proxy, p proxy.Proxy) (*checkJSON, error) {
	_, made := rs.checker.CheckThen(ctx, row.ID+etag(row.Revision), p, func(ctx context.Context, res proxy.Result) any {
		c, err := rs.keepCheck(ctx, row, res)
		return keptCheck{c, err}
	})
	kept, ok := made.(keptCheck)
	if !ok { // only who left has none
		return nil, cmp.Or(ctx.Err(), context.Canceled)
	}
	return kept.check, kept.err
}

// keepCheck writes a probe's result into the proxy and its history, and tells of it.
func (rs *runs) keepCheck(ctx context.Context, row store.Proxy, res proxy.Result) (*checkJSON, error) {
	c := checkOf(&row.ID, res)
	q := rs.store.Read()
	var err error
	if c.ExitChanged, err = exitChanged(ctx, q, c); err != nil {
		return nil, err
	}
	users, err := q.ListProfilesOfProxy(ctx, store.ListProfilesOfProxyParams{ProxyID: row.ID, Limit: 100})
	if err != nil {
		return nil, err
	}
	c.UsedByProfiles = append(c.UsedByProfiles, users...)
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var kept bool
	err = rs.store.Write(ctx, func(q *store.Queries) error {
		n, err := q.SetProxyCheck(ctx, store.SetProxyCheckParams{ID: row.ID, Revision: row.Revision, Status: c.Status, LastCheck: string(text)})
		if kept = n > 0; err != nil || !kept { // it was changed or deleted meanwhile: this result is of what it was
			return err
		}
		_, err = q.InsertProxyCheck(ctx, store.InsertProxyCheckParams{ProxyID: row.ID, At: int64(c.CheckedAt), Ok: bit(c.OK), Result: string(text)})
		return err
	})
	if err != nil || !kept {
		return c, err
	}
	rs.events.publish("proxy.checked", row.WorkspaceID, map[string]any{"id": row.ID, "ok": c.OK, "status": c.Status})
	return c, nil
}

// exitChanged says whether a check found another exit than the last good one before it. What failed meanwhile does not count.
func exitChanged(ctx context.Context, q *store.Queries, c *checkJSON) (bool, error) {
	if c.ExitIP == nil {
		return false, nil
	}
	text, err := q.GetLastGoodProxyCheck(ctx, *c.ID)
	if errors.Is(err, store.ErrNoRow) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var last checkJSON
	if err := json.Unmarshal([]byte(text), &last); err != nil {
		return false, err
	}
	return last.ExitIP != nil && *last.ExitIP != *c.ExitIP, nil
}

func (s *server) checkProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*checkBody, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	p, err := s.open(row)
	if err != nil {
		return nil, err
	}
	c, err := s.runs.check(ctx, row, p)
	if err != nil {
		return nil, err
	}
	return &checkBody{*c}, nil
}

// checkRequest is a proxy as add takes it.
type checkRequest struct {
	Body proxyInput

	value proxy.Proxy
}

// Resolve checks everything at once.
func (in *checkRequest) Resolve(ctx huma.Context) []error {
	var f faults
	in.value = in.Body.create(&f)
	if _, bad := callerOf(ctx.Context()).workspaceFor(in.Body.WorkspaceID); bad != nil {
		f = append(f, *bad)
	}
	return f.errors()
}

func (s *server) checkUnsavedProxy(ctx context.Context, in *checkRequest) (*checkBody, error) {
	res := s.checker.Check(ctx, "", in.value)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &checkBody{*checkOf(nil, res)}, nil
}

// goodFor is how long the last good check is believed at a start.
const goodFor = 10 * time.Minute

// patience is how long a start waits for the exit once its browser is ready, when preflight only warns.
const patience = 2 * time.Second

// requireExit refuses a start whose proxy does not work now, when preflight requires that. The check is made anew: a good one of
// before says nothing of now.
func (rs *runs) requireExit(ctx context.Context, p *plan) error {
	if p.preflight != "require" || p.proxy == nil {
		return nil
	}
	c, err := rs.check(ctx, *p.proxy, *p.spec.Upstream.Proxy())
	switch {
	case ctx.Err() != nil:
		return cancelledStart()
	case err != nil:
		return err
	case !c.OK:
		bad := problemFor(502, "proxy_unreachable", "The profile's proxy does not work, so the browser was not started: "+c.Error.Message+".")
		bad.Check = c
		return bad
	}
	p.checked = c
	return nil
}

// exitLookup is a check under way beside a launch.
type exitLookup struct {
	rs        *runs
	preflight string
	done      chan struct{}
	result    *checkJSON
	err       error
}

// lookUpExit begins to find out where the proxy comes out: the last good answer when it is young, else a check.
func (rs *runs) lookUpExit(ctx context.Context, p *plan) *exitLookup {
	e := &exitLookup{rs: rs, preflight: p.preflight, done: make(chan struct{})}
	if p.proxy == nil || p.preflight == "off" {
		close(e.done)
		return e
	}
	if e.result = cmp.Or(p.checked, recentCheck(*p.proxy)); e.result != nil {
		close(e.done)
		return e
	}
	go func() {
		defer close(e.done)
		e.result, e.err = rs.check(context.WithoutCancel(ctx), *p.proxy, *p.spec.Upstream.Proxy())
	}()
	return e
}

// recentCheck is the proxy's last check if it was good and is young.
func recentCheck(row store.Proxy) *checkJSON {
	var c checkJSON
	if row.LastCheck == nil || json.Unmarshal([]byte(*row.LastCheck), &c) != nil || !c.OK ||
		time.Since(time.UnixMilli(int64(c.CheckedAt))) > goodFor {
		return nil
	}
	return &c
}

// wait returns the check's result, or why there is none within d.
func (e *exitLookup) wait(ctx context.Context, d time.Duration) (*checkJSON, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-e.done:
		return e.result, e.err
	case <-t.C:
		return nil, errStillChecking
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errStillChecking = errors.New("the check goes on")

// fill writes what is known of the exit into a start's answer.
func (e *exitLookup) fill(ctx context.Context, a *startJSON) {
	if a.Proxy == nil {
		return
	}
	c, err := e.wait(ctx, patience)
	unknown := func(why string) {
		a.Warnings = append(a.Warnings, warningJSON{"exit_unknown", why + " The browser runs behind the proxy all the same."})
	}
	switch {
	case errors.Is(err, errStillChecking):
		unknown("The proxy's exit was not known in time; the check goes on.")
	case ctx.Err() != nil: // so has the start
	case err != nil:
		e.rs.log.Warn("a proxy's exit was not found out at a start", "proxy", a.Proxy.ID, "cause", err)
		unknown("The proxy's exit is not known: its check failed inside warren, not at the proxy. The log has the cause.")
	case c == nil: // nobody looked
	case !c.OK:
		a.Warnings = append(a.Warnings, warningJSON{"proxy_unreachable", "The proxy does not work now: " + c.Error.Message + ". Pages fail until it does; nothing goes around it."})
	default:
		a.Proxy.ExitIP, a.Proxy.Country, a.Proxy.Timezone = c.ExitIP, c.Country, c.Timezone
		a.Proxy.LatencyMs, a.Proxy.CheckedAt = c.LatencyMs, &c.CheckedAt
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
