package shim

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"warren/browser"
	"warren/proxy"
)

// Manages the proxies of a run: one is in use, the others are fallbacks, and all can be replaced while the run goes
// on.

// Upstreams is a change of a run's proxies.
type Upstreams struct {
	List          []Upstream `json:"list"`  // in their order; at least one
	ResetFailover bool       `json:"first"` // use the first; otherwise keep the one in use if it is still listed
	CloseOld      bool       `json:"cut"`   // close connections through any proxy but the one now in use
}

// Swap is the result of a change.
type Swap struct {
	Swapped bool `json:"swapped"` // another proxy is in use, or the same one with another address or other credentials
	Closed  int  `json:"cut"`     // connections that were closed
	At      int  `json:"at"`      // index of the one in use
}

func marks(list []Upstream) []UpstreamMark {
	out := []UpstreamMark{}
	for _, u := range list {
		out = append(out, UpstreamMark{u.ID, u.Revision})
	}
	return out
}

// setUpstreams routes new connections through the list. A proxy that is dialled as before keeps its dialer, so that
// the relay sees no change.
func (p *process) setUpstreams(u Upstreams) Swap {
	p.routesMu.Lock()
	defer p.routesMu.Unlock()
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
	if u.ResetFailover {
		at = 0
	}
	var s Swap
	s.Swapped, s.Closed = p.relay.SetRoutes(routes, at, u.CloseOld)
	s.At, _ = p.relay.Route()
	return s
}

// same reports whether the other is the same proxy, dialled in the same way.
func (u Upstream) same(other Upstream) bool {
	other.Revision = u.Revision
	return u == other
}

// maxUpstreamsBody bounds a change of proxies in bytes. A run has eleven, each with a user name and a password of up
// to 4,096 bytes. JSON takes up to six bytes for one.
const maxUpstreamsBody = 1 << 20

// serveUpstreams replaces the run's proxies.
func (p *process) serveUpstreams(w http.ResponseWriter, r *http.Request) {
	var u Upstreams
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpstreamsBody)).Decode(&u); err != nil || len(u.List) == 0 {
		http.Error(w, "no upstreams", http.StatusBadRequest)
		return
	}
	if p.spec.WebRTC == string(browser.WebRTCDefault) { // WebRTC would bypass the proxy
		http.Error(w, "a run with webrtc default takes no proxy", http.StatusConflict)
		return
	}
	writeJSON(w, p.setUpstreams(u))
}

// SetUpstreams routes the run's new connections through other proxies.
func (c *Client) SetUpstreams(ctx context.Context, u Upstreams) (s Swap, err error) {
	err = c.call(ctx, http.MethodPut, "/upstreams", u, &s)
	return s, err
}

// recordMove queues a notice that the relay has moved to another proxy, for the next watching server.
func (p *process) recordMove(m proxy.Failover) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pendingMoves = append(p.pendingMoves, Notice{Reason: ReasonMoved, From: m.From, To: m.To, Code: m.Cause.Code})
	close(p.noticesChanged)
	p.noticesChanged = make(chan struct{})
}
