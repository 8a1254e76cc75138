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

// Relay is the local SOCKS5 server between a browser and its upstream. It takes CONNECT without authentication, dials
// with its Dialer and passes bytes and half-closes on both ways. What the Dialer cannot reach fails; it has no other way.
//
// Who may connect is decided by Admit; the listener itself should be one that others cannot reach.
type Relay struct {
	log   *slog.Logger
	admit atomic.Pointer[func(net.Conn) error]
	rules atomic.Pointer[Rules]
	hosts atomic.Pointer[hostLog]
	stats relayCounters

	ctx    context.Context // ends dials when the relay is closed
	cancel context.CancelFunc
	work   sync.WaitGroup
	chunks sync.Pool // *[chunkSize]byte: held while bytes move, not while a tunnel is idle

	handshakeTimeout time.Duration // how long a client may take to say what it wants
	failoverTimeout  time.Duration // how long a dial may take while there is another route
	idleTimeout      time.Duration // how long a tunnel may stay silent after one side has ended

	mu          sync.Mutex // guards what follows
	closed      bool
	listeners   map[net.Listener]struct{}
	tunnels     map[*tunnel]struct{}
	lastFault   *Error
	lastFaultAt time.Time
	routes      []*route // in order
	current     int      // the one in use
	traffic     map[string]*traffic
	onFailover  func(Failover)
}

type relayCounters struct{ open, total, refused, byRules atomic.Int64 }

// Stats are a relay's figures since it was made.
type Stats struct {
	BytesUp   int64 // from browser to target, without handshakes; open tunnels are counted as their bytes move
	BytesDown int64 // from target to browser
	Open      int64 // connections held now, those still in their handshake included
	Total     int64 // connections taken
	Refused   int64 // of these, refused by Admit, by Policy, by Rules or because they do not speak SOCKS5
	ByRules   int64 // of these, by Rules

	LastError   *Error // of the last request that failed; nil when none did
	LastErrorAt time.Time
}

const (
	defaultHandshakeTimeout = 10 * time.Second // a browser says at once what it wants
	defaultIdleTimeout      = 2 * time.Minute  // a browser that ends its side has mostly gone altogether; only silence tells
)

// NewRelay makes a relay that dials with d. log may be nil.
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

// SetDialer makes new connections use d alone, and counts them under no key. Open tunnels stay.
func (r *Relay) SetDialer(d *Dialer) { r.SetRoutes([]Route{{Dialer: d}}, 0, false) }

// Admit sets what decides, by its peer, whether a connection is taken; an error closes it at once. nil admits all.
func (r *Relay) Admit(f func(net.Conn) error) {
	if f == nil {
		r.admit.Store(nil)
		return
	}
	r.admit.Store(&f)
}

// SetRules makes new connections keep to the rules, and resets tunnels whose target they refuse; ended is how many of these were open.
// nil refuses nothing.
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

// Serve takes connections from l until Close, and then returns nil. It closes l.
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
		default: // out of descriptors, most likely: others will end, so wait for them
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			r.log.Warn("relay cannot accept", "error", err, "retry", pause)
			select {
			case <-time.After(pause):
			case <-r.ctx.Done():
			}
		}
	}
}

// register runs f under the lock unless the relay is closed. Whoever registers a tunnel also counts as work.
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

// Close ends the listeners and every tunnel, and returns when no goroutine and no descriptor is left.
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

// Stats returns the figures now.
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

// failed takes down why a request failed: a browser shows one and the same message for every reason.
func (r *Relay) recordFailure(fault *Error) {
	if r.ctx.Err() != nil {
		return // closing the relay is no fault of the upstream's
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
