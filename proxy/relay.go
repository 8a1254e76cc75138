package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Relay is the local SOCKS5 server (RFC 1928) between a browser and its upstreams. It accepts CONNECT without authentication, dials
// through its routes, and relays bytes and half-closes in both directions. A target that the routes cannot reach is not dialled otherwise.
//
// Admit decides who may connect. The listener should be one that others cannot reach.
type Relay struct {
	log   *slog.Logger
	admit atomic.Pointer[func(net.Conn) error]
	rules atomic.Pointer[Rules]
	hosts atomic.Pointer[hostLog]
	await atomic.Pointer[func()] // what bytes to targets wait for
	stats relayCounters

	ctx    context.Context // ends dials when the relay is closed
	cancel context.CancelFunc
	work   sync.WaitGroup
	chunks sync.Pool // *[chunkSize]byte, held only while bytes move

	handshakeTimeout time.Duration // for a client to send its request
	failoverTimeout  time.Duration // for a dial while another route is left
	idleTimeout      time.Duration // for a direction without bytes after the other has ended

	mu          sync.Mutex // guards what follows
	closed      bool
	listeners   map[net.Listener]struct{}
	tunnels     map[*tunnel]struct{}
	lastFault   *Error
	lastFaultAt time.Time
	routes      []*route            // in the order of fail-over
	current     int                 // place of the route in use
	traffic     map[string]*traffic // by key
	onFailover  func(Failover)
}

type relayCounters struct{ open, total, refused, byRules atomic.Int64 }

// Stats are a relay's counters since it was made.
type Stats struct {
	BytesUp   int64 // from browsers to targets, without handshakes; bytes of open tunnels count as they move
	BytesDown int64 // from targets to browsers
	Open      int64 // connections that are open now, in their handshake too
	Total     int64 // connections accepted
	Refused   int64 // of Total: refused by Admit, Policy or Rules, or not SOCKS5
	ByRules   int64 // of Refused: by Rules

	LastError   *Error // of the last failed request; nil when none failed
	LastErrorAt time.Time
}

const (
	defaultHandshakeTimeout = 10 * time.Second // a browser sends its request at once
	defaultIdleTimeout      = 2 * time.Minute  // a browser that ends its side is mostly gone, which only silence shows
)

// NewRelay returns a relay that dials with d. log may be nil.
func NewRelay(d *Dialer, log *slog.Logger) *Relay {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Relay{log: log, listeners: map[net.Listener]struct{}{}, tunnels: map[*tunnel]struct{}{}}
	r.handshakeTimeout, r.failoverTimeout, r.idleTimeout = defaultHandshakeTimeout, defaultFailoverTimeout, defaultIdleTimeout
	r.chunks.New = func() any { return new([chunkSize]byte) }
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.traffic = map[string]*traffic{}
	r.SetDialer(d)
	return r
}

// SetDialer makes new connections use d alone, and counts them under the key "". Open tunnels stay.
func (r *Relay) SetDialer(d *Dialer) { r.SetRoutes([]Route{{Dialer: d}}, 0, false) }

// Admit sets the function that decides, by its peer, whether a connection is accepted. An error closes the connection at once.
// A nil function admits all.
func (r *Relay) Admit(f func(net.Conn) error) {
	if f == nil {
		r.admit.Store(nil)
		return
	}
	r.admit.Store(&f)
}

// BeforeSending sets a function that runs before bytes of a browser go on to a target, and that they wait for.
func (r *Relay) BeforeSending(f func()) { r.await.Store(&f) }

func (r *Relay) awaitSending() {
	if f := r.await.Load(); f != nil {
		(*f)()
	}
}

// SetRules sets the rules, where nil refuses nothing. Tunnels to targets that they refuse are reset; ended is how many of these were open.
func (r *Relay) SetRules(rules *Rules) (ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules.Store(rules)
	for t := range r.tunnels {
		if t.enforce(rules) {
			ended++
		}
	}
	return ended
}

// Serve accepts connections from l until Close, and then returns nil. It closes l.
func (r *Relay) Serve(l net.Listener) error {
	defer l.Close()
	if !r.register(func() { r.listeners[l] = struct{}{} }) {
		return nil
	}
	defer func() {
		r.mu.Lock()
		delete(r.listeners, l)
		r.mu.Unlock()
	}()
	var pause time.Duration
	for {
		c, err := l.Accept()
		switch {
		case r.ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case err == nil:
			pause = 0
			r.startTunnel(c)
		case errors.Is(err, net.ErrClosed):
			return err
		default: // most likely no descriptors are left: wait until others end
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			r.log.Warn("relay cannot accept", "error", err, "retry", pause)
			select {
			case <-time.After(pause):
			case <-r.ctx.Done():
			}
		}
	}
}

// register runs f under the lock, unless the relay is closed. A registered tunnel also counts as work.
func (r *Relay) register(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		f()
	}
	return !r.closed
}

func (r *Relay) startTunnel(c net.Conn) {
	t := &tunnel{relay: r, client: c}
	if !r.register(func() { r.tunnels[t] = struct{}{}; r.work.Add(1) }) {
		c.Close()
		return
	}
	r.stats.total.Add(1)
	r.stats.open.Add(1)
	go t.serve()
}

// Close ends the listeners and all tunnels. It returns when no goroutine and no descriptor of theirs is left.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	r.cancel()
	for l := range r.listeners {
		l.Close()
	}
	for t := range r.tunnels {
		t.closeConns()
	}
	r.mu.Unlock()
	r.work.Wait()
	return nil
}

// Stats returns the counters.
func (r *Relay) Stats() Stats {
	s := Stats{Open: r.stats.open.Load(), Total: r.stats.total.Load(), Refused: r.stats.refused.Load(), ByRules: r.stats.byRules.Load()}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.LastError, s.LastErrorAt = r.lastFault, r.lastFaultAt
	for _, t := range r.traffic {
		s.BytesUp += t.up.Load()
		s.BytesDown += t.down.Load()
	}
	return s
}

// recordFailure records why a request failed, since a browser shows one message for every reason.
func (r *Relay) recordFailure(fault *Error) {
	if r.ctx.Err() != nil {
		return // the relay is being closed: that is no fault of the upstream
	}
	if !errors.Is(fault, errRefusedName) && !errors.Is(fault, errRefusedByRules) {
		r.mu.Lock()
		r.lastFault, r.lastFaultAt = fault, time.Now()
		r.mu.Unlock()
	}
	if fault.Code == BlockedAddress {
		r.stats.refused.Add(1)
	}
	r.log.Debug("relay request failed", "stage", fault.Stage, "code", fault.Code)
}
