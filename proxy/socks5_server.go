package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// The server's half of SOCKS5 (RFC 1928), without authentication and with CONNECT only:
//
//   - The handshake takes as few reads as it came in. Bytes that a client sent after it are kept for the upstream.
//   - A client that does not speak SOCKS5 gets no answer.
//   - Names are passed on as they came, and not resolved here.

const (
	commandConnect = 1
	addressIPv4    = 1
	addressName    = 3
	addressIPv6    = 4
)

// Reply codes (RFC 1928 section 6).
const (
	replySucceeded       = 0
	replyFailure         = 1
	replyNotAllowed      = 2
	replyHostUnreachable = 4
	replyRefused         = 5
	replyTimedOut        = 6 // "TTL expired"
	replyNoCommand       = 7 // BIND and UDP ASSOCIATE
	replyNoAddressType   = 8
)

var errNotSOCKS5 = errors.New("the client does not speak SOCKS5")

// requestError is the reply code for a request that is understood and refused.
type requestError byte

func (requestError) Error() string { return "the request is not one that is served here" }

// clientHandshake reads a client's half of the handshake.
type clientHandshake struct {
	c io.ReadWriter
	b []byte // read and not consumed yet
}

// maxClientHandshake is the length of the longest greeting and the longest request. A shorter handshake leaves room for first data.
const maxClientHandshake = 2 + 255 + 4 + 1 + 255 + 2

// next returns the next n bytes.
func (h *clientHandshake) next(n int) ([]byte, error) {
	for len(h.b) < n {
		m, err := h.c.Read(h.b[len(h.b):cap(h.b)])
		h.b = h.b[:len(h.b)+m]
		if err != nil && len(h.b) < n {
			return nil, err
		}
	}
	taken := h.b[:n]
	h.b = h.b[n:]
	return taken, nil
}

// readRequest answers the greeting and reads the request. It returns the target as "host:port", and the bytes that came after.
func readRequest(c io.ReadWriter) (address string, early []byte, err error) {
	h := clientHandshake{c, make([]byte, 0, maxClientHandshake)}
	head, err := h.next(2)
	if err != nil {
		return "", nil, err
	}
	if head[0] != socksVersion {
		return "", nil, errNotSOCKS5
	}
	methods, err := h.next(int(head[1]))
	if err != nil {
		return "", nil, err
	}
	answer := byte(methodNoneOfThem)
	if bytes.IndexByte(methods, methodNone) >= 0 {
		answer = methodNone
	}
	if _, err := c.Write([]byte{socksVersion, answer}); err != nil {
		return "", nil, err
	}
	if answer != methodNone {
		return "", nil, errNotSOCKS5
	}
	address, err = h.readTarget()
	return address, h.b, err
}

// readTarget reads "VER CMD RSV ATYP ADDR PORT" (RFC 1928 section 4).
func (h *clientHandshake) readTarget() (string, error) {
	head, err := h.next(5) // with the first byte of the address, which is a name's length
	if err != nil {
		return "", err
	}
	if head[0] != socksVersion {
		return "", errNotSOCKS5
	}
	size := 0 // of the address without its first byte
	switch head[3] {
	case addressIPv4:
		size = 4 - 1
	case addressIPv6:
		size = 16 - 1
	case addressName:
		size = int(head[4])
	default:
		return "", requestError(replyNoAddressType)
	}
	rest, err := h.next(size + 2)
	if err != nil {
		return "", err
	}
	if head[1] != commandConnect {
		return "", requestError(replyNoCommand)
	}
	host := string(rest[:size])
	if head[3] != addressName {
		a, _ := netip.AddrFromSlice(append([]byte{head[4]}, rest[:size]...))
		host = a.String()
	}
	port := int(rest[size])<<8 | int(rest[size+1])
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// replyFor returns the reply code for a fault. A reply code of the upstream is passed on.
func replyFor(fault *Error, direct bool) byte {
	if r, ok := errors.AsType[replyError](fault.Err); ok {
		return byte(r)
	}
	switch fault.Code {
	case BlockedAddress, RequestRefused:
		return replyNotAllowed
	case DNSFailed, HostUnreachable, TargetUnreachable:
		return replyHostUnreachable
	case ConnectionRefused:
		if direct { // otherwise the proxy refused, which says nothing about the target
			return replyRefused
		}
	case TimedOut:
		return replyTimedOut
	}
	return replyFailure
}

// writeReply sends a reply code and the first bytes of the target in one packet.
func writeReply(c io.Writer, code byte, early []byte) error {
	_, err := c.Write(append([]byte{socksVersion, code, 0, addressIPv4, 0, 0, 0, 0, 0, 0}, early...))
	return err
}
