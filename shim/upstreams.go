package shim

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"warren/browser"
	"warren/proxy"
)

// This file is about the proxies of a run: one is in use, those behind it are for when it is dead, and all may be replaced while it runs.

// Upstreams is a change of a run's proxies.
type Upstreams struct {
	List  []Upstream `json:"list"`  // in their order; at least one
	First bool       `json:"first"` // go on with the first; else with the one in use, where it is still among them
	Cut   bool       `json:"cut"`   // end what was opened through another than the one that is now in use
}

// Swap is what came of it.
type Swap struct {
	Swapped bool `json:"swapped"` // another one is in use, or the same one at another address or with other credentials
	Cut     int  `json:"cut"`     // connections that were ended
	At      int  `json:"at"`      // the place of the one in use
}

func marks(list []Upstream) []UpstreamMark {
	out := []UpstreamMark{}
	for _, u := range list {
		out = append(out, UpstreamMark{u.ID, u.Revision})
	}
	return out
}

// setUpstreams makes new connections go through them. One that dials as before keeps its dialer: for the relay it is no change.
func (p *process) setUpstreams(u Upstreams) Swap {
	p.swapping.Lock()
	defer p.swapping.Unlock()
	p.mu.Lock()
	old := p.upstreams
	p.upstreams = u.List
	p.mu.Unlock()
	routes := make([]proxy.Route, len(u.List))
	for i, up := range u.List {
		if j := slices.IndexFunc(old, up.same); j >= 0 {
			routes[i] = p.routes[j]
			continue
		}
		routes[i] = proxy.Route{Key: up.ID, Dialer: p.dialer(&up)}
	}
	p.routes = routes
	at := proxy.KeepCurrent
	if u.First {
		at = 0
	}
	var s Swap
	s.Swapped, s.Cut = p.relay.SetRoutes(routes, at, u.Cut)
	s.At, _ = p.relay.Route()
	return s
}

// same says whether the other is the same proxy, dialled in the same way.
func (u Upstream) same(other Upstream) bool {
	other.Revision = u.Revision
	return u == other
}

// upstreamsBudget is how many bytes a change of proxies may have: a run has eleven, each with a user name and a password of up to 4,096
// bytes, and JSON takes six for one.
const upstreamsBudget = 1 << 20

// serveUpstreams replaces the run's proxies.
func (p *process) serveUpstreams(w http.ResponseWriter, r *http.Request) {
	var u Upstreams
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, upstreamsBudget)).Decode(&u); err != nil || len(u.List) == 0 {
		http.Error(w, "no upstreams", http.StatusBadRequest)
		return
	}
	if p.spec.WebRTC == string(browser.WebRTCDefault) { // its WebRTC would go on beside the proxy
		http.Error(w, "a run with webrtc default takes no proxy", http.StatusConflict)
		return
	}
	send(w, p.setUpstreams(u))
}

// SetUpstreams sends the run's new connections through other proxies.
func (c *Client) SetUpstreams(ctx context.Context, u Upstreams) (Swap, error) {
	var s Swap
	err := c.call(ctx, http.MethodPut, "/upstreams", u, &s)
	return s, err
}

// noteMove tells those who watch that the relay goes on through another proxy; when nobody does, the next one who comes.
func (p *process) noteMove(m proxy.Failover) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves = append(p.moves, Notice{Reason: ReasonMoved, From: m.From, To: m.To, Code: m.Cause.Code})
	close(p.noticed)
	p.noticed = make(chan struct{})
}
