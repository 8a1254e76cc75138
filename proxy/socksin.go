package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// This file implements the server's half of SOCKS5 (RFC 1928): no authentication, CONNECT only. The rules are:
//
//   - exactly the handshake's bytes are read, so that what follows them stays in the socket for splice;
//   - what does not speak SOCKS5 is closed without a word;
//   - names are passed on as they came; nobody resolves them here.

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

// readRequest answers the greeting and reads the request; it returns the target as "host:port".
func readRequest(c io.ReadWriter) (string, error) {
	var b [2 + 255 + 2]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", err
	}
	if b[0] != socksVersion {
		return "", errNotSOCKS5
	}
	methods := b[2 : 2+int(b[1])]
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", err
	}
	answer := byte(methodNoneOfThem)
	for _, m := range methods {
		if m == methodNone {
			answer = methodNone
		}
	}
	if _, err := c.Write([]byte{socksVersion, answer}); err != nil {
		return "", err
	}
	if answer != methodNone {
		return "", errNotSOCKS5
	}
	return readTarget(c, b[:])
}

// readTarget reads "VER CMD RSV ATYP ADDR PORT" into b, which has room for the longest.
func readTarget(c io.Reader, b []byte) (string, error) {
	head := b[:5] // with the first byte of the address, which is a name's length
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	if head[0] != socksVersion {
		return "", errNotSOCKS5
	}
	command, kind, first := head[1], head[3], head[4]
	size, known := map[byte]int{1: 4, 3: 1 + int(first), 4: 16}[kind]
	if !known {
		return "", requestError(replyNoAddressType)
	}
	b = b[:size+2]
	b[0] = first
	if _, err := io.ReadFull(c, b[1:]); err != nil {
		return "", err
	}
	if command != 1 {
		return "", requestError(replyNoCommand)
	}
	host := string(b[1:size])
	if kind != 3 {
		a, _ := netip.AddrFromSlice(b[:size])
		host = a.String()
	}
	port := int(b[size])<<8 | int(b[size+1])
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// replyOf turns a fault into the code that the client is told. An upstream's own code is passed on.
func replyOf(fault *Error, direct bool) byte {
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

func writeReply(c io.Writer, code byte) error {
	_, err := c.Write([]byte{socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}
