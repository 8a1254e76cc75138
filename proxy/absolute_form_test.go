package proxy

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tunnel443Proxy is an HTTP proxy that gives tunnels to port 443 only, and takes plain requests in absolute form. It records their heads.
type tunnel443Proxy struct {
	network
	login *digestProxy // nil demands no login
	code  string

	mu    sync.Mutex
	heads []string
}

func (n *tunnel443Proxy) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		rq, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		n.mu.Lock()
		n.heads = append(n.heads, rq.Method+" "+rq.RequestURI)
		n.mu.Unlock()
		if rq.Method == http.MethodConnect && !strings.HasSuffix(rq.Host, ":443") {
			fmt.Fprintf(c, "HTTP/1.1 %s X\r\nContent-Length: 0\r\n\r\n", n.code)
			return
		}
		if n.login != nil {
			if stale, ok := n.login.takes(rq.Method, rq.RequestURI, rq.Header.Get("Proxy-Authorization")); !ok {
				fmt.Fprintf(c, "HTTP/1.1 407 X\r\nProxy-Authenticate: %s\r\nContent-Length: 0\r\n\r\n", n.login.challenge(stale))
				continue
			}
		}
		if rq.URL.Scheme != "http" {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		up, err := n.dial(net.JoinHostPort(rq.URL.Hostname(), "80"))
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n")
			continue
		}
		rq.Header.Del("Proxy-Authorization")
		if rq.Header.Get("User-Agent") == "" {
			rq.Header.Set("User-Agent", "")
		}
		go func() { rq.Write(up) }()
		ended := copyAnswer(c, up, rq)
		up.Close()
		if ended {
			return
		}
	}
}

// copyAnswer passes one answer on unchanged, with the interim ones before it. ended reports that the end of the connection ends it.
func copyAnswer(c io.Writer, up net.Conn, rq *http.Request) (ended bool) {
	tee := bufio.NewReader(io.TeeReader(up, c))
	for {
		resp, err := http.ReadResponse(tee, rq)
		if err != nil {
			return true
		}
		if resp.StatusCode >= 200 {
			io.Copy(io.Discard, resp.Body)
			return resp.Close || resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
		}
	}
}

// behindTunnel443Proxy returns a client of a plain site behind such a proxy and a relay.
func behindTunnel443Proxy(t *testing.T, n *tunnel443Proxy, handler http.Handler) (relay string, client *http.Client) {
	t.Helper()
	site := httptest.NewServer(handler)
	t.Cleanup(site.Close)
	n.network = network{"site.test:80": site.Listener.Addr().String()}
	n.code = "403"
	up := upstream(HTTP, serve(t, n.serve), "", "")
	if n.login != nil {
		up.Username, up.Password = n.login.user, n.login.pass
	}
	_, relay = startRelay(t, &Dialer{Policy: nearby, Upstream: up})
	tr := &http.Transport{DisableCompression: true, ExpectContinueTimeout: waitLimit,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return tunnelTo(t, relay, "site.test", 80), nil
		}}
	t.Cleanup(tr.CloseIdleConnections)
	return relay, &http.Client{Transport: tr, Timeout: waitLimit}
}

// ordinarySite is a site with a large body, and with a stream that waits for step.
func ordinarySite(big []byte, step chan bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, rq *http.Request) {
		fmt.Fprintf(w, "%s %s %q %q", rq.Host, rq.RequestURI, rq.Header["User-Agent"], rq.Header["X-Own"])
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(big)))
		w.Write(big)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, rq *http.Request) {
		b, _ := io.ReadAll(rq.Body)
		w.Header().Set("Trailer", "X-After")
		w.Write(b)
		w.Header().Set("X-After", fmt.Sprint(len(b)))
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		<-step
		io.WriteString(w, "two\n")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/tooLarge", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	return mux
}

// TestPlainSitesWithoutTunnels: an ordinary client uses a site through a proxy that gives no tunnel to port 80.
func TestPlainSitesWithoutTunnels(t *testing.T) {
	big := make([]byte, 3<<20)
	rand.Read(big)
	step := make(chan bool)
	mux := ordinarySite(big, step)
	for name, login := range map[string]*digestProxy{"no login": nil,
		"digest": {credentials: credentials{"user", "pass"}, algorithm: "SHA-256", qop: "auth", uses: 1000}} {
		t.Run(name, func(t *testing.T) {
			n := &tunnel443Proxy{login: login}
			_, client := behindTunnel443Proxy(t, n, mux)
			want := func(method, path, body, header, answer string) *http.Response {
				t.Helper()
				rq, _ := http.NewRequest(method, "http://site.test"+path, strings.NewReader(body))
				if body == "" {
					rq.Body = nil
				}
				rq.Header.Set("User-Agent", "browser/1")
				for line := range strings.SplitSeq(header, "\n") {
					if k, v, ok := strings.Cut(line, ": "); ok {
						rq.Header.Set(k, v)
					}
				}
				resp, err := client.Do(rq)
				if err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); string(got) != answer || err != nil {
					t.Errorf("%s %s: %d bytes %.80q, %v; want %d bytes %.80q", method, path, len(got), got, err, len(answer), answer)
				}
				return resp
			}
			want("GET", "/hello?a=b|c%7E//", "", "X-Own: 1", `site.test /hello?a=b|c%7E// ["browser/1"] ["1"]`)
			want("GET", "/hello", "", "Connection: X-Own\nX-Own: 1", `site.test /hello ["browser/1"] []`)
			want("GET", "/big", "", "", string(big))
			want("POST", "/echo", string(big), "", string(big))
			if resp := want("POST", "/echo", string(big[:9999]), "Expect: 100-continue",
				string(big[:9999])); resp.Trailer.Get("X-After") != "9999" {
				t.Errorf("trailer: %v", resp.Trailer)
			}
			if resp := want("HEAD", "/big", "", "", ""); resp.ContentLength != int64(len(big)) {
				t.Errorf("HEAD: %d", resp.ContentLength)
			}
			want("GET", "/hints", "", "", "")
			want("POST", "/tooLarge", string(big), "", "")
			rq, _ := http.NewRequest("GET", "http://site.test/stream", nil)
			resp, err := client.Do(rq)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(take(resp.Body, 4)); got != "one\n" { // it comes before the site has sent the rest
				t.Errorf("the first part of a stream: %q", got)
			}
			step <- true
			if got, err := io.ReadAll(resp.Body); string(got) != "two\n" || err != nil {
				t.Errorf("the rest of it: %q, %v", got, err)
			}
			resp.Body.Close()
			connects := 0
			for _, head := range n.heads {
				if strings.HasPrefix(head, "CONNECT") {
					connects++
				} else if !strings.Contains(head, " http://site.test/") {
					t.Errorf("the proxy was asked %q", head)
				}
			}
			if connects != 1 {
				t.Errorf("it was asked for a tunnel %d times, want once", connects)
			}
		})
	}
}

// TestPlainSitesToTheLetter: broken exchanges end as they should, and no request is passed on unread. It reads best as one table.
func TestPlainSitesToTheLetter(t *testing.T) {
	hit := make(chan string, 100)
	n := &tunnel443Proxy{}
	relay, _ := behindTunnel443Proxy(t, n, http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		b, _ := io.ReadAll(rq.Body)
		hit <- fmt.Sprintf("%s %s %s %v", rq.Method, rq.RequestURI, b, rq.Header["User-Agent"])
		switch rq.URL.Path {
		case "/closes":
			c, rw, _ := w.(http.Hijacker).Hijack()
			rw.WriteString("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")
			rw.Flush()
			c.Close()
		case "/breaks":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		default:
			io.WriteString(w, "ok")
		}
	}))
	const end = "Host: site.test\r\n"
	for name, tc := range map[string]struct {
		says  string
		heads []string // how each answer begins
		hits  []string
		reset bool
	}{
		"pipelined": {"GET /1 HTTP/1.1\r\n" + end + "\r\nGET /2 HTTP/1.1\r\n" + end + "\r\n",
			[]string{"HTTP/1.1 200", "HTTP/1.1 200"}, []string{"GET /1  []", "GET /2  []"}, false},
		"a body until the end": {"GET /closes HTTP/1.1\r\n" + end + "\r\n", []string{"HTTP/1.1 200"}, []string{"GET /closes  []"},
			false},
		"half a body": {"GET /breaks HTTP/1.1\r\n" + end + "\r\n", nil, []string{"GET /breaks  []"}, true},
		"length and chunks": {"POST /s HTTP/1.1\r\n" + end +
			"Content-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: site.test\r\n\r\n",
			[]string{"HTTP/1.1 200", "HTTP/1.1 200"}, []string{"POST /s  []", "GET /smuggled  []"}, false},
		"two lengths":            {"POST /s HTTP/1.1\r\n" + end + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", nil, nil, true},
		"chunks of another kind": {"POST /s HTTP/1.1\r\n" + end + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", nil, nil, true},
		"another host":           {"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", []string{"HTTP/1.1 421"}, nil, false},
		"another port":           {"GET / HTTP/1.1\r\nHost: site.test:8080\r\n\r\n", []string{"HTTP/1.1 421"}, nil, false},
		"no host":                {"GET / HTTP/1.1\r\n\r\n", []string{"HTTP/1.1 421"}, nil, false},
		"a target of its own":    {"GET http://other.test/ HTTP/1.1\r\n" + end + "\r\n", []string{"HTTP/1.1 4"}, nil, false},
		"a tunnel in the tunnel": {"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n", []string{"HTTP/1.1 400"}, nil, false},
		"a WebSocket": {"GET /ws HTTP/1.1\r\n" + end + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
			[]string{"HTTP/1.1 501"}, nil, false},
		"TLS":                {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", nil, nil, true},
		"HTTP/2":             {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []string{"HTTP/1.1 400"}, nil, false},
		"nothing":            {"", nil, nil, false},
		"half a request":     {"GET / HTTP/1.1\r\nHo", nil, nil, true},
		"a head without end": {"GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 100_000), nil, nil, true},
		"an injected proxy login": {"GET /p HTTP/1.1\r\n" + end + "Proxy-Authorization: Basic eDp5\r\nProxy-Connection: x\r\n\r\n",
			[]string{"HTTP/1.1 200"}, []string{"GET /p  []"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := tunnelTo(t, relay, "site.test", 80)
			go func() { io.WriteString(c, tc.says); c.CloseWrite() }()
			c.SetReadDeadline(time.Now().Add(waitLimit))
			in := bufio.NewReader(c)
			var err error
			for _, want := range tc.heads {
				head, _ := in.Peek(len(want))
				if string(head) != want {
					t.Fatalf("it begins %q, want %q", head, want)
				}
				var resp *http.Response
				if resp, err = http.ReadResponse(in, nil); err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
			}
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			if tc.reset != errors.Is(err, syscall.ECONNRESET) || !tc.reset && err != nil {
				t.Errorf("the end is %v", err)
			}
			for _, want := range tc.hits {
				if got := <-hit; got != want {
					t.Errorf("the site got %q, want %q", got, want)
				}
			}
			if len(hit) > 0 {
				t.Errorf("the site also got %q", <-hit)
			}
		})
	}
}

// TestPlainHTTPInChecks: a check reports whether plain sites are reached, and a web server is still no proxy.
func TestPlainHTTPInChecks(t *testing.T) {
	plain := serve(t, site(200, "", "203.0.113.9"))
	behindTLS, roots := overTLS(t, site(200, "", "203.0.113.9"))
	names := network{"ip.test:80": plain.addr(), "gone.test:80": serve(t, func(c net.Conn) { c.Close() }).addr(),
		"example.com:443": serve(t, behindTLS).addr()}
	only443 := network{"example.com:443": names["example.com:443"]}
	n := &tunnel443Proxy{network: names, code: "403"}
	tunnelling := func(c net.Conn) {
		in := bufio.NewReader(c)
		if b, _ := in.Peek(30); strings.Contains(string(b), ":443 ") {
			names.connect(nil)(&buffered{c, in})
			return
		}
		n.serve(&buffered{c, in})
	}
	const secure, open = "https://example.com/", "http://ip.test/"
	for name, tc := range map[string]struct {
		handle func(net.Conn)
		typ    Type
		urls   []string
		plain  string
		ok     bool
		want   string
	}{
		"absolute form":  {tunnelling, HTTP, []string{secure}, open, true, "true"},
		"tunnels":        {names.connect(nil), HTTP, []string{secure}, open, true, "true"},
		"443 alone":      {only443.socks5(nil), SOCKS5, []string{secure}, open, true, "false"},
		"cut off":        {names.connect(nil), HTTP, []string{secure}, "http://gone.test/", true, "null"},
		"not asked":      {names.connect(nil), HTTP, []string{secure}, "", true, "null"},
		"asked anyway":   {names.connect(nil), HTTP, []string{open, secure}, "", true, "true"},
		"the second is":  {tunnelling, HTTP, []string{secure, open}, "", true, "true"},
		"a web server":   {says("HTTP/1.1 405 Not Allowed\r\n\r\n"), HTTP, []string{open}, "", false, "null"},
		"denied by name": {says("HTTP/1.1 403 Forbidden\r\n\r\n"), HTTP, []string{open}, "", false, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Checker{Policy: nearby, URLs: tc.urls, PlainURL: tc.plain, RootCAs: roots, Timeout: waitLimit}
			for range 2 {
				r := c.Check(t.Context(), *upstream(tc.typ, serve(t, tc.handle), "", ""))
				got := "null"
				if r.PlainHTTP != nil {
					got = fmt.Sprint(*r.PlainHTTP)
				}
				if r.OK != tc.ok || got != tc.want {
					t.Errorf("ok %v, plain %s, %v; want %v, %s", r.OK, got, r.Err, tc.ok, tc.want)
				}
				switch name {
				case "a web server":
					wantFault(t, r.Err, StageGreeting, NotAProxy)
				case "denied by name":
					wantFault(t, r.Err, StageRequest, RequestRefused)
				}
			}
		})
	}
}

// buffered is a connection whose first bytes were peeked at.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }

// plainRoutes is a client of a plain site over two routes. The first proxy gives no tunnels to the site, and can freeze.
type plainRoutes struct {
	tunnel443Proxy
	server *server
	relay  *Relay
	client *http.Client
	frozen atomic.Bool
	moves  chan Failover
}

func newPlainRoutes(t *testing.T, login *digestProxy, password string, handler http.Handler) *plainRoutes {
	site := httptest.NewServer(handler)
	t.Cleanup(site.Close)
	p := &plainRoutes{moves: make(chan Failover, 10)}
	p.login, p.code = login, "403"
	p.network = network{"site.test:80": site.Listener.Addr().String()}
	p.server = serve(t, func(c net.Conn) {
		if p.frozen.Load() {
			io.Copy(io.Discard, c)
			return
		}
		p.serve(c)
	})
	r, address := startRelay(t, nil)
	p.relay, r.failoverTimeout = r, time.Second
	r.OnFailover(func(m Failover) { p.moves <- m })
	first := &Dialer{Policy: nearby, Upstream: upstream(HTTP, p.server, "", "")}
	if login != nil {
		first.Upstream.Username, first.Upstream.Password = login.user, password
	}
	r.SetRoutes([]Route{{"first", first}, through("next", serve(t, p.network.socks5(&credentials{"user", "pass"})))}, 0, false)
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return tunnelTo(t, address, "site.test", 80), nil
	}}
	p.client = &http.Client{Transport: tr, Timeout: waitLimit}
	return p
}

// get returns the status of one request on a connection of its own, or 0 without an answer.
func (p *plainRoutes) get() int {
	resp, err := p.client.Get("http://site.test/")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// wantMove wants that the relay has failed over once, with this code.
func (p *plainRoutes) wantMove(t *testing.T, code Code) {
	t.Helper()
	if _, key := p.relay.Route(); key != "next" || len(p.moves) != 1 {
		t.Fatalf("%q is in use after %d moves", key, len(p.moves))
	}
	if m := <-p.moves; m.Cause.Code != code {
		t.Errorf("why: %v, want %s", m.Cause, code)
	}
}

// TestAbsoluteFormFailsOver: a relay leaves a proxy that takes plain requests and answers none, or refuses the login.
func TestAbsoluteFormFailsOver(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		p := newPlainRoutes(t, nil, "", ok)
		if got := p.get(); got != 200 {
			t.Fatalf("while it works: %d", got)
		}
		p.frozen.Store(true)
		if first, second := p.get(), p.get(); first != 0 || second != 200 {
			t.Errorf("the answers are %d and %d, want none and one through the next", first, second)
		}
		p.wantMove(t, TimedOut)
	})
	t.Run("login", func(t *testing.T) {
		t.Parallel()
		p := newPlainRoutes(t, &digestProxy{credentials: credentials{"user", "pass"}, algorithm: "SHA-256", qop: "auth", uses: 1000},
			"wrong", ok)
		if first, second := p.get(), p.get(); first != http.StatusBadGateway || second != 200 {
			t.Errorf("the answers are %d and %d, want 502 and one through the next", first, second)
		}
		p.wantMove(t, AuthFailed)
	})
}

// TestAbsoluteFormKeepsTheProxy: a site that demands a proxy's login, or answers late, causes no fail-over.
func TestAbsoluteFormKeepsTheProxy(t *testing.T) {
	var status atomic.Int32
	slow, asked := make(chan struct{}), make(chan struct{}, 10)
	p := newPlainRoutes(t, nil, "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if code := int(status.Load()); code != 0 {
			w.WriteHeader(code)
			return
		}
		asked <- struct{}{}
		<-slow
	}))
	answer := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(answer)
	status.Store(200)
	p.get()
	status.Store(http.StatusProxyAuthRequired)
	for range 3 {
		if got := p.get(); got != http.StatusBadGateway {
			t.Errorf("a site's 407 comes as %d", got)
		}
	}
	status.Store(0)
	looks := func() int { return strings.Count(p.server.received(), "GET / HTTP/1.1") }
	before, got := looks(), make(chan int, 1)
	go func() { got <- p.get() }()
	<-asked
	until(t, "the proxy is looked at", func() bool { return looks() > before })
	answer()
	if code := <-got; code != 200 {
		t.Errorf("a slow site's answer is %d", code)
	}
	if _, key := p.relay.Route(); key != "first" || len(p.moves) > 0 {
		t.Errorf("%q is in use", key)
	}
}
