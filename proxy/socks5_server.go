package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// This file implements the server's half of SOCKS5 (RFC 1928): no authentication, CONNECT only. The rules are:
//
//   - the handshake is read in as few reads as it comes in; what a hasty client sent after it is kept for the upstream;
//   - what does not speak SOCKS5 is closed without a word;
//   - names are passed on as they came; nobody resolves them here.

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

// requestError is a request that is understood and refused; the client is told the code.
type requestError byte

func (requestError) Error() string { return "the request is not one that is served here" }

// clientHello reads a client's half of the handshake.
type clientHandshake struct {
	c io.ReadWriter
	b []byte // read and not used yet
}

// The longest greeting and the longest request together; a client that sends less has room for the first of its data.
const maxClientHandshake = 2 + 255 + 4 + 1 + 255 + 2

// take returns the next n bytes.
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

// readRequest answers the greeting and reads the request. It returns the target as "host:port" and what came after.
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

// target reads "VER CMD RSV ATYP ADDR PORT".
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

// replyOf turns a fault into the code that the client is told. An upstream's own code is passed on.
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
		if direct { // else it is the proxy that refused, which says nothing of the target
			return replyRefused
		}
	case TimedOut:
		return replyTimedOut
	}
	return replyFailure
}

// writeReply sends a reply code and, in the same packet, what belongs after it.
func writeReply(c io.Writer, code byte, early []byte) error {
	_, err := c.Write(append([]byte{socksVersion, code, 0, addressIPv4, 0, 0, 0, 0, 0, 0}, early...))
	return err
}
