package leaks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func open(t *testing.T) *Test {
	t.Helper()
	canaries, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		canaries.Close()
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")) // lingers half a second after a rejected body
	})
	return canaries
}

// client connects every name to the relay's destination, and trusts the site's key only.
func (c *Test) client() *http.Client {
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		for _, b := range c.Bypasses() {
			if b.Port == port {
				return net.Dial("tcp", b.Address)
			}
		}
		return net.Dial("tcp", address)
	}
	verify := func(raw [][]byte, _ [][]*x509.Certificate) error {
		cert, err := x509.ParseCertificate(raw[0])
		if err != nil {
			return err
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		if got := base64.StdEncoding.EncodeToString(sum[:]); got != c.SPKI() {
			return fmt.Errorf("the key is %s", got)
		}
		return cert.VerifyHostname("site." + Suffix) // the canaries have the certificate too
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }, DialContext: dial,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: verify}}} //nolint:gosec // the key is what is trusted
}

// awaitHits waits until the canaries have n hits, with their first bytes read.
func awaitHits(t *testing.T, c *Test, n int) []Hit {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); ; {
		read := 0
		hits := c.canaries.Hits()
		for _, h := range hits {
			if h.Kind == "preconnect" || h.First != "a connection" && h.First != "a TLS handshake" {
				read++
			}
		}
		if read >= n {
			return hits
		}
		if time.Now().After(late) {
			t.Fatalf("%d hits, want %d: %+v", read, n, hits)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Without a report no channel passes, and with a report none that it does not mention.
func TestJudgeFailsClosed(t *testing.T) {
	channels := Verdicts(nil, nil, nil)
	if len(channels) != 28 {
		t.Errorf("%d channels", len(channels))
	}
	for _, c := range channels {
		if c.Passed || !c.Undecided || !strings.Contains(c.Seen, "did not report") {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range Verdicts([]Report{{Part: "plain"}, {Part: "secure"}}, nil, nil) {
		if c.Passed || c.Undecided || c.Seen != "the page did not try it" {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range Verdicts([]Report{{Part: "plain", Fault: "x"}, {Part: "secure", Fault: "x"}}, nil, nil) {
		if c.Passed || !strings.Contains(c.Seen, "broke: x") {
			t.Errorf("%+v", c)
		}
	}
}

// whole returns reports in which every channel was tried and refused, and the Site's hits for it.
func whole() (reports []Report, site []Hit) {
	for _, part := range parts() {
		r := Report{Part: part}
		for _, c := range criteria() {
			n := part + c.name
			r.Attempts = append(r.Attempts, Attempt{Channel: c.name, Vector: "fetch", Group: "site", Nonce: n, Outcome: "ok"})
			if c.name != "mdns" && c.name != "webrtc_candidates" { // their tries name no target
				r.Attempts = append(r.Attempts,
					Attempt{Channel: c.name, Vector: "fetch", Group: "loopback", Target: "127.1", Nonce: n + "t", Outcome: "error"})
			}
			site = append(site, Hit{Kind: "site", Channel: c.name, Nonce: n})
		}
		r.Attempts = append(r.Attempts, Attempt{Channel: "http", Vector: "fetch", Group: "lan", Outcome: "error"},
			Attempt{Channel: "http", Vector: "fetch", Group: "metadata", Outcome: "error"})
		reports = append(reports, r)
	}
	return reports, site
}

// change changes reports and the Site's hits, and returns them with the canaries' hits.
type change func(r []Report, site []Hit) ([]Report, []Hit, []Hit)

// late lets the tries that match time out, before the Site saw any of them.
func late(match func(Attempt) bool) change {
	return func(r []Report, s []Hit) ([]Report, []Hit, []Hit) {
		for _, part := range r {
			for i, a := range part.Attempts {
				if match(a) {
					part.Attempts[i].Outcome = "timeout"
					s = slices.DeleteFunc(s, func(h Hit) bool { return h.Nonce == a.Nonce })
				}
			}
		}
		return r, s, nil
	}
}

// Each piece of evidence fails its own channels and no other. With a case per kind of evidence it reads best as one table.
func TestJudgeTellsChannelsApart(t *testing.T) {
	hit := func(h Hit) change {
		return func(r []Report, s []Hit) ([]Report, []Hit, []Hit) { return r, s, []Hit{h} }
	}
	add := func(a Attempt) change {
		return func(r []Report, s []Hit) ([]Report, []Hit, []Hit) {
			r[0].Attempts = append(r[0].Attempts, a)
			return r, s, nil
		}
	}
	candidate := func(text string) change {
		return func(r []Report, s []Hit) ([]Report, []Hit, []Hit) {
			r[1].Candidates = []Candidate{{"stun_udp", "stun:x", text}}
			return r, s, nil
		}
	}
	nearby := func(a Attempt) bool { return a.Channel == "eventsource" && a.Group != "site" }
	searches := func(a Attempt) bool { return a.Channel == "mdns" || a.Channel == "webrtc_candidates" }
	for name, c := range map[string]struct {
		change change
		failed string
	}{
		"nothing":           {func(r []Report, s []Hit) ([]Report, []Hit, []Hit) { return r, s, nil }, ""},
		"a named request":   {hit(Hit{Kind: "web", Channel: "redirect", Local: "127.0.0.1:5"}), "redirect loopback"},
		"a bare connection": {hit(Hit{Kind: "web", Local: "192.0.2.7:5"}), "http lan"},
		"a TLS connection":  {hit(Hit{Kind: "tls", Local: "[::1]:5"}), "https loopback"},
		"a STUN packet":     {hit(Hit{Kind: "stun_udp", Local: "192.0.2.7:5"}), "stun_udp lan"},
		"a resolved name":   {hit(Hit{Kind: "dns", Local: "127.0.0.1:5"}), "dns dns_prefetch"},
		"a look-up":         {hit(Hit{Kind: "doh", Host: "vm.", Local: "127.0.0.1:5"}), "dns dns_prefetch"},
		"Chrome's own look": {hit(Hit{Kind: "doh", Host: "www.gstatic.com.", Local: "127.0.0.1:5"}), ""},
		"an mDNS name":      {candidate("candidate:1 1 udp 2113937151 a-b.local 5000 typ host"), "mdns webrtc_candidates"},
		"an address": {candidate("candidate:1 1 udp 1677729535 192.0.2.7 5000 typ srflx raddr 0.0.0.0 rport 0"),
			"webrtc_candidates"},
		"an answer nearby": {add(Attempt{Channel: "worker", Vector: "worker", Group: "lan", Target: "vm", Outcome: "ok"}),
			"worker lan"},
		"one of two in silence":          {add(Attempt{Channel: "worker", Vector: "worker", Group: "lan", Outcome: "timeout"}), ""},
		"all in silence":                 {late(nearby), "eventsource"},
		"no search for candidates ended": {late(searches), "mdns webrtc_candidates"},
		"metadata in silence": {add(Attempt{Channel: "http", Vector: "fetch", Group: "metadata", Target: "169.254.169.254",
			Outcome: "timeout"}), "metadata"},
		"metadata answered": {add(Attempt{Channel: "http", Vector: "fetch", Group: "metadata", Target: "169.254.169.254",
			Outcome: "ok"}), "http metadata"},
		"no control": {func(r []Report, s []Hit) ([]Report, []Hit, []Hit) { return r, nil, nil },
			"http https websocket eventsource beacon download prefetch worker shared_worker service_worker redirect quic"},
		"a late control": {late(func(a Attempt) bool { return a.Channel == "worker" && a.Group == "site" }), "worker"},
		"one page less": {func(r []Report, s []Hit) ([]Report, []Hit, []Hit) { return r[1:], s, nil },
			"http websocket eventsource beacon download prefetch preconnect worker shared_worker favicon redirect popup dns_prefetch " +
				"loopback lan metadata"},
	} {
		var failed []string
		for _, channel := range Verdicts(c.change(whole())) {
			if !channel.Passed {
				failed = append(failed, channel.Name)
			}
			slow := slices.Contains([]string{"all in silence", "one page less", "a late control", "no search for candidates ended"}, name)
			if channel.Undecided != (slow && !channel.Passed) {
				t.Errorf("%s: %s is undecided: %v", name, channel.Name, channel.Undecided)
			}
			if channel.Seen == "" {
				t.Errorf("%s: %s says nothing", name, channel.Name)
			}
		}
		if got := strings.Join(failed, " "); got != c.failed {
			t.Errorf("%s: failed are %q, want %q", name, got, c.failed)
		}
	}
}

// A canary records connections, and reads what they send, in the clear, inside of TLS and in datagrams.
func TestTrapsNote(t *testing.T) {
	c := open(t)
	ports := c.site.config.Ports
	if len(ports) != 11 {
		t.Fatalf("%v", ports)
	}
	n := 0
	for _, a := range c.canaries.addresses {
		at := func(kind string) string { return net.JoinHostPort(a.String(), fmt.Sprint(ports[kind])) }
		plain, err := net.Dial("tcp", at("web"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(plain, "GET /seen/http/fetch/nonce1?q HTTP/1.1\r\nHost: here\r\n\r\n")
		inside, err := tls.Dial("tcp", at("tls"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a canary
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(inside, "GET /seen/worker/worker/nonce2 HTTP/1.1\r\n\r\n")
		udp, err := net.Dial("udp", at("stun_udp"))
		if err != nil {
			t.Fatal(err)
		}
		udp.Write([]byte("\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl"))
		var answer [64]byte
		udp.SetReadDeadline(time.Now().Add(20 * time.Second))
		if n, err := udp.Read(answer[:]); err != nil || !bytes.Contains(answer[:n], []byte("abcdefghijkl")) ||
			answer[0] != 1 || answer[1] != 1 {
			t.Errorf("no answer: %x %v", answer[:n], err)
		}
		silent, err := net.Dial("tcp", at("preconnect"))
		if err != nil {
			t.Fatal(err)
		}
		n += 4
		if a.String() == "127.0.0.1" { // the query of RFC 8484, 4.1.1
			asked := strings.Replace(c.Resolver(), "{?dns}", "?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB", 1)
			if res, err := c.client().Get(asked); err == nil {
				res.Body.Close()
			}
			n++
			hits := awaitHits(t, c, n) // in the order of acceptance, which may differ from the order of dialling
			if i := slices.IndexFunc(hits, func(h Hit) bool { return h.Kind == "doh" }); i < 0 ||
				hits[i].First != "a look-up of www.example.com." || hits[i].Host != "www.example.com." {
				t.Errorf("%+v", hits)
			}
		}
		hits := awaitHits(t, c, n)
		for _, want := range []string{"web http nonce1 here", "tls worker nonce2 ", "stun_udp   ", "preconnect   "} {
			found := false
			for _, h := range hits {
				found = found || fmt.Sprint(h.Kind, " ", h.Channel, " ", h.Nonce, " ", h.Host) == want &&
					strings.HasPrefix(h.Local, net.JoinHostPort(a.String(), "")) && h.Remote != "" && !h.At.IsZero()
			}
			if !found {
				t.Errorf("%s: no hit %q in %+v", a, want, hits)
			}
		}
		for _, conn := range []net.Conn{plain, inside, udp, silent} {
			conn.Close()
		}
	}
}

// The site serves the page's parts, records what channels request, redirects, and takes one report of each page.
func TestSite(t *testing.T) {
	c := open(t)
	client := c.client()
	get := func(address string) (status int, body string, header http.Header) {
		t.Helper()
		res, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text), res.Header
	}
	for _, page := range c.Pages() {
		if status, body, _ := get(page); status != 200 || !strings.Contains(body, "/page.js") {
			t.Errorf("%s: %d %s", page, status, body)
		}
	}
	_, text, _ := get("http://site." + Suffix + "/config.json")
	var config Config
	if err := json.Unmarshal([]byte(text), &config); err != nil || len(config.Targets) < 25 || config.URLs == nil ||
		config.BudgetMs != 40000 {
		t.Errorf("%v %s", err, text)
	}
	if status, _, _ := get("https://site." + Suffix + "/redirect?to=" +
		url.QueryEscape("https://site."+Suffix+"/seen/redirect/redirect/nonce9")); status != 200 {
		t.Errorf("redirect: %d", status)
	}
	if hits := c.site.Hits(); len(hits) != 1 || hits[0].Channel != "redirect" || hits[0].Nonce != "nonce9" ||
		hits[0].Host != "site."+Suffix {
		t.Errorf("%+v", hits)
	}
	if status, _, _ := get("https://site." + Suffix + "/seen/download/download/n"); status != 404 {
		t.Errorf("a download that would leave a file: %d", status)
	}
	_, _, header := get("https://site." + Suffix + ":8443/seen/quic/altsvc/n")
	if !strings.Contains(header.Get("Alt-Svc"), fmt.Sprint(config.Ports["quic"])) {
		t.Errorf("%v", header)
	}
	report := func(body string) int {
		res, err := client.Post("https://site."+Suffix+"/report", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, bad := range []string{``, `{`, `{"part":"other"}`, `[]`, strings.Repeat(" ", maxReport+1)} {
		if report(bad) != 400 {
			t.Errorf("%.20s was taken", bad)
		}
	}
	report(`{"part":"plain","attempts":[{"channel":"a"}]}`)
	report(`{"part":"plain"}`)
	select {
	case <-c.site.reported:
		t.Error("one page is enough")
	default:
	}
	report(`{"part":"secure"}`)
	if err := c.Wait(t.Context()); err != nil || len(c.site.Reports()) != 2 || len(c.site.Reports()[0].Attempts) != 1 {
		t.Errorf("%v %+v", err, c.site.Reports())
	}
}

// Every vector that the page uses exists, and every channel that it tries has a criterion.
func TestPageAndJudgeAgree(t *testing.T) {
	page, err := os.ReadFile("page/page.js")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range criteria() {
		known[r.name] = true
	}
	tried := map[string]bool{"loopback": true, "lan": true, "metadata": true}
	for _, m := range regexp.MustCompile(`(?:tries|attempt|one)\('([a-z_]+)'`).FindAllSubmatch(page, -1) {
		tried[string(m[1])] = true
	}
	for _, m := range regexp.MustCompile(`(stun_udp|turn_udp|turn_tcp|turn_tls): \[`).FindAllSubmatch(page, -1) {
		tried[string(m[1])] = true
	}
	for name := range known {
		if !tried[name] {
			t.Errorf("%s has a criterion and is not tried", name)
		}
	}
	for name := range tried {
		if !known[name] {
			t.Errorf("%s is tried and has no criterion", name)
		}
	}
}
