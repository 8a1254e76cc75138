package leaks

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Channel is the verdict on one way out.
type Channel struct {
	Name   string
	Passed bool
	Seen   string // the observation, in one line

	Undecided bool // time ran out before anything was shown; a longer test may show it
}

// criterion says when a channel passes, if no canary was hit through it.
type criterion struct {
	name    string
	parts   []string // the pages that must have tried it
	control bool     // the Site must have seen a try; otherwise the test is blind here
	verify  func(evidence, *Channel)
}

// evidence is what one verdict is based on.
type evidence struct {
	attempts   []Attempt
	candidates []Candidate
	canaryHits []Hit // of this channel
	seen       int   // tries that the Site saw
	dnsPassed  bool
}

// criteria lists the channels in the order of the answer. dns comes before dns_prefetch, whose verdict depends on it.
func criteria() []criterion {
	plain, secure, both := []string{"plain"}, []string{"secure"}, parts()
	return []criterion{
		{"http", plain, true, nil},
		{"https", secure, true, nil},
		{"websocket", both, true, nil},
		{"webtransport", secure, false, nil},
		{"eventsource", both, true, nil},
		{"beacon", both, true, nil},
		{"download", both, true, nil},
		{"prefetch", both, true, nil},
		{"prerender", secure, false, nil},
		{"preconnect", both, false, nil},
		{"worker", both, true, nil},
		{"shared_worker", both, true, nil},
		{"service_worker", secure, true, nil},
		{"favicon", both, false, nil},
		{"redirect", both, true, nil},
		{"popup", both, false, nil},
		{"quic", secure, true, nil},
		{"stun_udp", secure, false, nil},
		{"turn_udp", secure, false, nil},
		{"turn_tcp", secure, false, nil},
		{"turn_tls", secure, false, nil},
		{"mdns", secure, false, verdictMDNS},
		{"webrtc_candidates", secure, false, verdictCandidates},
		{"dns", secure, false, nil},
		{"dns_prefetch", both, false, verdictPrefetch},
		{"loopback", both, false, nil},
		{"lan", both, false, nil},
		{"metadata", plain, false, verdictMetadata},
	}
}

// groups are the channels that are identified by the target of a try, not by its method.
func groups() []string { return []string{"loopback", "lan", "metadata"} }

// noReport is what is wrong with a page that has not reported.
const noReport = "did not report"

// Verdicts returns a verdict per channel. A channel that was not tried, or for which no report came, fails.
func Verdicts(reports []Report, site, canaries []Hit) (out []Channel) {
	var all evidence
	lacks := map[string]string{}
	for _, part := range parts() {
		lacks[part] = noReport
	}
	for _, r := range reports {
		delete(lacks, r.Part)
		if r.Fault != "" {
			lacks[r.Part] = fmt.Sprintf("broke: %.200s", r.Fault)
		}
		all.attempts = append(all.attempts, r.Attempts...)
		all.candidates = append(all.candidates, r.Candidates...)
	}
	dnsPassed := false
	for _, want := range criteria() {
		e := all.forChannel(want.name, site, canaries)
		e.dnsPassed = dnsPassed
		c := e.verdict(want, lacks)
		if c.Name == "dns" {
			dnsPassed = c.Passed
		}
		out = append(out, c)
	}
	return out
}

// forChannel returns the evidence about one channel.
func (all evidence) forChannel(channel string, site, canaries []Hit) (e evidence) {
	nonces := map[string]bool{}
	for _, a := range all.attempts {
		if a.Channel == channel || slices.Contains(groups(), channel) && a.Group == channel {
			e.attempts = append(e.attempts, a)
			nonces[a.Nonce] = a.Group == "site"
		}
	}
	for _, h := range site {
		if nonces[h.Nonce] {
			nonces[h.Nonce] = false // each try counts once
			e.seen++
		}
	}
	for _, h := range canaries {
		if slices.Contains(channelsOf(h), channel) {
			e.canaryHits = append(e.canaryHits, h)
		}
	}
	e.candidates = all.candidates
	return e
}

// resolverProbe is the name that Chrome asks for to test a DNS over HTTPS server (Chromium, kDohProbeHostname; seen
// with 156). No page causes this query.
const resolverProbe = "www.gstatic.com."

// channelsOf returns the channels that a canary's hit is evidence against: by method, if that can be told, and by
// target.
func channelsOf(h Hit) []string {
	switch {
	case h.Kind == "dns": // the query may have come through the relay
		return []string{"dns"}
	case h.Kind == "doh" && (h.Host == "" || h.Host == resolverProbe):
		return nil
	case h.Kind == "doh":
		return []string{"dns"}
	}
	how := cmp.Or(h.Channel, map[string]string{"web": "http", "tls": "https"}[h.Kind], h.Kind)
	where := "lan"
	if a, err := netip.ParseAddrPort(h.Local); err == nil && a.Addr().Unmap().IsLoopback() {
		where = "loopback"
	}
	return []string{how, where}
}

// verdict decides. lacks says for each page without a complete report what is wrong.
func (e evidence) verdict(r criterion, lacks map[string]string) Channel {
	c := Channel{Name: r.name}
	answered := slices.IndexFunc(e.attempts, func(a Attempt) bool { return a.Outcome == "ok" && slices.Contains(groups(), a.Group) })
	missing := slices.IndexFunc(r.parts, func(part string) bool { return lacks[part] != "" })
	switch {
	case len(e.canaryHits) > 0:
		c.Seen = e.hits()
	case answered >= 0:
		a := e.attempts[answered]
		c.Seen = fmt.Sprintf("%s by %s was answered", a.Target, a.Vector)
	case missing >= 0:
		c.Seen = fmt.Sprintf("the %s page %s", r.parts[missing], lacks[r.parts[missing]])
		c.Undecided = lacks[r.parts[missing]] == noReport
	case len(e.attempts) == 0:
		c.Seen = "the page did not try it"
	case e.unsupported():
		c.Passed, c.Seen = true, "this browser does not do it: "+e.attempts[0].Detail
	case r.control && e.seen == 0:
		c.Undecided = slices.ContainsFunc(e.attempts, func(a Attempt) bool { return a.Group == "site" && a.Outcome == "timeout" })
		c.Seen = "what should have come through the relay did not come: the test is blind here"
	case e.undecided():
		c.Undecided, c.Seen = true, outOfTime
	default:
		c.Passed, c.Seen = true, e.tries()
		if r.verify != nil {
			r.verify(e, &c)
		}
	}
	return c
}

// outOfTime is what is seen of tries that did not end.
const outOfTime = "no try ended within its time, so nothing is shown: repeat it with a longer timeoutMs, or on a machine that is less busy"

// hits describes the first hit, if possible one of a known try, and says how many there were.
func (e evidence) hits() string {
	h := e.canaryHits[max(0, slices.IndexFunc(e.canaryHits, func(h Hit) bool { return h.Nonce != "" }))]
	s := fmt.Sprintf("%s from %s came to %s", h.First, h.Remote, h.Local)
	if h.Host != "" {
		s += " as " + h.Host
	}
	if n := len(e.canaryHits); n > 1 {
		s += fmt.Sprintf(" (%d times in all)", n)
	}
	return s
}

// unsupported reports whether the browser has none of the features.
func (e evidence) unsupported() bool {
	return !slices.ContainsFunc(e.attempts, func(a Attempt) bool { return a.Outcome != "unsupported" })
}

// undecided reports whether all tries of near targets timed out. Chrome sends six requests at a time to a host, so
// that on a busy machine a try may not have been sent.
func (e evidence) undecided() bool {
	tried := false
	for _, a := range e.attempts {
		if a.Group == "site" || a.Outcome == "unsupported" {
			continue
		}
		if tried = true; a.Outcome != "timeout" {
			return false
		}
	}
	return tried
}

// timedOut reports whether no try ended.
func (e evidence) timedOut() bool {
	return !slices.ContainsFunc(e.attempts, func(a Attempt) bool { return a.Outcome != "timeout" })
}

func (e evidence) tries() string {
	site, near := 0, 0
	for _, a := range e.attempts {
		if a.Group == "site" {
			site++
		} else {
			near++
		}
	}
	s := "nothing beside the relay"
	if near > 0 {
		s += fmt.Sprintf(" in %d tries", near)
	}
	switch {
	case site > 0 && e.seen == 0 && !slices.ContainsFunc(e.attempts, unseen):
		s += "; this browser did not ask through it either"
	case e.seen > 0:
		s += fmt.Sprintf("; %d of %d through it arrived", e.seen, site)
	}
	return s
}

// unseen reports whether the Site cannot see the try, since it sends no request, or none over HTTP.
func unseen(a Attempt) bool {
	return slices.Contains([]string{"rtc", "webtransport", "preconnect", "dnsprefetch"}, a.Vector)
}

// fieldsOf returns a candidate's transport, address and type (RFC 8839, 5.1).
func fieldsOf(c Candidate) (transport, address, kind string) {
	f := strings.Fields(strings.TrimPrefix(c.Candidate, "candidate:"))
	if len(f) < 8 {
		return "", c.Candidate, ""
	}
	return strings.ToLower(f[2]), net.JoinHostPort(f[4], f[5]), f[7]
}

func isMDNS(c Candidate) bool { return strings.Contains(c.Candidate, ".local ") }

func verdictMDNS(e evidence, c *Channel) {
	n := 0
	for _, found := range e.candidates {
		if isMDNS(found) {
			n++
		}
	}
	switch {
	case n == 0 && e.timedOut():
		c.Passed, c.Undecided, c.Seen = false, true, outOfTime
	case n == 0:
		c.Seen = "no name of multicast DNS in any candidate"
	default:
		c.Passed, c.Seen = false, fmt.Sprintf("%d candidates with a name of multicast DNS, which Chrome announces to the local network", n)
	}
}

func verdictCandidates(e evidence, c *Channel) {
	switch {
	case len(e.candidates) == 0 && e.timedOut():
		c.Passed, c.Undecided, c.Seen = false, true, outOfTime
	case len(e.candidates) == 0:
		c.Seen = "WebRTC found no candidate"
	default:
		transport, address, kind := fieldsOf(e.candidates[0])
		c.Passed, c.Seen = false, fmt.Sprintf("%d candidates, the first %s %s of type %s", len(e.candidates), transport, address, kind)
	}
}

// verdictPrefetch follows the verdict on dns: queries of Chrome's own resolver cannot be seen here, but both use the
// same resolver.
func verdictPrefetch(e evidence, c *Channel) {
	if c.Passed = e.dnsPassed; c.Passed {
		c.Seen = fmt.Sprintf("%d names hinted at; the browser's resolver knows none (see dns)", len(e.attempts))
	} else {
		c.Seen = "the browser's resolver works (see dns)"
	}
}

// verdictMetadata fails on a timeout: the relay refuses at once, so a connection must have left the browser.
func verdictMetadata(e evidence, c *Channel) {
	for _, a := range e.attempts {
		if a.Outcome == "timeout" {
			c.Passed, c.Seen = false, fmt.Sprintf("%s by %s was neither answered nor refused: it went somewhere", a.Target, a.Vector)
			return
		}
	}
}
