package main

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/proxy"
	"warren/store"
)

// This file holds the operations that check one proxy, and the list of its checks.

type checkBody struct{ Body pool.Check }

func (s *server) checkProxy(ctx context.Context, in *struct {
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
	c, err := s.pool.Try(ctx, in.value)
	if err != nil {
		return nil, err
	}
	return &checkBody{*c}, nil
}

// checkList is what the list of a proxy's checks can be asked for.
type checkList struct {
	ProxyPath
	Page  int `query:"page" minimum:"1" maximum:"1000000000" default:"1" doc:"Counts from 1."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Objects a page, 1 to 200."`
}

func (s *server) listChecks(ctx context.Context, in *checkList) (*listBody[pool.Check], error) {
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
	rows, err := q.ListProxyChecks(ctx, store.ListProxyChecksParams{ProxyID: row.ID, Workspaces: c.Sees.Filter(), Limit: int64(in.Limit) + 1, Offset: p.offset()})
	found, err := pageOf(rows, total, in.Limit, err, func(store.ProxyCheck) (int64, string) { return 0, "" })
	if err != nil {
		return nil, err
	}
	found.Next = store.Place{} // this list has pages alone
	return answerList(found, p, func(row store.ProxyCheck) (pool.Check, error) {
		c := pool.Check{UsedByProfiles: []string{}}
		return c, json.Unmarshal([]byte(row.Result), &c)
	})
}
