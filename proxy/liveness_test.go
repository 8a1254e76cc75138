package proxy

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// failsOver sends connections through a relay whose first route is up. It returns the fail-over, or nil when there was none.
func failsOver(t *testing.T, up *Proxy, roots *Dialer, requests int) (moved *Failover, elapsed time.Duration) {
	t.Helper()
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	first := &Dialer{Policy: nearby, Upstream: up}
	if roots != nil {
		first.RootCAs = roots.RootCAs
	}
	r, address := startRelay(t, nil)
	r.failoverTimeout = time.Second
	moves := make(chan Failover, 10)
	r.OnFailover(func(m Failover) { moves <- m })
	r.SetRoutes([]Route{{"first", first}, through("next", serve(t, names.socks5(&credentials{"user", "pass"})))}, 0, false)
	began := time.Now()
	for range requests {
		c := dialTCP(t, address)
		if askFor(c, "site.test", 7) == nil {
			roundTrip(t, c)
		}
	}
	select {
	case m := <-moves:
		return &m, time.Since(began)
	default:
		return nil, time.Since(began)
	}
}

// TestDeadProxiesFailOver: a relay leaves a proxy of any type that is silent, gone, or refuses the login, within one request.
func TestDeadProxiesFailOver(t *testing.T) {
	gone := closed(t)
	wrong := &credentials{"user", "right"}
	frozen := listenOnly(t)
	behindTLS := func(handle func(net.Conn)) func(net.Conn) { h, _ := overTLS(t, handle); return h }
	_, roots := overTLS(t, echo)
	silent := play(step{1, ""})
	for name, tc := range map[string]struct {
		up    *Proxy
		stage Stage
		code  Code
	}{
		"http frozen":   {&Proxy{Type: HTTP, Host: "127.0.0.1", Port: frozen}, StageRequest, TimedOut},
		"https frozen":  {&Proxy{Type: HTTPS, Host: "127.0.0.1", Port: frozen}, StageTLS, TimedOut},
		"socks4 frozen": {&Proxy{Type: SOCKS4, Host: "127.0.0.1", Port: frozen}, StageRequest, TimedOut},
		"socks5 frozen": {&Proxy{Type: SOCKS5, Host: "127.0.0.1", Port: frozen, Username: "user", Password: "pass"},
			StageGreeting, TimedOut},
		"http silent":             {upstream(HTTP, serve(t, silent), "", ""), StageRequest, TimedOut},
		"https silent behind TLS": {upstream(HTTPS, serve(t, behindTLS(silent)), "", ""), StageRequest, TimedOut},
		"socks4 silent":           {upstream(SOCKS4, serve(t, silent), "", ""), StageRequest, TimedOut},
		"http hangs up":           {upstream(HTTP, serve(t, func(c net.Conn) { take(c, 1) }), "", ""), StageRequest, ConnectionClosed},
		"socks4 hangs up":         {upstream(SOCKS4, serve(t, func(c net.Conn) { take(c, 1) }), "", ""), StageRequest, ConnectionClosed},
		"http gone":               {upstream(HTTP, gone, "", ""), StageConnect, ConnectionRefused},
		"http wrong password":     {upstream(HTTP, serve(t, network{}.connect(wrong)), "user", "pass"), StageAuth, AuthFailed},
		"http wrong password by 401": {upstream(HTTP, serve(t, says("HTTP/1.0 401 Unauthorized\r\n\r\n")), "user", "pass"), StageAuth,
			AuthFailed},
		"https wrong password": {upstream(HTTPS, serve(t, behindTLS(network{}.connect(wrong))), "user", "pass"), StageAuth,
			AuthFailed},
		"socks5 wrong password": {upstream(SOCKS5, serve(t, network{}.socks5(wrong)), "user", "pass"), StageAuth, AuthFailed},
		"socks4 wrong user":     {upstream(SOCKS4, serve(t, network{}.socks4("right")), "user", ""), StageAuth, AuthFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moved, took := failsOver(t, tc.up, &Dialer{RootCAs: roots}, 1)
			if moved == nil || moved.Cause.Stage != tc.stage || moved.Cause.Code != tc.code {
				t.Fatalf("after %v: %+v, want %s/%s", took, moved, tc.stage, tc.code)
			}
		})
	}
}

// listenOnly returns the port of a listener that accepts no connections, like a frozen process.
func listenOnly(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// TestSlowTargetsKeepTheProxy: a proxy that is silent because its target is slow stays in use.
func TestSlowTargetsKeepTheProxy(t *testing.T) {
	slowHTTP := func(c net.Conn) {
		rq, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil || rq.Method != http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return
		}
		io.Copy(io.Discard, c) // the target does not answer
	}
	slowSOCKS4 := func(c net.Conn) {
		if head := take(c, 9); at(head, 7) == 0 {
			io.WriteString(c, "\x00\x5b\x00\x00\x00\x00\x00\x00")
			return
		}
		io.Copy(io.Discard, c)
	}
	gaveUp := func(c net.Conn) { // it closes without an answer when the target is silent
		rq, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil || rq.Method != http.MethodConnect {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}
	}
	behindTLS, roots := overTLS(t, slowHTTP)
	for name, up := range map[string]*Proxy{
		"http": upstream(HTTP, serve(t, slowHTTP), "", ""), "https": upstream(HTTPS, serve(t, behindTLS), "", ""),
		"socks4":         upstream(SOCKS4, serve(t, slowSOCKS4), "", ""),
		"socks5":         upstream(SOCKS5, serve(t, play(step{greetingLen, "\x05\x02"}, step{3 + 8, "\x01\x00"})), "user", "pass"),
		"http, hangs up": upstream(HTTP, serve(t, gaveUp), "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if moved, _ := failsOver(t, up, &Dialer{RootCAs: roots}, 3); moved != nil {
				t.Fatalf("it was given up: %+v", moved.Cause)
			}
		})
	}
}

// TestServersThatWantTLS: a check says that a server expects TLS, whether without it the server is silent, hangs up or complains.
func TestServersThatWantTLS(t *testing.T) {
	behindTLS, _ := overTLS(t, echo)
	site := httptest.NewUnstartedServer(http.NotFoundHandler())
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	t.Cleanup(site.Close)
	patient := func(c net.Conn) { // it waits for a whole record, as OpenSSL does
		b := take(c, 1)
		if at(b, 0) != 0x16 {
			io.Copy(io.Discard, c)
			return
		}
		behindTLS(&earlyConn{c, b})
	}
	curt := func(c net.Conn) {
		if b := take(c, 1); at(b, 0) == 0x16 {
			behindTLS(&earlyConn{c, b})
		}
	}
	for name, handle := range map[string]func(net.Conn){"answers in TLS": behindTLS, "is silent": patient, "hangs up": curt,
		"complains": nil} {
		for _, typ := range []Type{HTTP, SOCKS5, SOCKS4} {
			t.Run(name+" "+string(typ), func(t *testing.T) {
				t.Parallel()
				up := &Proxy{Type: typ, Host: "127.0.0.1", Port: site.Listener.Addr().(*net.TCPAddr).Port}
				if handle != nil {
					up = upstream(typ, serve(t, handle), "", "")
				}
				r := (&Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: 4 * time.Second}).Check(t.Context(), *up)
				wantFault(t, r.Err, StageGreeting, NotAProxy)
				if r.Err != nil && !strings.Contains(r.Err.Message, "TLS") {
					t.Error(r.Err.Message)
				}
			})
		}
	}
}
