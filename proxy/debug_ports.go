package proxy

import (
	"net/netip"
	"slices"
	"strconv"
)

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
