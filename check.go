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
	TimezoneSource *string         `json:"timezoneSource" enum:"exit,country" doc:"exit: it was told of this address; country: it is the first of the country's zones."`
	Locale         *string         `json:"locale" doc:"The country's likely language, as a BCP 47 tag." example:"de-DE"`
	Latitude       *float64        `json:"latitude" doc:"Degrees (WGS 84), where the address is said to be."`
	Longitude      *float64        `json:"longitude"`
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
	c.Locale, c.Latitude, c.Longitude = orNull(r.Locale), r.Place.Latitude, r.Place.Longitude
	switch {
	case c.Timezone == nil:
	case r.Place.ZoneOfCountry:
		c.TimezoneSource = ptr("country")
	default:
		c.TimezoneSource = ptr("exit")
	}
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

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
