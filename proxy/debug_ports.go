package proxy

import (
	"net/netip"
	"slices"
	"strconv"
)

// This file keeps everybody away from the debug ports of runs. Who reaches such a port drives the run, so nothing that is dialled for somebody
// else may lead there: no page's request, no bypass, no proxy's address, no rotateUrl, no check URL, whatever else is allowed. The
// literal address is refused before an upstream is asked, and what a name resolves to when it is dialled (Dialer.connect).

// DebugRange holds the debug ports of runs, and nothing else.
func DebugRange() netip.Prefix { return debugRange }

var debugRange = netip.MustParsePrefix("127.77.0.0/16")

const debugRangeReason = "the address is of 127.77.0.0/16, where runs listen for debuggers"

// IsDebugHost says whether a host is written as an address of DebugRange, in any spelling.
func IsDebugHost(host string) bool {
	a, err := netip.ParseAddr(canonicalHost(host))
	return err == nil && isDebug(a)
}

func isDebug(a netip.Addr) bool {
	return slices.ContainsFunc(addressForms(a.WithZone("")), debugRange.Contains)
}

// refusesDebug says why nobody may be led to the address, or "".
func (p *Policy) refusesDebug(a netip.AddrPort) string {
	if isDebug(a.Addr()) {
		return debugRangeReason
	}
	if p.DebugPorts == nil || !slices.ContainsFunc(addressForms(a.Addr().WithZone("")), func(f netip.Addr) bool { return f.IsLoopback() || f.IsUnspecified() }) {
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
	port, err := strconv.ParseUint(t.port, 10, 16)
	if err != nil {
		return "the port cannot be read" // parseTarget has read it
	}
	return p.refusesDebug(netip.AddrPortFrom(t.addr, uint16(port)))
}
