package proxy

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Chooses a relay's route: counts the traffic of each, fails over from a dead upstream to the next, and replaces routes under open
// connections. The rules are:
//
//   - A connection goes through the route that is in use when it is dialled. A dial that a replacement overtakes is made again.
//   - An upstream is dead after maxFaults faults of its own in a row. The connection that finds it dead tries the next routes in order.
//   - The first route whose upstream answers is in use from then on, until SetRoutes says otherwise.
//   - When none answers, the route in use stays: this machine may have no network. Nothing is dialled without a route.

// Route is one way to the targets.
type Route struct {
	Key    string // its traffic is counted under this key
	Dialer *Dialer
}

// RouteStats is the traffic of the routes with one key since the relay was made. Bypassed connections count under "".
type RouteStats struct {
	Key                string
	BytesUp, BytesDown int64 // payload, without handshakes
	Connected          int64 // tunnels that were opened
}

// Failover reports that a relay has left a dead route for another.
type Failover struct {
	From, To string // keys of the routes
	Cause    *Error // the last fault of the dead route
}

// KeepCurrent, as the place of the route to use, keeps the route with the same key as the one in use. Without such a route
// the first one is used.
const KeepCurrent = -1

// route is a Route with its state. Relay.mu guards all but the Route and its traffic.
type route struct {
	Route
	traffic     *traffic
	faults      int       // in a row, of the upstream itself
	lastFault   *Error    // the last of these
	workedAt    time.Time // when a dial last succeeded
	knownTarget target    // the first one that it gave a tunnel to; no host before that
}

// traffic counts the bytes and tunnels of one key.
type traffic struct{ up, down, opened atomic.Int64 }

// maxFaults is how many faults in a row make an upstream dead.
const maxFaults = 2

// defaultFailoverTimeout bounds a dial while another route is left. A browser waits 30 s for its answer, which must do for both.
const defaultFailoverTimeout = 10 * time.Second

// SetRoutes replaces the routes. at is the place of the one to use from now on, or KeepCurrent. A route with the key and Dialer of
// an old one keeps its state. swapped reports whether another Dialer is in use than before.
//
// Open tunnels stay, unless cut is set and another Dialer is in use. Then tunnels through other Dialers are reset, so that no client
// takes half an answer for a whole one, and dials through them start again. ended is the number of tunnels that were reset.
func (r *Relay) SetRoutes(list []Route, at int, cut bool) (swapped bool, ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before *Dialer
	if len(r.routes) > 0 {
		before = r.routes[r.current].Dialer
	}
	chosen := at != KeepCurrent
	if !chosen {
		at = max(0, slices.IndexFunc(list, func(v Route) bool { return v.Key == r.routes[r.current].Key }))
	}
	old := r.routes
	r.routes, r.current = make([]*route, len(list)), at
	for i, v := range list {
		if j := slices.IndexFunc(old, func(o *route) bool { return o.Route == v }); j >= 0 {
			r.routes[i] = old[j]
		} else {
			r.routes[i] = &route{Route: v, traffic: r.trafficOf(v.Key)}
		}
	}
	if chosen {
		r.routes[at].faults = 0 // a chosen route is tried, whatever its faults were
	}
	now := r.routes[at].Dialer
	if swapped = now != before; !swapped || !cut {
		return swapped, 0
	}
	for t := range r.tunnels {
		if t.closeIfOld(now) {
			ended++
		}
	}
	return true, ended
}

// OnFailover sets the function that is called after each fail-over. The connection that found the dead upstream calls it.
func (r *Relay) OnFailover(f func(Failover)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onFailover = f
}

// Route returns the place and the key of the route in use.
func (r *Relay) Route() (at int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current, r.routes[r.current].Key
}

// RouteStats returns the traffic by key, in the order of the keys. Keys without tunnels are left out.
func (r *Relay) RouteStats() []RouteStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []RouteStats
	for key, t := range r.traffic {
		if s := (RouteStats{key, t.up.Load(), t.down.Load(), t.opened.Load()}); s.Connected > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b RouteStats) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// trafficOf returns the counters of a key. The caller holds r.mu.
func (r *Relay) trafficOf(key string) *traffic {
	if r.traffic[key] == nil {
		r.traffic[key] = new(traffic)
	}
	return r.traffic[key]
}

// closeIfOld resets a tunnel through another Dialer than current, or has its dial start again. It reports whether a tunnel was reset.
func (t *tunnel) closeIfOld(current *Dialer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || t.dialer == nil || t.dialer == current:
		return false
	case t.upstream == nil:
		t.redial = true
		t.cancelDial()
		return false
	}
	resetOnClose(t.client, t.upstream)
	t.closeLocked()
	return true
}

// dial connects to the target through the routes in their order, and attaches the connection to the tunnel. early is what the upstream
// sent with its answer.
func (t *tunnel) dial(address string) (c net.Conn, early []byte, fault *Error) {
	tries := map[*route]int{}
	for {
		ctx, cancel := context.WithCancel(t.relay.ctx)
		via, routed, more := t.beginDial(address, cancel)
		began := time.Now()
		c, fault := t.dialRoute(ctx, via, more, address)
		cancel()
		if e, ok := c.(*earlyConn); ok { // the bare connection can be spliced, after the early bytes
			c, early = e.Conn, e.early
		}
		tries[via]++
		again, failover, fault := t.finishDial(via, routed, began, c, fault, tries[via])
		t.relay.reportFailover(failover)
		if !again {
			return c, early, fault
		}
		early = nil
	}
}

// dialRoute dials through one route. While more routes are left, the dial is bounded by failoverTimeout, and a silent upstream is probed.
func (t *tunnel) dialRoute(ctx context.Context, via *route, more bool, address string) (net.Conn, *Error) {
	d := via.Dialer
	if !more || d.Upstream == nil {
		c, _, fault := d.dial(ctx, "tcp", address)
		return c, fault
	}
	explain := d.startLivenessProbe(ctx, t.relay.failoverTimeout)
	limited, cancel := context.WithTimeout(ctx, t.relay.failoverTimeout)
	defer cancel()
	c, _, fault := d.dial(limited, "tcp", address)
	fault = explain(fault)
	if a, ok := c.(*absoluteConn); ok {
		return t.relay.verifyAbsolute(ctx, via, a)
	}
	return c, t.relay.attributeToTarget(ctx, via, fault)
}

// tryTarget opens a tunnel through a route to a target that it reached before, and closes it.
func (r *Relay) tryTarget(ctx context.Context, via *route, known target) *Error {
	ctx, cancel := context.WithTimeout(ctx, r.failoverTimeout/2)
	defer cancel()
	c, _, fault := via.Dialer.dial(ctx, "tcp", known.address())
	if c == nil {
		return fault
	}
	c.Close()
	if a, ok := c.(*absoluteConn); ok {
		return a.tunnelFault
	}
	return nil
}

// verifyAbsolute verifies an upstream whose last dial failed, before plain requests go to it. That it accepts a connection proves nothing.
func (r *Relay) verifyAbsolute(ctx context.Context, via *route, c *absoluteConn) (net.Conn, *Error) {
	r.mu.Lock()
	suspect, last := via.faults > 0, via.lastFault
	r.mu.Unlock()
	if !suspect {
		return c, nil
	}
	if fault := r.verifyUpstream(ctx, via, last); fault != nil {
		c.Close()
		return nil, fault
	}
	return c, nil
}

// verifyUpstream finds out whether an upstream that takes plain requests in absolute form works. It returns the upstream's own
// fault, or nil. why is the suspicion. A demand for a login may be the site's answer. It counts only when the upstream demands it for
// a target that it reached before, or when it has never worked.
func (r *Relay) verifyUpstream(ctx context.Context, via *route, why *Error) *Error {
	r.mu.Lock()
	known, worked := via.knownTarget, !via.workedAt.IsZero()
	r.mu.Unlock()
	if r.rules.Load().refuses(known) {
		known = target{}
	}
	fault, believed := why, why != nil && why.Stage == StageAuth && !worked
	if known.host != "" {
		if fault, believed = r.tryTarget(ctx, via, known), true; fault == nil || fault.isTargetVerdict() || fault.isLocalFault() {
			return nil
		}
	}
	if believed && fault.isUpstreamFault() {
		return fault
	}
	limited, cancel := context.WithTimeout(ctx, r.failoverTimeout/2)
	defer cancel()
	state := via.Dialer.probeServer(limited, *via.Dialer.Upstream)
	if ctx.Err() == nil && (state == serverSilent || state == serverCloses && known.host != "") {
		return &Error{StageRequest, TimedOut, "the proxy takes connections and says nothing on them", errServerSilent}
	}
	return nil
}

// attributeToTarget attributes a fault to the target when the upstream still reaches a target that it reached before. Some proxies
// answer like another server, or hang up, on targets that they do not take, and a page can name any target.
func (r *Relay) attributeToTarget(ctx context.Context, via *route, fault *Error) *Error {
	if fault == nil || !fault.mayBeRefusal() {
		return fault
	}
	r.mu.Lock()
	known := via.knownTarget
	r.mu.Unlock()
	if known.host == "" || r.rules.Load().refuses(known) {
		return fault
	}
	if again := r.tryTarget(ctx, via, known); again != nil && !again.isTargetVerdict() {
		return fault
	}
	return &Error{StageRequest, RequestRefused, "the proxy does not take this target, and takes others", nil}
}

// beginDial chooses the route of a dial: the one in use, or a later one that this tunnel has come to. routed is false when the dial is
// bypassed. more reports that another route is left.
func (t *tunnel) beginDial(address string, cancel context.CancelFunc) (via *route, routed, more bool) {
	r := t.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	at := max(r.current, slices.Index(r.routes, t.nextRoute))
	via = r.routes[at]
	routed = !via.Dialer.isBypassed(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialer, t.cancelDial, t.redial, t.traffic = via.Dialer, cancel, false, via.traffic
	if !routed {
		t.dialer, t.traffic = nil, r.trafficOf("")
	}
	return via, routed, routed && at+1 < len(r.routes)
}

// finishDial records the outcome of a dial. again reports that the connection is to be dialled once more.
func (t *tunnel) finishDial(via *route, routed bool, began time.Time, c net.Conn, fault *Error,
	tries int) (again bool, _ *Failover, _ *Error) {
	r := t.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		if c != nil {
			c.Close()
		}
		return false, nil, &Error{StageRequest, ConnectionClosed, "the connection was ended while it was dialled", net.ErrClosed}
	case t.redial:
		if c != nil {
			resetOnClose(c)
			c.Close()
		}
		t.nextRoute = nil
		return true, nil, nil
	case fault == nil:
		return false, t.attach(via, routed, c), nil
	case !routed || via.Dialer.Upstream == nil || !fault.isUpstreamFault() || r.ctx.Err() != nil:
		if routed && fault.isTargetVerdict() {
			return false, r.failOverTo(via), fault
		}
		return false, nil, fault
	}
	via.recordFault(began, fault)
	return t.shouldRedial(via, tries), nil, fault
}

// attach gives the tunnel its upstream connection. The caller holds both mutexes.
func (t *tunnel) attach(via *route, routed bool, c net.Conn) (failover *Failover) {
	if a, ok := c.(*absoluteConn); routed && ok {
		a.forwarder.monitor = t.relay.newMonitor(via)
	} else if routed {
		failover = t.relay.recordSuccess(via)
		if via.knownTarget.host == "" {
			via.knownTarget = t.target
		}
	}
	t.traffic.opened.Add(1)
	if t.host != nil {
		t.host.opened.Add(1)
	}
	t.upstream = c
	return failover
}

// recordSuccess records that a route's upstream works. The caller holds r.mu.
func (r *Relay) recordSuccess(via *route) *Failover {
	via.faults, via.workedAt = 0, time.Now()
	return r.failOverTo(via)
}

// recordFault records a fault of the upstream itself. The caller holds the relay's mu.
func (via *route) recordFault(began time.Time, fault *Error) {
	if began.After(via.workedAt) { // otherwise it has worked since, and the fault is outdated
		via.faults++
		via.lastFault = fault
	}
}

// newMonitor returns the monitor for plain requests in absolute form through a route. The caller holds r.mu.
func (r *Relay) newMonitor(via *route) *upstreamMonitor {
	m := &upstreamMonitor{verify: func(ctx context.Context, why *Error) *Error { return r.verifyUpstream(ctx, via, why) }}
	if slices.Index(r.routes, via)+1 < len(r.routes) {
		m.suspectAfter = r.failoverTimeout / 2
	}
	m.report = func(began time.Time, fault *Error) {
		r.mu.Lock()
		var failover *Failover
		if fault == nil {
			failover = r.recordSuccess(via)
		} else {
			via.recordFault(began, fault)
		}
		r.mu.Unlock()
		r.reportFailover(failover)
	}
	return m
}

// shouldRedial decides whether a tunnel is dialled again after a fault of the route's upstream, and sets its next route. The caller
// holds both mutexes.
func (t *tunnel) shouldRedial(via *route, tries int) bool {
	r := t.relay
	at := slices.Index(r.routes, via)
	switch {
	case at < r.current: // the relay uses a later route by now
		return true
	case at+1 == len(r.routes):
		return false
	case via.faults >= maxFaults:
		t.nextRoute = r.routes[at+1]
		return true
	}
	return tries < maxFaults
}

// failOverTo puts a later route in use, whose upstream has just answered, when the one in use is dead. The caller holds r.mu.
func (r *Relay) failOverTo(via *route) *Failover {
	from := r.routes[r.current]
	at := slices.Index(r.routes, via)
	if at <= r.current || from.faults < maxFaults {
		return nil
	}
	r.current = at
	return &Failover{from.Key, via.Key, from.lastFault}
}

// reportFailover logs a fail-over, if there was one, and calls the function set by OnFailover.
func (r *Relay) reportFailover(f *Failover) {
	if f == nil {
		return
	}
	r.log.Warn("failed over to another proxy", "from", f.From, "to", f.To, "stage", f.Cause.Stage, "code", f.Cause.Code)
	r.mu.Lock()
	report := r.onFailover
	r.mu.Unlock()
	if report != nil {
		report(*f)
	}
}

// isUpstreamFault reports whether a fault is the upstream's own, whatever the target. A fault of this machine, such as a network that is
// down, is not.
func (e *Error) isUpstreamFault() bool {
	if e.isLocalFault() {
		return false
	}
	switch e.Stage {
	case StageResolve, StageConnect, StageTLS, StageGreeting, StageAuth:
		return true
	}
	return errors.Is(e.Err, errServerSilent)
}

// isLocalFault reports whether this machine has no network, or no resources to use it. Then every upstream fails so.
func (e *Error) isLocalFault() bool {
	dns, ok := errors.AsType[*net.DNSError](e.Err)
	return isErrno(e.Err, localErrnos) || ok && (dns.IsTemporary || dns.IsTimeout)
}

// mayBeRefusal reports whether a fault that looks like the upstream's own may be its way to refuse a target.
func (e *Error) mayBeRefusal() bool {
	return isA[statusError](e.Err) && e.Code == NotAProxy || e.Code == ConnectionClosed && errors.Is(e.Err, errServerSilent)
}

// isTargetVerdict reports whether a fault is the upstream's own statement about the target.
func (e *Error) isTargetVerdict() bool {
	return e.Stage == StageRequest && (e.Code == RequestRefused || e.Code == TargetUnreachable || e.Code == HostUnreachable)
}
