package main

import (
	"context"
	"errors"
	"slices"
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
	ExitIPV6       *string         `json:"exitIpV6" doc:"What the world sees over IPv6, where --check-url6 asks for it or exitIp is one." example:"2001:db8::7"`
	UDP            *udpJSON        `json:"udp" doc:"Whether datagrams get through, where --check-udp-url asks for it and the proxy is socks5."`
	Country        *string         `json:"country" doc:"ISO 3166-1, two letters." example:"DE"`
	CountryName    *string         `json:"countryName" example:"Germany"`
	Timezone       *string         `json:"timezone" example:"Europe/Berlin"`
	TimezoneSource *string         `json:"timezoneSource" enum:"exit,country" doc:"exit: it was told of this address; country: it is the zone where most of the country's people live."`
	Locale         *string         `json:"locale" doc:"The country's likely language, as a BCP 47 tag." example:"de-DE"`
	Latitude       *float64        `json:"latitude" doc:"Degrees (WGS 84), where the address is said to be."`
	Longitude      *float64        `json:"longitude"`
	GeoSource      *string         `json:"geoSource" doc:"Where the country is from: answer (of the check service) or geoip (--geoip)."`
	LatencyMs      *int64          `json:"latencyMs"`
	Timings        timingsJSON     `json:"timings"`
	PlainHTTP      *bool           `json:"plainHttp" doc:"Whether a site at a plain http:// address is reached too; null when it was not asked."`
	RemoteDNS      bool            `json:"remoteDns" doc:"Whether the proxy resolves the names."`
	ExitChanged    bool            `json:"exitChanged" doc:"The exit is another than at the last good check."`
	UsedByProfiles []string        `json:"usedByProfiles" doc:"The profiles that come out at this address: through this proxy, or through another one of the workspace whose last good check found the same. 100 at most. Of a dead proxy: those that use it."`
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

// udpJSON is what came of a STUN request through a proxy's UDP ASSOCIATE (RFC 1928, 7; RFC 8489). It makes no proxy dead.
type udpJSON struct {
	OK     bool            `json:"ok"`
	ExitIP *string         `json:"exitIp" doc:"The address that datagrams come from." example:"203.0.113.7"`
	Error  *checkErrorJSON `json:"error"`
}

type checkErrorJSON struct {
	Stage   string `json:"stage" enum:"resolve,connect,tls,greeting,auth,request,response"`
	Code    string `json:"code" enum:"dns_failed,connection_refused,connection_closed,timed_out,host_unreachable,tls_failed,not_a_proxy,auth_required,auth_failed,request_refused,target_unreachable,bad_response,blocked_address,auth_unsupported,password_unreadable"`
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
	c.PlainHTTP = r.PlainHTTP
	c.ExitIPV6, c.Error = orNull(r.ExitIPv6), checkErrorOf(r.Err)
	if r.UDP != nil {
		c.UDP = &udpJSON{r.UDP.OK, orNull(r.UDP.ExitIP), checkErrorOf(r.UDP.Err)}
	}
	return c
}

func checkErrorOf(e *proxy.Error) *checkErrorJSON {
	if e == nil {
		return nil
	}
	return &checkErrorJSON{Stage: string(e.Stage), Code: string(e.Code), Message: e.Message}
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

// probed is a saved proxy as a check needs it: as it was at one revision.
type probed struct {
	id, workspace string
	revision      int64
	value         proxy.Proxy
	sealed        error // why its password cannot be opened; nil: it is
	many          bool  // it is checked with many others: only what the check changes is told
}

// check probes a saved proxy and keeps the result. Simultaneous checks of one proxy share one probe, which is kept and told
// of once.
func (rs *runs) check(ctx context.Context, row store.Proxy, p proxy.Proxy) (*checkJSON, error) {
	return rs.checkOne(ctx, probed{id: row.ID, workspace: row.WorkspaceID, revision: row.Revision, value: p})
}

func (rs *runs) checkOne(ctx context.Context, p probed) (*checkJSON, error) {
	if p.sealed != nil {
		rs.log.Error("a proxy's password cannot be opened", "proxy", p.id, "cause", p.sealed)
		return rs.keepCheck(ctx, p, proxy.Result{Err: passwordSealed(), CheckedAt: time.Now()})
	}
	return rs.checks.Do(ctx, p.id+etag(p.revision), p.value, func(ctx context.Context, res proxy.Result) (*checkJSON, error) {
		return rs.keepCheck(ctx, p, res)
	})
}

// passwordSealed is what a check finds of a proxy whose password was sealed with another key.
func passwordSealed() *proxy.Error {
	return &proxy.Error{Stage: proxy.StageAuth, Code: "password_unreadable", Message: "the saved password cannot be opened with this server's secret key: give the password again, or bring the key back"}
}

// keepCheck writes a probe's result into the proxy and its history, and tells of it. What it is compared with is read in the same
// transaction: of two checks at once each knows the one before. A proxy that was changed or deleted meanwhile keeps nothing: the
// result is of what it was.
func (rs *runs) keepCheck(ctx context.Context, p probed, res proxy.Result) (*checkJSON, error) {
	c := checkOf(&p.id, res)
	var was store.GetProxyCheckedRow
	var kept bool
	err := rs.store.Write(ctx, func(q *store.Queries) (err error) {
		was, err = q.GetProxyChecked(ctx, p.id)
		if errors.Is(err, store.ErrNoRow) || err == nil && was.Revision != p.revision {
			return nil
		}
		if err != nil {
			return err
		}
		kept = true
		return keepIn(ctx, q, p, c, was)
	})
	if err != nil || !kept {
		return c, err
	}
	rs.tellCheck(p, c, was)
	return c, nil
}

// keepIn completes c by what the database knows, and writes it.
func keepIn(ctx context.Context, q *store.Queries, p probed, c *checkJSON, was store.GetProxyCheckedRow) error {
	next := store.SetProxyCheckParams{ID: p.id, Revision: p.revision, Status: c.Status, ExitIP: was.ExitIP, Country: was.Country,
		LatencyMs: c.LatencyMs, CheckedAt: int64(c.CheckedAt), Recent: withLatency(was.Recent, c.LatencyMs)}
	if c.ExitIP != nil {
		c.ExitChanged = was.ExitIP != "" && was.ExitIP != *c.ExitIP
		next.ExitIP, next.Country = *c.ExitIP, ""
	}
	if c.Country != nil {
		next.Country = *c.Country
	}
	users, err := usersOf(ctx, q, p, c.ExitIP, was.ProfileCount)
	if err != nil {
		return err
	}
	c.UsedByProfiles = users
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	next.LastCheck = string(text)
	if _, err := q.SetProxyCheck(ctx, next); err != nil {
		return err
	}
	_, err = q.InsertProxyCheck(ctx, store.InsertProxyCheckParams{ProxyID: p.id, At: next.CheckedAt, Ok: bit(c.OK), Result: next.LastCheck})
	return err
}

// shownUsers is how many profiles a check names.
const shownUsers = 100

// usersOf are the profiles that come out where a proxy does: through it, or through another whose last good check found the same exit.
func usersOf(ctx context.Context, q *store.Queries, p probed, exit *string, own int64) (users []string, err error) {
	if exit != nil {
		users, err = q.ListProfilesAtExit(ctx, store.ListProfilesAtExitParams{WorkspaceID: p.workspace, ExitIP: *exit, Limit: shownUsers})
		if err != nil {
			return nil, err
		}
	}
	if own > 0 { // it may be its first check, or it has come out elsewhere before
		mine, err := q.ListProfilesOfProxy(ctx, store.ListProfilesOfProxyParams{ProxyID: p.id, Limit: shownUsers})
		if err != nil {
			return nil, err
		}
		users = append(users, mine...)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	return append([]string{}, users[:min(len(users), shownUsers)]...), nil
}

// tellCheck publishes that a proxy was checked, and what that has changed.
func (rs *runs) tellCheck(p probed, c *checkJSON, was store.GetProxyCheckedRow) {
	if !p.many {
		rs.events.publish("proxy.checked", p.workspace, map[string]any{"id": p.id, "ok": c.OK, "status": c.Status})
	}
	switch {
	case was.Status == "alive" && !c.OK:
		rs.events.publish("proxy.died", p.workspace, map[string]any{"id": p.id, "error": c.Error})
	case was.Status == "dead" && c.OK:
		rs.events.publish("proxy.returned", p.workspace, map[string]any{"id": p.id, "exitIp": c.ExitIP})
	}
	if c.ExitChanged {
		rs.events.publish("proxy.exit_changed", p.workspace, map[string]any{"id": p.id, "before": was.ExitIP, "exitIp": c.ExitIP})
		if leave, err := rs.enter(); err == nil { // else the server stops
			go func() {
				defer leave()
				rs.exitMoved(rs.ctx, p.workspace, p.id)
			}()
		}
	}
}

func (s *server) checkProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*checkBody, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	p := s.probedOf(row)
	p.many = false
	c, err := s.runs.checkOne(ctx, p)
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
	res := s.checker.Check(ctx, in.value)
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

// checkList is what the list of a proxy's checks can be asked for.
type checkList struct {
	ProxyPath
	Page  int `query:"page" minimum:"1" maximum:"1000000000" default:"1" doc:"Counts from 1."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Objects a page, 1 to 200."`
}

func (s *server) listChecks(ctx context.Context, in *checkList) (*listBody[checkJSON], error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	q, c := s.store.Read(), callerOf(ctx)
	total, err := q.CountProxyChecks(ctx, store.CountProxyChecksParams{ProxyID: row.ID, Workspaces: c.filter})
	if err != nil {
		return nil, err
	}
	p := Paging{Page: in.Page, Limit: in.Limit}
	rows, err := q.ListProxyChecks(ctx, store.ListProxyChecksParams{ProxyID: row.ID, Workspaces: c.filter, Limit: int64(in.Limit) + 1, Offset: p.offset()})
	found, err := pageOf(rows, total, in.Limit, err, func(store.ProxyCheck) (int64, string) { return 0, "" })
	if err != nil {
		return nil, err
	}
	found.Next = store.Place{} // this list has pages alone
	return answerList(found, p, func(row store.ProxyCheck) (checkJSON, error) {
		c := checkJSON{UsedByProfiles: []string{}}
		return c, json.Unmarshal([]byte(row.Result), &c)
	})
}
