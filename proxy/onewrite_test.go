package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// oneMessage is what a careless server takes for a message: whatever one read gives.
func oneMessage(c net.Conn) []byte {
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	return b[:n]
}

// careless is a SOCKS5 server that reads each message with one read and loses what came along. Where extra is not nil it
// takes over when there was something to lose in the greeting.
func (n network) careless(login bool, extra func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		m := oneMessage(c)
		if len(m) > 2+int(at(m, 1)) && extra != nil {
			extra(c)
			return
		}
		if !login {
			c.Write([]byte{5, 0})
		} else {
			c.Write([]byte{5, 2})
			oneMessage(c)
			c.Write([]byte{1, 0})
		}
		rq := oneMessage(c)
		if len(rq) < 7 || rq[0] != 5 {
			return
		}
		up, err := n.dial(net.JoinHostPort(string(rq[5:5+rq[4]]), port16(rq[5+rq[4]:])))
		if err != nil {
			c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join(c, up)
	}
}

// A server that takes the one write is asked so for ever: one connection a dial, and everything is there at its first read.
func TestOneWrite(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr(), "198.51.100.9:7": target.addr(), "[2001:db8::9]:7": target.addr()}
	for _, with := range []*credentials{nil, {"u", "p"}, {"u", ""}, odd} {
		var together atomic.Int32
		s := serve(t, func(c net.Conn) {
			first := oneMessage(c)
			if bytes.HasSuffix(first, []byte{0, 7}) && first[1] == 1 { // one method, and the target's port at the end
				together.Add(1)
			}
			names.socks5(with)(replayed{c, io.MultiReader(bytes.NewReader(first), c)})
		})
		up := upstream(SOCKS5, s, "", "")
		if with != nil {
			up.Username, up.Password = with.user, with.pass
		}
		d := &Dialer{Policy: nearby, Upstream: up, Timeout: waitLimit}
		addresses := []string{"site.test:7", "198.51.100.9:7", "[::ffff:198.51.100.9]:7", "[2001:db8::9]:7", "SITE.test.:7"}
		for i, address := range addresses {
			c, err := d.DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatalf("%v: %s: %v", with, address, err)
			}
			roundTrip(t, c)
			if typeName(c) != "*net.TCPConn" {
				t.Errorf("got a %s", typeName(c))
			}
			c.Close()
			if s.count() != i+1 || together.Load() != int32(i+1) {
				t.Fatalf("%v: %s: %d connections and %d whole handshakes, want %d of each", with, address, s.count(), together.Load(), i+1)
			}
		}
		if w := d.learnt.way(up); w != atOnce {
			t.Errorf("learnt %v", w)
		}
	}
}

// replayed reads from r.
type replayed struct {
	net.Conn
	r io.Reader
}

func (c replayed) Read(b []byte) (int, error) { return c.r.Read(b) }

func (c replayed) CloseWrite() error { return closeWrite(c.Conn) }

// A server that does not take the one write, however it shows that, is asked again in turn, within the same dial, and
// in turn at once from then on.
func TestSecondTry(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	end := func(how string) func(net.Conn) {
		return func(c net.Conn) {
			if how == "resets" {
				c.(recorded).resetOnClose()
			}
		}
	}
	behaviours := map[string]func(net.Conn){
		"loses the rest":               nil,
		"is silent":                    func(c net.Conn) { io.Copy(io.Discard, c) },
		"chooses no login":             play(step{0, "\x05\x00"}),
		"chooses no login, goes on":    play(step{0, "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"}),
		"chooses what was not offered": play(step{0, "\x05\x01"}),
		"takes no password":            play(step{0, "\x05\xff"}),
		"answers HTTP":                 play(step{0, "HTTP/1.1 400 Bad Request\r\n\r\n"}),
		"wrong version of auth":        play(step{0, "\x05\x02\x05\x00"}),
		"wrong version of reply":       play(step{0, "\x05\x02\x01\x00\x01\x00"}),
		"reserved byte":                play(step{0, "\x05\x02\x01\x00\x05\x00\x01\x01\x00\x00\x00\x00\x00\x00"}),
	}
	for _, how := range []string{"closes", "resets"} {
		const good = "\x05\x02\x01\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
		for i := range len(good) {
			behaviours[fmt.Sprintf("%s at %d", how, i)] = func(c net.Conn) { io.WriteString(c, good[:i]); end(how)(c) }
		}
	}
	for name, extra := range behaviours {
		for _, login := range []bool{true, false} {
			if !login && (strings.Contains(name, "chooses") || strings.Contains(name, "takes") || strings.Contains(name, " of ") || strings.Contains(name, "reserved") || strings.Contains(name, " at ")) {
				continue // these say that there is a password
			}
			t.Run(fmt.Sprintf("%s, login %v", name, login), func(t *testing.T) {
				t.Parallel()
				s := serve(t, names.careless(login, extra))
				up := upstream(SOCKS5, s, "", "")
				if login {
					up.Username, up.Password = "user", "pass"
				}
				d := &Dialer{Policy: nearby, Upstream: up, Timeout: 1500 * time.Millisecond}
				for i := range 2 {
					c, err := d.DialContext(t.Context(), "tcp", "site.test:7")
					if err != nil {
						t.Fatalf("dial %d: %v (%v)", i, err, errors.Unwrap(err))
					}
					roundTrip(t, c)
					if typeName(c) != "*net.TCPConn" {
						t.Errorf("got a %s", typeName(c))
					}
					c.Close()
					if s.count() != i+2 {
						t.Fatalf("after dial %d: %d connections, want %d", i, s.count(), i+2)
					}
				}
			})
		}
	}
}

// What a server refuses in words, it is not asked again.
func TestRefusalIsFinal(t *testing.T) {
	for name, tc := range map[string]struct {
		answers string
		login   bool
		stage   Stage
		code    Code
	}{
		"auth":             {"\x05\x02\x01\x01", true, StageAuth, AuthFailed},
		"reply":            {"\x05\x02\x01\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", true, StageRequest, RequestRefused},
		"reply, no login":  {"\x05\x00\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00", false, StageRequest, HostUnreachable},
		"method, no login": {"\x05\xff", false, StageAuth, AuthRequired},
		"wants a password": {"\x05\x02", false, StageAuth, AuthRequired},
	} {
		s := serve(t, play(step{greetingLen, tc.answers}))
		up := upstream(SOCKS5, s, "", "")
		if tc.login {
			up.Username, up.Password = "user", "pass"
		}
		_, err := (&Dialer{Policy: nearby, Upstream: up, Timeout: waitLimit}).DialContext(t.Context(), "tcp", "site.test:7")
		wantFault(t, err, tc.stage, tc.code)
		if s.count() != 1 {
			t.Errorf("%s: %d connections, want 1", name, s.count())
		}
	}
	bird := canary(t)
	d := &Dialer{Upstream: upstream(SOCKS5, bird, "u", "p"), Timeout: waitLimit} // without AllowPrivate no proxy may be on loopback
	_, err := d.DialContext(t.Context(), "tcp", "site.test:7")
	wantFault(t, err, StageConnect, BlockedAddress)
}

// A server that takes one connection at a time, and its time for the target, is waited for: what it says to the second try
// counts for nothing.
func TestSlowIsNotLost(t *testing.T) {
	for name, words := range map[string][]string{
		"closes the second":  nil,
		"refuses the second": {"\x05\x02", "\x01\x00", "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := serve(t, echo)
			over := make(chan struct{})
			var taken atomic.Int32
			s := serve(t, func(c net.Conn) {
				if taken.Add(1) > 1 {
					for _, m := range words {
						oneMessage(c)
						io.WriteString(c, m)
					}
					closeWrite(c)
					io.Copy(io.Discard, c) // until the second has gone
					close(over)
					return
				}
				step{greetingLen, ""}.hear(c)
				take(c, 3+8)
				take(c, 7+9)
				io.WriteString(c, "\x05\x02\x01\x00")
				<-over
				c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // a first that is given up hangs up now
				oneMessage(c)
				io.WriteString(c, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
				c.SetReadDeadline(time.Time{})
				up, _ := net.Dial("tcp", target.addr())
				join(c, up)
			})
			d := &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, s, "user", "pass"), Timeout: 3 * time.Second}
			c, err := d.DialContext(t.Context(), "tcp", "site.test:7")
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, c)
			c.Close()
		})
	}
}

// A server that was known to take the one write and stalls is asked in turn the next time; whoever shares the memory knows.
func TestStallIsRemembered(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	s := serve(t, names.careless(true, nil))
	up := upstream(SOCKS5, s, "user", "pass")
	shared := &Habits{}
	shared.learn(up, atOnce)
	tries := 0
	wantFault(t, timesOut(t, StageAuth, 100*time.Millisecond, func(limit time.Duration) *Error {
		shared.learn(up, atOnce)
		tries++
		_, _, fault := (&Dialer{Policy: nearby, Upstream: up, Timeout: limit, Habits: shared}).dial(t.Context(), "tcp", "site.test:7")
		return fault
	}), StageAuth, TimedOut)
	if s.count() != tries || shared.way(up) != inTurn {
		t.Errorf("%d connections by %d dials, and the way is %v: a server that is known is not asked beside, but in turn the next time", s.count(), tries, shared.way(up))
	}
	d := &Dialer{Policy: nearby, Upstream: up, Timeout: waitLimit, Habits: shared}
	c, err := d.DialContext(t.Context(), "tcp", "site.test:7")
	if err != nil || s.count() != tries+1 {
		t.Fatalf("%d connections, %v", s.count(), err)
	}
	c.Close()
	// One that the caller leaves has not stalled.
	shared.learn(up, atOnce)
	ctx, leave := context.WithCancel(t.Context())
	go func() { until(t, "it is under way", func() bool { return s.count() == tries+2 }); leave() }()
	d.DialContext(ctx, "tcp", "site.test:7")
	if shared.way(up) != atOnce {
		t.Error("a dial that was left counts as a stall")
	}
}

// A server that has taken the password which was sent ahead takes the one write, however long it needs for the target: it goes on being
// asked so. Without a user name nothing shows whether it has read the request.
func TestSlowAtTheTargetIsNoStall(t *testing.T) {
	for _, tc := range []struct {
		user, pass, says string
		want             way
	}{
		{"user", "pass", "\x05\x02\x01\x00", atOnce},
		{"", "", "\x05\x00", inTurn},
	} {
		up := upstream(SOCKS5, serve(t, play(step{greetingLen, tc.says})), tc.user, tc.pass)
		known := &Habits{}
		wantFault(t, timesOut(t, StageRequest, 100*time.Millisecond, func(limit time.Duration) *Error {
			known.learn(up, atOnce)
			_, _, fault := (&Dialer{Policy: nearby, Upstream: up, Timeout: limit, Habits: known}).dial(t.Context(), "tcp", "site.test:7")
			return fault
		}), StageRequest, TimedOut)
		if got := known.way(up); got != tc.want {
			t.Errorf("with user name %q: the way is %v, want %v", tc.user, got, tc.want)
		}
	}
}

// Whoever leaves while both tries are under way is heard at once, and nothing is left of either.
func TestCancelBoth(t *testing.T) {
	s := serve(t, play(step{greetingLen, "\x05\x02"})) // with this word the second begins soon after, however long there is
	ctx, leave := context.WithCancel(t.Context())
	d := &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, s, "u", "p"), Timeout: time.Hour}
	go func() { until(t, "both are under way", func() bool { return s.count() == 2 }); leave() }()
	if _, err := d.DialContext(ctx, "tcp", "site.test:7"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.close() // waits until both have hung up
}

func TestHabitsAreBounded(t *testing.T) {
	h := &Habits{}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range habitsPerGeneration {
				p := &Proxy{Host: "h", Port: i, Username: fmt.Sprint(g)}
				h.learn(p, atOnce)
				if i%3 == 0 {
					h.way(p)
				}
			}
		})
	}
	all.Wait()
	if n := len(h.young) + len(h.old); n > 2*habitsPerGeneration {
		t.Errorf("it holds %d", n)
	}
	p := &Proxy{Host: "h", Port: 1, Username: "last"}
	h.learn(p, inTurn)
	if h.way(p) != inTurn || h.way(&Proxy{Host: "h", Port: 1}) != unknown {
		t.Error("one user's habit is not another's")
	}
	h.young[loginOf(p)] = habit{way: inTurn, since: time.Now().Add(-inTurnAge - time.Second)}
	if h.way(p) != unknown {
		t.Error("a server is asked in turn for ever")
	}
}
