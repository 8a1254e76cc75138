package proxy

import (
	"context"
	"net"
	"net/netip"
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

// dialDetour connects to what detour gave. It asks no name server: the address is one.
func (d *Dialer) dialDetour(ctx context.Context, network, address string, times *Timings) (net.Conn, *Error) {
	c, fault := d.connect(ctx, network, address, StageRequest, func(netip.Addr) string { return "" }, times)
	if fault != nil {
		return nil, fault
	}
	return c, nil
}
