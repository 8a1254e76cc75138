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
type Move struct {
	From, To string // their keys
	Why      *Error // the fault that decided it
}

// Stay is the place of the route in use, by its key; of the first one, when it is not among the new ones.
const Stay = -1

// route is a Route at work.
type route struct {
	Route
	tally   *tally
	faults  int       // of its upstream's own, in a row
	last    *Error    // of these
	worked  time.Time // when a dial last succeeded
	reached target    // the first one that it gave a tunnel to; no host: none
}

// tally counts what goes through the routes of one key.
type tally struct{ up, down, opened atomic.Int64 }

// deadAfter is how many faults in a row make an upstream a dead one.
const deadAfter = 2

// giveWayAfter is how long a dial may take while there is another route: a browser waits 30 s for its answer, which must be time for both.
const giveWayAfter = 10 * time.Second

// SetRoutes replaces the routes; at is the one that is used from now on, or Stay. A Dialer that was there before stays what it is. It says whether
// another Dialer is in use than before. Open tunnels stay, unless cut is set and another Dialer is in use: then those through others are
// reset, so that nobody takes half an answer for a whole one, and dials through others begin anew. ended is how many tunnels were reset.
func (r *Relay) SetRoutes(list []Route, at int, cut bool) (swapped bool, ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before *Dialer
	if len(r.routes) > 0 {
		before = r.routes[r.at].Dialer
	}
	chosen := at != Stay
	if !chosen {
		at = max(0, slices.IndexFunc(list, func(v Route) bool { return v.Key == r.routes[r.at].Key }))
	}
	old := r.routes
	r.routes, r.at = make([]*route, len(list)), at
	for i, v := range list {
		if j := slices.IndexFunc(old, func(o *route) bool { return o.Route == v }); j >= 0 {
			r.routes[i] = old[j]
		} else {
			r.routes[i] = &route{Route: v, tally: r.tallyOf(v.Key)}
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
		if t.cut(now) {
			ended++
		}
	}
	return true, ended
}

// OnMove sets what is told when the relay gives up a route. It is called after the fact, by the connection that found out.
func (r *Relay) OnMove(f func(Move)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = f
}

// Route says which route is in use: its place and its key.
func (r *Relay) Route() (at int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at, r.routes[r.at].Key
}

// RouteStats tells what went through, by key, in the order of the keys.
func (r *Relay) RouteStats() []RouteStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []RouteStats
	for key, t := range r.tallies {
		if s := (RouteStats{key, t.up.Load(), t.down.Load(), t.opened.Load()}); s.Connected > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b RouteStats) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// tallyOf is the tally of a key; r.mu is held.
func (r *Relay) tallyOf(key string) *tally {
	if r.tallies[key] == nil {
		r.tallies[key] = new(tally)
	}
	return r.tallies[key]
}

// cut ends the tunnel when it goes through another Dialer than now, or has its dial begin anew. It says whether it was open.
func (t *tunnel) cut(now *Dialer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || t.through == nil || t.through == now:
		return false
	case t.upstream == nil:
		t.overrun = true
		t.giveUp()
		return false
	}
	lingerNot(t.client, t.upstream)
	t.closed = true
	t.client.Close()
	bare(t.upstream).Close()
	return true
}

// dial connects to the target, through the routes in their order, and hands the connection to the tunnel. early is what came together
// with an upstream's answer.
func (t *tunnel) dial(address string) (c net.Conn, early []byte, fault *Error) {
	tries := map[*route]int{}
	for {
		ctx, cancel := context.WithCancel(t.relay.ctx)
		via, on, more := t.begin(address, cancel)
		began := time.Now()
		c, fault := t.dialVia(ctx, via, more, address)
		cancel()
		if e, ok := c.(*earlyConn); ok { // its bytes go first, then the bare connection, which can be spliced
			c, early = e.Conn, e.early
		}
		tries[via]++
		again, moved, fault := t.settle(via, on, began, c, fault, tries[via])
		t.relay.tellMove(moved)
		if !again {
			return c, early, fault
		}
		early = nil
	}
}

// dialVia dials through one route. While there is another behind it, it takes no longer than the relay gives it, and a silence is looked at.
func (t *tunnel) dialVia(ctx context.Context, via *route, more bool, address string) (net.Conn, *Error) {
	d := via.Dialer
	if !more || d.Upstream == nil {
		c, _, fault := d.dial(ctx, "tcp", address)
		return c, fault
	}
	v := startDoubt(ctx, d, t.relay.giveWay)
	limited, late := context.WithTimeout(ctx, t.relay.giveWay)
	defer late()
	c, _, fault := d.dial(limited, "tcp", address)
	fault = v.settle(fault)
	if a, ok := c.(*absoluteConn); ok {
		return t.relay.doubtAbsolute(ctx, via, a)
	}
	return c, t.relay.ofTarget(ctx, via, fault)
}

// reaches asks a route for a tunnel to a target that it once reached, and closes it.
func (r *Relay) reaches(ctx context.Context, via *route, known target) *Error {
	ctx, cancel := context.WithTimeout(ctx, r.giveWay/2)
	defer cancel()
	c, _, fault := via.Dialer.dial(ctx, "tcp", known.address())
	if c == nil {
		return fault
	}
	c.Close()
	if a, ok := c.(*absoluteConn); ok {
		return a.refused
	}
	return nil
}

// doubtAbsolute has an upstream whose last word was a fault prove itself before plain requests go to it: that it takes a connection does not.
func (r *Relay) doubtAbsolute(ctx context.Context, via *route, c *absoluteConn) (net.Conn, *Error) {
	r.mu.Lock()
	doubted, last := via.faults > 0, via.last
	r.mu.Unlock()
	if !doubted {
		return c, nil
	}
	if fault := r.prove(ctx, via, last); fault != nil {
		c.Close()
		return nil, fault
	}
	return c, nil
}

// prove finds out whether an upstream that takes plain requests in absolute form does its work, and gives its own fault when not. why is what
// it is suspected of. A wish for a login may be the site's word, so it is believed only where the upstream says it of what it once
// reached, or has never done any work.
func (r *Relay) prove(ctx context.Context, via *route, why *Error) *Error {
	r.mu.Lock()
	known, worked := via.reached, !via.worked.IsZero()
	r.mu.Unlock()
	if r.rules.Load().refuses(known) {
		known = target{}
	}
	fault, believed := why, why != nil && why.Stage == StageAuth && !worked
	if known.host != "" {
		if fault, believed = r.reaches(ctx, via, known), true; fault == nil || fault.answers() || fault.local() {
			return nil
		}
	}
	if believed && fault.upstreams() {
		return fault
	}
	limited, cancel := context.WithTimeout(ctx, r.giveWay/2)
	defer cancel()
	saw := via.Dialer.look(limited, *via.Dialer.Upstream)
	if ctx.Err() == nil && (saw == mute || saw == hangsUp && known.host != "") {
		return &Error{StageRequest, TimedOut, "the proxy takes connections and says nothing on them", errMute}
	}
	return nil
}

// ofTarget gives a fault as the target's where the upstream answers like a server that is no proxy, or hangs up, and has its word for a
// target that it did reach: some proxies do so to targets that they do not take, and a page can name any.
func (r *Relay) ofTarget(ctx context.Context, via *route, fault *Error) *Error {
	if fault == nil || !fault.refusal() {
		return fault
	}
	r.mu.Lock()
	known := via.reached
	r.mu.Unlock()
	if known.host == "" || r.rules.Load().refuses(known) {
		return fault
	}
	if again := r.reaches(ctx, via, known); again != nil && !again.answers() {
		return fault
	}
	return &Error{StageRequest, RequestRefused, "the proxy does not take this target, and takes others", nil}
}

// begin takes a route for a dial: the one in use, or the one behind it that the tunnel has come to. on is false when the dial goes beside
// it, and more says that another route is behind it.
func (t *tunnel) begin(address string, giveUp context.CancelFunc) (via *route, on, more bool) {
	r := t.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	at := max(r.at, slices.Index(r.routes, t.onto))
	via = r.routes[at]
	on = !via.Dialer.isBypassed(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.through, t.giveUp, t.overrun, t.tally = via.Dialer, giveUp, false, via.tally
	if !on {
		t.through, t.tally = nil, r.tallyOf("")
	}
	return via, on, on && at+1 < len(r.routes)
}

// settle makes the end of a dial count. again: the connection is to be dialled anew.
func (t *tunnel) settle(via *route, on bool, began time.Time, c net.Conn, fault *Error, tries int) (again bool, moved *Move, _ *Error) {
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
	case t.overrun:
		if c != nil {
			lingerNot(c)
			c.Close()
		}
		t.onto = nil
		return true, nil, nil
	case fault == nil:
		if a, ok := c.(*absoluteConn); on && ok {
			a.s.watched = r.watch(via)
		} else if on {
			moved = r.works(via)
			if via.reached.host == "" {
				via.reached = t.target
			}
		}
		t.tally.opened.Add(1)
		if t.host != nil {
			t.host.opened.Add(1)
		}
		t.upstream = c
		return false, moved, nil
	case !on || via.Dialer.Upstream == nil || !fault.upstreams() || r.ctx.Err() != nil:
		if on && fault.answers() {
			moved = r.moveTo(via)
		}
		return false, moved, fault
	}
	via.fails(began, fault)
	return t.goesOn(via, tries), nil, fault
}

// works notes that a route's upstream does its work; r.mu is held.
func (r *Relay) works(via *route) *Move {
	via.faults, via.worked = 0, time.Now()
	return r.moveTo(via)
}

// fails notes a fault of the upstream's own; the relay's mutex is held.
func (via *route) fails(began time.Time, fault *Error) {
	if began.After(via.worked) { // else it has worked since: this says nothing of now
		via.faults++
		via.last = fault
	}
}

// watch is how plain requests in absolute form count for the route that they take; r.mu is held.
func (r *Relay) watch(via *route) *watched {
	w := &watched{prove: func(ctx context.Context, why *Error) *Error { return r.prove(ctx, via, why) }}
	if slices.Index(r.routes, via)+1 < len(r.routes) {
		w.patience = r.giveWay / 2
	}
	w.tell = func(began time.Time, fault *Error) {
		r.mu.Lock()
		var moved *Move
		if fault == nil {
			moved = r.works(via)
		} else {
			via.fails(began, fault)
		}
		r.mu.Unlock()
		r.tellMove(moved)
	}
	return w
}

// goesOn says whether a tunnel whose dial has failed by the route's own fault dials anew, and notes where; both mutexes are held.
func (t *tunnel) goesOn(via *route, tries int) bool {
	r := t.relay
	at := slices.Index(r.routes, via)
	switch {
	case at < r.at: // another is in use by now
		return true
	case at+1 == len(r.routes):
		return false
	case via.faults >= deadAfter:
		t.onto = r.routes[at+1]
		return true
	}
	return tries < deadAfter
}

// moveTo puts the route in use whose upstream has just answered, where the one in use is dead and comes before it; r.mu is held.
func (r *Relay) moveTo(via *route) *Move {
	from := r.routes[r.at]
	at := slices.Index(r.routes, via)
	if at <= r.at || from.faults < deadAfter {
		return nil
	}
	r.at = at
	return &Move{from.Key, via.Key, from.last}
}

// tellMove tells who asked for it; nil: there is none.
func (r *Relay) tellMove(m *Move) {
	if m == nil {
		return
	}
	r.log.Warn("a proxy is given up for the next", "from", m.From, "to", m.To, "stage", m.Why.Stage, "code", m.Why.Code)
	r.mu.Lock()
	f := r.moved
	r.mu.Unlock()
	if f != nil {
		f(*m)
	}
}

// upstreams says whether the fault of a dial through an upstream is the upstream's own, whatever the target. One of this machine's, such
// as a network that is down, is not.
func (e *Error) upstreams() bool {
	if e.local() {
		return false
	}
	switch e.Stage {
	case StageResolve, StageConnect, StageTLS, StageGreeting, StageAuth:
		return true
	}
	return errors.Is(e.Err, errMute)
}

// local says whether a fault shows that this machine has no way out, or nothing left to take one with: every upstream fails so.
func (e *Error) local() bool {
	dns, ok := errors.AsType[*net.DNSError](e.Err)
	return isErrno(e.Err, localErrnos) || ok && (dns.IsTemporary || dns.IsTimeout)
}

// refusal says whether a fault may be how an upstream refuses a target, though it looks like the upstream's own.
func (e *Error) refusal() bool {
	_, status := errors.AsType[statusError](e.Err)
	return status && e.Code == NotAProxy || e.Code == ConnectionClosed && errors.Is(e.Err, errMute)
}

// answers says whether a fault is what an upstream itself has said of the target.
func (e *Error) answers() bool {
	return e.Stage == StageRequest && (e.Code == RequestRefused || e.Code == TargetUnreachable || e.Code == HostUnreachable)
}
