package leaks

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Channel is the judgement of one way out.
type Channel struct {
	Name   string
	Passed bool
	Seen   string // what was seen, in one line

	Undecided bool // time ran out before anything was shown: a longer test may show it
}

// rule is what a channel takes to pass, beside that no trap was hit by it.
type rule struct {
	name     string
	parts    []string // the pages that must have tried it
	control  bool     // the Site must have seen its try: else the test is blind here
	judgedBy func(evidence, *Channel)
}

// evidence is what one channel is judged by.
type evidence struct {
	attempts   []Attempt
	candidates []Candidate
	traps      []Hit // of this channel
	seen       int   // tries that the Site saw
	dnsPassed  bool
}

// rules are the channels in the order of the answer. dns stands before dns_prefetch, which is judged by it.
func rules() []rule {
	plain, secure, both := []string{"plain"}, []string{"secure"}, parts()
	return []rule{
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
		{"mdns", secure, false, judgeMDNS},
		{"webrtc_candidates", secure, false, judgeCandidates},
		{"dns", secure, false, nil},
		{"dns_prefetch", both, false, judgePrefetch},
		{"loopback", both, false, nil},
		{"lan", both, false, nil},
		{"metadata", plain, false, judgeMetadata},
	}
}

// groups are the channels that are told by where a try went, not by how.
func groups() []string { return []string{"loopback", "lan", "metadata"} }

// silent is what a page lacks that has not reported.
const silent = "did not report"

// Judge says for each channel whether it passed. One that was not tried, or of which no report came, has not.
func Judge(reports []Report, site, traps []Hit) (out []Channel) {
	var all evidence
	lacks := map[string]string{}
	for _, part := range parts() {
		lacks[part] = silent
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
	for _, rule := range rules() {
		e := all.of(rule.name, site, traps)
		e.dnsPassed = dnsPassed
		c := e.judge(rule, lacks)
		if c.Name == "dns" {
			dnsPassed = c.Passed
		}
		out = append(out, c)
	}
	return out
}

// of takes what belongs to one channel.
func (all evidence) of(channel string, site, traps []Hit) (e evidence) {
	nonces := map[string]bool{}
	for _, a := range all.attempts {
		if a.Channel == channel || slices.Contains(groups(), channel) && a.Group == channel {
			e.attempts = append(e.attempts, a)
			nonces[a.Nonce] = a.Group == "site"
		}
	}
	counted := map[string]bool{}
	for _, h := range site {
		if nonces[h.Nonce] && !counted[h.Nonce] {
			counted[h.Nonce] = true
			e.seen++
		}
	}
	for _, h := range traps {
		if slices.Contains(blamed(h), channel) {
			e.traps = append(e.traps, h)
		}
	}
	e.candidates = all.candidates
	return e
}

// resolverProbe is what Chrome asks a name server over HTTPS for, to see whether it works, when it is told of one
// (Chromium, kDohProbeHostname; seen with 156). No page made it resolve a name.
const resolverProbe = "www.gstatic.com."

// blamed are the channels that a hit of a trap speaks against: how it came, where that can be told, and where it came to.
func blamed(h Hit) []string {
	switch {
	case h.Kind == "dns": // it may well have come through the relay
		return []string{"dns"}
	case h.Kind == "doh" && (h.Host == "" || h.Host == resolverProbe):
		return nil
	case h.Kind == "doh":
		return []string{"dns"}
	}
	how := h.Channel
	if how == "" {
		how = map[string]string{"web": "http", "tls": "https"}[h.Kind]
	}
	if how == "" {
		how = h.Kind
	}
	where := "lan"
	if a, err := netip.ParseAddrPort(h.Local); err == nil && a.Addr().Unmap().IsLoopback() {
		where = "loopback"
	}
	return []string{how, where}
}

// judge decides. lacks says of each page without a whole report why there is none.
func (e evidence) judge(r rule, lacks map[string]string) Channel {
	c := Channel{Name: r.name}
	answered := slices.IndexFunc(e.attempts, func(a Attempt) bool { return a.Outcome == "ok" && slices.Contains(groups(), a.Group) })
	missing := slices.IndexFunc(r.parts, func(part string) bool { return lacks[part] != "" })
	switch {
	case len(e.traps) > 0:
		c.Seen = e.hits()
	case answered >= 0:
		a := e.attempts[answered]
		c.Seen = fmt.Sprintf("%s by %s was answered", a.Target, a.Vector)
	case missing >= 0:
		c.Seen = fmt.Sprintf("the %s page %s", r.parts[missing], lacks[r.parts[missing]])
		c.Undecided = lacks[r.parts[missing]] == silent
	case len(e.attempts) == 0:
		c.Seen = "the page did not try it"
	case e.unsupported():
		c.Passed, c.Seen = true, "this browser does not do it: "+e.attempts[0].Detail
	case r.control && e.seen == 0:
		c.Undecided = slices.ContainsFunc(e.attempts, func(a Attempt) bool { return a.Group == "site" && a.Outcome == "timeout" })
		c.Seen = "what should have come through the relay did not come: the test is blind here"
	case e.undecided():
		c.Undecided, c.Seen = true, "no try ended within its time, so nothing is shown: repeat it with a longer timeoutMs, or on a machine that is less busy"
	default:
		c.Passed, c.Seen = true, e.tries()
		if r.judgedBy != nil {
			r.judgedBy(e, &c)
		}
	}
	return c
}

// hits tells the first hit, and how many there were.
func (e evidence) hits() string {
	h := e.traps[0]
	for _, other := range e.traps {
		if h.Nonce == "" && other.Nonce != "" {
			h = other
		}
	}
	s := fmt.Sprintf("%s from %s came to %s", h.First, h.Remote, h.Local)
	if h.Host != "" {
		s += " as " + h.Host
	}
	if n := len(e.traps); n > 1 {
		s += fmt.Sprintf(" (%d times in all)", n)
	}
	return s
}

// unsupported says that the browser did not even begin.
func (e evidence) unsupported() bool {
	return !slices.ContainsFunc(e.attempts, func(a Attempt) bool { return a.Outcome != "unsupported" })
}

// undecided says that all tries of what is near timed out. Chrome sends six requests to a host at a time: on a busy machine a try may not have been sent.
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

func (e evidence) tries() string {
	site, traps := 0, 0
	for _, a := range e.attempts {
		if a.Group == "site" {
			site++
		} else {
			traps++
		}
	}
	s := "nothing beside the relay"
	if traps > 0 {
		s += fmt.Sprintf(" in %d tries", traps)
	}
	switch {
	case site > 0 && e.seen == 0 && !slices.ContainsFunc(e.attempts, unnoticed):
		s += "; this browser did not ask through it either"
	case e.seen > 0:
		s += fmt.Sprintf("; %d of %d through it arrived", e.seen, site)
	}
	return s
}

// unnoticed says that the Site would not see the try, for it asks for nothing, or not by HTTP.
func unnoticed(a Attempt) bool {
	return slices.Contains([]string{"rtc", "webtransport", "preconnect", "dnsprefetch"}, a.Vector)
}

// fieldsOf takes a candidate apart (RFC 8839, 5.1): its transport, address and type.
func fieldsOf(c Candidate) (transport, address, kind string) {
	f := strings.Fields(strings.TrimPrefix(c.Candidate, "candidate:"))
	if len(f) < 8 {
		return "", c.Candidate, ""
	}
	return strings.ToLower(f[2]), net.JoinHostPort(f[4], f[5]), f[7]
}

func isMDNS(c Candidate) bool { return strings.Contains(c.Candidate, ".local ") }

func judgeMDNS(e evidence, c *Channel) {
	n := 0
	for _, found := range e.candidates {
		if isMDNS(found) {
			n++
		}
	}
	if c.Passed = n == 0; c.Passed {
		c.Seen = "no name of multicast DNS in any candidate"
	} else {
		c.Seen = fmt.Sprintf("%d candidates with a name of multicast DNS, which Chrome announces to the local network", n)
	}
}

func judgeCandidates(e evidence, c *Channel) {
	if c.Passed = len(e.candidates) == 0; c.Passed {
		c.Seen = "WebRTC found no candidate"
		return
	}
	transport, address, kind := fieldsOf(e.candidates[0])
	c.Seen = fmt.Sprintf("%d candidates, the first %s %s of type %s", len(e.candidates), transport, address, kind)
}

// judgePrefetch goes by dns: a query of Chrome's own resolver cannot be seen from here, but it is one resolver for both.
func judgePrefetch(e evidence, c *Channel) {
	if c.Passed = e.dnsPassed; c.Passed {
		c.Seen = fmt.Sprintf("%d names hinted at; the browser's resolver knows none (see dns)", len(e.attempts))
	} else {
		c.Seen = "the browser's resolver works (see dns)"
	}
}

// judgeMetadata takes silence for a connection that went out: the relay refuses at once.
func judgeMetadata(e evidence, c *Channel) {
	for _, a := range e.attempts {
		if a.Outcome == "timeout" {
			c.Passed, c.Seen = false, fmt.Sprintf("%s by %s was neither answered nor refused: it went somewhere", a.Target, a.Vector)
			return
		}
	}
}
