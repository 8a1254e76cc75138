package proxy

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Bypass is a target that is dialled directly, past the upstream and the Policy: a service of this machine that the operator named.
type Bypass struct {
	Host    string // in any spelling; ".name" stands for every name that ends so
	Port    string // decimal
	Address string // "host:port" that is dialled instead
}

// bypassFor returns the address at which the target is dialled directly, if a Bypass covers it.
func (d *Dialer) bypassFor(t target) (address string, ok bool) {
	for _, v := range d.Bypasses {
		suffix, any := strings.CutPrefix(v.Host, ".")
		if v.Port == t.port && (any && strings.HasSuffix(t.host, "."+canonicalHost(suffix)) || !any && canonicalHost(v.Host) == t.host) {
			return v.Address, true
		}
	}
	return "", false
}

// isBypassed reports whether a Bypass covers the address ("host:port"), so that it is dialled without the upstream.
func (d *Dialer) isBypassed(address string) bool {
	t, fault := parseTarget(address)
	_, ok := d.bypassFor(t)
	return fault == nil && ok
}

// dialBypass connects to an address that bypassFor returned. No name server is asked: the address is an IP address, or localhost,
// which is tried in both families.
func (d *Dialer) dialBypass(ctx context.Context, network, address string, times *Timings) (net.Conn, *Error) {
	spellings := []string{address}
	if host, port, err := net.SplitHostPort(address); err == nil && host == localhost {
		spellings = []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
	}
	var fault *Error
	for _, s := range spellings {
		var c net.Conn
		if c, fault = d.connect(ctx, network, s, StageRequest, func(netip.Addr) string { return "" }, times); fault == nil {
			return c, nil
		}
	}
	return nil, fault
}

const localhost = "localhost"

// IsAddress reports whether a host is an IP address, in any spelling that inet_aton(3) takes.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(canonicalHost(host))
	return err == nil
}

// LocalBypass reads "host:port" of a service of this machine or of its private network. The host is localhost, a name below it,
// or an address in any spelling. Other names are refused, since a name server decides what they mean.
// Addresses that no page may reach are refused too: metadata services, link-local and multicast ones.
// The error is an *Error with the code BlockedAddress.
func LocalBypass(target string) (Bypass, error) {
	t, fault := parseTarget(target)
	if fault != nil {
		return Bypass{}, fault
	}
	if t.host == localhost || strings.HasSuffix(t.host, "."+localhost) {
		return Bypass{Host: t.host, Port: t.port, Address: net.JoinHostPort(localhost, t.port)}, nil
	}
	if isDebug(t.addr) {
		return Bypass{}, badTarget(debugRangeReason, nil)
	}
	denied := func(a netip.Addr) bool { return containsAddr(deniedPrefixes, a) }
	private := containsAddr(privatePrefixes, t.addr) && !slices.ContainsFunc(addressForms(t.addr), denied)
	if !t.addr.IsValid() || !t.addr.Unmap().IsLoopback() && !private {
		return Bypass{}, badTarget("the target is not localhost, nor an address of this machine or of a private network", nil)
	}
	return Bypass{Host: t.host, Port: t.port, Address: t.address()}, nil
}

// LocalhostName reads a port, such as "3000", or a name with a port, such as "app.test:3000", that leads to this machine.
// The name is "" for localhost in every spelling. ok is false for anything else, an address or a pattern included.
func LocalhostName(entry string) (name, port string, ok bool) {
	rule, err := NormalizeRule(entry)
	if n, bad := strconv.Atoi(entry); bad == nil { // a number alone is a port, and would be an address as a rule
		return "", strconv.Itoa(n), n >= 1 && n <= 65535
	}
	name, port, bad := net.SplitHostPort(rule)
	if err != nil || bad != nil || strings.ContainsAny(name, "*/:") || IsAddress(name) || name == localhost ||
		strings.HasSuffix(name, "."+localhost) {
		return "", "", false
	}
	return name, port, true
}
