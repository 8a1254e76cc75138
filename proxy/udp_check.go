package proxy

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Checks whether a SOCKS5 proxy relays datagrams, by UDP ASSOCIATE (RFC 1928 sections 4, 6 and 7). A STUN Binding request (RFC 8489)
// through it returns the address that other hosts see.

// UDPResult is the outcome of a check of a proxy's UDP.
type UDPResult struct {
	OK     bool
	ExitIP string // of datagrams, which may differ from that of connections
	Err    *Error // nil when OK
}

const (
	udpTimeout          = 2 * time.Second        // for the whole check
	firstResend         = 300 * time.Millisecond // without an answer the first datagram is sent again; each further wait is twice as long
	maxForeignDatagrams = 64                     // datagrams that are no answer

	stunPort    = "3478"
	stunHead    = 20 // bytes: type, length, cookie and transaction (RFC 8489 section 5)
	stunCookie  = 0x2112A442
	stunRequest = 0x0001
	stunSuccess = 0x0101
	stunError   = 0x0111

	stunMapped    = 0x0001 // MAPPED-ADDRESS, section 14.1
	stunXORMapped = 0x0020 // XOR-MAPPED-ADDRESS, section 14.2
)

// probeUDP requests c.UDPURL through p, within timeout.
func (c *Checker) probeUDP(ctx context.Context, p Proxy, timeout time.Duration) *UDPResult {
	t, fault := stunTarget(c.UDPURL)
	if fault != nil {
		return &UDPResult{Err: fault}
	}
	if reason := c.Policy.refusesDebugTarget(t); reason != "" {
		return &UDPResult{Err: &Error{StageRequest, BlockedAddress, reason, nil}}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := &Dialer{Policy: c.Policy, RootCAs: c.RootCAs, shared: &c.caches, keepAlive: -1}
	var bound []byte
	var times Timings
	// The association lives as long as this connection. The zeros are the client's address, which is not known yet.
	h := &handshake{request: []byte{socksVersion, 3, 0, 1, 0, 0, 0, 0, 0, 0}, bound: &bound}
	conn, fault := d.tryOnce(ctx, &p, t, h, &times)
	if fault != nil {
		return &UDPResult{Err: fault}
	}
	defer conn.Close()
	exit, fault := stunRoundTrip(ctx, conn, bound, t)
	if fault != nil {
		return &UDPResult{Err: fault}
	}
	return &UDPResult{OK: true, ExitIP: exit.String()}
}

// stunTarget reads "stun://host:port", where the port is optional.
func stunTarget(raw string) (target, *Error) {
	address, ok := strings.CutPrefix(raw, "stun://")
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(unbracket(address), stunPort)
	}
	t, fault := parseTarget(address)
	if !ok || fault != nil {
		return t, &Error{StageResponse, BadResponse, "the UDP check URL is not stun://host:port", nil}
	}
	return t, nil
}

// stunRoundTrip sends datagrams to the port that the proxy named, at the address where the proxy was dialled. The address that the proxy
// names is often of an inner network, and must not lead to another host. The socket is connected, so it reads from no other host.
func stunRoundTrip(ctx context.Context, conn net.Conn, bound []byte, t target) (exit netip.Addr, fault *Error) {
	server := *conn.RemoteAddr().(*net.TCPAddr)
	port := int(binary.BigEndian.Uint16(bound[len(bound)-2:]))
	if port == 0 {
		return exit, &Error{StageRequest, NotAProxy, "the proxy told no port for datagrams", nil}
	}
	local := conn.LocalAddr().(*net.TCPAddr)
	u, err := net.DialUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone}, &net.UDPAddr{IP: server.IP, Port: port, Zone: server.Zone})
	if err != nil {
		return exit, asError(StageRequest, err)
	}
	defer u.Close()
	var transaction [12]byte
	rand.Read(transaction[:]) // never fails
	message := stunMessage(t, transaction)
	fault = runCancellable(ctx, u, func() (fault *Error) {
		exit, fault = exchange(ctx, u, message, transaction)
		return fault
	})
	return exit, fault
}

// stunMessage returns a Binding request behind the header of a SOCKS5 datagram for t.
func stunMessage(t target, transaction [12]byte) []byte {
	b := appendAddress([]byte{0, 0, 0}, t)
	b = binary.BigEndian.AppendUint16(b, stunRequest)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint32(b, stunCookie)
	return append(b, transaction[:]...)
}

// exchange sends the message repeatedly, with longer and longer waits, until its answer comes.
func exchange(ctx context.Context, u *net.UDPConn, message []byte, transaction [12]byte) (netip.Addr, *Error) {
	end, _ := ctx.Deadline()
	b := make([]byte, 1500)
	seen := 0
	for pause := firstResend; ; pause *= 2 {
		if _, err := u.Write(message); err != nil {
			return netip.Addr{}, datagramFault(err)
		}
		last := time.Until(end) <= pause
		if !last {
			u.SetReadDeadline(time.Now().Add(pause))
		} else {
			u.SetReadDeadline(end)
		}
		if ctx.Err() != nil { // runCancellable has interrupted u, and the deadline above undid that
			return netip.Addr{}, datagramFault(ctx.Err())
		}
		for {
			n, err := u.Read(b)
			if isTimeout(err) && !last && ctx.Err() == nil {
				break
			}
			if err != nil {
				return netip.Addr{}, datagramFault(err)
			}
			if exit, answer, fault := readSTUN(b[:n], transaction); answer {
				return exit, fault
			}
			if seen++; seen >= maxForeignDatagrams {
				return netip.Addr{}, &Error{StageResponse, BadResponse, "what the proxy relays is no answer to the UDP check", errBudget}
			}
		}
	}
}

func datagramFault(err error) *Error {
	fault := asError(StageResponse, err)
	if fault.Code == TimedOut && !errors.Is(err, context.Canceled) {
		fault.Message = "no answer came through the proxy's UDP in time"
	}
	return fault
}

// readSTUN reads a datagram from the proxy. answer is false for a broken one, or one that answers something else.
func readSTUN(b []byte, transaction [12]byte) (exit netip.Addr, answer bool, fault *Error) {
	if len(b) < 5 || b[0] != 0 || b[1] != 0 || b[2] != 0 { // fragments are not supported
		return exit, false, nil
	}
	head := map[byte]int{1: 4 + 4 + 2, 3: 4 + 1 + int(b[4]) + 2, 4: 4 + 16 + 2}[b[3]]
	if head == 0 || len(b) < head+stunHead {
		return exit, false, nil
	}
	b = b[head:]
	kind, size := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
	if binary.BigEndian.Uint32(b[4:]) != stunCookie || [12]byte(b[8:stunHead]) != transaction || stunHead+size != len(b) {
		return exit, false, nil
	}
	if kind == stunError {
		return exit, true, &Error{StageResponse, BadResponse, "the STUN server refused", nil}
	}
	if kind != stunSuccess {
		return exit, false, nil
	}
	if exit = mappedAddress(b); !exit.IsValid() {
		return exit, true, &Error{StageResponse, BadResponse, "the STUN server told no address", nil}
	}
	return exit, true, nil
}

// mappedAddress returns the XOR-MAPPED-ADDRESS of a whole STUN message, or the older MAPPED-ADDRESS when there is no other.
func mappedAddress(message []byte) (plain netip.Addr) {
	for rest := message[stunHead:]; len(rest) >= 4; {
		kind, size := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if len(rest) < 4+size {
			return plain
		}
		value := rest[4 : 4+size]
		if kind == stunMapped || kind == stunXORMapped {
			if a := stunAddress(value, message, kind == stunXORMapped); a.IsValid() {
				if kind == stunXORMapped {
					return a
				}
				plain = a
			}
		}
		rest = rest[min(len(rest), 4+(size+3)/4*4):]
	}
	return plain
}

// stunAddress reads family and address, and skips the port between them.
func stunAddress(value, message []byte, xored bool) netip.Addr {
	size := 0
	if len(value) > 4 {
		size = map[byte]int{1: 4, 2: 16}[value[1]]
	}
	if size == 0 || len(value) != 4+size {
		return netip.Addr{}
	}
	b := make([]byte, size)
	for i := range b {
		if b[i] = value[4+i]; xored {
			b[i] ^= message[4+i] // cookie and transaction
		}
	}
	a, _ := netip.AddrFromSlice(b)
	if a = a.Unmap(); a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

// appendAddress appends a target as SOCKS5 encodes it: type, address or counted name, port (RFC 1928 section 5).
func appendAddress(b []byte, t target) []byte {
	switch {
	case t.addr.Is4():
		b = append(append(b, 1), t.addr.AsSlice()...)
	case t.addr.IsValid():
		b = append(append(b, 4), t.addr.AsSlice()...)
	default:
		b = append(append(b, 3, byte(len(t.host))), t.host...)
	}
	return binary.BigEndian.AppendUint16(b, t.portNumber())
}
