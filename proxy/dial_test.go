package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// odd holds bytes that break code which does not encode or count them.
var odd = &credentials{"us er%\xff@/", "p@ss:%40/\x01\x80 " + strings.Repeat("x", 240)}

func TestEveryUpstream(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr(), "198.51.100.9:7": target.addr(), "[2001:db8::9]:7": target.addr()}
	colon := &credentials{"user", "p:a:s:s\xff"}
	behindTLS, roots := overTLS(t, names.connect(colon))
	for _, tc := range []struct {
		name   string
		typ    Type
		handle func(net.Conn)
		with   *credentials
	}{
		{"socks5", SOCKS5, names.socks5(nil), nil},
		{"socks5 offers, server wants none", SOCKS5, names.socks5(nil), odd},
		{"socks5 password", SOCKS5, names.socks5(odd), odd},
		{"socks5 user alone", SOCKS5, names.socks5(&credentials{"only", ""}), &credentials{"only", ""}},
		{"socks5h", "socks5h", names.socks5(nil), nil},
		{"http", HTTP, names.connect(nil), nil},
		{"http password", HTTP, names.connect(odd), odd},
		{"https password", HTTPS, behindTLS, colon},
		{"socks4", SOCKS4, names.socks4(""), nil},
		{"socks4 user", SOCKS4, names.socks4("me"), &credentials{"me", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, tc.handle)
			up := upstream(tc.typ, s, "", "")
			if tc.with != nil {
				up.Username, up.Password = tc.with.user, tc.with.pass
			}
			d := &Dialer{Policy: nearby, Upstream: up, RootCAs: roots, resolver: noResolver(t)}
			for _, address := range []string{"site.test:7", "SITE.Test.:7", "198.51.100.9:7", "0xc6336409:7", "[2001:db8::9]:7",
				"[2001:DB8:0::9]:07"} {
				c, times, fault := d.dial(within(t, waitLimit), "tcp", address)
				if fault != nil {
					t.Fatalf("%s: %v (%v)", address, fault, fault.Err)
				}
				roundTrip(t, c)
				c.Close()
				if times.Connect <= 0 || times.Handshake <= 0 || times.Resolve != 0 || (times.TLS > 0) != (tc.typ == HTTPS) {
					t.Errorf("%s: timings %+v", address, times)
				}
				want := "*net.TCPConn"
				if tc.typ == HTTPS {
					want = "*tls.Conn"
				}
				if got := typeName(c); got != want {
					t.Errorf("%s: got a %s, want a %s: splice needs the bare connection", address, got, want)
				}
			}
			// At most once, pipelined: then the Dialer knows that the server does not choose them.
			if n := strings.Count(s.received(), odd.pass); tc.name == "socks5 offers, server wants none" && n > 1 {
				t.Errorf("credentials were sent %d times to a server that does not choose them, want once at most", n)
			}
		})
	}
}

func typeName(c net.Conn) string {
	switch c.(type) {
	case *net.TCPConn:
		return "*net.TCPConn"
	case *tls.Conn:
		return "*tls.Conn"
	case *earlyConn:
		return "*earlyConn"
	}
	return "another"
}

func TestDirect(t *testing.T) {
	s := serve(t, echo)
	d := &Dialer{Policy: Policy{Exempt: []string{s.addr(), "localhost:1"}}}
	c, times, fault := d.dial(within(t, waitLimit), "tcp", s.addr())
	if fault != nil {
		t.Fatal(fault)
	}
	defer c.Close()
	roundTrip(t, c)
	if times.Connect <= 0 || times.Handshake != 0 || typeName(c) != "*net.TCPConn" {
		t.Errorf("got %s %+v", typeName(c), times)
	}
	_, err := d.DialContext(t.Context(), "udp", s.addr())
	wantFault(t, err, StageRequest, RequestRefused)
	_, err = d.DialContext(t.Context(), "tcp", "localhost:1")
	wantFault(t, err, StageConnect, ConnectionRefused)
	d = &Dialer{resolver: nameserver(t, func(int) []string { return nil })}
	_, err = d.DialContext(within(t, waitLimit), "tcp", "nobody.example:80")
	wantFault(t, err, StageResolve, DNSFailed)
}

func TestBadTargets(t *testing.T) {
	bird := canary(t)
	long := strings.Repeat("a23456789.", 26)
	for _, up := range []*Proxy{nil, upstream(SOCKS5, bird, "", ""), upstream(HTTP, bird, "", "")} {
		d := &Dialer{Policy: nearby, Upstream: up, resolver: noResolver(t)}
		for _, address := range []string{"", "host", "host:", ":80", "host:0", "host:65536", "host:-1", "host:http", "a b:80",
			"a\r\nX: y:80", "a\x00b:80",
			long + ":80", "ü.example:80", "host:80:80", "[::1:80", "ho\"st:80", "h%20:80", strings.Repeat("a", 64) + ".com:80"} {
			_, err := d.DialContext(within(t, waitLimit), "tcp", address)
			wantFault(t, err, StageRequest, BlockedAddress)
		}
	}
}

func TestProxyNotThere(t *testing.T) {
	bird := canary(t)
	port := closed(t).port()
	for _, typ := range []Type{SOCKS5, HTTP, HTTPS, SOCKS4} {
		d := &Dialer{Upstream: &Proxy{Type: typ, Host: "127.0.0.1", Port: port},
			Policy: Policy{AllowPrivate: true, Exempt: []string{bird.addr()}}}
		_, err := d.DialContext(within(t, waitLimit), "tcp", bird.addr())
		wantFault(t, err, StageConnect, ConnectionRefused)
		d.Upstream, d.resolver = &Proxy{Type: typ, Host: "nobody.example", Port: 1}, nameserver(t, func(int) []string { return nil })
		_, err = d.DialContext(within(t, waitLimit), "tcp", bird.addr())
		wantFault(t, err, StageResolve, DNSFailed)
	}
}

// A resolver that does not answer times out in its own stage.
func TestSilentNetwork(t *testing.T) {
	deaf, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	over, end := context.WithCancel(t.Context()) // Go's resolver goes on for some seconds after its caller's context has ended
	defer end()
	d := &Dialer{Upstream: &Proxy{Type: HTTP, Host: "slow.example", Port: 1}, Timeout: 100 * time.Millisecond,
		resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if over.Err() != nil {
				return nil, over.Err()
			}
			c, err := (&net.Dialer{}).DialContext(ctx, "udp", deaf.LocalAddr().String())
			if err == nil {
				context.AfterFunc(over, func() { c.Close() })
			}
			return c, err
		}}}
	_, err = d.DialContext(t.Context(), "tcp", "example.com:80")
	wantFault(t, err, StageResolve, TimedOut)
}

// A cancel takes effect at once, in any stage.
func TestCancel(t *testing.T) {
	arrived := make(chan bool, 1)
	s := serve(t, func(c net.Conn) { take(c, 1); arrived <- true; io.Copy(io.Discard, c) })
	for _, typ := range []Type{SOCKS5, HTTP, HTTPS, SOCKS4} {
		ctx, cancel := context.WithCancel(t.Context())
		d := &Dialer{Policy: nearby, Upstream: upstream(typ, s, "", ""), Timeout: time.Hour}
		go func() { <-arrived; cancel() }()
		_, err := d.DialContext(ctx, "tcp", "example.com:80")
		if e := err.(*Error); e.Code != TimedOut || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v (%v)", typ, err, e.Err)
		}
	}
}

// A target may send first, and its bytes may come in one packet with the proxy's answer.
func TestEarlyBytes(t *testing.T) {
	for _, early := range []string{"", "220 hello\r\n", strings.Repeat("e", 4000), strings.Repeat("\r\n\r\n", 100)} {
		s := serve(t, func(c net.Conn) {
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX: y\r\n\r\n"+early)
			io.WriteString(c, "and more")
			closeWrite(c)
			io.Copy(io.Discard, c)
		})
		c, err := (&Dialer{Policy: nearby, Upstream: upstream(HTTP, s, "", "")}).DialContext(within(t, waitLimit), "tcp", "example.com:80")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if string(got) != early+"and more" || err != nil {
			t.Errorf("got %q %v, want %q", got, err, early+"and more")
		}
		c.Close()
	}
}

// The head of an answer is the same in whatever pieces it comes.
func TestReadHeadInPieces(t *testing.T) {
	const head, rest = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "rest\r\n\r\nof it"
	for _, interim := range []string{"", "HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\n\n"} {
		whole := interim + head + rest
		for cut := range len(whole) {
			a, b := net.Pipe()
			done := make(chan bool)
			go func() {
				io.WriteString(b, whole[:cut])
				io.WriteString(b, whole[cut:])
				b.Close()
				close(done)
			}()
			got, early, fault := readHead(a)
			if fault != nil {
				t.Fatalf("cut at %d: %v", cut, fault)
			}
			after, _ := io.ReadAll(a)
			if string(got) != head || string(early)+string(after) != rest {
				t.Errorf("cut at %d: got head %q and rest %q", cut, got, string(early)+string(after))
			}
			<-done
		}
	}
}
