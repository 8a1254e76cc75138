package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"syscall"
	"time"
)

// DefaultDialTimeout bounds the set-up of a connection, from the look-up to the proxy's answer.
const DefaultDialTimeout = 15 * time.Second

// Timings are the durations of the stages of a dial or check. 0 means that the stage was not reached or not needed.
type Timings struct {
	Resolve   time.Duration // look-up of the proxy's name, or of the target's without a proxy
	Connect   time.Duration // TCP handshake with the proxy, or with the target without a proxy
	TLS       time.Duration // TLS handshake with the proxy
	Handshake time.Duration // SOCKS or CONNECT, up to the proxy's answer about the target
	FirstByte time.Duration // checks only: from the request to the first byte of the answer, TLS to the check URL included
}

// Dialer opens connections to targets through an upstream, or directly when Upstream is nil. The relay and the checks share it.
// A Dialer is safe for concurrent use and must not be copied after the first dial.
type Dialer struct {
	Upstream *Proxy
	Policy   Policy
	Timeout  time.Duration  // one absolute deadline for the whole set-up; 0 means DefaultDialTimeout
	RootCAs  *x509.CertPool // trusted for https upstreams; nil means the system's
	Bypasses []Bypass       // targets that are dialled directly; they go before the Policy

	own       dialCaches
	shared    *dialCaches   // used instead of own unless nil
	resolver  *net.Resolver // nil means the system's
	keepAlive time.Duration // as in net.Dialer
}

// dialCaches is what dials remember.
type dialCaches struct {
	handshakes handshakeCache
	locals     localCache
}

// DialContext connects to address ("host:port"). The network is tcp, tcp4 or tcp6. An upstream alone resolves the target's name.
//
// The connection is a *net.TCPConn when plain bytes follow the handshake (direct, socks5, socks4, http), so that io.Copy can splice.
// Over https it is a *tls.Conn. When a proxy sent bytes with its answer, a wrapper delivers these first.
// No deadline is set on it. The error is always an *Error.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, _, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *Dialer) caches() *dialCaches {
	if d.shared != nil {
		return d.shared
	}
	return &d.own
}

// errRefusedName is the cause of a refusal by Policy.Refused. Such a refusal is expected and not reported as a failure.
var errRefusedName = errors.New("refused name")

func (d *Dialer) dial(ctx context.Context, network, address string) (c net.Conn, times Timings, fault *Error) {
	t, bypass, bypassed, fault := d.checkTarget(network, address)
	if fault != nil {
		return nil, times, fault
	}
	timeout := cmp.Or(d.Timeout, DefaultDialTimeout)
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	switch {
	case bypassed:
		c, fault = d.dialBypass(ctx, network, bypass, &times)
	case d.Upstream != nil:
		c, fault = d.dialUpstream(ctx, d.Upstream.Normalize(), t, &times)
	default:
		c, fault = d.dialDirect(ctx, network, t, &times)
	}
	return c, times, fault
}

// checkTarget reads an address and decides whether it may be dialled. bypass is the address to dial instead when bypassed is set.
func (d *Dialer) checkTarget(network, address string) (t target, bypass string, bypassed bool, fault *Error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return t, "", false, &Error{StageRequest, RequestRefused, "only TCP can be relayed", nil}
	}
	if t, fault = parseTarget(address); fault != nil {
		return t, "", false, fault
	}
	bypass, bypassed = d.bypassFor(t)
	var cause error
	reason := d.Policy.refusesDebugTarget(t)
	switch {
	case d.Policy.refusesName(t):
		reason, cause = "the name is one of those that are refused here", errRefusedName
	case reason == "" && !bypassed:
		reason = d.Policy.refuses(t, &d.caches().locals)
	}
	if reason != "" {
		fault = &Error{StageRequest, BlockedAddress, reason, cause}
	}
	return t, bypass, bypassed, fault
}

// dialDirect connects to the target without an upstream.
func (d *Dialer) dialDirect(ctx context.Context, network string, t target, times *Timings) (net.Conn, *Error) {
	refuses := func(a netip.Addr) string { return d.Policy.refusesAddr(a, &d.caches().locals) }
	if d.Policy.exempt(t) {
		refuses = func(netip.Addr) string { return "" }
	}
	return d.connect(ctx, network, t.address(), StageRequest, refuses, times)
}

// connect opens a TCP connection, a *net.TCPConn. It judges the address that is really dialled, after the look-up, so a name that resolves
// differently the second time gains nothing. Debug ports are refused, whatever refuses says. blocked is the stage of a refusal.
func (d *Dialer) connect(ctx context.Context, network, address string, blocked Stage,
	refuses func(netip.Addr) string, times *Timings) (net.Conn, *Error) {
	var asked time.Time
	start := time.Now()
	nd := net.Dialer{Resolver: d.resolver, KeepAlive: d.keepAlive}
	if a, err := netip.ParseAddrPort(address); err == nil { // no look-up: this address is dialled
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
		return c, nil
	}
	stage := StageConnect
	if isLookup(err) {
		stage = StageResolve
	}
	return nil, asError(stage, err)
}

// dialUpstream opens a tunnel to the target through the upstream. When that fails, nothing is dialled directly.
func (d *Dialer) dialUpstream(ctx context.Context, p Proxy, t target, times *Timings) (net.Conn, *Error) {
	switch p.Type {
	case SOCKS5:
		return d.dialSOCKS5(ctx, &p, t, times)
	case HTTP, HTTPS:
		return d.dialHTTP(ctx, &p, t, times)
	}
	return d.tryOnce(ctx, &p, t, nil, times)
}

// tryOnce makes one connection to the upstream and negotiates a tunnel. h chooses among the ways to do so; nil for SOCKS4.
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

// negotiate speaks the proxy's protocol on a connection to it.
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

// runCancellable runs a handshake on c, and interrupts it when ctx ends. After success no deadline is left on c.
func runCancellable(ctx context.Context, c net.Conn, handshake func() *Error) *Error {
	stop := context.AfterFunc(ctx, func() { interrupt(c) })
	fault := handshake()
	if stop() {
		return fault
	}
	if fault == nil { // ctx ended together with the answer: c is interrupted by now, or soon
		return asError(StageRequest, ctx.Err())
	}
	if fault.Code == TimedOut {
		return asError(fault.Stage, ctx.Err())
	}
	return fault
}

// interrupt makes reads and writes of a connection fail, pending ones included, until another deadline is set.
func interrupt(c net.Conn) { c.SetDeadline(time.Unix(1, 0)) }

// startTLS does a TLS handshake with the server's certificate verified for host. The caller interrupts it.
func startTLS(c net.Conn, host string, roots *x509.CertPool) (*tls.Conn, *Error) {
	t := tls.Client(c, &tls.Config{ServerName: unbracket(host), RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err := t.Handshake(); err != nil {
		return nil, asError(StageTLS, err)
	}
	return t, nil
}

// earlyConn delivers the bytes that came together with a proxy's answer before those that follow.
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

// closeWrite ends the sending side of a connection that has one of its own (TCP, TLS).
func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}

// maxRedirects is how many redirects a call follows.
const maxRedirects = 5

// NewClient returns an HTTP client for URLs that others choose, such as a proxy's rotateUrl. It uses no proxy, and keeps no connection and
// no cookie. timeout bounds a whole call, its body included.
//
// p judges each address after the look-up, at each redirect too, as it judges a proxy server. With AllowPrivate the address may be of
// this machine or a private network, without it only of the public internet. A metadata service is always refused.
// The error of a refusal is an *Error with the code BlockedAddress.
func NewClient(p Policy, roots *x509.CertPool, timeout time.Duration) *http.Client {
	d := &Dialer{Policy: p}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		refuses := func(a netip.Addr) string { return p.refusesServer(a, &d.own.locals) }
		c, fault := d.connect(ctx, network, address, StageConnect, refuses, new(Timings))
		if fault != nil {
			return nil, fault
		}
		return c, nil
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: answerHeadBudget,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &http.Client{Timeout: timeout, Transport: transport,
		CheckRedirect: func(rq *http.Request, via []*http.Request) error {
			rq.Header.Del("Referer") // it would tell the next host the whole URL, which may be a secret
			if len(via) > maxRedirects {
				return errors.New("it was sent elsewhere too often")
			}
			return nil
		}}
}
