package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/nodes"
	"warren/store"
	"warren/testnet"
)

// Tests the port that other servers of the database and clients share.

// twoNodes are two servers of one database. The first one has left it, and can still speak.
func twoNodes(t *testing.T) (a, b *nodes.Node) {
	t.Helper()
	url, first := testnet.Postgres(t), t.TempDir()
	join := func(dir string) *nodes.Node {
		st, err := store.Open(t.Context(), dir, store.Options{Database: url, SecretKeyFile: keyFileOf(first, dir)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		cfg := nodes.Config{Data: dir, Name: "n", Address: "http://127.0.0.1:1"}
		n, err := nodes.Join(t.Context(), cfg, slog.New(slog.DiscardHandler), st)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Leave)
		return n
	}
	a = join(first)
	a.Leave()
	return a, join(t.TempDir())
}

// keyFileOf is where a server finds the secret key that the first one has made.
func keyFileOf(first, dir string) string {
	if dir == first {
		return ""
	}
	return filepath.Join(first, "secret.key")
}

// serveEither serves a handler on a port for both, and returns its address.
func serveEither(t *testing.T, n *nodes.Node, limit int, patient time.Duration, h http.Handler) (address string, l *limitListener) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = newLimitListener(inner, limit, slog.New(slog.DiscardHandler))
	s := &http.Server{Handler: h, ConnState: l.connState, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(newEitherListener(l, n.ServerTLS(nil), patient)) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("it ended with %v", err)
		}
	})
	return inner.Addr().String(), l
}

// get sends a request through rt, and returns the answer's text.
func get(t *testing.T, rt http.RoundTripper, url string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// TestServersAndClientsOnOnePort: a server proves who it is, and a client cannot say that it is one. The connection of a client stays one
// that can be passed to the process of a run, and that of a server is none.
func TestServersAndClientsOnOnePort(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t)
	at, _ := serveEither(t, b, 10, time.Minute, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, system := conn.(syscall.Conn)
		fmt.Fprintf(rw, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npeer %q, descriptor %v", b.Peer(r), system)
		rw.Flush() //nolint:errcheck // then the answer is short
	}))
	client := &http.Transport{}
	for _, x := range []struct {
		to     http.RoundTripper
		header []string
		want   string
	}{
		{a.Transport(b.ID(), "http://"+at), nil, fmt.Sprintf("peer %q, descriptor false", a.ID())},
		{a.Transport(b.ID(), "http://"+at), []string{"X-Peer", b.ID()}, fmt.Sprintf("peer %q, descriptor false", a.ID())},
		{client, nil, `peer "", descriptor true`},
		{client, []string{"X-Peer", a.ID(), "Forwarded", "for=" + a.ID(), "X-Forwarded-Proto", "https", "X-Forwarded-Client-Cert",
			"Subject=\"CN=" + nodes.ServerName(a.ID()) + "\""}, `peer "", descriptor true`},
	} {
		if got, err := get(t, x.to, "http://"+at, x.header...); got != x.want || err != nil {
			t.Errorf("%q: %s, %v; want %s", x.header, got, err, x.want)
		}
	}
}

// TestSlowFirstByte: clients that say nothing hold up no other one.
func TestSlowFirstByte(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello") //nolint:errcheck // the client misses it
	})
	at, _ := serveEither(t, b, 100, time.Hour, hello)
	for range 50 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	client := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: enough}
	for _, to := range []http.RoundTripper{client, a.Transport(b.ID(), "http://"+at)} {
		for range 10 {
			if got, err := get(t, to, "http://"+at); got != "hello" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
	}
}

// TestNoFirstByte: a client that says nothing is closed in time, as one that goes at once is, and leaves its place.
func TestNoFirstByte(t *testing.T) {
	t.Parallel()
	_, b := twoNodes(t)
	at, l := serveEither(t, b, 100, 500*time.Millisecond, http.NotFoundHandler())
	for _, stays := range []bool{true, false} {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !stays {
			c.Close() //nolint:errcheck // it goes
		} else if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("a silent one: %v", err)
		}
		waitFor(t, "its place is free", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.open == 0 && l.unused.Len() == 0
		})
	}
}

// TestServersCount: connections of other servers take places as those of clients do. An idle one goes for a new one.
func TestServersCount(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t)
	atWork, done := make(chan struct{}), make(chan struct{})
	at, l := serveEither(t, b, 2, time.Minute, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			atWork <- struct{}{}
			<-done
		}
	}))
	to := a.Transport(b.ID(), "http://"+at)
	worked := make(chan error, 1)
	go func() {
		_, err := get(t, to, "http://"+at+"/work")
		worked <- err
	}()
	<-atWork
	if _, err := get(t, to, "http://"+at); err != nil { // stays idle
		t.Fatal(err)
	}
	counts := func() (open, idle int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open, l.idle.Len()
	}
	waitFor(t, "one is idle", func() bool { open, idle := counts(); return open == 2 && idle == 1 })
	if _, err := get(t, &http.Transport{DisableKeepAlives: true}, "http://"+at); err != nil {
		t.Errorf("a client at the limit: %v", err)
	}
	waitFor(t, "the idle one has gone", func() bool { open, idle := counts(); return open == 1 && idle == 0 })
	close(done)
	if err := <-worked; err != nil {
		t.Errorf("the request at work: %v", err)
	}
}

// TestServersAtTheAPI: the API answers other servers on its port, with or without a certificate of its own, and clients as before.
func TestServersAtTheAPI(t *testing.T) {
	t.Parallel()
	public := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate for example.com and 127.0.0.1
	defer public.Close()
	roots := x509.NewCertPool()
	roots.AddCert(public.Certificate())
	for _, own := range []*tls.Config{nil, {MinVersion: tls.VersionTLS12, Certificates: public.TLS.Certificates}} {
		a, b := twoNodes(t)
		s := newAPI(t, func(c *setup) { c.Node, c.TLS = b, own })
		scheme, at, _ := strings.Cut(s.base, "://")
		client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer client.CloseIdleConnections()
		to := a.Transport(b.ID(), s.base)
		defer (&http.Client{Transport: to}).CloseIdleConnections()
		for rt, url := range map[http.RoundTripper]string{to: "https://" + at, client: s.base} {
			got, err := get(t, rt, url+Prefix+"/nodes", "Authorization", "Bearer "+testAdminKey)
			if err != nil || !strings.Contains(got, b.ID()) {
				t.Errorf("%s: %s, %v", scheme, got, err)
			}
		}
		stranger := &http.Transport{TLSClientConfig: &tls.Config{ServerName: nodes.ServerName(b.ID()),
			InsecureSkipVerify: true}} //nolint:gosec // it is refused whatever it believes
		if got, err := get(t, stranger, "https://"+at+"/livez"); err == nil { // the reason may be lost when the server closes
			t.Errorf("%s: a client that calls itself a server: %s, %v", scheme, got, err)
		}
	}
}

// TestSocketsOnASharedPort: the socket of a client goes to the process of the run as before. That of another server does not, since the
// process cannot decrypt it; the server carries its bytes.
func TestSocketsOnASharedPort(t *testing.T) {
	t.Parallel()
	a, b := twoNodes(t)
	s, run := newFakeRun(t, func(c *setup) { c.Node = b })
	takes, err := filepath.Glob(filepath.Join(s.dir, "run", "*.sock"))
	if err != nil || len(takes) != 1 {
		t.Fatal(takes, err)
	}
	l, err := net.Listen("unix", strings.TrimSuffix(takes[0], ".sock")+".take")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go takeSockets(t, l)
	at := strings.TrimPrefix(s.base, "http://")
	path := "/cdp/" + run.secret + "/devtools/browser/x"
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key",
		"AAAAAAAAAAAAAAAAAAAAAA=="}
	got, err := get(t, &http.Transport{}, s.base+path, upgrade...)
	if got != "taken" || err != nil {
		t.Errorf("a client: %q, %v", got, err)
	}
	before := len(run.Requests())
	to := a.Transport(b.ID(), s.base)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(upgrade); i += 2 {
		req.Header.Set(upgrade[i], upgrade[i+1])
	}
	res, err := to.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if after := len(run.Requests()); after != before+1 || res.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("another server: %s, %d requests", res.Status, after-before)
	}
}

// takeSockets receives sockets as the process of a run does, and answers on each.
func takeSockets(t *testing.T, l net.Listener) {
	for {
		line, err := l.Accept()
		if err != nil {
			return
		}
		message, rights := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(4))
		_, n, _, _, err := line.(*net.UnixConn).ReadMsgUnix(message, rights)
		if err != nil {
			t.Error(err)
			return
		}
		parsed, err := syscall.ParseSocketControlMessage(rights[:n])
		if err != nil || len(parsed) != 1 {
			t.Error(parsed, err)
			return
		}
		fds, err := syscall.ParseUnixRights(&parsed[0])
		if err != nil {
			t.Error(err)
			return
		}
		file := os.NewFile(uintptr(fds[0]), "taken")
		fmt.Fprint(file, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken") //nolint:errcheck // the client misses it
		file.Close()                                                          //nolint:errcheck // it was written
		line.Close()                                                          //nolint:errcheck // the socket was taken
	}
}
