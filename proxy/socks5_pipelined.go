package proxy

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// A pipelined SOCKS5 handshake is one write: greeting, user name and password, and request, without waiting for the answers between them.
// So it takes two round trips instead of four, besides the TCP handshake and the target's answer.
// No standard forbids it, and most servers take it. Some read each message with whatever else has come, and lose that.
// docs/decisions/2026-11-22-one-handshake-write.md tells what it costs and how it is made safe.

// pipelinedGreeting is the length of its greeting: version, number of methods, one method.
const pipelinedGreeting = 3

// pipelinedHandshake returns the three messages (two without a user name), or nil when they cannot be encoded. It offers only the
// method that the bytes behind it are for: a server that chose "no password" would take the password for a request.
func pipelinedHandshake(p *Proxy, t target) []byte {
	if len(p.Username) > 255 || len(p.Password) > 255 {
		return nil
	}
	b := append(make([]byte, 0, 128), socksVersion, 1, methodNone)
	if p.Username != "" {
		b[2] = methodPassword
		b = append(append(b, passwordVersion, byte(len(p.Username))), p.Username...)
		b = append(append(b, byte(len(p.Password))), p.Password...)
	}
	return appendAddress(append(b, socksVersion, 1, 0), t)
}

// dialSOCKS5 opens a tunnel through a SOCKS5 server, on at most two connections within one deadline.
func (d *Dialer) dialSOCKS5(ctx context.Context, p *Proxy, t target, times *Timings) (net.Conn, *Error) {
	s := &socks5Dial{dialer: d, ctx: ctx, proxy: p, target: t, mode: d.caches().handshakes.mode(p)}
	a := s.run()
	*times = a.times
	return a.conn, a.fault
}

// attempt is the outcome of one connection to a server.
type attempt struct {
	conn  net.Conn // nil after a fault
	fault *Error
	times Timings
}

// decided reports whether another attempt would get the same: a tunnel, or a refusal in words.
func (a attempt) decided() bool {
	if a.fault == nil {
		return true
	}
	if a.fault.Stage != StageAuth && a.fault.Stage != StageRequest || errors.Is(a.fault, errPasswordAlone) {
		return false
	}
	switch a.fault.Code {
	case AuthFailed, AuthRequired, RequestRefused, TargetUnreachable, HostUnreachable:
		return true
	}
	return false
}

// socks5Dial is one dial through a SOCKS5 server. The known mode of the server chooses the attempts:
//
//   - unknown: a pipelined one, then a sequential one, which starts beside the first when an answer is late.
//   - pipelined: a pipelined one, then a sequential one.
//   - sequential: a sequential one alone.
//
// A second attempt counts only when the first decides nothing.
type socks5Dial struct {
	dialer *Dialer
	ctx    context.Context // of all attempts; it has a deadline
	proxy  *Proxy
	target target
	mode   handshakeMode // known when the dial began
}

func (s *socks5Dial) run() attempt {
	message := pipelinedHandshake(s.proxy, s.target)
	if s.mode == modeSequential || message == nil {
		return s.sequential(s.ctx)
	}
	h := &handshake{pipelined: message}
	var speculative *speculation // nil: a server whose mode is known gets no second connection beside the first
	if s.mode == modeUnknown {
		speculative = s.speculate(h)
	}
	first := s.try(s.ctx, h)
	started := speculative.stop()
	switch {
	case first.decided():
		if first.fault == nil || first.fault.Code != AuthRequired { // a server asks for a password before it reads beyond the greeting
			s.learn(modePipelined)
		}
		if started {
			speculative.discard()
		}
		return first
	case started:
		return s.conclude(first, speculative.wait())
	case first.fault.Stage == StageResolve || first.fault.Stage == StageConnect:
		return first
	case s.ctx.Err() != nil:
		if s.stalled(first) {
			s.learn(modeSequential)
		}
		return first
	}
	return s.conclude(first, s.sequential(s.ctx))
}

func (s *socks5Dial) try(ctx context.Context, h *handshake) (a attempt) {
	a.conn, a.fault = s.dialer.tryOnce(ctx, s.proxy, s.target, h, &a.times)
	return a
}

func (s *socks5Dial) sequential(ctx context.Context) attempt { return s.try(ctx, &handshake{}) }

func (s *socks5Dial) learn(m handshakeMode) { s.dialer.caches().handshakes.recordMode(s.proxy, m) }

// stalled reports whether a server that took pipelined handshakes has run out the deadline, and may have lost bytes. A server that
// accepted the pipelined password has lost none: it waits for the target.
func (s *socks5Dial) stalled(first attempt) bool {
	accepted := first.fault.Stage == StageRequest && s.proxy.Username != ""
	return s.mode == modePipelined && !accepted && errors.Is(s.ctx.Err(), context.DeadlineExceeded)
}

// conclude returns the outcome of two attempts, of which the first decided nothing. The second one counts.
// When both timed out, the fault of the one that got further counts.
func (s *socks5Dial) conclude(first, second attempt) attempt {
	switch {
	case second.decided():
		s.learn(modeSequential)
	case second.fault.Code == TimedOut && first.fault.Code == TimedOut && stageOrder(first.fault.Stage) > stageOrder(second.fault.Stage):
		second.fault = first.fault
	}
	return second
}

// stageOrder orders the stages of a handshake. Other stages come before them.
func stageOrder(s Stage) int { return slices.Index([]Stage{StageGreeting, StageAuth, StageRequest}, s) }

// speculation is a sequential attempt that starts while the pipelined one waits for a late answer. A server that has lost bytes
// sends nothing more, so only a timer tells.
//
// stop ends the waiting. When the attempt has started by then, either discard or wait follows.
type speculation struct {
	ctx    context.Context
	cancel context.CancelFunc
	dial   func(context.Context) attempt
	login  bool          // the pipelined handshake has a user name and password
	done   chan struct{} // closed when result is set
	result attempt

	// What the first attempt has shown.
	timer    *time.Timer // starts the speculative attempt; nil until the pipelined handshake is sent
	first    net.Conn
	sentAt   time.Time
	accepted atomic.Bool // the server accepted the pipelined password: it is slow, and has lost nothing
}

// The speculative attempt starts when an answer is late: it takes a multiple of the time to the greeting's answer, and at least a
// minimum. The wait is never longer than a share of the time that is left.
const (
	authWaitFactor    = 4
	authWaitMin       = 250 * time.Millisecond
	requestWaitFactor = 8 // the server may look a name up and connect
	requestWaitMin    = time.Second
	waitShare         = 3 // a third
)

// speculate prepares the speculative attempt. It follows the pipelined handshake h.
func (s *socks5Dial) speculate(h *handshake) *speculation {
	p := &speculation{dial: s.sequential, login: s.proxy.Username != "", done: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(s.ctx)
	h.onSend, h.onStage = p.arm, p.rearm
	return p
}

// arm sets the timer when the first attempt sends.
func (p *speculation) arm(first net.Conn) {
	p.sentAt, p.first = time.Now(), first
	p.timer = time.AfterFunc(p.share(), p.run)
}

// rearm sets the timer anew when answers have led the first attempt to a later stage.
func (p *speculation) rearm(stage Stage) {
	roundTrip := time.Since(p.sentAt)
	wait := max(authWaitFactor*roundTrip, authWaitMin)
	if stage == StageRequest {
		wait = max(requestWaitFactor*roundTrip, requestWaitMin)
		p.accepted.Store(p.login)
	}
	if p.timer.Stop() {
		p.timer.Reset(min(wait, p.share()))
	}
}

func (p *speculation) share() time.Duration {
	end, _ := p.ctx.Deadline()
	return time.Until(end) / waitShare
}

// run makes the speculative attempt. A tunnel ends the first attempt. So does a refusal, unless the server has accepted the first
// one's password: it may take one connection at a time, and refuse this one because of the first.
func (p *speculation) run() {
	defer close(p.done)
	defer p.cancel()
	p.result = p.dial(p.ctx)
	if p.result.fault == nil || p.result.decided() && !p.accepted.Load() {
		interrupt(p.first)
	}
}

// stop prevents the speculative attempt, and reports whether it has started already.
func (p *speculation) stop() (started bool) {
	if p == nil {
		return false
	}
	started = p.timer != nil && !p.timer.Stop()
	if !started {
		p.cancel()
	}
	return started
}

// discard ends a started attempt that is not needed, and undoes what it may have done to the first.
func (p *speculation) discard() {
	p.cancel()
	<-p.done
	if p.result.conn != nil {
		p.result.conn.Close()
	}
	p.first.SetDeadline(time.Time{})
}

// wait returns the outcome of a started attempt.
func (p *speculation) wait() attempt {
	<-p.done
	return p.result
}
