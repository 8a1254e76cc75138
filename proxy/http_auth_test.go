package proxy

import (
	"bufio"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// digestProxy is an HTTP proxy that accepts a Digest login only, and checks it strictly: each nonce's counts go up by one.
// A nonce that it does not know, or that has been used up, is stale.
type digestProxy struct {
	network
	credentials
	algorithm string // as written in the challenge; "" leaves it out
	qop       string // as written in the challenge; "" leaves it out
	before    string // written before the challenge, in the same field
	uses      int    // answers that a nonce accepts

	mu      sync.Mutex
	made    int
	nonces  map[string]int // their counts so far
	proofs  []string       // accepted nonces and counts
	refused atomic.Int32
}

var parameter = regexp.MustCompile(`(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))`)

func (d *digestProxy) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		rq, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		stale, ok := d.takes(rq.Method, rq.RequestURI, rq.Header.Get("Proxy-Authorization"))
		if !ok {
			d.refused.Add(1)
			io.Copy(io.Discard, rq.Body)
			fmt.Fprintf(c, "HTTP/1.1 407 X\r\nProxy-Authenticate: %s\r\nContent-Length: 0\r\n\r\n", d.challenge(stale))
			continue
		}
		if rq.Method != http.MethodConnect {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
			continue
		}
		up, err := d.dial(rq.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 200 X\r\n\r\n")
		join(c, up)
		return
	}
}

func (d *digestProxy) challenge(stale bool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nonces == nil {
		d.nonces = map[string]int{}
	}
	d.made++
	nonce := fmt.Sprintf("nonce, with a comma %d", d.made)
	d.nonces[nonce] = 0
	text := fmt.Sprintf(`%sDigest realm="a \"realm\", of tests", nonce="%s", opaque="op=aque"`, d.before, nonce)
	if d.qop != "" {
		text += fmt.Sprintf(`, qop="%s"`, d.qop)
	}
	if d.algorithm != "" {
		text += ", algorithm=" + d.algorithm
	}
	if stale {
		text += ", stale=true"
	}
	return text
}

// takes checks an answer by RFC 7616 section 3.4.1.
func (d *digestProxy) takes(method, uri, header string) (stale, ok bool) {
	rest, ok := strings.CutPrefix(header, "Digest ")
	if !ok {
		return false, false
	}
	p := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(rest, -1) {
		p[m[1]] = strings.ReplaceAll(m[2]+m[3], `\`, "")
	}
	h := map[string]func() hash.Hash{"": md5.New, "MD5": md5.New, "SHA-256": sha256.New}[strings.TrimSuffix(d.algorithm, "-sess")]
	sum := func(parts ...string) string {
		w := h()
		io.WriteString(w, strings.Join(parts, ":"))
		return hex.EncodeToString(w.Sum(nil))
	}
	key := sum(d.user, `a "realm", of tests`, d.pass)
	if strings.HasSuffix(d.algorithm, "-sess") {
		key = sum(key, p["nonce"], p["cnonce"])
	}
	want := sum(key, p["nonce"], p["nc"], p["cnonce"], p["qop"], sum(method, uri))
	if d.qop == "" {
		want = sum(key, p["nonce"], sum(method, uri))
	}
	if p["username"] != d.user || p["uri"] != uri || p["opaque"] != "op=aque" || p["algorithm"] != d.algorithm || p["response"] != want ||
		d.qop != "" && p["qop"] != "auth" {
		return false, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	count, err := strconv.ParseInt(p["nc"], 16, 32)
	seen, known := d.nonces[p["nonce"]]
	if !known || d.qop != "" && (err != nil || int(count) != seen+1 || seen >= d.uses) {
		return true, false
	}
	d.nonces[p["nonce"]]++
	d.proofs = append(d.proofs, p["nonce"]+" "+p["nc"])
	return false, true
}

// TestDigest: HTTP proxies that demand Digest are dialled, with each algorithm. A nonce is used again with the next count, a stale one is
// replaced, and a wrong password is reported.
func TestDigest(t *testing.T) {
	target := serve(t, echo)
	for _, tc := range []struct{ algorithm, qop, before string }{
		{"", "", ""}, {"MD5", "auth", ""}, {"SHA-256", "auth", ""}, {"SHA-256", "auth-int, auth", ""}, {"MD5-sess", "auth", ""},
		{"SHA-256-sess", "auth", ""},
		{"MD5", "auth", `Negotiate, Basic realm="x, y", NTLM abc==, `},
	} {
		for _, typ := range []Type{HTTP, HTTPS} {
			t.Run(strings.Join([]string{string(typ), tc.algorithm, tc.qop, tc.before}, " "), func(t *testing.T) {
				t.Parallel()
				p := &digestProxy{network: network{"site.test:7": target.addr()}, credentials: credentials{`us"er`, "pa:ss\\"},
					algorithm: tc.algorithm, qop: tc.qop, before: tc.before, uses: 3}
				handle, roots := overTLS(t, p.serve)
				if typ == HTTP {
					handle = p.serve
				}
				s := serve(t, handle)
				d := &Dialer{Policy: nearby, Upstream: upstream(typ, s, p.user, p.pass), RootCAs: roots}
				for i := range 5 {
					c, err := d.DialContext(within(t, waitLimit), "tcp", "site.test:7")
					if err != nil {
						t.Fatalf("dial %d: %v", i, err)
					}
					roundTrip(t, c)
					c.Close()
				}
				want := []string{"1 00000001", "1 00000002", "1 00000003", "2 00000001", "2 00000002"}
				connections := 5 + 2
				if tc.qop == "" {
					want, connections = slices.Repeat([]string{"1 "}, 5), 5+1
				}
				for i, proof := range p.proofs {
					if !strings.HasSuffix(proof, " "+want[i]) {
						t.Errorf("proof %d is %q, want %q", i, proof, want[i])
					}
				}
				if len(p.proofs) != 5 || s.count() != connections {
					t.Errorf("%d proofs on %d connections, want 5 on %d", len(p.proofs), s.count(), connections)
				}
				d.Upstream = upstream(typ, s, p.user, "wrong")
				_, err := d.DialContext(within(t, waitLimit), "tcp", "site.test:7")
				wantFault(t, err, StageAuth, AuthFailed)
				d.Upstream = upstream(typ, s, "", "")
				_, err = d.DialContext(within(t, waitLimit), "tcp", "site.test:7")
				wantFault(t, err, StageAuth, AuthRequired)
			})
		}
	}
}

// TestConcurrentDigest: many dials share one nonce, and each succeeds, though their counts may arrive in any order.
func TestConcurrentDigest(t *testing.T) {
	target := serve(t, echo)
	p := &digestProxy{network: network{"site.test:7": target.addr()}, credentials: credentials{"user", "pass"}, algorithm: "MD5",
		qop: "auth", uses: 1000}
	d := &Dialer{Policy: nearby, Upstream: upstream(HTTP, serve(t, p.serve), "user", "pass")}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c, err := d.DialContext(within(t, waitLimit), "tcp", "site.test:7")
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	all.Wait()
}

// TestAuthSchemes: an unsupported scheme of a proxy is named, and 401 counts as 407.
func TestAuthSchemes(t *testing.T) {
	for _, tc := range []struct {
		status, fields string
		login          bool
		code           Code
		names          string
	}{
		{"407", "Proxy-Authenticate: NTLM\r\n", true, AuthUnsupported, "NTLM"},
		{"407", "Proxy-Authenticate: NTLM\r\n", false, AuthUnsupported, "NTLM"},
		{"407", "Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n", true, AuthUnsupported, "Negotiate"},
		{"407", "proxy-authenticate: bearer realm=\"x\", error=\"invalid_token\"\r\n", true, AuthUnsupported, "Bearer"},
		{"407", "Proxy-Authenticate: welcome-hunter2 x=\"y\"\r\n", true, AuthUnsupported, "a scheme of its own"},
		{"407", "Proxy-Authenticate: Digest realm=\"x\", nonce=\"n\", algorithm=SHA-1\r\n", true, AuthUnsupported, "Digest"},
		{"407", "Proxy-Authenticate: Digest realm=\"x\", nonce=\"n\", qop=\"auth-int\"\r\n", true, AuthUnsupported, "Digest"},
		{"407", "Proxy-Authenticate: NTLM, Basic realm=\"x\"\r\n", true, AuthFailed, ""},
		{"407", "Proxy-Authenticate: NTLM\r\nProxy-Authenticate: basic\r\n", false, AuthRequired, ""},
		{"407", "", true, AuthFailed, ""},
		{"407", "", false, AuthRequired, ""},
		{"401", "", true, AuthFailed, ""},
		{"401", "WWW-Authenticate: Basic realm=\"x\"\r\n", false, AuthRequired, ""},
		{"401", "WWW-Authenticate: NTLM\r\n", true, AuthUnsupported, "NTLM"},
	} {
		s := serve(t, says("HTTP/1.1 "+tc.status+" X\r\n"+tc.fields+"\r\n"))
		up := upstream(HTTP, s, "", "")
		if tc.login {
			up.Username, up.Password = "user", "pass"
		}
		_, _, fault := (&Dialer{Policy: nearby, Upstream: up}).dial(within(t, waitLimit), "tcp", "site.test:443")
		wantFault(t, fault, StageAuth, tc.code)
		if !strings.Contains(fault.Message, tc.names) || strings.Contains(fault.Message, "hunter2") || !fault.isUpstreamFault() {
			t.Errorf("%s %q: %s", tc.status, tc.fields, fault.Message)
		}
		if s.count() != 1 {
			t.Errorf("%s %q: %d connections, want 1", tc.status, tc.fields, s.count())
		}
	}
}
