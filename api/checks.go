package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/proxy"
	"warren/store"
)

// The operations that check one proxy, and the list of its checks.

type checkBody struct{ Body pool.Check }

func (checkBody) example() any { return exampleCheck() }

func exampleCheck() pool.Check {
	return pool.Check{ID: new(exampleProxyID), OK: true, Status: "alive", ExitIP: new("203.0.113.7"), IPVersion: new(4),
		Country: new("DE"), CountryName: new("Germany"), Timezone: new("Europe/Berlin"), TimezoneSource: new("exit"), Locale: new("de-DE"),
		Latitude: new(52.52), Longitude: new(13.4), GeoSource: new("answer"), LatencyMs: new(int64(84)), PlainHTTP: new(true),
		RemoteDNS: true, UsedByProfiles: []string{exampleProfileID},
		Timings: pool.Timings{ResolveMs: new(int64(3)), ConnectMs: new(int64(21)), HandshakeMs: new(int64(22)),
			FirstByteMs: new(int64(41))},
		CheckedAt: exampleTime(), DurationMs: 92}
}

func (s *API) checkProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*checkBody, error) {
	px, err := s.pool.Get(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := s.pool.Check(ctx, px)
	if err != nil {
		return nil, err
	}
	return &checkBody{*c}, nil
}

// checkRequest is a proxy as addProxy takes it.
type checkRequest struct {
	Body proxyInput

	value proxy.Proxy
}

// unsavedCheckBody is the check of a proxy that has no id.
type unsavedCheckBody checkBody

func (unsavedCheckBody) example() any {
	c := exampleCheck()
	c.ID, c.UsedByProfiles = nil, []string{}
	return c
}

// Resolve checks the request by itself.
func (in *checkRequest) Resolve(ctx huma.Context) []error {
	var f faults
	in.value = in.Body.create(&f)
	f.workspace(callerOf(ctx.Context()), in.Body.WorkspaceID)
	return f.errors()
}

func (s *API) checkUnsavedProxy(ctx context.Context, in *checkRequest) (*unsavedCheckBody, error) {
	c, err := s.pool.Try(ctx, in.value)
	if err != nil {
		return nil, err
	}
	return &unsavedCheckBody{*c}, nil
}

// checkList are the parameters of the list of a proxy's checks.
type checkList struct {
	ProxyPath
	Page  int `query:"page" minimum:"1" maximum:"1000000000" default:"1" doc:"Counts from 1."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Objects a page, 1 to 200."`
}

// checkListBody is a list of checks.
type checkListBody listBody[pool.Check]

func (checkListBody) example() any { return exampleList(exampleCheck()) }

func (s *API) listChecks(ctx context.Context, in *checkList) (*checkListBody, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	q, c := s.store.Read(), callerOf(ctx)
	total, err := q.CountProxyChecks(ctx, store.CountProxyChecksParams{ProxyID: row.ID, Workspaces: c.Sees.Filter()})
	if err != nil {
		return nil, err
	}
	p := Paging{Page: in.Page, Limit: in.Limit}
	rows, err := q.ListProxyChecks(ctx, store.ListProxyChecksParams{ProxyID: row.ID, Workspaces: c.Sees.Filter(),
		Limit: int64(in.Limit) + 1, Offset: p.offset()})
	found, err := pageOf(rows, total, in.Limit, err, func(store.ProxyCheck) (int64, string) { return 0, "" })
	if err != nil {
		return nil, err
	}
	found.Next = store.Place{} // this list has pages alone
	out, err := answerList(found, p, func(row store.ProxyCheck) (pool.Check, error) {
		c := pool.Check{UsedByProfiles: []string{}}
		return c, json.Unmarshal([]byte(row.Result), &c)
	})
	return (*checkListBody)(out), err
}
