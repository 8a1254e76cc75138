package proxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// This file sends a SOCKS5 handshake in one write: greeting, user name and password, and the request, without waiting
// for the answers between them. That is two round trips instead of four, the TCP handshake and the target's answer
// apart. No standard forbids it, and most servers take it; some read each message with whatever else has come, and
// lose that. docs/decisions/2026-11-22-one-handshake-write.md says what it costs and how it is made safe.

// greetingSize is how long the greeting of the one write is: version, one method, that method.
const greetingSize = 3

// wholeHandshake gives the three messages (two without a user name), or nil when they cannot be said. It offers the one
// method that the bytes behind it are meant for: a server that chose to ask for no password would take the
// password for a request.
func wholeHandshake(p *Proxy, t target) []byte {
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

// dialSOCKS5 asks in one write where the server is not known to want its turn, and in turn where that does not work.
// The second try has what is left of the same time. An answer that both ways would get is final, whoever got it.
func (d *Dialer) dialSOCKS5(ctx context.Context, p *Proxy, t target, times *Timings) (net.Conn, *Error) {
	habits := d.habits()
	known, ahead := habits.way(p), wholeHandshake(p, t)
	if known == inTurn || ahead == nil {
		return d.try(ctx, p, t, &handshake{}, times)
	}
	first := &handshake{ahead: ahead}
	var s *second
	if known == unknown {
		s = newSecond(ctx, p, first, func(ctx context.Context, times *Timings) (net.Conn, *Error) {
			return d.try(ctx, p, t, &handshake{}, times)
		})
	}
	c, fault := d.try(ctx, p, t, first, times)
	beside := s != nil && s.begun()
	if fault == nil || isAnswer(fault) {
		if fault == nil || fault.Code != AuthRequired { // that one comes before anything that was sent ahead is read
			habits.learn(p, atOnce)
		}
		if beside {
			s.drop()
			if fault == nil {
				c.SetDeadline(time.Time{}) // the second may have ended the first a moment too late
			}
		}
		return c, fault
	}
	var again *Error
	switch {
	case beside:
		<-s.done
		c, again, *times = s.conn, s.fault, s.times
	case fault.Stage == StageResolve || fault.Stage == StageConnect:
		return nil, fault
	case ctx.Err() != nil: // no time is left for another
		heard := fault.Stage == StageRequest && p.Username != "" // it took the password that was sent ahead
		if known == atOnce && !heard && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			habits.learn(p, inTurn)
		}
		return nil, fault
	default:
		c, again = d.try(ctx, p, t, &handshake{}, times)
	}
	if again == nil || isAnswer(again) {
		habits.learn(p, inTurn)
	} else if again.Code == TimedOut && fault.Code == TimedOut && rank(fault.Stage) > rank(again.Stage) {
		return nil, fault // both ran out of time, and this one had got further
	}
	return c, again
}

// isAnswer tells whether a SOCKS5 server refused in words, which it would repeat if it were asked in turn.
func isAnswer(fault *Error) bool {
	if fault.Stage != StageAuth && fault.Stage != StageRequest || errors.Is(fault, errAlone) {
		return false
	}
	switch fault.Code {
	case AuthFailed, AuthRequired, RequestRefused, TargetUnreachable, HostUnreachable:
		return true
	}
	return false
}

// rank orders the stages of a handshake.
func rank(s Stage) int {
	return map[Stage]int{StageGreeting: 1, StageAuth: 2, StageRequest: 3}[s]
}

// second is a try in turn that begins beside the first when that one's next answer is late. What a server has
// lost it does not miss: nothing more comes then, and only the clock tells.
type second struct {
	ctx   context.Context // of both
	dial  func(context.Context, *Timings) (net.Conn, *Error)
	login bool // there are a user name and a password
	timer *time.Timer
	sent  time.Time   // when the first sent its one write
	first net.Conn    // the first's connection
	taken atomic.Bool // the first got an answer to what it sent ahead: it is slow at most

	mu      sync.Mutex
	cancel  context.CancelFunc // ends the second; nil while it has not begun
	dropped bool

	done  chan struct{} // closed when what follows is there
	conn  net.Conn
	fault *Error
	times Timings
}

// How long an answer may take before the second begins: so many times what the answer to the greeting took, and at
// least so long; never more than a third of what is left.
const (
	authPatience     = 4
	authLeast        = 250 * time.Millisecond
	requestPatience  = 8 // the server may be looking a name up and connecting
	requestLeast     = time.Second
	shareOfWhatsLeft = 3
)

func newSecond(ctx context.Context, p *Proxy, first *handshake, dial func(context.Context, *Timings) (net.Conn, *Error)) *second {
	s := &second{ctx: ctx, dial: dial, login: p.Username != "", done: make(chan struct{})}
	first.begins, first.reaches = s.start, s.hold
	return s
}

// start is called when the first sends.
func (s *second) start(first net.Conn) {
	s.sent, s.first = time.Now(), first
	s.timer = time.AfterFunc(s.share(), s.run)
}

// hold is called when an answer has led the first on.
func (s *second) hold(stage Stage) {
	trip := time.Since(s.sent)
	pause := max(authPatience*trip, authLeast)
	if stage == StageRequest {
		pause = max(requestPatience*trip, requestLeast)
		s.taken.Store(s.login)
	}
	if s.timer.Stop() {
		s.timer.Reset(min(pause, s.share()))
	}
}

func (s *second) share() time.Duration {
	end, _ := s.ctx.Deadline()
	return time.Until(end) / shareOfWhatsLeft
}

// run is the second try. Its success ends the first; so does its refusal, unless the first is known to be heard: then a
// server that takes one connection at a time may have refused the second for the first's sake.
func (s *second) run() {
	defer close(s.done)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	if s.dropped {
		cancel()
	}
	s.mu.Unlock()
	s.conn, s.fault = s.dial(ctx, &s.times)
	if s.fault == nil || isAnswer(s.fault) && !s.taken.Load() {
		s.first.SetDeadline(time.Unix(1, 0))
	}
}

// begun tells whether the second has begun, and keeps it from beginning if not.
func (s *second) begun() bool { return s.timer != nil && !s.timer.Stop() }

// drop ends a second that has begun and is not needed.
func (s *second) drop() {
	s.mu.Lock()
	if s.dropped = true; s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	<-s.done
	if s.conn != nil {
		s.conn.Close()
	}
}
