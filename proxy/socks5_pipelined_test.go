package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// oneMessage returns what a careless server takes for a message: whatever one read gives.
func oneMessage(c net.Conn) []byte {
	b := make([]byte, 1024)
	n, _ := c.Read(b)
	return b[:n]
}

// careless is a SOCKS5 server that reads each message with one read and loses what came along.
// extra, unless nil, takes over when the greeting came with more bytes.
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

// A server that takes pipelined handshakes gets one connection per dial, and finds the whole handshake at its first read.
func TestPipelinedHandshake(t *testing.T) {
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
		if m := d.own.handshakes.mode(up); m != modePipelined {
			t.Errorf("learnt %v", m)
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

// A server that does not take a pipelined handshake, however it shows that, is asked sequentially within the same dial.
// Later dials ask sequentially from the start.
func TestFallbackToSequential(t *testing.T) {
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
			if !login && regexp.MustCompile("chooses|takes| of |reserved| at ").MatchString(name) {
				continue // these need a password
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

// A refusal in words is final: there is no second connection.
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

// A server that takes one connection at a time and is slow to reach the target is waited for. Its answer to the speculative
// attempt does not count.
func TestSlowServerIsAwaited(t *testing.T) {
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
					io.Copy(io.Discard, c) // until the second has hung up
					close(over)
					return
				}
				step{greetingLen, ""}.hear(c)
				take(c, 3+8)
				take(c, 7+9)
				io.WriteString(c, "\x05\x02\x01\x00")
				<-over
				c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // a first attempt that was ended hangs up now
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

// A server that was known to take pipelined handshakes and stalls is asked sequentially next time, by every Dialer that shares
// the cache.
func TestStallIsRemembered(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	s := serve(t, names.careless(true, nil))
	up := upstream(SOCKS5, s, "user", "pass")
	shared := &dialCaches{}
	shared.handshakes.recordMode(up, modePipelined)
	tries := 0
	wantFault(t, timesOut(t, StageAuth, 100*time.Millisecond, func(limit time.Duration) *Error {
		shared.handshakes.recordMode(up, modePipelined)
		tries++
		_, _, fault := (&Dialer{Policy: nearby, Upstream: up, Timeout: limit, shared: shared}).dial(t.Context(), "tcp", "site.test:7")
		return fault
	}), StageAuth, TimedOut)
	if s.count() != tries || shared.handshakes.mode(up) != modeSequential {
		t.Errorf("%d connections by %d dials, and the mode is %v: a known server gets one connection, and is asked sequentially next time",
			s.count(), tries, shared.handshakes.mode(up))
	}
	d := &Dialer{Policy: nearby, Upstream: up, Timeout: waitLimit, shared: shared}
	c, err := d.DialContext(t.Context(), "tcp", "site.test:7")
	if err != nil || s.count() != tries+1 {
		t.Fatalf("%d connections, %v", s.count(), err)
	}
	c.Close()
	// A dial that its caller cancels is no stall.
	shared.handshakes.recordMode(up, modePipelined)
	ctx, leave := context.WithCancel(t.Context())
	go func() { until(t, "it is under way", func() bool { return s.count() == tries+2 }); leave() }()
	d.DialContext(ctx, "tcp", "site.test:7")
	if shared.handshakes.mode(up) != modePipelined {
		t.Error("a cancelled dial counts as a stall")
	}
}

// A server that accepts the pipelined password keeps its mode, however long the target takes.
// Without a user name nothing shows whether the server has read the request.
func TestSlowAtTheTargetIsNoStall(t *testing.T) {
	for _, tc := range []struct {
		user, pass, says string
		want             handshakeMode
	}{
		{"user", "pass", "\x05\x02\x01\x00", modePipelined},
		{"", "", "\x05\x00", modeSequential},
	} {
		up := upstream(SOCKS5, serve(t, play(step{greetingLen, tc.says})), tc.user, tc.pass)
		known := &dialCaches{}
		wantFault(t, timesOut(t, StageRequest, 100*time.Millisecond, func(limit time.Duration) *Error {
			known.handshakes.recordMode(up, modePipelined)
			stalling := &Dialer{Policy: nearby, Upstream: up, Timeout: limit, shared: known}
			_, _, fault := stalling.dial(t.Context(), "tcp", "site.test:7")
			return fault
		}), StageRequest, TimedOut)
		if got := known.handshakes.mode(up); got != tc.want {
			t.Errorf("with user name %q: the mode is %v, want %v", tc.user, got, tc.want)
		}
	}
}

// A cancel while both attempts are under way takes effect at once, and nothing is left of either.
func TestCancelBothAttempts(t *testing.T) {
	s := serve(t, play(step{greetingLen, "\x05\x02"})) // after this answer the second attempt starts soon, however far the deadline is
	ctx, leave := context.WithCancel(t.Context())
	d := &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, s, "u", "p"), Timeout: time.Hour}
	go func() { until(t, "both are under way", func() bool { return s.count() == 2 }); leave() }()
	if _, err := d.DialContext(ctx, "tcp", "site.test:7"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.close() // waits until both have hung up
}

func TestHandshakeCacheIsBounded(t *testing.T) {
	h := &handshakeCache{}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range generationSize {
				p := &Proxy{Host: "h", Port: i, Username: fmt.Sprint(g)}
				h.recordMode(p, modePipelined)
				if i%3 == 0 {
					h.mode(p)
				}
			}
		})
	}
	all.Wait()
	if n := len(h.young) + len(h.old); n > 2*generationSize {
		t.Errorf("it holds %d", n)
	}
	p := &Proxy{Host: "h", Port: 1, Username: "last"}
	h.recordMode(p, modeSequential)
	if h.mode(p) != modeSequential || h.mode(&Proxy{Host: "h", Port: 1}) != modeUnknown {
		t.Error("one user's mode is another's")
	}
	h.young[cacheKeyOf(p)] = cacheEntry{mode: modeSequential, modeAt: time.Now().Add(-retryAfter - time.Second)}
	if h.mode(p) != modeUnknown {
		t.Error("a server is asked sequentially for ever")
	}
}
