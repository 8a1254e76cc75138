package pool

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/proxy"
	"warren/store"
)

// Check is the result of one probe of a proxy, as stored and answered.
type Check struct {
	ID             *string     `json:"id" doc:"The proxy; null for one that is not saved."`
	OK             bool        `json:"ok" doc:"Whether a browser would get through."`
	Status         string      `json:"status" enum:"alive,dead"`
	ExitIP         *string     `json:"exitIp" doc:"The address that the world sees." example:"203.0.113.7"`
	IPVersion      *int        `json:"ipVersion" enum:"4,6"`
	ExitIPV6       *string     `json:"exitIpV6" doc:"What the world sees over IPv6, where --check-url6 asks for it or exitIp is one." example:"2001:db8::7"`
	UDP            *UDP        `json:"udp" doc:"Whether datagrams get through, where --check-udp-url asks for it and the proxy is socks5."`
	Country        *string     `json:"country" doc:"ISO 3166-1, two letters." example:"DE"`
	CountryName    *string     `json:"countryName" example:"Germany"`
	Timezone       *string     `json:"timezone" example:"Europe/Berlin"`
	TimezoneSource *string     `json:"timezoneSource" enum:"exit,country" doc:"exit: it was told of this address; country: it is the zone where most of the country's people live."`
	Locale         *string     `json:"locale" doc:"The country's likely language, as a BCP 47 tag." example:"de-DE"`
	Latitude       *float64    `json:"latitude" doc:"Degrees (WGS 84), where the address is said to be."`
	Longitude      *float64    `json:"longitude"`
	GeoSource      *string     `json:"geoSource" doc:"Where the country is from: answer (of the check service) or geoip (--geoip)."`
	LatencyMs      *int64      `json:"latencyMs"`
	Timings        Timings     `json:"timings"`
	PlainHTTP      *bool       `json:"plainHttp" doc:"Whether a site at a plain http:// address is reached too; null when it was not asked."`
	RemoteDNS      bool        `json:"remoteDns" doc:"Whether the proxy resolves the names."`
	ExitChanged    bool        `json:"exitChanged" doc:"The exit is another than at the last good check."`
	UsedByProfiles []string    `json:"usedByProfiles" doc:"The profiles that come out at this address: through this proxy, or through another one of the workspace whose last good check found the same. 100 at most. Of a dead proxy: those that use it."`
	CheckedAt      time.Time   `json:"checkedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DurationMs     int64       `json:"durationMs"`
	Error          *CheckError `json:"error"`
}

// Timings are the durations of a check's stages. null: the stage was not reached or not needed.
type Timings struct {
	ResolveMs   *int64 `json:"resolveMs"`
	ConnectMs   *int64 `json:"connectMs"`
	TLSMs       *int64 `json:"tlsMs"`
	HandshakeMs *int64 `json:"handshakeMs"`
	FirstByteMs *int64 `json:"firstByteMs"`
}

// UDP is the result of a STUN request through a proxy's UDP ASSOCIATE (RFC 1928, 7; RFC 8489). A failure does not make
// the proxy dead.
type UDP struct {
	OK     bool        `json:"ok"`
	ExitIP *string     `json:"exitIp" doc:"The address that datagrams come from." example:"203.0.113.7"`
	Error  *CheckError `json:"error"`
}

// CheckError is the reason why a check failed.
type CheckError struct {
	Stage   string `json:"stage" enum:"resolve,connect,tls,greeting,auth,request,response"`
	Code    string `json:"code" enum:"dns_failed,connection_refused,connection_closed,timed_out,host_unreachable,tls_failed,not_a_proxy,auth_required,auth_failed,request_refused,target_unreachable,bad_response,blocked_address,auth_unsupported,password_unreadable"`
	Message string `json:"message"`
}

// NewCheck converts a probe's result. id is nil for a proxy that is not saved.
func NewCheck(id *string, r proxy.Result) *Check {
	c := &Check{ID: id, OK: r.OK, Status: "dead", ExitIP: orNull(r.ExitIP), Country: orNull(r.Place.Country),
		CountryName: orNull(r.Place.CountryName), Timezone: orNull(r.Place.Timezone), GeoSource: orNull(r.Source),
		Locale: orNull(r.Locale), Latitude: r.Place.Latitude, Longitude: r.Place.Longitude, RemoteDNS: r.RemoteDNS,
		ExitIPV6: orNull(r.ExitIPv6), PlainHTTP: r.PlainHTTP, Error: newCheckError(r.Err), UsedByProfiles: []string{},
		CheckedAt: r.CheckedAt.UTC().Truncate(time.Millisecond), DurationMs: r.Duration.Milliseconds(),
		Timings: Timings{ms(r.Timings.Resolve), ms(r.Timings.Connect), ms(r.Timings.TLS), ms(r.Timings.Handshake),
			ms(r.Timings.FirstByte)}}
	switch {
	case c.Timezone == nil:
	case r.Place.ZoneOfCountry:
		c.TimezoneSource = new("country")
	default:
		c.TimezoneSource = new("exit")
	}
	if r.IPVersion != 0 {
		c.IPVersion = &r.IPVersion
	}
	if r.OK {
		c.Status, c.LatencyMs = "alive", new(r.Latency.Milliseconds())
	}
	if r.UDP != nil {
		c.UDP = &UDP{r.UDP.OK, orNull(r.UDP.ExitIP), newCheckError(r.UDP.Err)}
	}
	return c
}

func newCheckError(e *proxy.Error) *CheckError {
	if e == nil {
		return nil
	}
	return &CheckError{Stage: string(e.Stage), Code: string(e.Code), Message: e.Message}
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
	return new(d.Milliseconds())
}

// Check probes a saved proxy, saves the result and publishes it. Concurrent checks of one proxy share one probe, which
// is saved and published once. A proxy that does not work is no error: the check holds the reason.
func (p *Pool) Check(ctx context.Context, px Proxy) (*Check, error) { return p.check(ctx, px, false) }

// check implements Check. With many, proxy.checked is not published, only what the check changes.
func (p *Pool) check(ctx context.Context, px Proxy, many bool) (*Check, error) {
	if px.passwordErr != nil {
		p.log.Error("a proxy's password cannot be opened", "proxy", px.ID, "cause", px.passwordErr)
		return p.saveCheck(ctx, px, many, proxy.Result{Err: unreadablePassword(), CheckedAt: time.Now()})
	}
	key := px.ID + "." + strconv.FormatInt(px.Revision, 10)
	return p.checks.Do(ctx, key, px.Address, func(ctx context.Context, res proxy.Result) (*Check, error) {
		return p.saveCheck(ctx, px, many, res)
	})
}

// Try probes a proxy that is not saved.
func (p *Pool) Try(ctx context.Context, address proxy.Proxy) (*Check, error) {
	res := p.checker.Check(ctx, address)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := NewCheck(nil, res)
	p.tally.check(c)
	return c, nil
}

// unreadablePassword is the check error of a proxy whose password was sealed with another key.
func unreadablePassword() *proxy.Error {
	return &proxy.Error{Stage: proxy.StageAuth, Code: "password_unreadable",
		Message: "the saved password cannot be opened with this server's secret key: give the password again, or bring the key back"}
}

// saveCheck writes a probe's result into the proxy and its history, then publishes it. Its predecessor is read in the
// same transaction, so concurrent checks are serialised. If the proxy was changed or deleted meanwhile, nothing is
// saved.
func (p *Pool) saveCheck(ctx context.Context, px Proxy, many bool, res proxy.Result) (*Check, error) {
	c := NewCheck(&px.ID, res)
	p.tally.check(c)
	var was store.GetProxyCheckedRow
	var kept bool
	err := p.store.Write(ctx, func(q *store.Queries) (err error) {
		kept = false
		was, err = q.GetProxyChecked(ctx, px.ID)
		if errors.Is(err, store.ErrNoRow) || err == nil && was.Revision != px.Revision {
			return nil
		}
		if err != nil {
			return err
		}
		if p.store.Shared() { // of no server's clock, since all of them go by it
			at, err := q.DatabaseTime(ctx)
			if err != nil {
				return err
			}
			c.CheckedAt = time.UnixMilli(at).UTC()
		}
		kept = true
		return writeCheck(ctx, q, px, c, was)
	})
	if err != nil || !kept {
		return c, err
	}
	p.publish(px, many, c, was)
	return c, nil
}

// writeCheck completes c from the database and writes it.
func writeCheck(ctx context.Context, q *store.Queries, px Proxy, c *Check, was store.GetProxyCheckedRow) error {
	next := store.SetProxyCheckParams{ID: px.ID, Revision: px.Revision, Status: c.Status, ExitIP: was.ExitIP, Country: was.Country,
		LatencyMs: c.LatencyMs, CheckedAt: c.CheckedAt.UnixMilli(), Recent: withLatency(was.Recent, c.LatencyMs)}
	if c.ExitIP != nil {
		c.ExitChanged = was.ExitIP != "" && was.ExitIP != *c.ExitIP
		next.ExitIP, next.Country = *c.ExitIP, ""
	}
	if c.Country != nil {
		next.Country = *c.Country
	}
	users, err := profilesAtExit(ctx, q, px, c.ExitIP, was.ProfileCount)
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
	_, err = q.InsertProxyCheck(ctx, store.InsertProxyCheckParams{ProxyID: px.ID, At: next.CheckedAt,
		Ok: bit(c.OK), Result: next.LastCheck})
	return err
}

// maxShownProfiles is how many profiles a check names.
const maxShownProfiles = 100

// profilesAtExit returns the profiles that share the proxy's exit: through it, or through a proxy whose last good check
// found the same exit.
func profilesAtExit(ctx context.Context, q *store.Queries, px Proxy, exit *string, own int64) (users []string, err error) {
	if exit != nil {
		users, err = q.ListProfilesAtExit(ctx, store.ListProfilesAtExitParams{WorkspaceID: px.WorkspaceID, ExitIP: *exit,
			Limit: maxShownProfiles})
		if err != nil {
			return nil, err
		}
	}
	if own > 0 { // its own profiles count even if this is its first check or its exit has changed
		mine, err := q.ListProfilesOfProxy(ctx, store.ListProfilesOfProxyParams{ProxyID: px.ID, Limit: maxShownProfiles})
		if err != nil {
			return nil, err
		}
		users = append(users, mine...)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	return append([]string{}, users[:min(len(users), maxShownProfiles)]...), nil
}

// publish publishes a check and what it has changed.
func (p *Pool) publish(px Proxy, many bool, c *Check, was store.GetProxyCheckedRow) {
	publish := func(kind string, data any) {
		p.events.Publish(events.Event{Type: kind, Workspace: px.WorkspaceID, Data: data})
	}
	if !many {
		publish("proxy.checked", checkedEvent{px.ID, c.OK, c.Status})
	}
	switch {
	case was.Status == "alive" && !c.OK:
		publish("proxy.died", diedEvent{c.Error, px.ID})
	case was.Status == "dead" && c.OK:
		publish("proxy.returned", returnedEvent{c.ExitIP, px.ID})
	}
	if c.ExitChanged {
		publish(exitChanged, movedEvent{was.ExitIP, c.ExitIP, px.ID})
		p.moves.add(Move{px.WorkspaceID, px.ID})
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// CheckMany checks proxies concurrently. It calls each with every result as it arrives, from several goroutines.
// Workspaces take turns, including those of other callers.
//
// It returns when all checks are done, or soon after ctx ends. If a result cannot be saved, it starts no further check
// and returns the error.
func (p *Pool) CheckMany(ctx context.Context, all []Proxy, each func(*Check)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(p.ctx, func() { giveUp(context.Canceled) })()
	of := map[string][]Proxy{}
	for _, px := range all {
		of[px.WorkspaceID] = append(of[px.WorkspaceID], px)
	}
	var wg sync.WaitGroup
	for workspace, list := range of {
		wg.Go(func() { p.checkWorkspace(ctx, giveUp, workspace, list, each) })
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// checkWorkspace checks the proxies of one workspace for CheckMany.
func (p *Pool) checkWorkspace(ctx context.Context, giveUp context.CancelCauseFunc, workspace string, list []Proxy, each func(*Check)) {
	var alive, dead atomic.Int64
	p.limiter.Run(ctx, workspace, len(list), func(i int) {
		c, err := p.check(ctx, list[i], true)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			giveUp(err)
			return
		case c.OK:
			alive.Add(1)
		default:
			dead.Add(1)
		}
		each(c)
	})
	p.events.Publish(events.Event{Type: "proxy.all_checked", Workspace: workspace, Data: allCheckedEvent{alive.Load(), dead.Load()}})
}

// filesPerCheck is how many file descriptors one concurrent check may need. Four times as many checks may wait, each may
// try twice, and the server has other connections.
const filesPerCheck = 10

// checksAtOnce returns how many proxies are checked concurrently. wanted is the configured number; 0: the default. files
// is the limit of file descriptors; 0: not known. A check without a free descriptor would report a good proxy as dead.
func checksAtOnce(wanted, files int) int {
	if wanted == 0 {
		wanted = proxy.DefaultSlots
	}
	if files > 0 {
		wanted = min(wanted, max(1, files/filesPerCheck))
	}
	return wanted
}
