package proxy

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// startRelay serves a relay on loopback and closes it with the test.
func startRelay(t testing.TB, d *Dialer) (*Relay, string) {
	t.Helper()
	return startImpatientRelay(t, d, defaultHandshakeTimeout, defaultIdleTimeout)
}

func startImpatientRelay(t testing.TB, d *Dialer, handshake, silence time.Duration) (*Relay, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer // which the handler locks
	r := NewRelay(d, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r.handshakeTimeout, r.idleTimeout = handshake, silence
	done := make(chan error, 1)
	go func() { done <- r.Serve(l) }()
	t.Cleanup(func() {
		r.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: got %v, want nil after Close", err)
		}
		if t.Failed() {
			t.Logf("the relay said:\n%s", said.Bytes())
		}
	})
	return r, l.Addr().String()
}

func dialTCP(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(waitLimit))
	return c.(*net.TCPConn)
}

// request does a client's half of the handshake as Chrome does, with the host as a name. It returns the reply code.
func request(t testing.TB, c net.Conn, host string, port int) byte {
	t.Helper()
	c.Write([]byte{5, 1, 0})
	if got := take(c, 2); !bytes.Equal(got, []byte{5, 0}) {
		t.Fatalf("greeting: got % x, want 05 00", got)
	}
	c.Write(append(append([]byte{5, 1, 0, 3, byte(len(host))}, host...), byte(port>>8), byte(port)))
	got := take(c, 10)
	if got[0] != 5 || got[3] != 1 {
		t.Fatalf("reply: got % x", got)
	}
	return got[1]
}

func tunnelTo(t testing.TB, relay, host string, port int) *net.TCPConn {
	t.Helper()
	c := dialTCP(t, relay)
	if code := request(t, c, host, port); code != 0 {
		t.Fatalf("%s:%d: reply %d", host, port, code)
	}
	return c
}

// until waits for a condition that another goroutine brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx := within(t, waitLimit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", waitLimit, what)
		}
	}
}

func TestRelayThroughEveryUpstream(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	login := &credentials{"user", "pass"}
	behindTLS, roots := overTLS(t, names.connect(login))
	for typ, handle := range map[Type]func(net.Conn){SOCKS5: names.socks5(login), HTTP: names.connect(login), HTTPS: behindTLS,
		SOCKS4: names.socks4("user")} {
		t.Run(string(typ), func(t *testing.T) {
			s := serve(t, handle)
			r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(typ, s, "user", "pass"), RootCAs: roots})
			c := tunnelTo(t, address, "site.test", 7)
			data := make([]byte, 5<<20)
			rand.Read(data)
			sum := make(chan [32]byte, 1)
			go func() {
				h := sha256.New()
				io.Copy(h, c)
				sum <- [32]byte(h.Sum(nil))
			}()
			c.Write(data)
			c.CloseWrite()
			if <-sum != sha256.Sum256(data) {
				t.Error("what came back is not what was sent")
			}
			c.Close()
			until(t, "the tunnel ends", func() bool { return r.Stats().Open == 0 })
			if st := r.Stats(); st.BytesUp != int64(len(data)) || st.BytesDown != int64(len(data)) || st.Total != 1 || st.Refused != 0 ||
				st.LastError != nil {
				t.Errorf("stats: %+v", st)
			}
		})
	}
}

func TestRelayCountsOpenTunnels(t *testing.T) {
	target := serve(t, echo)
	r, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{target.addr()}}})
	c := tunnelTo(t, address, "127.0.0.1", target.port())
	for i := range int64(3) {
		roundTrip(t, c)
		until(t, "the bytes are counted", func() bool {
			st := r.Stats()
			return st.Open == 1 && st.BytesUp == 5*(i+1) && st.BytesDown == 5*(i+1)
		})
	}
}

// A direction ends while the other goes on, both ways round, through every type of upstream.
func TestHalfClose(t *testing.T) {
	answersAtEnd := serve(t, func(c net.Conn) { // reads to the end of the question before it answers
		question, _ := io.ReadAll(c)
		fmt.Fprintf(c, "you said %q", question)
	})
	received := make(chan string, 10)
	endsFirst := serve(t, func(c net.Conn) { // sends, ends its side, and reads on
		io.WriteString(c, "that is all")
		closeWrite(c)
		rest, _ := io.ReadAll(c)
		received <- string(rest)
	})
	names := network{"a.test:1": answersAtEnd.addr(), "b.test:1": endsFirst.addr()}
	behindTLS, roots := overTLS(t, names.connect(nil))
	for typ, handle := range map[Type]func(net.Conn){SOCKS5: names.socks5(nil), HTTP: names.connect(nil), HTTPS: behindTLS,
		SOCKS4: names.socks4("")} {
		t.Run(string(typ), func(t *testing.T) {
			s := serve(t, handle)
			r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(typ, s, "", ""), RootCAs: roots})
			c := tunnelTo(t, address, "a.test", 1)
			io.WriteString(c, "question")
			c.CloseWrite()
			if got, err := io.ReadAll(c); string(got) != `you said "question"` || err != nil {
				t.Errorf("got %q %v", got, err)
			}
			c = tunnelTo(t, address, "b.test", 1)
			if got, err := io.ReadAll(c); string(got) != "that is all" || err != nil {
				t.Errorf("got %q %v", got, err)
			}
			io.WriteString(c, "and still here")
			c.CloseWrite()
			until(t, "both tunnels end", func() bool { return r.Stats().Open == 0 })
			select { // the proxy may still have it on its way when the relay is done
			case rest := <-received:
				if rest != "and still here" {
					t.Errorf("after its own end the target got %q", rest)
				}
			case <-time.After(waitLimit):
				t.Error("the target never got the end")
			}
		})
	}
}

// A reset by the target must not look like its end: the browser would take half a file for the whole.
func TestResetIsPassedOn(t *testing.T) {
	target := serve(t, func(c net.Conn) {
		io.WriteString(c, "half of")
		take(c, 1)
		c.(recorded).resetOnClose()
	})
	r, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{target.addr()}}})
	c := tunnelTo(t, address, "127.0.0.1", target.port())
	take(c, 7)
	io.WriteString(c, "x")
	if n, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF || n > 0 {
		t.Errorf("after the target's reset: got %d bytes and %v, want a reset", n, err)
	}
	until(t, "the tunnel ends", func() bool { return r.Stats().Open == 0 })
}

func TestReplyCodes(t *testing.T) {
	gone := closed(t)
	refusing := func(code string) *server {
		return serve(t, play(step{3, "\x05\x00"}, step{10, "\x05" + code + "\x00\x01\x00\x00\x00\x00\x00\x00"}))
	}
	for _, tc := range []struct {
		name string
		d    *Dialer
		host string
		want byte
		code Code
	}{
		{"blocked", &Dialer{}, "127.0.0.1", 2, BlockedAddress},
		{"blocked name", &Dialer{}, "LocalHost.", 2, BlockedAddress},
		{"direct refused", &Dialer{Policy: Policy{Exempt: []string{net.JoinHostPort("127.0.0.1", fmt.Sprint(gone.port()))}}}, "127.0.0.1",
			5, ConnectionRefused},
		{"direct unknown name", &Dialer{resolver: nameserver(t, func(int) []string { return nil })}, "nobody.example", 4, DNSFailed},
		{"proxy refused", &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, gone, "", "")}, "site.test", 1, ConnectionRefused},
		{"proxy silent", &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, serve(t, play()), "", ""), Timeout: 50 * time.Millisecond},
			"site.test", 6, TimedOut},
		{"not a proxy", &Dialer{Policy: nearby, Upstream: upstream(HTTP, serve(t, says("hello")), "", "")}, "site.test", 1, NotAProxy},
		{"wrong password", &Dialer{Policy: nearby, Upstream: upstream(HTTP, serve(t, says("HTTP/1.1 407 X\r\n\r\n")), "u", "p")},
			"site.test", 1, AuthFailed},
		{"HTTP proxy refuses", &Dialer{Policy: nearby, Upstream: upstream(HTTP, serve(t, says("HTTP/1.1 403 X\r\n\r\n")), "", "")},
			"site.test", 2, RequestRefused},
		{"HTTP proxy cannot", &Dialer{Policy: nearby, Upstream: upstream(HTTP, serve(t, says("HTTP/1.1 502 X\r\n\r\n")), "", "")},
			"site.test", 4, TargetUnreachable},
		{"upstream says 1", &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, refusing("\x01"), "", "")}, "site.test", 1, RequestRefused},
		{"upstream says 5", &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, refusing("\x05"), "", "")}, "site.test", 5,
			TargetUnreachable},
		{"upstream says 6", &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, refusing("\x06"), "", "")}, "site.test", 6,
			TargetUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, address := startRelay(t, tc.d)
			c := dialTCP(t, address)
			if got := request(t, c, tc.host, gone.port()); got != tc.want {
				t.Errorf("reply: got %d, want %d", got, tc.want)
			}
			if n, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the reply: got %d bytes and %v, want the end", n, err)
			}
			st := r.Stats()
			if st.LastError == nil || st.LastError.Code != tc.code || time.Since(st.LastErrorAt) > waitLimit {
				t.Errorf("last error: got %v at %v, want %s", st.LastError, st.LastErrorAt, tc.code)
			}
			if (st.Refused == 1) != (tc.code == BlockedAddress) {
				t.Errorf("refused: got %d", st.Refused)
			}
		})
	}
}

func TestWhatIsNotServed(t *testing.T) {
	_, address := startRelay(t, &Dialer{})
	for name, tc := range map[string]struct{ say, want string }{
		"BIND":            {"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50", "\x05\x00\x05\x07"},
		"UDP ASSOCIATE":   {"\x05\x01\x00\x05\x03\x00\x03\x01a\x00\x50", "\x05\x00\x05\x07"},
		"command 0":       {"\x05\x01\x00\x05\x00\x00\x01\x01\x02\x03\x04\x00\x50", "\x05\x00\x05\x07"},
		"address type 2":  {"\x05\x01\x00\x05\x01\x00\x02\x01\x02\x03\x04\x00\x50", "\x05\x00\x05\x08"},
		"no name":         {"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", "\x05\x00\x05\x02"},
		"port 0":          {"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00", "\x05\x00\x05\x02"},
		"NUL in the name": {"\x05\x01\x00\x05\x01\x00\x03\x03a\x00b\x00\x50", "\x05\x00\x05\x02"},
		"CRLF":            {"\x05\x01\x00\x05\x01\x00\x03\x04a\r\nb\x00\x50", "\x05\x00\x05\x02"},
		"IPv6 loopback":   {"\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50", "\x05\x00\x05\x02"},
		"mapped loopback": {"\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50",
			"\x05\x00\x05\x02"},
		"password only":   {"\x05\x01\x02", "\x05\xff"},
		"no methods":      {"\x05\x00", "\x05\xff"},
		"SOCKS4":          {"\x04\x01\x00\x50\x01\x02\x03\x04\x00", ""},
		"HTTP":            {"GET / HTTP/1.1\r\n\r\n", ""},
		"version 4 later": {"\x05\x01\x00\x04\x01\x00\x01\x01\x02\x03\x04\x00\x50", "\x05\x00"},
		"nothing":         {"", ""},
		"half a greeting": {"\x05", ""},
		"half a request":  {"\x05\x01\x00\x05\x01\x00\x03\xffabc", "\x05\x00"},
		"all methods":     {"\x05\xff" + strings.Repeat("\x00", 255) + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x02"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialTCP(t, address)
			io.WriteString(c, tc.say)
			c.CloseWrite()
			got, _ := io.ReadAll(c) // a reset after what was not read is as good as an end
			if !strings.HasPrefix(string(got), tc.want) || (len(got) > 0) != (tc.want != "") {
				t.Errorf("got % x, want % x", got, tc.want)
			}
		})
	}
}

// A client has one absolute deadline for its handshake, however busy it is.
func TestSlowClient(t *testing.T) {
	r, address := startImpatientRelay(t, &Dialer{}, 200*time.Millisecond, time.Minute)
	silent, busy := dialTCP(t, address), dialTCP(t, address)
	go drip("\x05\xff" + strings.Repeat("\x00", 255))(busy)
	for _, c := range []net.Conn{silent, busy} {
		if got, err := io.ReadAll(c); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got % x %v, want to be cut off", got, err)
		}
	}
	until(t, "both are gone", func() bool { return r.Stats().Open == 0 })
}

// A browser that has gone looks like one that has ended its side, so a silent tunnel ends after a while. The other direction is kept when
// it pauses for less than the limit, and when its reader is slow for longer.
func TestHalfClosedSilence(t *testing.T) {
	for silence := time.Second; ; silence *= 4 { // in the end it is longer than the delays of a busy machine
		err := halfClosed(t, silence)
		if err == nil {
			return
		}
		if silence >= 16*time.Second {
			t.Fatal(err)
		}
		t.Logf("with %v: %v", silence, err)
	}
}

func halfClosed(t *testing.T, silence time.Duration) error {
	over := make(chan struct{})
	defer close(over)
	deaf := serve(t, func(net.Conn) { <-over })
	r, address := startImpatientRelay(t, &Dialer{Policy: Policy{Exempt: []string{deaf.addr()}}}, time.Minute, silence)
	c := tunnelTo(t, address, "127.0.0.1", deaf.port())
	c.CloseWrite()
	until(t, "the silent tunnel ends", func() bool { return r.Stats().Open == 0 })

	const size = 64 << 20 // more than the buffers between there and here hold
	slow := serve(t, func(c net.Conn) {
		io.Copy(io.Discard, c)
		tick := time.NewTicker(silence / 8)
		defer tick.Stop()
		for range 4 {
			<-tick.C
			io.WriteString(c, "tick")
		}
		io.CopyN(c, zeros{}, size)
	})
	behindTLS, roots := overTLS(t, network{"site.test:7": slow.addr()}.connect(nil))
	for name, d := range map[string]*Dialer{
		"direct": {Policy: Policy{Exempt: []string{slow.addr()}}},
		"https":  {Policy: nearby, Upstream: upstream(HTTPS, serve(t, behindTLS), "", ""), RootCAs: roots},
	} {
		r, address := startImpatientRelay(t, d, time.Minute, silence)
		host, port := "127.0.0.1", slow.port()
		if name == "https" {
			host, port = "site.test", 7
		}
		c := tunnelTo(t, address, host, port)
		c.CloseWrite()
		if got := string(take(c, 16)); got != "ticktickticktick" {
			return fmt.Errorf("%s: got %q", name, got)
		}
		read, _ := io.CopyN(io.Discard, c, 32<<20) // quickly, so that the buffers grow
		for range 3 {
			<-time.After(3 * silence / 2) // the tunnel is full meanwhile, and what waits is moved as one chunk
			n, _ := io.CopyN(io.Discard, c, 3<<20)
			read += n
		}
		if n, err := io.Copy(io.Discard, c); read+n != size || err != nil {
			return fmt.Errorf("%s: got %d bytes and %v", name, read+n, err)
		}
		until(t, "the tunnel ends", func() bool { return r.Stats().Open == 0 })
	}
	return nil
}

// Many proxies close a TLS connection without an alert. The bytes before that are complete all the same.
func TestTLSWithoutGoodbye(t *testing.T) {
	plain := make(chan net.Conn, 1)
	behindTLS, roots := overTLS(t, afterHead(func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		io.WriteString(c, "all of it")
		(<-plain).Close()
	}))
	s := serve(t, func(c net.Conn) { plain <- c; behindTLS(c) })
	_, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(HTTPS, s, "", ""), RootCAs: roots})
	if got, err := io.ReadAll(tunnelTo(t, address, "site.test", 7)); string(got) != "all of it" || err != nil {
		t.Errorf("got %q %v", got, err)
	}
}

// A client may send its whole half at once, data included, and nothing of it is lost.
func TestPipelinedClient(t *testing.T) {
	target := serve(t, echo)
	_, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{target.addr()}}})
	c := dialTCP(t, address)
	p := target.port()
	c.Write(append([]byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, byte(p >> 8), byte(p)}, "hello"...))
	if got, want := string(take(c, 17)), "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00hello"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRelayEarlyBytes(t *testing.T) {
	s := serve(t, afterHead(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n220 early\r\n"); echo(c) }))
	r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(HTTP, s, "", "")})
	c := tunnelTo(t, address, "site.test", 25)
	if got := string(take(c, 11)); got != "220 early\r\n" {
		t.Errorf("got %q", got)
	}
	roundTrip(t, c)
	until(t, "all is counted", func() bool { return r.Stats().BytesDown == 16 })
}

func TestAdmitAndSetDialer(t *testing.T) {
	one, two := serve(t, echo), serve(t, echo)
	r, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{one.addr()}}})
	first := tunnelTo(t, address, "127.0.0.1", one.port())
	r.SetDialer(&Dialer{Policy: Policy{Exempt: []string{two.addr()}}})
	second := tunnelTo(t, address, "127.0.0.1", two.port())
	if code := request(t, dialTCP(t, address), "127.0.0.1", one.port()); code != 2 {
		t.Errorf("the old dialer still answers: reply %d", code)
	}
	r.Admit(func(c net.Conn) error { return errors.New("a stranger") })
	if got, _ := io.ReadAll(dialTCP(t, address)); len(got) > 0 {
		t.Errorf("a stranger got % x", got)
	}
	until(t, "the stranger is counted", func() bool { return r.Stats().Refused == 2 })
	roundTrip(t, first)
	roundTrip(t, second)
	r.Admit(nil)
	roundTrip(t, tunnelTo(t, address, "127.0.0.1", two.port()))
}

// Close ends tunnels in any state (waiting for a greeting, dialling, idle, moving, stuck), and nothing is left.
func TestCloseLeavesNothing(t *testing.T) {
	before, socketsBefore := goleak.IgnoreCurrent(), sockets()
	target := serve(t, echo)
	over := make(chan struct{})
	deaf := serve(t, func(net.Conn) { <-over }) // never reads: the tunnel fills up
	hangs := serve(t, play())
	r, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{target.addr(), deaf.addr()}}})
	var clients []*net.TCPConn
	client := func(c *net.TCPConn) *net.TCPConn { clients = append(clients, c); return c }
	client(dialTCP(t, address))
	client(dialTCP(t, address)).Write([]byte{5, 1})
	for range 20 {
		roundTrip(t, client(tunnelTo(t, address, "127.0.0.1", target.port())))
	}
	stuck := client(tunnelTo(t, address, "127.0.0.1", deaf.port()))
	stuck.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	io.Copy(stuck, zeros{})
	r.SetDialer(&Dialer{Policy: nearby, Upstream: upstream(SOCKS5, hangs, "", ""), Timeout: time.Hour})
	client(dialTCP(t, address)).Write([]byte{5, 1, 0, 5, 1, 0, 3, 1, 'a', 0, 80})
	until(t, "the dial hangs at its upstream", func() bool { return hangs.count() == 1 })
	r.Close()
	if st := r.Stats(); st.Open != 0 || st.LastError != nil {
		t.Errorf("after Close: %+v", st)
	}
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("after Close the relay still listens")
	}
	r.Close() // twice is no harm
	close(over)
	for _, s := range []*server{target, deaf, hangs} {
		s.close()
	}
	for _, c := range clients {
		c.Close()
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if n := sockets(); n != socketsBefore {
		t.Errorf("open sockets: got %d, want %d as before", n, socketsBefore)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// A relay that is closed before it serves accepts nothing.
func TestServeAfterClose(t *testing.T) {
	r := NewRelay(&Dialer{}, nil)
	r.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(l); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it listens")
	}
}

// A listener that fails once, as one does without descriptors, is asked again.
func TestAcceptErrorIsSurvived(t *testing.T) {
	target := serve(t, echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := NewRelay(&Dialer{Policy: Policy{Exempt: []string{target.addr()}}}, nil)
	done := make(chan error, 1)
	go func() { done <- r.Serve(&flaky{Listener: l, left: 3}) }()
	roundTrip(t, tunnelTo(t, l.Addr().String(), "127.0.0.1", target.port()))
	r.Close()
	<-done
}

type flaky struct {
	net.Listener
	left int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.left--; f.left >= 0 {
		return nil, errors.New("accept: too many open files")
	}
	return f.Listener.Accept()
}

// Thousands of tunnels are opened concurrently, and each gets its own bytes.
func TestManyTunnels(t *testing.T) {
	n := 2000
	if limit := openFiles(); limit > 0 && limit < uint64(5*n) {
		n = int(limit / 5) // in this process a tunnel has four descriptors, the test's own two among them
	}
	target := serve(t, echo)
	r, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{target.addr()}}, Timeout: time.Minute})
	var wg sync.WaitGroup
	work := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range work {
				c := dialTCP(t, address)
				word := fmt.Sprintf("tunnel %06d", i)
				if code := request(t, c, "127.0.0.1", target.port()); code != 0 {
					t.Errorf("reply %d", code)
				}
				io.WriteString(c, word)
				if got := string(take(c, len(word))); got != word {
					t.Errorf("got %q, want %q", got, word)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	if st := r.Stats(); st.Open != int64(n) || st.Total != int64(n) {
		t.Errorf("stats: %+v, want %d open", st, n)
	}
}
