package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Servers for the tests: proxies of every type, a site behind them, and a canary that counts connections which must not be made.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit is how long a test waits for what should happen at once.
const waitLimit = 20 * time.Second

// server is a TCP server of one test. Every connection runs handle. All are closed and awaited at the end.
type server struct {
	l      net.Listener
	handle func(net.Conn)

	mu    sync.Mutex
	conns map[net.Conn]bool
	taken int
	got   bytes.Buffer // everything that clients sent
	wg    sync.WaitGroup
}

func serve(t testing.TB, handle func(net.Conn)) *server {
	t.Helper()
	return serveOn(t, "127.0.0.1:0", handle)
}

// closed is a server that has ended: its port refuses connections. The port is below those that a system gives by itself, so that no
// other process gets it meanwhile (Linux: 32768 to 60999; RFC 6335: from 49152 on).
func closed(t testing.TB) *server {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
		if err != nil {
			continue
		}
		s := &server{l: l, conns: map[net.Conn]bool{}}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Fatal("no port is free")
	return nil
}

func serveOn(t testing.TB, address string, handle func(net.Conn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{l: l, handle: handle, conns: map[net.Conn]bool{}}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.taken++
			s.conns[c] = true
			s.mu.Unlock()
			s.wg.Go(func() {
				handle(recorded{c, s})
				c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			})
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *server) close() {
	s.l.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *server) addr() string { return s.l.Addr().String() }

func (s *server) port() int { return s.l.Addr().(*net.TCPAddr).Port }

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

func (s *server) received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// recorded records what the client sends. It hides the connection's own methods to copy, which would bypass Read.
type recorded struct {
	net.Conn
	s *server
}

func (r recorded) CloseWrite() error { return closeWrite(r.Conn) }

func (r recorded) resetOnClose() { r.Conn.(*net.TCPConn).SetLinger(0) }

func (r recorded) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.got.Len() < 1<<16 {
		r.s.got.Write(b[:n])
	}
	return n, err
}

// canary returns a server that must get no connection.
func canary(t testing.TB) *server {
	t.Helper()
	s := serve(t, func(net.Conn) {})
	t.Cleanup(func() {
		if n := s.count(); n != 0 {
			t.Errorf("direct connections to the canary: got %d, want 0", n)
		}
	})
	return s
}

// network maps names to the addresses where the tests' proxies find them. Only the proxies resolve.
type network map[string]string

func (n network) dial(target string) (net.Conn, error) {
	real, ok := n[target]
	if !ok {
		return nil, errors.New("unknown target")
	}
	return net.Dial("tcp", real)
}

// join relays bytes and half-closes in both directions.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(b, a); closeWrite(b) })
	io.Copy(a, b)
	closeWrite(a)
	wg.Wait()
	b.Close()
}

type credentials struct{ user, pass string }

// socks5 is a SOCKS5 server. It demands the credentials unless they are nil.
func (n network) socks5(want *credentials) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReaderSize(c, 16) // reads no more than there is, and nothing follows before the answer
		head := take(r, 2)
		methods := take(r, int(at(head, 1)))
		method := byte(0)
		if want != nil {
			method = 2
		}
		if at(head, 0) != 5 || !bytes.Contains(methods, []byte{method}) {
			c.Write([]byte{5, 0xff})
			return
		}
		c.Write([]byte{5, method})
		if want != nil {
			take(r, 1)
			user := take(r, int(at(take(r, 1), 0)))
			pass := take(r, int(at(take(r, 1), 0)))
			if string(user) != want.user || string(pass) != want.pass {
				c.Write([]byte{1, 1})
				return
			}
			c.Write([]byte{1, 0})
		}
		head = take(r, 4)
		host := ""
		switch at(head, 3) {
		case 1:
			host = net.IP(take(r, 4)).String()
		case 3:
			host = string(take(r, int(at(take(r, 1), 0))))
		case 4:
			host = net.IP(take(r, 16)).String()
		}
		up, err := n.dial(net.JoinHostPort(host, port16(take(r, 2))))
		if err != nil {
			c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		join(c, up)
	}
}

// socks4 is a SOCKS4a server. want is the user name that it demands.
func (n network) socks4(want string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReaderSize(c, 16)
		head := take(r, 8)
		user := take0(r)
		host := net.IP(head[4:8]).String()
		if bytes.HasPrefix(head[4:], []byte{0, 0, 0}) {
			host = take0(r)
		}
		if user != want {
			c.Write([]byte{0, 0x5d, 0, 0, 0, 0, 0, 0})
			return
		}
		up, err := n.dial(net.JoinHostPort(host, port16(head[2:4])))
		if err != nil {
			c.Write([]byte{0, 0x5b, 0, 0, 0, 0, 0, 0})
			return
		}
		c.Write([]byte{0, 0x5a, 0, 0, 0, 0, 0, 0})
		join(c, up)
	}
}

// connect is an HTTP proxy. It demands the credentials unless they are nil.
func (n network) connect(want *credentials) func(net.Conn) {
	return func(c net.Conn) {
		rq, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil || rq.Method != http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
			return
		}
		if want != nil &&
			rq.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(want.user+":"+want.pass)) {
			io.WriteString(c,
				"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
			return
		}
		up, err := n.dial(rq.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
		join(c, up)
	}
}

// overTLS serves handle behind TLS with a certificate for 127.0.0.1 and example.com, and returns the roots that trust it.
func overTLS(t testing.TB, handle func(net.Conn)) (func(net.Conn), *x509.CertPool) {
	t.Helper()
	ts := httptest.NewUnstartedServer(nil)
	ts.StartTLS()
	cert := ts.TLS.Certificates[0]
	pool := x509.NewCertPool()
	pool.AddCert(ts.Certificate())
	ts.Close()
	return func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		defer s.Close()
		handle(s)
	}, pool
}

func take(r io.Reader, n int) []byte {
	b := make([]byte, n)
	io.ReadFull(r, b)
	return b
}

func take0(r *bufio.Reader) string {
	s, _ := r.ReadString(0)
	return strings.TrimSuffix(s, "\x00")
}

func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func port16(b []byte) string { return strconv.Itoa(int(at(b, 0))<<8 | int(at(b, 1))) }

// echo sends back what it reads, and ends its side when the client does.
func echo(c net.Conn) {
	io.Copy(c, c)
	closeWrite(c)
}

// site answers every request with body.
func site(status int, header, body string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			rq, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), header, body)
			if rq.Close {
				return
			}
		}
	}
}

// nearby is a policy under which the tests' own proxy servers may be dialled.
var nearby = Policy{AllowPrivate: true}

// upstream returns the Proxy for a test's server.
func upstream(typ Type, s *server, user, pass string) *Proxy {
	return &Proxy{Type: typ, Host: "127.0.0.1", Port: s.port(), Username: user, Password: pass}
}

// wantFault wants an *Error with the stage and code, and a message.
func wantFault(t testing.TB, err error, stage Stage, code Code) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got error %v (%T), want an *Error of %s/%s", err, err, stage, code)
	}
	if e.Stage != stage || e.Code != code {
		t.Errorf("got %s/%s (%s; cause: %v), want %s/%s", e.Stage, e.Code, e.Message, e.Err, stage, code)
	}
	if e.Message == "" {
		t.Error("the error has no message")
	}
}

// roundTrip sends bytes through an echo server and reads them back.
func roundTrip(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetDeadline(time.Now().Add(waitLimit))
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if got := string(take(c, 5)); got != "hello" {
		t.Fatalf("echo: got %q, want %q", got, "hello")
	}
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
