package proxy

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// through returns a route through a SOCKS5 server of the test.
func through(key string, s *server) Route {
	return Route{key, &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, s, "user", "pass")}}
}

// push sends n bytes through a tunnel to an echo server, reads them back, and ends it.
func push(t testing.TB, relay string, n int) {
	t.Helper()
	c := tunnelTo(t, relay, "site.test", 7)
	data := make([]byte, n)
	rand.Read(data)
	go func() {
		c.Write(data)
		c.CloseWrite()
	}()
	if back, err := io.ReadAll(c); err != nil || !bytes.Equal(back, data) {
		t.Fatalf("%d bytes came back, %v; want the %d that were sent", len(back), err, n)
	}
	c.Close()
}

// TestRoutesAreCounted: each route has its own traffic, a bypass counts under no key, and the sums are the relay's.
func TestRoutesAreCounted(t *testing.T) {
	target := serve(t, echo)
	login := &credentials{"user", "pass"}
	names := network{"site.test:7": target.addr()}
	one, two := serve(t, names.socks5(login)), serve(t, names.socks5(login))
	first, second := through("one", one), through("two", two)
	here, err := LocalBypass(target.addr())
	if err != nil {
		t.Fatal(err)
	}
	first.Dialer.Bypasses = []Bypass{here}
	r, address := startRelay(t, nil)
	r.SetRoutes([]Route{first}, 0, false)
	push(t, address, 1<<20)
	push(t, address, 3)
	roundTrip(t, tunnelTo(t, address, "127.0.0.1", target.port()))
	stays := tunnelTo(t, address, "site.test", 7)
	r.SetRoutes([]Route{second}, 0, false)
	push(t, address, 1000)
	roundTrip(t, stays) // it was open before: it goes on through the first
	r.SetRoutes([]Route{first}, 0, false)
	push(t, address, 10)
	// A byte may have come back before the relay counts it as sent.
	until(t, "the bytes are counted", func() bool {
		s := r.Stats()
		return s.BytesUp == 1<<20+3+5+1000+5+10 && s.BytesDown == s.BytesUp
	})
	want := []RouteStats{{"", 5, 5, 1}, {"one", 1<<20 + 3 + 5 + 10, 1<<20 + 3 + 5 + 10, 4}, {"two", 1000, 1000, 1}}
	if got := r.RouteStats(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("routes: %v, want %v", got, want)
	}
}

// TestReplaceRoutesUnderLoad: routes are replaced while connections come and go. With cut no byte goes through the old upstream
// after SetRoutes has returned. No byte ever goes directly.
func TestReplaceRoutesUnderLoad(t *testing.T) {
	target := serve(t, echo)
	direct := canary(t)
	login := &credentials{"user", "pass"}
	// The proxies know where the target is. A direct dial of its address would reach the canary.
	names := network{"127.0.0.1:" + fmt.Sprint(direct.port()): target.addr()}
	var oldBytes atomic.Int64
	old := serve(t, func(c net.Conn) { names.socks5(login)(countedConn{c, &oldBytes}) })
	next := serve(t, names.socks5(login))
	exempt := Policy{AllowPrivate: true, Exempt: []string{direct.addr()}}
	a, b := through("old", old), through("next", next)
	a.Dialer.Policy, b.Dialer.Policy = exempt, exempt
	r, address := startRelay(t, nil)
	r.SetRoutes([]Route{a}, 0, false)

	var working, done sync.WaitGroup
	var finished atomic.Int64
	stop := make(chan struct{})
	for range 32 {
		working.Add(1)
		done.Go(func() {
			once := sync.OnceFunc(working.Done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if c, err := net.Dial("tcp", address); err == nil {
					c.SetDeadline(time.Now().Add(waitLimit))
					if askFor(c, "127.0.0.1", direct.port()) == nil {
						c.Write(make([]byte, 1<<16))
						if _, err := io.ReadFull(c, make([]byte, 1<<16)); err == nil {
							finished.Add(1)
						}
					}
					c.Close()
				}
				once()
			}
		})
	}
	idle := tunnelTo(t, address, "127.0.0.1", direct.port())
	roundTrip(t, idle)
	working.Wait()
	began := time.Now()
	swapped, ended := r.SetRoutes([]Route{b}, 0, true)
	took := time.Since(began)
	c := tunnelTo(t, address, "127.0.0.1", direct.port())
	roundTrip(t, c)
	t.Logf("under %d connections at once: the swap took %v and ended %d; the first byte through the new exit came %v after it began", 32,
		took, ended, time.Since(began))
	if !swapped || ended < 1 {
		t.Errorf("swapped %v, ended %d", swapped, ended)
	}
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an idle tunnel through the old route: %v, want a reset", err)
	}
	until(t, "the old upstream's connections are gone", func() bool { old.mu.Lock(); defer old.mu.Unlock(); return len(old.conns) == 0 })
	before, count := oldBytes.Load(), old.count()
	n := finished.Load()
	until(t, "the load goes on through the new one", func() bool { return finished.Load() > n+200 })
	if oldBytes.Load() != before || old.count() != count {
		t.Errorf("the old upstream had %d connections and %d bytes after the swap", old.count()-count, oldBytes.Load()-before)
	}
	close(stop)
	done.Wait()
	if swapped, ended := r.SetRoutes([]Route{b}, 0, true); swapped || ended != 0 {
		t.Errorf("no swap: %v, and %d ended", swapped, ended)
	}
	roundTrip(t, c)
}

// countedConn counts the bytes that are read from a connection.
type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func (c countedConn) CloseWrite() error { return closeWrite(c.Conn) }

// askFor is request for a client that may be cut off at any moment.
func askFor(c net.Conn, host string, port int) error {
	c.Write([]byte{5, 1, 0})
	if _, err := io.ReadFull(c, make([]byte, 2)); err != nil {
		return err
	}
	c.Write(append(append([]byte{5, 1, 0, 3, byte(len(host))}, host...), byte(port>>8), byte(port)))
	answer := make([]byte, 10)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if answer[1] != 0 {
		return fmt.Errorf("reply %d", answer[1])
	}
	return nil
}

// TestRoutesReplacedDuringADial: with cut a dial that hangs in the old upstream is made again through the new one, and the late answer of
// the old one is discarded.
func TestRoutesReplacedDuringADial(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	asked, answer := make(chan struct{}), make(chan struct{})
	old := serve(t, func(c net.Conn) {
		close(asked)
		<-answer
		names.socks5(nil)(c)
	})
	next := serve(t, names.socks5(nil))
	r, address := startRelay(t, nil)
	r.SetRoutes([]Route{through("old", old)}, 0, false)
	replied := make(chan error, 1)
	c := dialTCP(t, address)
	go func() { replied <- askFor(c, "site.test", 7) }()
	<-asked
	swapped, ended := r.SetRoutes([]Route{through("next", next)}, 0, true)
	close(answer)
	if err := <-replied; err != nil || !swapped || ended != 0 {
		t.Fatalf("the connection that was dialled at the swap: %v (swapped %v, ended %d)", err, swapped, ended)
	}
	roundTrip(t, c)
	if got := r.RouteStats(); len(got) != 1 || got[0].Key != "next" {
		t.Errorf("it went through %v", got)
	}
}

// TestFailover: when its upstream is dead, a relay goes on with the next, which its clients do not notice. At the end of the list it stays.
func TestFailover(t *testing.T) {
	target := serve(t, echo)
	canary := canary(t)
	login := &credentials{"user", "pass"}
	names := network{"site.test:7": target.addr(), canary.addr(): target.addr()}
	a, b := serve(t, names.socks5(login)), serve(t, names.socks5(login))
	last := serve(t, names.socks5(login))
	routes := []Route{through("a", a), through("b", b), through("c", last)}
	for _, v := range routes {
		v.Dialer.Policy = Policy{AllowPrivate: true, Exempt: []string{canary.addr()}}
	}
	r, address := startRelay(t, nil)
	r.SetRoutes(routes, 0, false)
	var mu sync.Mutex
	var moves []string
	r.OnFailover(func(m Failover) {
		mu.Lock()
		defer mu.Unlock()
		moves = append(moves, fmt.Sprint(m.From, m.To, " ", m.Cause.Stage, " ", m.Cause.Code))
	})
	want := func(key string, said ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if _, on := r.Route(); on != key || fmt.Sprint(moves) != fmt.Sprint(said) {
			t.Fatalf("%q is in use, and the moves are %q; want %q, %q", on, moves, key, said)
		}
	}
	push(t, address, 10)
	for range 5 { // a fault of the target is not the upstream's
		if code := request(t, dialTCP(t, address), "nowhere.test", 7); code == 0 {
			t.Fatal("a target that is unknown to the proxy was reached")
		}
	}
	want("a")
	a.close()
	push(t, address, 10)
	want("b", "ab connect connection_refused")
	var all sync.WaitGroup
	b.close()
	for range 20 {
		all.Go(func() {
			c := dialTCP(t, address)
			if err := askFor(c, "site.test", 7); err != nil {
				t.Errorf("one of many that find out at once: %v", err)
			}
		})
	}
	all.Wait()
	want("c", "ab connect connection_refused", "bc connect connection_refused")
	last.close()
	for range 5 {
		if code := request(t, dialTCP(t, address), "127.0.0.1", canary.port()); code == 0 {
			t.Fatal("with every upstream dead something was reached")
		}
	}
	want("c", "ab connect connection_refused", "bc connect connection_refused")
	serveOn(t, last.addr(), names.socks5(login)) // it keeps trying
	push(t, address, 10)
	back := serveOn(t, a.addr(), names.socks5(login))
	push(t, address, 10)
	if want("c", moves...); back.count() != 0 {
		t.Errorf("it went back by itself")
	}
	r.SetRoutes(routes, 0, false)
	push(t, address, 10)
	if want("a", moves...); back.count() != 1 {
		t.Errorf("with the first route chosen again, %d connections came", back.count())
	}
}

// TestOneFaultIsNotDead: a fault with a success after it does not count, nor does a fault of a dial that began before the last success.
func TestOneFaultIsNotDead(t *testing.T) {
	t.Parallel()
	r := twoRoutes(t)
	bad := &Error{StageConnect, ConnectionRefused, "", nil}
	now := time.Now()
	step := func(began time.Time, fault *Error, in string, again bool) {
		t.Helper()
		client, other := net.Pipe()
		defer other.Close()
		tn := &tunnel{relay: r, client: client}
		defer client.Close()
		via, on, _ := tn.beginDial("site.test:7", func() {})
		var c net.Conn
		if fault == nil {
			c = client
		}
		got, _, _ := tn.finishDial(via, on, began, c, fault, 1)
		if _, key := r.Route(); key != in || got != again {
			t.Errorf("then %q is in use, and again is %v; want %q, %v", key, got, in, again)
		}
	}
	step(now, bad, "a", true)
	step(now, nil, "a", false)
	step(now, bad, "a", true) // it began before the success
	step(now, bad, "a", true)
	step(now, bad, "a", true)
	later := time.Now()
	step(later, bad, "a", true)
	step(later, &Error{StageRequest, TargetUnreachable, "", nil}, "a", false)
	step(later, nil, "a", false)
}

// twoRoutes returns a relay with the routes a and b, for tests that make every step of its dials.
func twoRoutes(t *testing.T) *Relay {
	r := NewRelay(&Dialer{}, nil)
	t.Cleanup(func() { r.Close() })
	r.SetRoutes([]Route{{"a", &Dialer{Upstream: &Proxy{}}}, {"b", &Dialer{Upstream: &Proxy{}}}}, 0, false)
	return r
}

// stepper returns a function that makes one dial of a connection and checks its outcome.
func stepper(t *testing.T, r *Relay) (step func(fault *Error, through string, again bool, moved string)) {
	client, other := net.Pipe()
	t.Cleanup(func() { client.Close(); other.Close() })
	tn := &tunnel{relay: r, client: client}
	tries := map[*route]int{}
	return func(fault *Error, through string, again bool, moved string) {
		t.Helper()
		via, on, more := tn.beginDial("site.test:7", func() {})
		var c net.Conn
		if fault == nil {
			c = client
		}
		tries[via]++
		got, move, _ := tn.finishDial(via, on, time.Now(), c, fault, tries[via])
		said := ""
		if move != nil {
			said = fmt.Sprint(move.From, move.To, " ", move.Cause.Code)
		}
		if via.Key != through || more != (through == "a") || got != again || said != moved {
			t.Errorf("through %q (more %v), again %v, moved %q; want %q, %v, %q", via.Key, more, got, said, through, again, moved)
		}
	}
}

// TestFailoverWhenTheNextAnswers: a relay leaves a dead upstream when another has answered, and not before. When all are dead, it stays.
func TestFailoverWhenTheNextAnswers(t *testing.T) {
	dead, frozen := &Error{StageConnect, ConnectionRefused, "", nil}, &Error{StageTLS, TimedOut, "", nil}
	for name, tc := range map[string]struct {
		b  *Error
		to string
	}{"works": {nil, "ab timed_out"}, "refuses": {&Error{StageRequest, TargetUnreachable, "", nil}, "ab timed_out"},
		"waits": {&Error{StageRequest, TimedOut, "", nil}, ""}} {
		t.Run(name, func(t *testing.T) {
			r := twoRoutes(t)
			one := stepper(t, r)
			one(dead, "a", true, "")
			one(frozen, "a", true, "")
			one(dead, "b", false, "") // the last one
			stepper(t, r)(nil, "a", false, "")
			two := stepper(t, r)
			two(frozen, "a", true, "")
			two(frozen, "a", true, "")
			two(tc.b, "b", false, tc.to)
			if at, _ := r.Route(); (at == 1) != (tc.to != "") {
				t.Errorf("route %d is in use", at)
			}
		})
	}
	r := twoRoutes(t)
	late := stepper(t, r)
	late(dead, "a", true, "")
	late(dead, "a", true, "")
	stepper(t, r)(nil, "a", false, "")
	late(nil, "b", false, "") // the first one works by now
	gone := stepper(t, r)
	gone(dead, "a", true, "")
	gone(dead, "a", true, "")
	gone(nil, "b", false, "ab connection_refused")
	r.SetRoutes([]Route{r.routes[0].Route, r.routes[1].Route}, 0, false)
	chosen := stepper(t, r)
	chosen(dead, "a", true, "") // its old faults are forgotten
	chosen(dead, "a", true, "")
	chosen(nil, "b", false, "ab connection_refused")
	chosen(dead, "b", false, "")
}

// TestNoNetworkIsNoFault: a fault that shows that this machine has no network or no descriptor is no upstream's.
func TestNoNetworkIsNoFault(t *testing.T) {
	system := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	all := []error{&net.DNSError{Err: "server misbehaving", IsTemporary: true}, &net.DNSError{Err: "i/o timeout", IsTimeout: true}}
	for _, errno := range localErrnos {
		all = append(all, system(errno))
	}
	for _, err := range all {
		r := twoRoutes(t)
		for range 5 {
			stepper(t, r)(asError(StageConnect, err), "a", false, "")
		}
	}
	for _, err := range []error{&net.DNSError{Err: "no such host", IsNotFound: true}, system(refusedErrnos[0]),
		system(unreachableErrnos[0])} {
		stepper(t, twoRoutes(t))(asError(StageConnect, err), "a", true, "")
	}
}

// TestAllDeadStays: a relay whose upstreams are all dead for a moment uses its own one afterwards, and reports no fail-over.
func TestAllDeadStays(t *testing.T) {
	names := network{"site.test:7": serve(t, echo).addr()}
	login := &credentials{"user", "pass"}
	a, b := serve(t, names.socks5(login)), serve(t, names.socks5(login))
	r, address := startRelay(t, nil)
	r.OnFailover(func(m Failover) { t.Errorf("it moved: %+v", m) })
	r.SetRoutes([]Route{through("a", a), through("b", b)}, 0, false)
	push(t, address, 10)
	a.close()
	b.close()
	for range 3 {
		if code := request(t, dialTCP(t, address), "site.test", 7); code == 0 {
			t.Fatal("with every upstream dead something was reached")
		}
	}
	serveOn(t, a.addr(), names.socks5(login))
	serveOn(t, b.addr(), names.socks5(login))
	push(t, address, 10)
	if _, key := r.Route(); key != "a" {
		t.Errorf("%q is in use", key)
	}
}

// TestAnswerDuringReplacement: an answer of the old upstream at the moment of the replacement is discarded.
func TestAnswerDuringReplacement(t *testing.T) {
	r := NewRelay(&Dialer{Upstream: &Proxy{}}, nil)
	defer r.Close()
	client, mine := net.Pipe()
	defer mine.Close()
	defer client.Close()
	answered, theirs := net.Pipe()
	defer theirs.Close()
	tn := &tunnel{relay: r, client: client}
	r.tunnels[tn] = struct{}{}
	defer delete(r.tunnels, tn)
	given := false
	via, on, _ := tn.beginDial("site.test:7", func() { given = true })
	if swapped, ended := r.SetRoutes([]Route{{"next", &Dialer{Upstream: &Proxy{}}}}, 0, true); !swapped || ended != 0 || !given {
		t.Errorf("the cut: swapped %v, ended %d, the dial was given up: %v", swapped, ended, given)
	}
	again, _, _ := tn.finishDial(via, on, time.Now(), answered, nil, 1)
	answered.SetDeadline(time.Now())
	if _, err := answered.Write([]byte("x")); !again || tn.upstream != nil || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("again %v, handed out %v, and the connection: %v", again, tn.upstream != nil, err)
	}
}

// pickyProxy is a proxy that sends word and hangs up on all targets but one with port 7, and with dead set on that one too.
func pickyProxy(names network, typ Type, word string, dead *atomic.Bool) func(net.Conn) {
	begins, serves := "CONNECT site.test:7 ", names.connect(nil)
	if typ == SOCKS4 {
		begins, serves = "\x04\x01\x00\x07", names.socks4("")
	}
	return func(c net.Conn) {
		in := bufio.NewReader(c)
		if head, _ := in.Peek(len(begins)); string(head) == begins && !dead.Load() {
			serves(&buffered{c, in})
			return
		}
		io.WriteString(c, word)
	}
}

// TestRefusedTargetsKeepTheProxy: a page cannot cause a fail-over by targets that the proxy refuses in odd ways. A proxy that treats all
// targets so is left at the next request.
func TestRefusedTargetsKeepTheProxy(t *testing.T) {
	for name, tc := range map[string]struct {
		typ  Type
		word string
		code Code
	}{
		"http 400": {HTTP, "HTTP/1.1 400 Bad Request\r\n\r\n", NotAProxy}, "http 405": {HTTP, "HTTP/1.1 405 X\r\n\r\n", NotAProxy},
		"https 501": {HTTPS, "HTTP/1.1 501 X\r\n\r\n", NotAProxy}, "http hangs up": {HTTP, "", ConnectionClosed},
		"https hangs up": {HTTPS, "", ConnectionClosed}, "socks4 hangs up": {SOCKS4, "", ConnectionClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := network{"site.test:7": serve(t, echo).addr()}
			var dead atomic.Bool
			handle, d := pickyProxy(names, tc.typ, tc.word, &dead), &Dialer{Policy: nearby}
			if tc.typ == HTTPS {
				handle, d.RootCAs = overTLS(t, handle)
			}
			d.Upstream = upstream(tc.typ, serve(t, handle), "", "")
			r, address := startRelay(t, nil)
			moves := make(chan Failover, 10)
			r.OnFailover(func(m Failover) { moves <- m })
			r.SetRoutes([]Route{{"first", d}, through("next", serve(t, names.socks5(&credentials{"user", "pass"})))}, 0, false)
			push(t, address, 10)
			for range 3 {
				if code := request(t, dialTCP(t, address), "site.test", 8443); code == 0 {
					t.Fatal("a target that the proxy refuses was reached")
				}
			}
			if _, key := r.Route(); key != "first" || len(moves) > 0 {
				t.Fatalf("%q is in use", key)
			}
			dead.Store(true)
			push(t, address, 10)
			if _, key := r.Route(); key != "next" || len(moves) != 1 {
				t.Fatalf("%q is in use", key)
			}
			if m := <-moves; m.Cause.Code != tc.code {
				t.Errorf("why: %v", m.Cause)
			}
		})
	}
}
