package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Probes a silent proxy server on a connection of its own. Either the target is slow, or the server is dead and only its kernel
// accepts connections.

// errServerSilent is the cause of a fault of a server that answers nothing, whatever it is asked.
var errServerSilent = errors.New("the server says nothing to another connection either")

// serverState is what a probe has found.
type serverState int

const (
	serverSilent serverState = iota // no connection, or no answer on it
	serverCloses                    // it closes the connection without an answer
	serverResponds
)

// probeServer sends a message that the server can answer by itself, without any target.
func (d *Dialer) probeServer(ctx context.Context, p Proxy) serverState {
	p = p.Normalize()
	raw, c, fault := d.openUpstream(ctx, &p, new(Timings))
	if fault != nil {
		return serverSilent
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { interrupt(raw) })
	defer stop()
	if _, err := c.Write(livenessMessage(&p)); err != nil {
		return serverCloses
	}
	n, err := c.Read(make([]byte, 1))
	switch {
	case n > 0:
		return serverResponds
	case isTimeout(err):
		return serverSilent
	}
	return serverCloses
}

// livenessMessage returns a message that a server of the type answers at once. It names no target that could be slow.
func livenessMessage(p *Proxy) []byte {
	switch {
	case p.Type == SOCKS5 && p.Username != "":
		return []byte{socksVersion, 1, methodPassword}
	case p.Type == SOCKS5:
		return []byte{socksVersion, 1, methodNone}
	case p.Type == SOCKS4:
		return []byte{4, 1, 0, 0, 0, 0, 0, 0, 0} // port 0 of 0.0.0.0
	}
	return []byte("GET / HTTP/1.1\r\nConnection: close\r\n\r\n") // without a target and a Host
}

// connectUpstream opens the TCP connection to the upstream, if the Policy allows a proxy server at its address.
func (d *Dialer) connectUpstream(ctx context.Context, p *Proxy, times *Timings) (net.Conn, *Error) {
	if IsDebugHost(p.Host) { // in spellings too that only some resolvers take for addresses
		return nil, &Error{StageConnect, BlockedAddress, debugRangeReason, nil}
	}
	refuses := func(a netip.Addr) string { return d.Policy.refusesServer(a, &d.caches().locals) }
	return d.connect(ctx, "tcp", p.Address(), StageConnect, refuses, times)
}

// openUpstream opens a connection to the upstream, up to where the proxy protocol begins. c carries the protocol; raw is c, or below its
// TLS.
func (d *Dialer) openUpstream(ctx context.Context, p *Proxy, times *Timings) (raw, c net.Conn, fault *Error) {
	if raw, fault = d.connectUpstream(ctx, p, times); fault != nil {
		return nil, nil, fault
	}
	if p.Type != HTTPS {
		return raw, raw, nil
	}
	fault = runCancellable(ctx, raw, func() (fault *Error) {
		start := time.Now()
		c, fault = startTLS(raw, p.Host, d.RootCAs)
		times.TLS = time.Since(start)
		return fault
	})
	if fault != nil {
		times.TLS = 0
		raw.Close()
		return nil, nil, fault
	}
	return raw, c, nil
}

// startLivenessProbe starts a probe of the upstream when half of the dial's time is over, and gives it as much time, however late it runs.
// explain ends it. It returns the fault of the dial, or the server's own fault when the probe has shown one.
func (d *Dialer) startLivenessProbe(ctx context.Context, whole time.Duration) (explain func(*Error) *Error) {
	var state serverState
	probe := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(ctx, whole/2)
		defer cancel()
		state = d.probeServer(ctx, *d.Upstream)
	})
	timer := time.AfterFunc(whole/2, probe)
	return func(fault *Error) *Error {
		timer.Stop()
		if !fault.unanswered(StageRequest) || errors.Is(fault.Err, context.Canceled) {
			return fault // a probe that runs ends with its context
		}
		probe() // or wait for the one that runs
		if state == serverResponds || state == serverCloses && fault.Code == TimedOut || ctx.Err() != nil {
			return fault
		}
		return &Error{fault.Stage, fault.Code, "the proxy takes connections and says nothing on them", errServerSilent}
	}
}

// unanswered reports whether nothing came back at the stages before the time was over or the connection closed.
func (e *Error) unanswered(stages ...Stage) bool {
	return e != nil && slices.Contains(stages, e.Stage) && (e.Code == TimedOut || e.Code == ConnectionClosed)
}

// speaksTLS reports whether the server answers a TLS hello in TLS.
func (d *Dialer) speaksTLS(ctx context.Context, p Proxy) bool {
	p = p.Normalize()
	raw, fault := d.connectUpstream(ctx, &p, new(Timings))
	if fault != nil {
		return false
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { interrupt(raw) })
	defer stop()
	c := &prefixConn{Conn: raw}
	unverified := &tls.Config{ServerName: unbracket(p.Host), InsecureSkipVerify: true} //nolint:gosec // nothing is sent over it
	tls.Client(c, unverified).Handshake()                                              //nolint:errcheck // only the first bytes count
	// A record of the type alert or handshake, and of a version from 3.0 (RFC 8446 section 5.1).
	return len(c.prefix) >= 2 && (c.prefix[0] == 0x15 || c.prefix[0] == 0x16) && c.prefix[1] == 3
}

// prefixConn keeps the first bytes that are read.
type prefixConn struct {
	net.Conn
	prefix []byte
}

func (f *prefixConn) Read(b []byte) (int, error) {
	n, err := f.Conn.Read(b)
	if len(f.prefix) < 2 {
		f.prefix = append(f.prefix, b[:n]...)
	}
	return n, err
}

// tlsProbeTimeout bounds the probe for TLS. A server answers a hello without anybody else.
const tlsProbeTimeout = time.Second

// isBadRequest reports whether a fault is an HTTP 400, which some TLS servers answer to a client without TLS.
func isBadRequest(fault *Error) bool {
	status, ok := errors.AsType[statusError](causeOf(fault))
	return ok && status == 400
}

// startTLSProbe explains faults of servers that expect TLS. Without it some answer nothing, some hang up, and some answer in plain HTTP.
// The probe starts when half of the time is over, or when the dial has failed.
func (d *Dialer) startTLSProbe(ctx context.Context, up *Proxy, whole time.Duration) (explain func(*Error) *Error) {
	if up == nil || up.Normalize().Type == HTTPS {
		return func(fault *Error) *Error { return fault }
	}
	speaksTLS := false
	probe := sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(ctx, tlsProbeTimeout)
		defer cancel()
		speaksTLS = d.speaksTLS(ctx, *up)
	})
	timer := time.AfterFunc(whole/2, probe)
	return func(fault *Error) *Error {
		timer.Stop()
		if !fault.unanswered(StageGreeting, StageRequest) && !isBadRequest(fault) {
			return fault
		}
		if probe(); !speaksTLS {
			return fault
		}
		const message = "the server speaks TLS on that port, and wants it first: the type may have to be https"
		return &Error{StageGreeting, NotAProxy, message, fault}
	}
}
