package proxy

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Policy decides which targets may be dialled. The zero value allows the public internet only.
//
// Loopback, unspecified, link-local, multicast, broadcast and reserved addresses are refused, and so are this machine's own.
// The metadata services of clouds are refused, and the names that stand for any of these. Only Exempt overrides that.
// The debug ports of runs (see DebugRange) are refused even when they are exempt.
// An IPv6 address that carries an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) is judged by both.
type Policy struct {
	// AllowPrivate allows RFC 1918, unique local (RFC 4193), shared (RFC 6598) and benchmarking (RFC 2544) addresses. It also allows
	// proxy servers on this machine. Without it a proxy server must be on the public internet, as a target must.
	AllowPrivate bool
	// Exempt holds targets as exact "host:port" that the operator named. They are allowed whatever they are.
	Exempt []string
	// Refused holds further names to refuse: "name", or ".name" for every name that ends so. They are lower case, without a final dot.
	Refused []string
	// DebugPorts returns the ports of 127.0.0.1 where runs listen for debuggers, on systems without the DebugRange.
	DebugPorts func() []string
}

// Prefixes that are refused whatever the settings.
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

// Prefixes that only AllowPrivate allows.
var privatePrefixes = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),  // shared by a provider's customers (RFC 6598)
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarking; local proxies use it for made-up addresses
	netip.MustParsePrefix("fc00::/7"),       // unique local
	netip.MustParsePrefix("64:ff9b:1::/48"), // local NAT64 (RFC 8215)
}

// Names of this machine or of a metadata service, without a final dot. Names below them are refused too.
var deniedNames = []string{
	"localhost", "localhost.localdomain", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
	"broadcasthost", "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"host.docker.internal", "gateway.docker.internal", "host.containers.internal", "kubernetes.docker.internal",
}

// exempt reports whether the operator exempted this very target.
func (p *Policy) exempt(t target) bool {
	for _, e := range p.Exempt {
		if host, port, err := net.SplitHostPort(e); err == nil && port == t.port && canonicalHost(host) == t.host {
			return true
		}
	}
	return false
}

// refuses returns why the target must not be dialled, or "". Of a name it judges the name only: refusesAddr judges the address when a
// direct dial has resolved it.
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
	if slices.Contains(locals.load().names, t.host) {
		return "the name is this machine's own"
	}
	return ""
}

// refusesName reports whether Refused has the target's name.
func (p *Policy) refusesName(t target) bool {
	return slices.ContainsFunc(p.Refused, func(name string) bool {
		return t.host == name || name[:1] == "." && strings.HasSuffix(t.host, name)
	})
}

// refusesAddr returns why the address must not be dialled, or "".
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
		case slices.Contains(locals.load().addrs, form):
			return "the address is this machine's own"
		}
	}
	return ""
}

// refusesServer returns why a proxy server at this address must not be dialled, or "". With AllowPrivate it may be on loopback or in a
// private network, but not at a metadata service or a group of hosts. Without, it is judged as a target is: a caller who may dial any
// address, and learns how it answers, could explore the inner network.
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
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
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

// addressForms returns the address and the IPv4 addresses that it carries.
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

// localCache remembers this machine's addresses and names, since asking the system costs more than all other decisions of a dial.
type localCache struct{ p atomic.Pointer[localSnapshot] }

type localSnapshot struct {
	at    time.Time
	addrs []netip.Addr
	names []string
}

const localCacheAge = 5 * time.Second

// load returns what the system says, or said a moment ago.
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

// hostnameForms returns the names of a machine with a hostname: the full one and its first label, each alone and in multicast DNS.
// Names below them may be anybody's.
func hostnameForms(name string) []string {
	name = canonicalHost(name)
	first, _, _ := strings.Cut(name, ".")
	if first == "" {
		return nil
	}
	return []string{name, first, name + ".local", first + ".local"}
}

// Keeps dials away from the debug ports of runs: whoever reaches such a port controls the run. So no dial on another's behalf may lead
// there, be it a page's request, a bypass, a proxy's address, a rotateUrl or a check URL. Nothing exempts these ports.
// A literal address is refused before an upstream is asked. The address of a name is refused when it is dialled (Dialer.connect).

// DebugRange is the prefix of the debug ports of runs. It holds nothing else.
func DebugRange() netip.Prefix { return debugRange }

var debugRange = netip.MustParsePrefix("127.77.0.0/16")

const debugRangeReason = "the address is of 127.77.0.0/16, where runs listen for debuggers"

// IsDebugHost reports whether a host is an address of DebugRange, in any spelling.
func IsDebugHost(host string) bool {
	a, err := netip.ParseAddr(canonicalHost(host))
	return err == nil && isDebug(a)
}

func isDebug(a netip.Addr) bool {
	return slices.ContainsFunc(addressForms(a.WithZone("")), debugRange.Contains)
}

// refusesDebug returns why the address must not be dialled for anybody, or "".
func (p *Policy) refusesDebug(a netip.AddrPort) string {
	if isDebug(a.Addr()) {
		return debugRangeReason
	}
	local := func(f netip.Addr) bool { return f.IsLoopback() || f.IsUnspecified() }
	if p.DebugPorts == nil || !slices.ContainsFunc(addressForms(a.Addr().WithZone("")), local) {
		return ""
	}
	if slices.Contains(p.DebugPorts(), strconv.Itoa(int(a.Port()))) {
		return "a run listens there for debuggers"
	}
	return ""
}

// refusesDebugTarget judges a target as it is written. A name is judged when it is dialled.
func (p *Policy) refusesDebugTarget(t target) string {
	if !t.addr.IsValid() {
		return ""
	}
	return p.refusesDebug(netip.AddrPortFrom(t.addr, t.portNumber()))
}
