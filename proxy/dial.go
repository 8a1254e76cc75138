package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"syscall"
	"time"
)

// DefaultDialTimeout bounds the whole set-up of a connection, from look-up to the proxy's answer.
const DefaultDialTimeout = 15 * time.Second

// Timings are the durations of the stages. 0 means that the stage was not reached or not needed.
type Timings struct {
	Resolve   time.Duration // look-up of the proxy's name (of the target's, when there is no proxy)
	Connect   time.Duration // TCP handshake with the proxy (with the target, when there is no proxy)
	TLS       time.Duration // TLS handshake with the proxy
	Handshake time.Duration // SOCKS or CONNECT: greeting, auth and request, until the proxy says that the target answers
	FirstByte time.Duration // checks only: from the request to the first byte of the answer; TLS to the check URL included
}

// Dialer opens connections to targets through an upstream, or directly when Upstream is nil. The relay and the check
// use the same one. It is safe for concurrent use and must not be copied after the first dial.
type Dialer struct {
	Upstream    *Proxy
	Policy      Policy
	Timeout     time.Duration   // of the whole set-up, one absolute deadline; 0 means DefaultDialTimeout
	RootCAs     *x509.CertPool  // whom to trust for https upstreams; nil means the system's
	Bypasses    []Bypass        // targets that are dialled directly, before the Policy is asked
	sharedCache *handshakeCache // what is known of proxy servers; nil means that this Dialer learns for itself

	ownCache     handshakeCache
	resolver     *net.Resolver // nil means the system's
	keepAlive    time.Duration // as net.Dialer has it
	locals       localCache
	sharedLocals *localCache // instead of locals, when not nil
}

// DialContext connects to address ("host:port") over TCP. With an upstream the name is resolved by the upstream alone.
//
// The connection is a *net.TCPConn wherever the bytes after the handshake are plain (direct, socks5, socks4, http), so
// that io.Copy can splice; over https it is a *tls.Conn. Where a proxy sent bytes together with its answer, it is a
// wrapper that gives these first. Deadlines are not set on it. The error is always an *Error.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, _, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *Dialer) cache() *handshakeCache {
	if d.sharedCache != nil {
		return d.sharedCache
	}
	return &d.ownCache
}

func (d *Dialer) local() *localCache {
	if d.sharedLocals != nil {
		return d.sharedLocals
	}
	return &d.locals
}

// errUnwanted is the cause of a refusal by Policy.Refused. Such a refusal is nobody's trouble.
var errRefusedName = errors.New("unwanted")

func (d *Dialer) dial(ctx context.Context, network, address string) (net.Conn, Timings, *Error) {
	var times Timings
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, times, &Error{StageRequest, RequestRefused, "only TCP can be relayed", nil}
	}
	t, fault := parseTarget(address)
	if fault != nil {
		return nil, times, fault
	}
	if d.Policy.refusesName(t) {
		return nil, times, &Error{StageRequest, BlockedAddress, "the name is one of those that are refused here", errRefusedName}
	}
	if reason := d.Policy.refusesDebugTarget(t); reason != "" {
		return nil, times, &Error{StageRequest, BlockedAddress, reason, nil}
	}
	bypass, named := d.bypassFor(t)
	if reason := d.Policy.refuses(t, d.local()); reason != "" && !named {
		return nil, times, &Error{StageRequest, BlockedAddress, reason, nil}
	}
	timeout := d.Timeout
	if timeout <= 0 {
		timeout = DefaultDialTimeout
	}
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if named {
		c, fault := d.dialBypass(ctx, network, bypass, &times)
		return c, times, fault
	}
	if d.Upstream != nil {
		c, fault := d.dialThrough(ctx, d.Upstream.Normalize(), t, &times)
		return c, times, fault
	}
	refuses := func(a netip.Addr) string { return d.Policy.refusesAddr(a, d.local()) }
	if d.Policy.exempt(t) {
		refuses = func(netip.Addr) string { return "" }
	}
	c, fault := d.connect(ctx, network, t.address(), StageRequest, refuses, &times)
	if fault != nil {
		return nil, times, fault
	}
	return c, times, nil
}

// connect opens the one TCP connection of a dial. It judges the address that is really dialled, after the look-up, so
// a name that resolves to something else the second time gains nothing. Whatever refuses lets pass, debug ports are refused.
func (d *Dialer) connect(ctx context.Context, network, address string, blocked Stage, refuses func(netip.Addr) string, times *Timings) (*net.TCPConn, *Error) {
	var asked time.Time
	start := time.Now()
	nd := net.Dialer{Resolver: d.resolver, KeepAlive: d.keepAlive}
	if a, err := netip.ParseAddrPort(address); err == nil { // nothing is looked up: this is what will be dialled
		if reason := cmp.Or(d.Policy.refusesDebug(a), refuses(a.Addr())); reason != "" {
			return nil, &Error{blocked, BlockedAddress, reason, nil}
		}
	} else {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			DNSStart: func(httptrace.DNSStartInfo) { asked = time.Now() },
			DNSDone:  func(httptrace.DNSDoneInfo) { times.Resolve = time.Since(asked) },
		})
		nd.Control = func(_, dialled string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(dialled)
			if err != nil {
				return err
			}
			if reason := cmp.Or(d.Policy.refusesDebug(a), refuses(a.Addr())); reason != "" {
				return &Error{blocked, BlockedAddress, reason, nil}
			}
			return nil
		}
	}
	c, err := nd.DialContext(ctx, network, address)
	if err == nil {
		times.Connect = time.Since(start) - times.Resolve
		return c.(*net.TCPConn), nil
	}
	stage := StageConnect
	if isLookup(err) {
		stage = StageResolve
	}
	return nil, asError(stage, err)
}

// dialThrough asks the upstream for the target. There is no other way out of here than through the upstream.
func (d *Dialer) dialThrough(ctx context.Context, p Proxy, t target, times *Timings) (net.Conn, *Error) {
	switch p.Type {
	case SOCKS5:
		return d.dialSOCKS5(ctx, &p, t, times)
	case HTTP, HTTPS:
		return d.dialHTTP(ctx, &p, t, times)
	}
	return d.tryOnce(ctx, &p, t, nil, times)
}

// try makes one connection to the upstream and speaks its protocol. h is for what may be asked in more than one way.
func (d *Dialer) tryOnce(ctx context.Context, p *Proxy, t target, h *handshake, times *Timings) (net.Conn, *Error) {
	*times = Timings{}
	raw, c, fault := d.openUpstream(ctx, p, times)
	if fault != nil {
		return nil, fault
	}
	fault = runCancellable(ctx, raw, func() (fault *Error) {
		start := time.Now()
		c, fault = negotiate(c, p, t, h)
		times.Handshake = time.Since(start)
		return fault
	})
	if fault != nil {
		times.Handshake = 0
		raw.Close()
		return nil, fault
	}
	return c, nil
}

// ask speaks the proxy's protocol on a connection to it.
func negotiate(c net.Conn, p *Proxy, t target, h *handshake) (net.Conn, *Error) {
	switch p.Type {
	case SOCKS5:
		return c, negotiateSOCKS5(c, p, t, h)
	case SOCKS4:
		return c, negotiateSOCKS4(c, p, t)
	case HTTP, HTTPS:
		early, fault := negotiateCONNECT(c, p, t, h.digest)
		if len(early) > 0 {
			c = &earlyConn{c, early}
		}
		return c, fault
	}
	return c, &Error{StageGreeting, NotAProxy, "the proxy's type is unknown", nil}
}

// guard runs a handshake on c and ends it when ctx does. After success nothing is left set on c.
func runCancellable(ctx context.Context, c net.Conn, handshake func() *Error) *Error {
	stop := context.AfterFunc(ctx, func() { interrupt(c) })
	fault := handshake()
	if stop() {
		return fault
	}
	if fault == nil { // the end came together with the answer: c has a deadline in the past by now, or soon
		return asError(StageRequest, ctx.Err())
	}
	if fault.Code == TimedOut {
		return asError(fault.Stage, ctx.Err())
	}
	return fault
}

// interrupt ends reads and writes of a connection, those that wait included, until another deadline is set.
func interrupt(c net.Conn) { c.SetDeadline(time.Unix(1, 0)) }

func startTLS(c net.Conn, host string, roots *x509.CertPool) (*tls.Conn, *Error) {
	t := tls.Client(c, &tls.Config{ServerName: unbracket(host), RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err := t.Handshake(); err != nil {
		return nil, asError(StageTLS, err)
	}
	return t, nil
}

// earlyConn gives the bytes that came together with a proxy's answer before those that follow.
type earlyConn struct {
	net.Conn
	early []byte
}

func (c *earlyConn) Read(b []byte) (int, error) {
	if len(c.early) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.early)
	c.early = c.early[n:]
	return n, nil
}

// CloseWrite passes a half-close on.
func (c *earlyConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends the sending side, where the connection has one of its own (TCP, TLS).
func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}
