package proxy

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Policy says which targets may be dialled. The zero value allows the public internet only.
//
// Never allowed, not even to Exempt: the debug ports of runs (debug.go). Never allowed: loopback, unspecified, link-local, multicast, broadcast and reserved addresses, the metadata services
// of clouds, this machine's own addresses, and the names that mean any of these. An IPv6 form that carries an IPv4
// address (mapped, compatible, translated, NAT64, 6to4, Teredo) is judged by both.
type Policy struct {
	// AllowPrivate lets RFC 1918, unique local (RFC 4193), shared (RFC 6598) and benchmarking (RFC 2544) addresses pass, and
	// proxy servers on this machine. Without it a proxy server must be on the public internet, as any target.
	AllowPrivate bool
	// Exempt are targets as exact "host:port" that the operator named, and that pass whatever they are.
	Exempt []string
	// Refused are names that are refused beside those: "name", or ".name" for every name that ends so. In lower case, without a final dot.
	Refused []string
	// DebugPorts tells the ports of 127.0.0.1 at which runs listen for debuggers, where the system has no DebugRange. Nothing exempts them.
	DebugPorts func() []string
	// LocalAddrs tells this machine's own addresses. nil asks the system, at most once in five seconds.
	LocalAddrs func() []netip.Addr
	// LocalName tells this machine's own name. nil asks the system, at most once in five seconds.
	LocalName func() string
}

// Prefixes that nothing may reach, whatever the settings.
var deniedPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),      // this network; 0.0.0.0 reaches loopback on Linux
	netip.MustParsePrefix("127.0.0.0/8"),    // loopback
	netip.MustParsePrefix("169.254.0.0/16"), // link-local; most clouds' metadata
	netip.MustParsePrefix("224.0.0.0/4"),    // multicast
	netip.MustParsePrefix("240.0.0.0/4"),    // reserved, and broadcast
	netip.MustParsePrefix("::/128"),         // unspecified
	netip.MustParsePrefix("::1/128"),        // loopback
	netip.MustParsePrefix("fe80::/10"),      // link-local
	netip.MustParsePrefix("fec0::/10"),      // site-local, deprecated (RFC 3879)
	netip.MustParsePrefix("ff00::/8"),       // multicast
	// Metadata services that are not link-local.
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle
	netip.MustParsePrefix("fd00:ec2::/32"),          // Amazon: fd00:ec2::254 and its neighbours
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
}

// Prefixes that only AllowPrivate opens.
var privatePrefixes = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),  // shared by a provider's customers (RFC 6598)
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarking; also the made-up addresses of local proxies
	netip.MustParsePrefix("fc00::/7"),       // unique local
	netip.MustParsePrefix("64:ff9b:1::/48"), // local NAT64 (RFC 8215)
}

// Names that mean this machine or a metadata service, without a final dot. A name ends in one of these as a whole label.
var deniedNames = []string{
	"localhost", "localhost.localdomain", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
	"broadcasthost", "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"host.docker.internal", "gateway.docker.internal", "host.containers.internal", "kubernetes.docker.internal",
}

// exempt tells whether the operator named this very target.
func (p *Policy) exempt(t target) bool {
	for _, e := range p.Exempt {
		if host, port, err := net.SplitHostPort(e); err == nil && port == t.port && canonicalHost(host) == t.host {
			return true
		}
	}
	return false
}

// refuses says why the target must not be dialled, or "". For a name it judges the name only; the address that a
// direct dial finds is judged by refusesAddr when it is dialled.
func (p *Policy) refuses(t target, locals *localCache) string {
	if p.exempt(t) {
		return ""
	}
	if t.addr.IsValid() {
		return p.refusesAddr(t.addr, locals)
	}
	for _, n := range deniedNames {
		if t.host == n || strings.HasSuffix(t.host, "."+n) {
			return "the name means this machine or its network"
		}
	}
	if slices.Contains(locals.names(p.LocalName), t.host) {
		return "the name is this machine's own"
	}
	return ""
}

// unwanted tells whether the name is one of Refused.
func (p *Policy) refusesName(t target) bool {
	return slices.ContainsFunc(p.Refused, func(name string) bool {
		return t.host == name || name[:1] == "." && strings.HasSuffix(t.host, name)
	})
}

// refusesAddr says why the address must not be dialled, or "".
func (p *Policy) refusesAddr(a netip.Addr, locals *localCache) string {
	if a.Zone() != "" {
		return "an address with a zone is of a local link"
	}
	for _, form := range addressForms(a) {
		switch {
		case containsAddr(deniedPrefixes, form):
			return "the address is local to this machine, its link or its cloud, or not a host's"
		case !p.AllowPrivate && containsAddr(privatePrefixes, form):
			return "the address is of a private network"
		case slices.Contains(locals.addrs(p.LocalAddrs), form):
			return "the address is this machine's own"
		}
	}
	return ""
}

// refusesServer says why a proxy server at this address must not be dialled, or "". With AllowPrivate it may well be on
// loopback or in a private network, but a metadata service or a group of hosts is none. Without, it is judged as a target is:
// what dials any address and tells how it answers would else look into the inner network.
func (p *Policy) refusesServer(a netip.Addr, locals *localCache) string {
	if !p.AllowPrivate {
		if p.refusesAddr(a, locals) != "" {
			return "the proxy's address is of this machine or of a private network, which this server does not allow, or not a host's"
		}
		return ""
	}
	if a.Unmap().IsLoopback() {
		return ""
	}
	for _, form := range addressForms(a.WithZone("")) {
		if containsAddr(deniedPrefixes, form) {
			return "no proxy server can be at that address"
		}
	}
	return ""
}

func containsAddr(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Prefixes of IPv6 addresses that carry an IPv4 address.
var (
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, 2.5.5.1; "::1" is 0.0.0.1 in it, denied either way
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215, in its usual /96 form
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380; the client's address is stored inverted
)

// forms gives the address and, where it carries IPv4 addresses, those.
func addressForms(a netip.Addr) []netip.Addr {
	if a = a.Unmap(); a.Is4() {
		return []netip.Addr{a}
	}
	b := a.As16()
	switch {
	case compatible.Contains(a), translated.Contains(a), nat64.Contains(a), nat64Local.Contains(a):
		return []netip.Addr{a, netip.AddrFrom4([4]byte(b[12:16]))}
	case sixToFour.Contains(a):
		return []netip.Addr{a, netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(a):
		return []netip.Addr{a, netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	}
	return []netip.Addr{a}
}

// localCache remembers this machine's addresses and names for some seconds, since asking the system costs more than a
// dial's other decisions together.
type localCache struct{ p atomic.Pointer[localSnapshot] }

type localSnapshot struct {
	at    time.Time
	addrs []netip.Addr
	names []string
}

const localCacheAge = 5 * time.Second

// get gives this machine's addresses.
func (c *localCache) addrs(ask func() []netip.Addr) []netip.Addr {
	if ask != nil {
		return ask()
	}
	return c.load().addrs
}

// names gives this machine's names.
func (c *localCache) names(ask func() string) []string {
	if ask != nil {
		return hostnameForms(ask())
	}
	return c.load().names
}

func (c *localCache) load() *localSnapshot {
	if l := c.p.Load(); l != nil && time.Since(l.at) < localCacheAge {
		return l
	}
	l := &localSnapshot{at: time.Now()}
	addrs, _ := net.InterfaceAddrs() // on an error the fixed prefixes and names still stand
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				l.addrs = append(l.addrs, ip.Unmap())
			}
		}
	}
	name, _ := os.Hostname()
	l.names = hostnameForms(name)
	c.p.Store(l)
	return l
}

// spellings are what a machine of that name is called: in full, by its first label, and either of them in multicast DNS.
// Only these very names: what ends in one of them may be anybody's.
func hostnameForms(name string) []string {
	name = canonicalHost(name)
	first, _, _ := strings.Cut(name, ".")
	if first == "" {
		return nil
	}
	return []string{name, first, name + ".local", first + ".local"}
}
