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

// This file is about a relay's ways out: what goes through each is counted, one gives way to the next when its upstream is dead, and all
// may be replaced while connections run. The rules are:
//
//   - a connection goes through the route in use when it dials; it is handed out only when that dial was not cut;
//   - an upstream is dead after two faults of its own in a row. Who found that out tries the next routes, in their order; the first whose
//     upstream answers is in use from then on, until somebody says otherwise;
//   - where none answers, the one in use stays: it may be this machine that has no network. Nothing goes another way.

// Route is one way out.
type Route struct {
	Key    string // under which its traffic is counted
	Dialer *Dialer
}

// RouteStats are what went through the routes of one key since the relay was made. What takes a bypass counts under "", since it goes
// through no upstream.
type RouteStats struct {
	Key                           string
	BytesUp, BytesDown, Connected int64 // Connected: tunnels that were opened
}

// Move says that a relay has given up a route for the next.
type Failover struct {
	From, To string // their keys
	Cause    *Error // the fault that decided it
}

// Stay is the place of the route in use, by its key; of the first one, when it is not among the new ones.
const KeepCurrent = -1

// route is a Route at work.
type route struct {
	Route
	traffic     *traffic
	faults      int       // of its upstream's own, in a row
	lastFault   *Error    // of these
	workedAt    time.Time // when a dial last succeeded
	knownTarget target    // the first one that it gave a tunnel to; no host: none
}

// tally counts what goes through the routes of one key.
type traffic struct{ up, down, opened atomic.Int64 }

// deadAfter is how many faults in a row make an upstream a dead one.
const maxFaults = 2

// giveWayAfter is how long a dial may take while there is another route: a browser waits 30 s for its answer, which must be time for both.
const defaultFailoverTimeout = 10 * time.Second

// SetRoutes replaces the routes; at is the one that is used from now on, or Stay. A Dialer that was there before stays what it is. It says whether
// another Dialer is in use than before. Open tunnels stay, unless cut is set and another Dialer is in use: then those through others are
// reset, so that nobody takes half an answer for a whole one, and dials through others begin anew. ended is how many tunnels were reset.
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
		r.routes[at].faults = 0 // who chooses it wants it tried, whatever it did before
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

// OnMove sets what is told when the relay gives up a route. It is called after the fact, by the connection that found out.
func (r *Relay) OnFailover(f func(Failover)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onFailover = f
}

// Route says which route is in use: its place and its key.
func (r *Relay) Route() (at int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current, r.routes[r.current].Key
}

// RouteStats tells what went through, by key, in the order of the keys.
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

// tallyOf is the tally of a key; r.mu is held.
func (r *Relay) trafficOf(key string) *traffic {
	if r.traffic[key] == nil {
		r.traffic[key] = new(traffic)
	}
	return r.traffic[key]
}

// cut ends the tunnel when it goes through another Dialer than now, or has its dial begin anew. It says whether it was open.
func (t *tunnel) closeIfOld(now *Dialer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || t.dialer == nil || t.dialer == now:
		return false
	case t.upstream == nil:
		t.redial = true
		t.cancelDial()
		return false
	}
	resetOnClose(t.client, t.upstream)
	t.closed = true
	t.client.Close()
	rawConn(t.upstream).Close()
	return true
}

// dial connects to the target, through the routes in their order, and hands the connection to the tunnel. early is what came together
// with an upstream's answer.
func (t *tunnel) dial(address string) (c net.Conn, early []byte, fault *Error) {
	tries := map[*route]int{}
	for {
		ctx, cancel := context.WithCancel(t.relay.ctx)
		via, on, more := t.beginDial(address, cancel)
		began := time.Now()
		c, fault := t.dialRoute(ctx, via, more, address)
		cancel()
		if e, ok := c.(*earlyConn); ok { // its bytes go first, then the bare connection, which can be spliced
			c, early = e.Conn, e.early
		}
		tries[via]++
		again, moved, fault := t.finishDial(via, on, began, c, fault, tries[via])
		t.relay.reportFailover(moved)
		if !again {
			return c, early, fault
		}
		early = nil
	}
}

// dialVia dials through one route. While there is another behind it, it takes no longer than the relay gives it, and a silence is looked at.
func (t *tunnel) dialRoute(ctx context.Context, via *route, more bool, address string) (net.Conn, *Error) {
	d := via.Dialer
	if !more || d.Upstream == nil {
		c, _, fault := d.dial(ctx, "tcp", address)
		return c, fault
	}
	v := startLivenessProbe(ctx, d, t.relay.failoverTimeout)
	limited, late := context.WithTimeout(ctx, t.relay.failoverTimeout)
	defer late()
	c, _, fault := d.dial(limited, "tcp", address)
	fault = v.explain(fault)
	if a, ok := c.(*absoluteConn); ok {
		return t.relay.verifyAbsolute(ctx, via, a)
	}
	return c, t.relay.attributeToTarget(ctx, via, fault)
}

// reaches asks a route for a tunnel to a target that it once reached, and closes it.
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

// doubtAbsolute has an upstream whose last word was a fault prove itself before plain requests go to it: that it takes a connection does not.
func (r *Relay) verifyAbsolute(ctx context.Context, via *route, c *absoluteConn) (net.Conn, *Error) {
	r.mu.Lock()
	doubted, last := via.faults > 0, via.lastFault
	r.mu.Unlock()
	if !doubted {
		return c, nil
	}
	if fault := r.verifyUpstream(ctx, via, last); fault != nil {
		c.Close()
		return nil, fault
	}
	return c, nil
}

// prove finds out whether an upstream that takes plain requests in absolute form does its work, and gives its own fault when not. why is what
// it is suspected of. A wish for a login may be the site's word, so it is believed only where the upstream says it of what it once
// reached, or has never done any work.
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
	saw := via.Dialer.probeServer(limited, *via.Dialer.Upstream)
	if ctx.Err() == nil && (saw == serverSilent || saw == serverCloses && known.host != "") {
		return &Error{StageRequest, TimedOut, "the proxy takes connections and says nothing on them", errServerSilent}
	}
	return nil
}

// ofTarget gives a fault as the target's where the upstream answers like a server that is no proxy, or hangs up, and has its word for a
// target that it did reach: some proxies do so to targets that they do not take, and a page can name any.
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

// begin takes a route for a dial: the one in use, or the one behind it that the tunnel has come to. on is false when the dial goes beside
// it, and more says that another route is behind it.
func (t *tunnel) beginDial(address string, giveUp context.CancelFunc) (via *route, on, more bool) {
	r := t.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	at := max(r.current, slices.Index(r.routes, t.nextRoute))
	via = r.routes[at]
	on = !via.Dialer.isBypassed(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dialer, t.cancelDial, t.redial, t.traffic = via.Dialer, giveUp, false, via.traffic
	if !on {
		t.dialer, t.traffic = nil, r.trafficOf("")
	}
	return via, on, on && at+1 < len(r.routes)
}

// settle makes the end of a dial count. again: the connection is to be dialled anew.
func (t *tunnel) finishDial(via *route, on bool, began time.Time, c net.Conn, fault *Error, tries int) (again bool, moved *Failover, _ *Error) {
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
		if a, ok := c.(*absoluteConn); on && ok {
			a.forwarder.monitor = r.newMonitor(via)
		} else if on {
			moved = r.recordSuccess(via)
			if via.knownTarget.host == "" {
				via.knownTarget = t.target
			}
		}
		t.traffic.opened.Add(1)
		if t.host != nil {
			t.host.opened.Add(1)
		}
		t.upstream = c
		return false, moved, nil
	case !on || via.Dialer.Upstream == nil || !fault.isUpstreamFault() || r.ctx.Err() != nil:
		if on && fault.isTargetVerdict() {
			moved = r.failOverTo(via)
		}
		return false, moved, fault
	}
	via.recordFault(began, fault)
	return t.shouldRedial(via, tries), nil, fault
}

// works notes that a route's upstream does its work; r.mu is held.
func (r *Relay) recordSuccess(via *route) *Failover {
	via.faults, via.workedAt = 0, time.Now()
	return r.failOverTo(via)
}

// fails notes a fault of the upstream's own; the relay's mutex is held.
func (via *route) recordFault(began time.Time, fault *Error) {
	if began.After(via.workedAt) { // else it has worked since: this says nothing of now
		via.faults++
		via.lastFault = fault
	}
}

// watch is how plain requests in absolute form count for the route that they take; r.mu is held.
func (r *Relay) newMonitor(via *route) *upstreamMonitor {
	w := &upstreamMonitor{verify: func(ctx context.Context, why *Error) *Error { return r.verifyUpstream(ctx, via, why) }}
	if slices.Index(r.routes, via)+1 < len(r.routes) {
		w.suspectAfter = r.failoverTimeout / 2
	}
	w.report = func(began time.Time, fault *Error) {
		r.mu.Lock()
		var moved *Failover
		if fault == nil {
			moved = r.recordSuccess(via)
		} else {
			via.recordFault(began, fault)
		}
		r.mu.Unlock()
		r.reportFailover(moved)
	}
	return w
}

// goesOn says whether a tunnel whose dial has failed by the route's own fault dials anew, and notes where; both mutexes are held.
func (t *tunnel) shouldRedial(via *route, tries int) bool {
	r := t.relay
	at := slices.Index(r.routes, via)
	switch {
	case at < r.current: // another is in use by now
		return true
	case at+1 == len(r.routes):
		return false
	case via.faults >= maxFaults:
		t.nextRoute = r.routes[at+1]
		return true
	}
	return tries < maxFaults
}

// moveTo puts the route in use whose upstream has just answered, where the one in use is dead and comes before it; r.mu is held.
func (r *Relay) failOverTo(via *route) *Failover {
	from := r.routes[r.current]
	at := slices.Index(r.routes, via)
	if at <= r.current || from.faults < maxFaults {
		return nil
	}
	r.current = at
	return &Failover{from.Key, via.Key, from.lastFault}
}

// tellMove tells who asked for it; nil: there is none.
func (r *Relay) reportFailover(m *Failover) {
	if m == nil {
		return
	}
	r.log.Warn("a proxy is given up for the next", "from", m.From, "to", m.To, "stage", m.Cause.Stage, "code", m.Cause.Code)
	r.mu.Lock()
	f := r.onFailover
	r.mu.Unlock()
	if f != nil {
		f(*m)
	}
}

// upstreams says whether the fault of a dial through an upstream is the upstream's own, whatever the target. One of this machine's, such
// as a network that is down, is not.
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

// local says whether a fault shows that this machine has no way out, or nothing left to take one with: every upstream fails so.
func (e *Error) isLocalFault() bool {
	dns, ok := errors.AsType[*net.DNSError](e.Err)
	return isErrno(e.Err, localErrnos) || ok && (dns.IsTemporary || dns.IsTimeout)
}

// refusal says whether a fault may be how an upstream refuses a target, though it looks like the upstream's own.
func (e *Error) mayBeRefusal() bool {
	_, status := errors.AsType[statusError](e.Err)
	return status && e.Code == NotAProxy || e.Code == ConnectionClosed && errors.Is(e.Err, errServerSilent)
}

// answers says whether a fault is what an upstream itself has said of the target.
func (e *Error) isTargetVerdict() bool {
	return e.Stage == StageRequest && (e.Code == RequestRefused || e.Code == TargetUnreachable || e.Code == HostUnreachable)
}
