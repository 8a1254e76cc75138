package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"
)

// This file looks at a proxy server a second time, on a connection of its own, where the first has said nothing: it may be the target that
// is slow, or the server that is dead but for its kernel, which takes connections all the same.

// errMute is the cause of a fault of a server that says nothing, whatever it is asked.
var errServerSilent = errors.New("the server says nothing to another connection either")

// sight is what a look has shown.
type serverState int

const (
	serverSilent serverState = iota // no connection, or no word on it
	serverCloses                    // it ends the connection without a word
	serverResponds
)

// look asks the server what it can answer by itself, without any target.
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

// nonsense is what a server of the type answers at once: no target is in it that could be slow.
func livenessMessage(p *Proxy) []byte {
	switch {
	case p.Type == SOCKS5 && p.Username != "":
		return []byte{socksVersion, 1, methodPassword}
	case p.Type == SOCKS5:
		return []byte{socksVersion, 1, methodNone}
	case p.Type == SOCKS4:
		return []byte{4, 1, 0, 0, 0, 0, 0, 0, 0} // port 0 of 0.0.0.0
	}
	return []byte("GET / HTTP/1.1\r\nConnection: close\r\n\r\n") // neither a target nor a Host
}

// connectServer opens the TCP connection to the upstream, where the Policy lets a proxy server be.
func (d *Dialer) connectUpstream(ctx context.Context, p *Proxy, times *Timings) (*net.TCPConn, *Error) {
	if IsDebugHost(p.Host) { // also in spellings that some resolvers take for addresses
		return nil, &Error{StageConnect, BlockedAddress, debugRangeReason, nil}
	}
	refuses := func(a netip.Addr) string { return d.Policy.refusesServer(a, d.local()) }
	return d.connect(ctx, "tcp", p.Address(), StageConnect, refuses, times)
}

// reach opens a connection to the upstream, up to where its protocol begins. c is what is spoken on, raw is below its TLS.
func (d *Dialer) openUpstream(ctx context.Context, p *Proxy, times *Timings) (raw *net.TCPConn, c net.Conn, fault *Error) {
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

// doubt is a look that begins while a dial has still no answer.
type livenessProbe struct {
	timer *time.Timer
	run   func()
	done  chan struct{}
	state serverState     // set before done is closed
	ctx   context.Context // whose end is nobody's fault
}

// startDoubt begins the look when half of the dial's time has gone by, and gives it the other half, however late it begins.
func startLivenessProbe(ctx context.Context, d *Dialer, whole time.Duration) *livenessProbe {
	v := &livenessProbe{done: make(chan struct{}), ctx: ctx}
	v.run = func() {
		defer close(v.done)
		ctx, cancel := context.WithTimeout(ctx, whole/2)
		defer cancel()
		v.state = d.probeServer(ctx, *d.Upstream)
	}
	v.timer = time.AfterFunc(whole/2, v.run)
	return v
}

// settle ends the doubt: it gives the fault of a dial as the server's own when the look has shown that.
func (v *livenessProbe) explain(fault *Error) *Error {
	begun := !v.timer.Stop()
	doubtful := fault != nil && fault.Stage == StageRequest && (fault.Code == TimedOut || fault.Code == ConnectionClosed) && !errors.Is(fault.Err, context.Canceled)
	if !doubtful {
		return fault // a look that goes on ends with its context
	}
	if begun {
		<-v.done
	} else {
		v.run()
	}
	if v.state == serverResponds || v.state == serverCloses && fault.Code == TimedOut || v.ctx.Err() != nil {
		return fault
	}
	return &Error{fault.Stage, fault.Code, "the proxy takes connections and says nothing on them", errServerSilent}
}

// speaksTLS says whether a server that was spoken to without TLS answers in TLS.
func (d *Dialer) speaksTLS(ctx context.Context, p Proxy) bool {
	p = p.Normalize()
	raw, fault := d.connectUpstream(ctx, &p, new(Timings))
	if fault != nil {
		return false
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { interrupt(raw) })
	defer stop()
	first := &prefixConn{Conn: raw}
	tls.Client(first, &tls.Config{ServerName: unbracket(p.Host), InsecureSkipVerify: true}).Handshake() //nolint:errcheck,gosec // nothing is sent over it
	return len(first.prefix) >= 2 && (first.prefix[0] == 0x15 || first.prefix[0] == 0x16) && first.prefix[1] == 3
}

// firstBytes keeps how what is read begins.
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

// helloPatience is how long a server may take to answer a hello: it needs nobody else for that.
const tlsProbeTimeout = time.Second

// complains says whether the fault may be a TLS server's that answers in HTTP to what comes without.
func isBadRequest(fault *Error) bool {
	status, ok := errors.AsType[statusError](causeOf(fault))
	return ok && status == 400
}

// doubtTLS explains faults of servers that want TLS before anything else: some say nothing to what comes without, some hang up, some
// answer in plain HTTP. It begins when half of the time has gone by, or when the dial has failed.
func (d *Dialer) startTLSProbe(ctx context.Context, up *Proxy, whole time.Duration) (explain func(*Error) *Error) {
	if up == nil || up.Normalize().Type == HTTPS {
		return func(fault *Error) *Error { return fault }
	}
	done, saw := make(chan struct{}), false
	ask := func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, tlsProbeTimeout)
		defer cancel()
		saw = d.speaksTLS(ctx, *up)
	}
	timer := time.AfterFunc(whole/2, ask)
	return func(fault *Error) *Error {
		begun := !timer.Stop()
		wordless := fault != nil && (fault.Stage == StageGreeting || fault.Stage == StageRequest) && (fault.Code == TimedOut || fault.Code == ConnectionClosed)
		if !wordless && !isBadRequest(fault) {
			return fault
		}
		if begun {
			<-done
		} else {
			ask()
		}
		if !saw {
			return fault
		}
		return &Error{StageGreeting, NotAProxy, "the server speaks TLS on that port, and wants it first: the type may have to be https", fault}
	}
}
