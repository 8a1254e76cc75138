// Package leaks provides a page that tries every way out of a browser, and canaries that detect a leak.
//
// The page is opened in a browser whose relay connects the names below Suffix to the Site, and nothing else to this
// machine. The page tries each channel of a browser against the Site and against the Canaries. Nothing may reach a
// canary: a hit came past the relay. The page's own report is trusted only where it reports a leak. That nothing
// leaked is proved by the Canaries.
package leaks

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Suffix is the parent domain of all names of the Site. It belongs to nobody (RFC 6761, 6.2).
const Suffix = "leaks.warren.test"

// The ports at which pages reach the Site. The last one offers QUIC on a high port, which Chrome does not accept from
// a port below 1024.
const (
	httpPort    = 80
	httpsPort   = 443
	altHTTPPort = 8443
)

// Options configure a Test. The zero value is valid.
type Options struct {
	Budget time.Duration // how long the page may try; 0: DefaultBudget
	URLs   []string      // further addresses that the page requests; their results are reported, without a verdict
}

// DefaultBudget is how long the page may try by default. On an idle machine it takes ten seconds.
const DefaultBudget = 40 * time.Second

// Config is the page's configuration. Times are in milliseconds.
type Config struct {
	Suffix   string         `json:"suffix"`
	Targets  []Target       `json:"targets"`
	Names    []string       `json:"names"` // names of this machine that its own resolver knows
	Ports    map[string]int `json:"ports"` // of the canaries, by kind
	URLs     []string       `json:"urls"`
	BudgetMs int64          `json:"budgetMs"`
	TryMs    int64          `json:"tryMs"`    // the limit of one try
	SettleMs int64          `json:"settleMs"` // the wait before the report, for results that no event announces
}

// Target is a host that nothing may reach.
type Target struct {
	Group string `json:"group"` // loopback, lan or metadata
	Host  string `json:"host"`  // as a URL spells it
	Core  bool   `json:"core"`  // every channel tries it; other targets are tried by some
}

// Bypass is a target that the browser's relay must connect to this machine.
type Bypass struct {
	Host    string // ".name" matches every name with this suffix
	Port    string // decimal
	Address string // "host:port" to dial instead
}

// Test holds the Site and the Canaries of one run.
type Test struct {
	site     *Site
	canaries *Canaries
}

// Open starts the Site and the Canaries on free ports. Close ends them.
func Open(o Options) (*Test, error) {
	cert, spki, err := newCertificate()
	if err != nil {
		return nil, err
	}
	canaries, err := newCanaries(cert)
	if err != nil {
		return nil, err
	}
	budget := cmp.Or(max(o.Budget, 0), DefaultBudget)
	c := Config{Suffix: Suffix, Targets: targets(canaries.addresses), Names: ownNames(), Ports: canaries.ports,
		URLs: append([]string{}, o.URLs...), BudgetMs: budget.Milliseconds(), TryMs: budget.Milliseconds() / 3,
		SettleMs: min(budget.Milliseconds()/10, 1000)}
	site, err := newSite(c, cert, spki)
	if err != nil {
		canaries.Close()
		return nil, err
	}
	return &Test{site, canaries}, nil
}

// Pages returns the addresses to open, in this order: an ordinary page and a secure context. The last should be in
// front.
func (t *Test) Pages() []string {
	return []string{"http://plain." + Suffix + "/", "https://site." + Suffix + "/"}
}

// SPKI is the base64 SHA-256 of the Site's public key, for --ignore-certificate-errors-spki-list.
func (t *Test) SPKI() string { return t.site.spki }

// Resolver is the address of a DNS over HTTPS server (RFC 8484), in the form of Chrome's setting
// dns_over_https.templates. It is a canary, which receives the queries of the browser's own resolver.
func (t *Test) Resolver() string {
	return fmt.Sprintf("https://%s/dns-query{?dns}", net.JoinHostPort("127.0.0.1", strconv.Itoa(t.canaries.ports["doh"])))
}

// Bypasses returns what the relay must connect to this machine: the Site's names, and the canaries of kind dns. Pages
// name those by name only: a request to the relay by address means that the browser has resolved a name itself.
func (t *Test) Bypasses() []Bypass {
	out := []Bypass{
		{"." + Suffix, strconv.Itoa(httpPort), t.site.plain.Addr().String()},
		{"." + Suffix, strconv.Itoa(httpsPort), t.site.secure.Addr().String()},
		{"." + Suffix, strconv.Itoa(altHTTPPort), t.site.secure.Addr().String()},
	}
	port := strconv.Itoa(t.canaries.ports["dns"])
	for _, a := range t.canaries.addresses {
		out = append(out, Bypass{a.String(), port, net.JoinHostPort(a.String(), port)})
	}
	return out
}

// Wait returns nil when every page has reported, or ctx's error.
func (t *Test) Wait(ctx context.Context) error {
	select {
	case <-t.site.reported:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reports returns the pages' reports so far.
func (t *Test) Reports() []Report { return t.site.Reports() }

// CanaryHits returns the hits of canaries. Each one is a leak.
func (t *Test) CanaryHits() []Hit { return t.canaries.Hits() }

// Channels returns the verdicts on the evidence so far.
func (t *Test) Channels() []Channel {
	return Verdicts(t.site.Reports(), t.site.Hits(), t.canaries.Hits())
}

// Close ends the Site and the Canaries and returns when they have stopped. Hits and reports stay available.
func (t *Test) Close() {
	t.site.Close()
	t.canaries.Close()
}

// Hit is a request, connection or datagram that reached the Site or a canary.
type Hit struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`    // of a canary: its key in Config.Ports; of the Site: site
	Channel string    `json:"channel"` // the channel, if it can be read
	Nonce   string    `json:"nonce"`   // the try, if it can be read
	Host    string    `json:"host"`    // the Host header, if there is one
	Local   string    `json:"local"`   // the address that was reached
	Remote  string    `json:"remote"`  // the sender's address
	First   string    `json:"first"`   // a description of the first bytes
}

// Report is the report of one page.
type Report struct {
	Part       string      `json:"part"` // plain or secure
	Attempts   []Attempt   `json:"attempts"`
	Candidates []Candidate `json:"candidates"`
	Fault      string      `json:"fault"` // the error that broke the page; "" if it completed
}

// Attempt is one try of one channel.
type Attempt struct {
	Channel string `json:"channel"`
	Vector  string `json:"vector"` // the method: fetch, img, ws, …
	Group   string `json:"group"`  // the target's; site: reached through the relay; name: a name of this machine
	Target  string `json:"target"`
	Nonce   string `json:"nonce"`
	Outcome string `json:"outcome"` // ok: answered; done, sent: unknown; error, timeout, unsupported
	Detail  string `json:"detail"`
	Ms      int64  `json:"ms"`
}

// Candidate is one ICE candidate that WebRTC found (RFC 8839, 5.1).
type Candidate struct {
	Channel   string `json:"channel"`
	Server    string `json:"server"`
	Candidate string `json:"candidate"`
}

// targets returns the spellings of this machine, its network and its cloud that pages can use.
func targets(own []netip.Addr) (out []Target) {
	for i, h := range []string{"127.0.0.1", "[::1]", "localhost", "localhost.", "warren.localhost", "127.1", "127.0.1", "127.0.0.1.",
		"2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "0.0.0.0", "0", "[::]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "ip6-localhost", "%31%32%37.0.0.1", "１２７。0。0。1"} {
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
	for _, h := range []string{"169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]", "[fd00:ec2::254]",
		"100.100.100.200", "metadata.google.internal"} {
		out = append(out, Target{"metadata", h, false})
	}
	return out
}

// ownNames returns the names that this machine's resolver knows without a query: localhost and its own.
func ownNames() []string {
	names := []string{"localhost"}
	if name, err := os.Hostname(); err == nil && name != "" && name != "localhost" && !strings.ContainsAny(name, "%/:@ ") {
		names = append(names, name)
	}
	return names
}

// maxAddresses is how many addresses of this machine get canaries.
const maxAddresses = 8

// ownAddresses returns the loopback addresses and those of this machine's interfaces, if a listener can use them.
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
