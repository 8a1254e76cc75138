package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"warren/store"
)

// Checks the proxies that a profile names.

// maxFallbacks is how many a profile may name.
const maxFallbacks = 10

// checkFallbacks says what is wrong with the fallbacks that the profile would have. It reads the database.
func (in *profileInput) checkFallbacks(ctx context.Context, q *store.Queries, c *caller, workspace string, row *store.Profile, f *faults) error {
	own, ids := "", in.FallbackProxyIDs.Value
	if row != nil && row.ProxyID != nil {
		own = *row.ProxyID
	}
	if in.ProxyID.Set {
		own = in.ProxyID.Value
	}
	if !in.FallbackProxyIDs.given() {
		if row != nil && in.ProxyID.given() && !in.FallbackProxyIDs.Null && slices.Contains(stringsOf(row.FallbackProxyIDs), own) {
			f.add("body.proxyId", "is one of fallbackProxyIds: take it out there", cut(own))
		}
		return nil
	}
	if len(ids) > maxFallbacks {
		f.add("body.fallbackProxyIds", fmt.Sprintf("must have at most %d proxies; it has %d", maxFallbacks, len(ids)), nil)
		return nil
	}
	for i, id := range ids {
		location := fmt.Sprintf("body.fallbackProxyIds[%d]", i)
		p, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: c.Sees.Filter()})
		switch {
		case errors.Is(err, store.ErrNoRow), err == nil && p.WorkspaceID != workspace:
			f.add(location, "is no proxy of the profile's workspace", cut(id))
		case err != nil:
			return err
		case id == own:
			f.add(location, "is the profile's own proxyId: what stands in for it must be another", cut(id))
		case slices.Contains(ids[:i], id):
			f.add(location, "is there already: name each proxy once", cut(id))
		}
	}
	return nil
}
