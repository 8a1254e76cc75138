package proxy

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const jsonAnswer = `{"ip":"203.0.113.9","country":"DE","timezone":"Europe/Berlin","loc":"52.5,13.4"}`

func urlOf(s *server) string { return "http://" + s.addr() + "/ip" }

func TestCheckThroughEveryUpstream(t *testing.T) {
	plain := serve(t, site(200, "Content-Type: application/json\r\n", jsonAnswer))
	behindTLS, roots := overTLS(t, site(200, "", "203.0.113.9\n"))
	secure := serve(t, behindTLS)
	names := network{"ip.test:80": plain.addr(), "127.0.0.1:80": plain.addr(), "example.com:443": secure.addr()}
	login := &credentials{"user", "pass"}
	proxyTLS, _ := overTLS(t, names.connect(login))
	for typ, handle := range map[Type]func(net.Conn){SOCKS5: names.socks5(login), HTTP: names.connect(login), HTTPS: proxyTLS,
		SOCKS4: names.socks4("user")} {
		for _, u := range []string{"http://ip.test/json", "http://127.0.0.1/json", "https://example.com/ip?x=1"} {
			t.Run(string(typ)+" "+u, func(t *testing.T) {
				c := &Checker{Policy: nearby, URLs: []string{u}, RootCAs: roots} // the tests' servers share one certificate
				r := c.Check(t.Context(), *upstream(typ, serve(t, handle), "user", "pass"))
				if !r.OK || r.Err != nil || r.ExitIP != "203.0.113.9" || r.IPVersion != 4 {
					t.Fatalf("got %+v (%v)", r, errors.Unwrap(r.Err))
				}
				if remote := typ != SOCKS4 || !strings.Contains(u, "127"); r.RemoteDNS != remote {
					t.Errorf("remote DNS: got %v, want %v", r.RemoteDNS, remote)
				}
				tm := r.Timings
				if tm.Connect <= 0 || tm.Handshake <= 0 || tm.FirstByte <= 0 || (tm.TLS > 0) != (typ == HTTPS) || tm.Resolve != 0 {
					t.Errorf("timings: %+v", tm)
				}
				if r.Latency != tm.Connect+tm.TLS+tm.Handshake+tm.FirstByte || r.Duration < r.Latency ||
					time.Since(r.CheckedAt) > waitLimit {
					t.Errorf("latency %v, duration %v, at %v", r.Latency, r.Duration, r.CheckedAt)
				}
				if json := !strings.HasPrefix(u, "https"); json &&
					(r.Place.Country != "DE" || r.Place.CountryName != "Germany" || r.Place.Timezone != "Europe/Berlin" ||
						*r.Place.Latitude != 52.5 || *r.Place.Longitude != 13.4 || r.Source != "answer" || r.Locale != "de-DE") {
					t.Errorf("place: %+v %q %q", r.Place, r.Source, r.Locale)
				} else if !json && (r.Place != Place{} || r.Source != "" || r.Locale != "") {
					t.Errorf("place of a bare address: %+v %q %q", r.Place, r.Source, r.Locale)
				}
			})
		}
	}
}

func TestCheckDirect(t *testing.T) {
	s := serve(t, site(200, "", "2001:DB8::1"))
	r := (&Checker{URLs: []string{urlOf(s)}}).CheckDirect(t.Context())
	if !r.OK || r.ExitIP != "2001:db8::1" || r.IPVersion != 6 || r.RemoteDNS || r.Timings.Handshake != 0 {
		t.Errorf("got %+v", r)
	}
	if r = (&Checker{}).CheckDirect(t.Context()); r.OK || r.Err == nil {
		t.Errorf("without a URL: got %+v", r)
	}
}

// A check accepts these answers of a check URL, and refuses these. With a case per answer it reads best as one table.
func TestAnswers(t *testing.T) {
	bird := canary(t)
	elsewhere := "Location: " + urlOf(bird) + "\r\n"
	raw := func(text string) func(net.Conn) { return afterHead(func(c net.Conn) { io.WriteString(c, text) }) }
	const head = "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		handle func(net.Conn)
		stage  Stage
		code   Code
	}{
		"text":          {site(200, "", " 203.0.113.9\r\n"), "", ""},
		"chunked":       {raw(head + "Transfer-Encoding: chunked\r\n\r\n5\r\n203.0\r\n6\r\n.113.9\r\n0\r\n\r\n"), "", ""},
		"until the end": {raw("HTTP/1.0 200 OK\n\n203.0.113.9"), "", ""},
		"interim answers": {raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + head +
			"Content-Length: 11\r\n\r\n203.0.113.9"), "", ""},
		"mapped":                  {site(200, "", "::ffff:203.0.113.9"), "", ""},
		"one byte at a time":      {afterHead(func(c net.Conn) { slowly(c, head+"Content-Length: 11\r\n\r\n203.0.113.9") }), "", ""},
		"HTML":                    {site(200, "Content-Type: text/html\r\n", "<html>203.0.113.9</html>"), StageResponse, BadResponse},
		"two addresses as text":   {site(200, "", "203.0.113.9 203.0.113.10"), StageResponse, BadResponse},
		"zone":                    {site(200, "", "fe80::1%eth0"), StageResponse, BadResponse},
		"unspecified":             {site(200, "", "0.0.0.0"), StageResponse, BadResponse},
		"empty":                   {site(200, "", ""), StageResponse, BadResponse},
		"broken JSON":             {site(200, "", `{"ip":"203.0.113.9"`), StageResponse, BadResponse},
		"JSON without an address": {site(200, "", `{"country":"DE"}`), StageResponse, BadResponse},
		"JSON with a number":      {site(200, "", `{"ip":203}`), StageResponse, BadResponse},
		"JSON list":               {site(200, "", `["203.0.113.9"]`), StageResponse, BadResponse},
		"302":                     {site(302, elsewhere, "203.0.113.9"), StageResponse, BadResponse},
		"307":                     {site(307, elsewhere, "203.0.113.9"), StageResponse, BadResponse},
		"404":                     {site(404, "", "203.0.113.9"), StageResponse, BadResponse},
		"429":                     {site(429, "", "203.0.113.9"), StageResponse, BadResponse},
		"204":                     {site(204, "", ""), StageResponse, BadResponse},
		"too long":                {site(200, "", strings.Repeat(" ", 70_000)+"203.0.113.9"), StageResponse, BadResponse},
		"endless body": {afterHead(func(c net.Conn) { io.WriteString(c, head+"\r\n"); repeatForever("1")(c) }), StageResponse,
			BadResponse},
		"endless chunks": {afterHead(func(c net.Conn) {
			io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			repeatForever("1\r\n1\r\n")(c)
		}), StageResponse, BadResponse},
		"endless header": {afterHead(func(c net.Conn) { io.WriteString(c, head); repeatForever("X: y\r\n")(c) }), StageResponse,
			BadResponse},
		"endless header line": {afterHead(func(c net.Conn) { io.WriteString(c, head); repeatForever("X")(c) }), StageResponse,
			BadResponse},
		"endless interim answers":   {afterHead(repeatForever("HTTP/1.1 100 Continue\r\n\r\n")), StageResponse, BadResponse},
		"not HTTP":                  {raw("SSH-2.0-x\r\n"), StageResponse, BadResponse},
		"lying length":              {raw(head + "Content-Length: 100\r\n\r\n203.0.113.9"), StageResponse, ConnectionClosed},
		"says less than it sends":   {raw(head + "Content-Length: 9\r\n\r\n203.0.113.9"), StageResponse, BadResponse},
		"negative length":           {raw(head + "Content-Length: -1\r\n\r\n203.0.113.9"), StageResponse, BadResponse},
		"closes":                    {raw(""), StageResponse, ConnectionClosed},
		"resets":                    {reset, StageResponse, ConnectionClosed},
		"closes in the head":        {raw(head + "X: y"), StageResponse, ConnectionClosed},
		"silent":                    {play(), StageResponse, TimedOut},
		"silent in the body":        {play(step{1, head + "Content-Length: 11\r\n\r\n203"}), StageResponse, TimedOut},
		"silent in the status line": {play(step{1, "HTTP/1.1 2"}), StageResponse, TimedOut},
		"closes in the status line": {raw("HTTP/1.1 2"), StageResponse, ConnectionClosed},
		"resets in the status line": {afterHead(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 2"); resets(c) }), StageResponse,
			ConnectionClosed},
		"closes in a header":          {raw(head + "X"), StageResponse, ConnectionClosed},
		"silent in a chunk's length":  {play(step{1, head + "Transfer-Encoding: chunked\r\n\r\n1"}), StageResponse, TimedOut},
		"breaks off what is not HTTP": {raw("SSH-2.0-x\r\nand"), StageResponse, BadResponse},
		"drips for ever":              {afterHead(drip(head + "X: " + strings.Repeat("y", 10_000))), StageResponse, TimedOut},
		"a name that looks numeric":   {site(200, "", "2130706433"), StageResponse, BadResponse},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tc.handle)
			c := &Checker{URLs: []string{urlOf(s)}, Timeout: waitLimit}
			var r Result
			ask := func() *Error { r = c.CheckDirect(t.Context()); return r.Err }
			if tc.code != TimedOut {
				ask()
			} else {
				timesOut(t, tc.stage, 300*time.Millisecond, func(limit time.Duration) *Error { c.Timeout = limit; return ask() })
			}
			switch {
			case tc.code != "" && r.Err == nil:
				t.Errorf("it was believed: %+v", r)
			case tc.code != "":
				wantFault(t, r.Err, tc.stage, tc.code)
			case !r.OK || r.ExitIP != "203.0.113.9":
				t.Errorf("got %+v %v", r, r.Err)
			}
			wantWhole(t, r, c.Timeout)
		})
	}
}

// wantWhole wants a Result that is either good or a fault, and in time.
func wantWhole(t *testing.T, r Result, limit time.Duration) {
	t.Helper()
	if r.OK != (r.Err == nil) || !r.OK && (r.ExitIP != "" || r.Latency != 0) {
		t.Errorf("half a result: %+v", r)
	}
	if took := r.Duration; took > limit+5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func slowly(c net.Conn, text string) {
	for i := range text {
		io.WriteString(c, text[i:i+1])
	}
}

func TestCheckTLS(t *testing.T) {
	behindTLS, roots := overTLS(t, site(200, "", "203.0.113.9"))
	s := serve(t, behindTLS)
	notTLS := serve(t, play(step{1, "HTTP/1.1 400 Bad Request\r\n\r\n"}))
	hangs := serve(t, play())
	https := func(s *server) []string { return []string{"https://" + s.addr() + "/"} }
	if r := (&Checker{URLs: https(s), RootCAs: roots}).CheckDirect(t.Context()); !r.OK {
		t.Errorf("got %v", r.Err)
	}
	wantFault(t, (&Checker{URLs: https(s), RootCAs: x509.NewCertPool()}).CheckDirect(t.Context()).Err, StageTLS, TLSFailed)
	wantFault(t, (&Checker{URLs: https(notTLS), RootCAs: roots}).CheckDirect(t.Context()).Err, StageTLS, TLSFailed)
	wantFault(t, (&Checker{URLs: https(hangs), Timeout: 100 * time.Millisecond}).CheckDirect(t.Context()).Err, StageTLS, TimedOut)
	wantFault(t, (&Checker{URLs: []string{"ftp://x/"}}).CheckDirect(t.Context()).Err, StageResponse, BadResponse)
	wantFault(t, (&Checker{URLs: []string{"http://"}}).CheckDirect(t.Context()).Err, StageResponse, BadResponse)
}

func TestURLsInTurn(t *testing.T) {
	good := serve(t, site(200, "", "203.0.113.9"))
	bad := serve(t, site(500, "", ""))
	hangs := serve(t, play())
	// Half of the timeout is for the URL that hangs, and the third URL needs time on a busy machine.
	c := &Checker{Policy: nearby, URLs: []string{urlOf(bad), urlOf(hangs), urlOf(good)}, Timeout: 4 * time.Second}
	if r := c.CheckDirect(t.Context()); !r.OK || r.Duration > 4*time.Second {
		t.Errorf("the third is good: got %+v %v", r, r.Err)
	}
	c.URLs = []string{urlOf(bad), urlOf(hangs)}
	wantFault(t, c.CheckDirect(t.Context()).Err, StageResponse, BadResponse)
	// A proxy that refuses the password is asked once.
	s := serve(t, says("HTTP/1.1 407 X\r\n\r\n"))
	c.URLs = []string{urlOf(good), urlOf(good), urlOf(good)}
	wantFault(t, c.Check(t.Context(), *upstream(HTTP, s, "u", "p")).Err, StageAuth, AuthFailed)
	if s.count() != 1 {
		t.Errorf("the proxy was asked %d times, want once", s.count())
	}
	// A proxy that cannot reach the first target may reach the second.
	s = serve(t, network{"b.test:80": good.addr()}.connect(nil))
	c.URLs = []string{"http://a.test/", "http://b.test/"}
	if r := c.Check(t.Context(), *upstream(HTTP, s, "", "")); !r.OK {
		t.Errorf("got %v", r.Err)
	}
}

// The faults of a proxy are the same in a check as in a dial, and no check goes around the proxy.
func TestCheckOfDeadProxies(t *testing.T) {
	bird := canary(t)
	gone := closed(t)
	c := &Checker{Policy: nearby, URLs: []string{urlOf(bird), urlOf(bird)}}
	for _, tc := range []struct {
		p     *Proxy
		stage Stage
		code  Code
	}{
		{upstream(SOCKS5, gone, "", ""), StageConnect, ConnectionRefused},
		{&Proxy{Type: HTTP, Host: "nobody.invalid", Port: 1}, StageResolve, DNSFailed},
		{upstream(SOCKS5, serve(t, play()), "", ""), StageGreeting, TimedOut},
		{upstream(SOCKS5, serve(t, says("x")), "", ""), StageGreeting, TimedOut},
		{upstream(SOCKS5, serve(t, network{}.socks5(odd)), "", ""), StageAuth, AuthRequired},
		{upstream(SOCKS5, serve(t, network{}.socks5(odd)), "u", "wrong"), StageAuth, AuthFailed},
		{upstream(HTTP, serve(t, network{}.connect(odd)), "", ""), StageAuth, AuthRequired},
		{upstream(SOCKS5, serve(t, network{}.socks5(nil)), "", ""), StageRequest, HostUnreachable},
		{upstream(HTTP, serve(t, network{}.connect(nil)), "", ""), StageRequest, TargetUnreachable},
		{upstream(SOCKS4, serve(t, network{}.socks4("")), "", ""), StageRequest, RequestRefused},
		{upstream(HTTPS, serve(t, network{}.connect(nil)), "", ""), StageTLS, TLSFailed},
		{&Proxy{Type: SOCKS5, Host: "169.254.169.254", Port: 80}, StageConnect, BlockedAddress},
		{&Proxy{Type: "nonsense", Host: "127.0.0.1", Port: bird.port()}, StageGreeting, NotAProxy},
	} {
		if tc.p.Type == "nonsense" {
			tc.p.Port = serve(t, play()).port()
		}
		c.Timeout = waitLimit // the machine's name server may be slow
		if tc.code == TimedOut {
			c.Timeout = 300 * time.Millisecond
		}
		r := c.Check(t.Context(), *tc.p)
		wantFault(t, r.Err, tc.stage, tc.code)
		if r.OK || r.ExitIP != "" || r.Duration > waitLimit {
			t.Errorf("%v: got %+v", tc.p, r)
		}
	}
}

func TestGeoFillsIn(t *testing.T) {
	lat, lon := 48.2, 16.4
	vienna := Place{Country: "AT", Timezone: "Europe/Vienna", Latitude: &lat, Longitude: &lon}
	for _, tc := range []struct {
		name, answer   string
		geo            Place
		known          bool
		country, zone  string
		source, locale string
		position       bool
	}{
		{"bare address, geo knows", "203.0.113.9", vienna, true, "AT", "Europe/Vienna", "geoip", "de-AT", true},
		{"bare address, geo does not", "203.0.113.9", Place{}, false, "", "", "", "", false},
		{"answer alone", `{"ip":"203.0.113.9","country":"JP"}`, Place{}, false, "JP", "Asia/Tokyo", "answer", "ja-JP", false},
		{"both agree", `{"ip":"203.0.113.9","country":"AT"}`, vienna, true, "AT", "Europe/Vienna", "answer", "de-AT", true},
		{"they disagree", `{"ip":"203.0.113.9","country":"JP"}`, vienna, true, "JP", "Asia/Tokyo", "answer", "ja-JP", false},
		{"answer has the zone alone", `{"ip":"203.0.113.9","timezone":"Europe/Rome"}`, vienna, true, "AT", "Europe/Rome", "geoip", "de-AT",
			true},
		{"geo has the country alone", "203.0.113.9", Place{Country: "NL"}, true, "NL", "Europe/Amsterdam", "geoip", "nl-NL", false},
		{"geo has a position alone", "203.0.113.9", Place{Latitude: &lat, Longitude: &lon}, true, "", "", "", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, site(200, "", tc.answer))
			c := &Checker{URLs: []string{urlOf(s)}, Geo: func(a netip.Addr) (Place, bool) {
				if a != netip.MustParseAddr("203.0.113.9") {
					t.Errorf("geo was asked for %v", a)
				}
				return tc.geo, tc.known
			}}
			r := c.CheckDirect(t.Context())
			got := fmt.Sprintln(r.OK, r.Place.Country, r.Place.Timezone, r.Source, r.Locale, r.Place.Latitude != nil)
			if want := fmt.Sprintln(true, tc.country, tc.zone, tc.source, tc.locale, tc.position); got != want {
				t.Errorf("got %swant %s", got, want)
			}
		})
	}
}
