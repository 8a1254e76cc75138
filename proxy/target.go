package proxy

import (
	"cmp"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// target is the host and port that a dial is for, in one spelling.
type target struct {
	host string     // lower case, no brackets, no final dot; for an address its shortest form
	port string     // decimal, without leading zeros
	addr netip.Addr // valid when host is an address in any spelling
}

// address returns "host:port" for dialers and CONNECT.
func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

func (t target) portNumber() uint16 {
	n, _ := strconv.ParseUint(t.port, 10, 16) // parseTarget has read it
	return uint16(n)
}

// parseTarget reads "host:port". Browsers send literal addresses as names (Chrome's SOCKS requests do), and resolvers take spellings such
// as 127.1 or 0x7f000001. Both become the address, so that one decision holds for all spellings.
func parseTarget(address string) (target, *Error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return target{}, badTarget("the target is not host:port", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, badTarget("the target's port is not a number from 1 to 65535", nil)
	}
	if len(host) > maxHost {
		return target{}, badTarget("the target's name is longer than 255 bytes", nil)
	}
	t := target{host: canonicalHost(host), port: strconv.FormatUint(n, 10)}
	if t.addr, err = netip.ParseAddr(t.host); err != nil && (!isHostName(t.host) || endsInNumber(t.host)) {
		return target{}, badTarget("the target is not a host name or an address", nil)
	}
	return t, nil
}

func badTarget(message string, err error) *Error {
	return &Error{StageRequest, BlockedAddress, message, err}
}

// canonicalHost returns the one spelling of a host.
func canonicalHost(host string) string {
	host = unbracket(host)
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	host = strings.ToLower(host)
	host = cmp.Or(strings.TrimSuffix(host, "."), host)
	if a, ok := parseNumeric(host); ok {
		return a.String()
	}
	return host
}

// parseNumeric reads the spellings of an IPv4 address that inet_aton(3) takes. These are one to four numbers, each decimal, octal (0…) or
// hexadecimal (0x…), of which the last one fills the rest.
func parseNumeric(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		last := i == len(parts)-1
		switch {
		case !ok, !last && n > math.MaxUint8, last && n >= 1<<(8*(5-len(parts))):
			return netip.Addr{}, false
		case last:
			v |= n
		default:
			v |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// endsInNumber reports whether the last label of a name reads as a number. No such top-level domain exists. A resolver that calls
// 08.0.0.1 or 1.2.3.4.5 a name may stand beside one that calls it an address, so both are refused.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(last, "0x") {
		_, err := strconv.ParseUint(last[2:]+"0", 16, 64)
		return err == nil
	}
	return strings.Trim(last, "0123456789") == ""
}

func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		if s = s[2:]; s == "" { // the WHATWG URL standard takes a lone 0x as zero
			return 0, true
		}
		base = 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
