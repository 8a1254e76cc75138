// Package leaks is the page that tries every way out of a browser, and the canaries that see whether one was found.
//
// The page is opened in a browser whose relay leads the names below Suffix to the Site, and nothing else to this machine. It tries each
// channel that a browser has against the Site, which the relay leads to, and against the Traps, which nothing may reach: a trap that is
// hit was reached beside the relay. What the page says of itself is believed only where it accuses; that nothing came, the Traps say.
package leaks

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Suffix is below what every name of the Site stands: a domain that is nobody's (RFC 6761, 6.2).
const Suffix = "leaks.warren.test"

// The ports at which pages name the Site. QUIC on a high port is offered on the last: Chrome takes no such offer from a port below 1024.
const (
	httpPort    = 80
	httpsPort   = 443
	altHTTPPort = 8443
)

// Options are what a Test can be told. The zero value will do.
type Options struct {
	Budget time.Duration // how long the page may try; 0: DefaultBudget
	URLs   []string      // further addresses that the page asks for, as any page may; what comes of them is reported, not judged
}

// DefaultBudget is how long the page tries when nobody says so. On a machine with nothing else to do it is done in ten seconds.
const DefaultBudget = 40 * time.Second

// Config is what the page is told. Times are in milliseconds.
type Config struct {
	Suffix   string         `json:"suffix"`
	Targets  []Target       `json:"targets"`
	Names    []string       `json:"names"` // names of this machine, that its own resolver knows
	Ports    map[string]int `json:"ports"` // of the traps, by kind
	URLs     []string       `json:"urls"`
	BudgetMs int64          `json:"budgetMs"`
	TryMs    int64          `json:"tryMs"`    // how long one try may take
	SettleMs int64          `json:"settleMs"` // how long the page waits for what it cannot await, before it reports
}

// Target is a host that nothing may reach.
type Target struct {
	Group string `json:"group"` // loopback, lan or metadata
	Host  string `json:"host"`  // as a URL spells it
	Core  bool   `json:"core"`  // every channel tries it; the others are tried by some
}

// Way is a target that the browser's relay must lead to this machine, as a proxy.Bypass does.
type Way struct {
	Host    string // ".name" stands for every name that ends so
	Port    string // decimal
	Address string // "host:port" to dial instead
}

// Test is the Site and the Traps of one run.
type Test struct {
	site  *Site
	traps *Traps
}

// Open sets up the canaries on free ports. Close ends them.
func Open(o Options) (*Test, error) {
	cert, spki, err := newCertificate()
	if err != nil {
		return nil, err
	}
	traps, err := newTraps(cert)
	if err != nil {
		return nil, err
	}
	budget := o.Budget
	if budget <= 0 {
		budget = DefaultBudget
	}
	c := Config{Suffix: Suffix, Targets: targets(traps.addresses), Names: ownNames(), Ports: traps.ports, URLs: append([]string{}, o.URLs...),
		BudgetMs: budget.Milliseconds(), TryMs: budget.Milliseconds() / 3, SettleMs: min(budget.Milliseconds()/10, 1000)}
	site, err := newSite(c, cert, spki)
	if err != nil {
		traps.Close()
		return nil, err
	}
	return &Test{site, traps}, nil
}

// Pages are the addresses to open, in this order: an ordinary page, and one that is a secure context. The last one should be in front.
func (t *Test) Pages() []string {
	return []string{"http://plain." + Suffix + "/", "https://site." + Suffix + "/"}
}

// SPKI is the base64 SHA-256 of the Site's public key, for --ignore-certificate-errors-spki-list.
func (t *Test) SPKI() string { return t.site.spki }

// Resolver is the address of a name server over HTTPS (RFC 8484), as Chrome's setting dns_over_https.templates takes it. It is a trap: what the
// browser's own resolver is asked comes there.
func (t *Test) Resolver() string {
	return fmt.Sprintf("https://%s/dns-query{?dns}", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.traps.ports["doh"])))
}

// Ways are what the relay must lead to this machine: the Site's names, and the traps of kind dns. These are asked for by names alone:
// who asks the relay for them by address has resolved a name by itself.
func (t *Test) Ways() []Way {
	out := []Way{
		{"." + Suffix, strconv.Itoa(httpPort), t.site.plain.Addr().String()},
		{"." + Suffix, strconv.Itoa(httpsPort), t.site.secure.Addr().String()},
		{"." + Suffix, strconv.Itoa(altHTTPPort), t.site.secure.Addr().String()},
	}
	port := strconv.Itoa(t.traps.ports["dns"])
	for _, a := range t.traps.addresses {
		out = append(out, Way{a.String(), port, net.JoinHostPort(a.String(), port)})
	}
	return out
}

// Wait returns when every page has reported, or with ctx's error.
func (t *Test) Wait(ctx context.Context) error {
	select {
	case <-t.site.reported:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Config is what the page is told.
func (t *Test) Config() Config { return t.site.config }

// Reports are what the pages have told so far.
func (t *Test) Reports() []Report { return t.site.Reports() }

// SiteHits are the requests that came through the relay, TrapHits what came beside it.
func (t *Test) SiteHits() []Hit { return t.site.Hits() }

// TrapHits are what came to the traps. Each one is a leak.
func (t *Test) TrapHits() []Hit { return t.traps.Hits() }

// Channels judges what was seen so far.
func (t *Test) Channels() []Channel { return Judge(t.Reports(), t.SiteHits(), t.TrapHits()) }

// Close ends the canaries and returns when nothing of them is left. What was seen stays.
func (t *Test) Close() {
	t.site.Close()
	t.traps.Close()
}

// Hit is something that came to a canary.
type Hit struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`    // of a trap: its key in Config.Ports; of the Site: site
	Channel string    `json:"channel"` // which channel it was, where that could be read
	Nonce   string    `json:"nonce"`   // which try it was, where that could be read
	Host    string    `json:"host"`    // the Host header, where there was one
	Local   string    `json:"local"`   // the canary's address
	Remote  string    `json:"remote"`  // who came
	First   string    `json:"first"`   // the first of what was said, in words
}

// Report is what one page tells.
type Report struct {
	Part       string      `json:"part"` // plain or secure
	Attempts   []Attempt   `json:"attempts"`
	Candidates []Candidate `json:"candidates"`
	Fault      string      `json:"fault"` // what broke the page; "" when it did all that it meant to
}

// Attempt is one try of one channel.
type Attempt struct {
	Channel string `json:"channel"`
	Vector  string `json:"vector"` // how: fetch, img, ws, …
	Group   string `json:"group"`  // the target's; site for the one that the relay leads to, name for a name of this machine
	Target  string `json:"target"`
	Nonce   string `json:"nonce"`
	Outcome string `json:"outcome"` // ok: something answered; done, sent: nobody can tell; error, timeout, unsupported
	Detail  string `json:"detail"`
	Ms      int64  `json:"ms"`
}

// Candidate is one ICE candidate that WebRTC found (RFC 8839, 5.1).
type Candidate struct {
	Channel   string `json:"channel"`
	Server    string `json:"server"`
	Candidate string `json:"candidate"`
}

// targets are the spellings of this machine, its network and its cloud that pages can write.
func targets(own []netip.Addr) (out []Target) {
	for i, h := range []string{"127.0.0.1", "[::1]", "localhost", "localhost.", "warren.localhost", "127.1", "127.0.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1",
		"017700000001", "0177.0.0.1", "0.0.0.0", "0", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "ip6-localhost", "%31%32%37.0.0.1", "１２７。0。0。1"} {
		out = append(out, Target{"loopback", h, i < 2})
	}
	first := true
	for _, a := range own {
		if a.IsLoopback() {
			continue
		}
		host := a.String()
		if a.Is6() {
			host = "[" + host + "]"
		}
		out = append(out, Target{"lan", host, first})
		first = false
	}
	for _, n := range ownNames() {
		if n != "localhost" {
			out = append(out, Target{"lan", n, true}, Target{"lan", n + ".local", false})
		}
	}
	for _, h := range []string{"169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "100.100.100.200", "metadata.google.internal"} {
		out = append(out, Target{"metadata", h, false})
	}
	return out
}

// ownNames are names that this machine's resolver knows without asking anybody: localhost, and its own.
func ownNames() []string {
	names := []string{"localhost"}
	if name, err := os.Hostname(); err == nil && name != "" && name != "localhost" && !strings.ContainsAny(name, "%/:@ ") {
		names = append(names, name)
	}
	return names
}

// maxAddresses is how many addresses of this machine get traps.
const maxAddresses = 8

// ownAddresses are the loopback addresses and those of this machine's interfaces at which somebody can listen.
func ownAddresses() (out []netip.Addr) {
	list := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}
	found, _ := net.InterfaceAddrs() // on an error the loopback addresses remain
	for _, a := range found {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().IsGlobalUnicast() {
				list = append(list, ip.Unmap())
			}
		}
	}
	for _, a := range list {
		if slices.Contains(out, a) || len(out) == maxAddresses {
			continue
		}
		if l, err := net.Listen("tcp", netip.AddrPortFrom(a, 0).String()); err == nil {
			l.Close()
			out = append(out, a)
		}
	}
	return out
}

// readReport decodes a report; what is too long for a page of ours is refused.
func readReport(text []byte) (r Report, err error) {
	err = json.Unmarshal(text, &r)
	return r, err
}
