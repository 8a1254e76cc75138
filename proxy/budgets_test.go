package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// counted counts the bytes that are read on this side.
type counted struct {
	net.Conn
	read int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read += n
	return n, err
}

func dialCounted(t *testing.T, s *server, d time.Duration) *counted {
	t.Helper()
	raw, err := net.Dial("tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(d))
	return &counted{Conn: raw}
}

// Whatever an upstream sends, 1 GB of it or 100,000 headers, no kind of handshake reads more than its budget.
func TestHandshakeBudget(t *testing.T) {
	dest, _ := parseTarget("site.test:7")
	for _, e := range append(append(misbehavingSOCKS(), misbehavingHTTP()...), misbehavingTLS(t)...) {
		if e.code == TimedOut && !strings.Contains(e.name, "one byte at a time") {
			continue // these send next to nothing
		}
		for _, whole := range []bool{true, false} {
			if whole && e.typ != SOCKS5 {
				continue
			}
			limit := waitLimit
			if e.code == TimedOut {
				limit = 200 * time.Millisecond
			}
			c := dialCounted(t, serve(t, e.handle), limit)
			p, h, budget := &Proxy{Type: e.typ, Host: "127.0.0.1", Port: 1}, &handshake{}, connectBudget
			if e.login {
				p.Username, p.Password = testUser, testPass
			}
			if whole {
				h.pipelined = pipelinedHandshake(p, dest)
			}
			var fault *Error
			switch e.typ {
			case HTTPS:
				_, fault = startTLS(c, "example.com", nil)
			case SOCKS5:
				budget = maxSOCKS5Answer
				fallthrough
			default:
				_, fault = negotiate(c, p, dest, h)
			}
			if fault == nil || c.read > budget {
				t.Errorf("%s: %d bytes were read, want %d at most (%v)", e.name, c.read, budget, fault)
			}
		}
	}
}

// Nor does a check read more of a check URL's answer than its budget.
func TestAnswerBudget(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	c := &Checker{URLs: []string{"http://ip.test/"}, MaxBytes: 8 << 10}
	q, err := c.request(c.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][2]string{
		"1 GB body":         {head + "Content-Length: 1073741824\r\n\r\n", strings.Repeat("1", 1<<16)},
		"body without end":  {head + "\r\n", strings.Repeat("1", 1<<16)},
		"chunks":            {head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n1\r\n"},
		"chunk extensions":  {head + "Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("x", 1<<16)},
		"a trailer":         {head + "Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n", "X: y\r\n"},
		"100,000 headers":   {head, "X-Header: and its value\r\n"},
		"one long header":   {head + "X: ", strings.Repeat("y", 1<<16)},
		"interim answers":   {"", "HTTP/1.1 100 Continue\r\n\r\n"},
		"a 1 GB banner":     {"", "welcome to this server "},
		"407 for ever":      {"", "HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n"},
		"empty lines alone": {"", "\r\n"},
	} {
		conn := dialCounted(t, serve(t, afterHead(func(c net.Conn) {
			io.WriteString(c, text[0])
			repeatForever(strings.Repeat(text[1], 1+1000/len(text[1])))(c)
		})), waitLimit)
		_, _, fault := c.fetch(conn, q)
		if limit := int(c.MaxBytes) + answerHeadBudget; fault == nil || fault.Stage != StageResponse || fault.Code != BadResponse ||
			conn.read > limit {
			t.Errorf("%s: %d bytes were read, want %d at most (%v)", name, conn.read, limit, fault)
		}
		conn.Close()
	}
}

// certificate returns one for 127.0.0.1 and example.com that is valid until then, and the roots that trust it.
func certificate(t *testing.T, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-time.Hour), NotAfter: until, IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"example.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	text, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, pool
}

// An untrusted certificate of the proxy or of the check URL ends the check, and the message says why.
func TestBadCertificates(t *testing.T) {
	expired, trustExpired := certificate(t, time.Now().Add(-time.Minute))
	good, trustGood := certificate(t, time.Now().Add(time.Hour))
	answer := site(http.StatusOK, "", "203.0.113.9")
	with := func(cert tls.Certificate, handle func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
			defer s.Close()
			handle(s)
		}
	}
	plain := serve(t, answer)
	for name, tc := range map[string]struct {
		cert  tls.Certificate
		roots *x509.CertPool
		host  string
		says  string // "" for a good one
	}{
		"good":            {good, trustGood, "example.com", ""},
		"expired":         {expired, trustExpired, "example.com", "expired"},
		"of another name": {good, trustGood, "other.test", "another name"},
		"of nobody":       {good, x509.NewCertPool(), "example.com", "nobody"},
	} {
		secure := serve(t, with(tc.cert, answer))
		names := network{tc.host + ":443": secure.addr(), "ip.test:80": plain.addr()}
		up := upstream(HTTPS, serve(t, with(tc.cert, names.connect(nil))), "", "")
		if tc.host == "other.test" {
			up.Host = "localhost" // the certificate does not have this name
		}
		for what, r := range map[string]Result{
			"proxy": (&Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, RootCAs: tc.roots}).Check(t.Context(), *up),
			"check URL": (&Checker{Policy: nearby, URLs: []string{"https://" + tc.host + "/"}, RootCAs: tc.roots}).Check(t.Context(),
				*upstream(SOCKS5, serve(t, names.socks5(nil)), "", "")),
		} {
			if tc.says == "" {
				if !r.OK {
					t.Errorf("%s, %s: got %v", name, what, r.Err)
				}
				continue
			}
			if r.OK {
				t.Errorf("%s, %s: it was believed", name, what)
				continue
			}
			wantFault(t, r.Err, StageTLS, TLSFailed)
			if !strings.Contains(r.Err.Message, tc.says) {
				t.Errorf("%s, %s: %q", name, what, r.Err.Message)
			}
		}
	}
}

// A proxy's name that resolves to this machine is dialled only when proxies may be here. It is dialled once.
func TestProxyNamedLoopback(t *testing.T) {
	bird := canary(t)
	p := Proxy{Type: SOCKS5, Host: "localhost", Port: bird.port(), Username: "u", Password: "p"}
	c := &Checker{URLs: []string{"http://ip.test/"}, Timeout: waitLimit}
	wantFault(t, c.Check(t.Context(), p).Err, StageConnect, BlockedAddress)
	s := serve(t, network{"ip.test:80": serve(t, site(200, "", "203.0.113.9")).addr()}.socks5(&credentials{"u", "p"}))
	p.Port = s.port()
	c = &Checker{URLs: []string{"http://ip.test/"}, Timeout: waitLimit, Policy: nearby}
	if r := c.Check(t.Context(), p); !r.OK || r.Timings.Resolve <= 0 {
		t.Errorf("got %+v %v", r, r.Err)
	}
}
