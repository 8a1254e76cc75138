package proxy

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Detour is a target that is dialled directly, whatever the upstream and the Policy: a service of this machine that somebody named.
type Detour struct {
	Host    string // in any spelling; ".name" stands for every name that ends so
	Port    string // decimal
	Address string // "host:port" that is dialled instead
}

// detour gives the address that the target is dialled at, when somebody named it.
func (d *Dialer) detour(t target) (address string, ok bool) {
	for _, v := range d.Detours {
		suffix, any := strings.CutPrefix(v.Host, ".")
		if v.Port == t.port && (any && strings.HasSuffix(t.host, "."+canonicalHost(suffix)) || !any && canonicalHost(v.Host) == t.host) {
			return v.Address, true
		}
	}
	return "", false
}

// takesDetour says whether the address goes beside the upstream, since somebody named it.
func (d *Dialer) takesDetour(address string) bool {
	if len(d.Detours) == 0 {
		return false
	}
	t, fault := parseTarget(address)
	if fault != nil {
		return false
	}
	_, named := d.detour(t)
	return named
}

// dialDetour connects to what detour gave. It asks no name server: the address is one, or localhost, which is tried in both families.
func (d *Dialer) dialDetour(ctx context.Context, network, address string, times *Timings) (net.Conn, *Error) {
	spellings := []string{address}
	if host, port, err := net.SplitHostPort(address); err == nil && host == localhost {
		spellings = []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)}
	}
	var fault *Error
	for _, s := range spellings {
		var c *net.TCPConn
		if c, fault = d.connect(ctx, network, s, StageRequest, func(netip.Addr) string { return "" }, times); fault == nil {
			return c, nil
		}
	}
	return nil, fault
}

const localhost = "localhost"

// IsAddress says whether a host is an address, in any spelling.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(canonicalHost(host))
	return err == nil
}

// LocalDetour reads "host:port" of a service of this machine or of its private network: localhost, a name below it, or an address in any
// spelling. Other names are refused, since they mean what a name server says, and so are addresses that no page has any business with
// (metadata services, link-local, multicast).
func LocalDetour(target string) (Detour, error) {
	t, fault := parseTarget(target)
	if fault != nil {
		return Detour{}, fault
	}
	if t.host == localhost || strings.HasSuffix(t.host, "."+localhost) {
		return Detour{Host: t.host, Port: t.port, Address: net.JoinHostPort(localhost, t.port)}, nil
	}
	if isDebug(t.addr) {
		return Detour{}, badTarget(ofDebugPorts, nil)
	}
	local := t.addr.IsValid() && (t.addr.Unmap().IsLoopback() || !slices.ContainsFunc(forms(t.addr), func(a netip.Addr) bool { return inAny(deniedPrefixes, a) }) && inAny(privatePrefixes, t.addr))
	if !local {
		return Detour{}, badTarget("the target is not localhost, nor an address of this machine or of a private network", nil)
	}
	return Detour{Host: t.host, Port: t.port, Address: t.address()}, nil
}
