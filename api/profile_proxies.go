package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"warren/runs"
	"warren/store"
)

// Checks the proxies that a profile names.

// maxFallbacks is how many fallbacks a profile may name.
const maxFallbacks = 10

// fallbacks notes too many fallbacks, and those that stand twice.
func (f *faults) fallbacks(location string, ids []string) []string {
	if len(ids) > maxFallbacks {
		f.add(location, fmt.Sprintf("must have at most %d proxies; it has %d", maxFallbacks, len(ids)), nil)
		return ids
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			f.add(element(location, i), "is there already: name each proxy once", cut(id))
		}
	}
	return ids
}

// checkProxies notes what is wrong with the proxies that the request names. merged is the profile as the request would have it.
func (in *profileInput) checkProxies(ctx context.Context, q *store.Queries, c *caller, merged store.Profile, f *faults) error {
	var own string
	if merged.ProxyID != nil {
		own = *merged.ProxyID
	}
	if in.ProxyID.given() {
		if err := f.unknownProxy(ctx, q, c, merged.WorkspaceID, "body.proxyId", own); err != nil {
			return err
		}
		if !in.FallbackProxyIDs.Set && slices.Contains(runs.StringsOf(merged.FallbackProxyIDs), own) {
			f.add("body.proxyId", "is one of fallbackProxyIds: take it out there", cut(own))
		}
	}
	for i, id := range in.FallbackProxyIDs.Value {
		location := element("body.fallbackProxyIds", i)
		if err := f.unknownProxy(ctx, q, c, merged.WorkspaceID, location, id); err != nil {
			return err
		}
		if id == own {
			f.add(location, "is the profile's own proxyId: what stands in for it must be another", cut(id))
		}
	}
	if merged.ProxyID != nil {
		f.leakingWebRTC(merged.WebRTC)
	}
	return nil
}

// leakingWebRTC notes a webrtc that is refused beside a proxy.
func (f *faults) leakingWebRTC(webrtc string) {
	f.require(webrtc != "default", "body.webrtc", "default is refused with a proxy: it would tell this machine's addresses")
}

// unknownProxy notes a proxy that the caller does not see, or that is of another workspace.
func (f *faults) unknownProxy(ctx context.Context, q *store.Queries, c *caller, workspace, location, id string) error {
	p, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: c.Sees.Filter()})
	if errors.Is(err, store.ErrNoRow) || err == nil && p.WorkspaceID != workspace {
		f.add(location, "is no proxy of the profile's workspace", cut(id))
		return nil
	}
	return err
}
