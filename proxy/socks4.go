package proxy

import (
	"encoding/binary"
	"fmt"
	"net"
)

// negotiateSOCKS4 asks for an IPv4 target by SOCKS4 and for any other by SOCKS4a. There the name, or an IPv6 address as text,
// follows the address 0.0.0.1, and the server resolves it. SOCKS4 carries the user name, and no password.
func negotiateSOCKS4(c net.Conn, p *Proxy, t target) *Error {
	b := binary.BigEndian.AppendUint16([]byte{4, 1}, t.portNumber())
	address, name := []byte{0, 0, 0, 1}, t.host+"\x00"
	if t.addr.Is4() {
		address, name = t.addr.AsSlice(), ""
	}
	b = append(append(append(b, address...), p.Username+"\x00"...), name...)
	if _, err := c.Write(b); err != nil {
		return asError(StageRequest, err)
	}
	var got [8]byte
	for n := 0; n < len(got); {
		m, err := c.Read(got[n:])
		n += m
		switch {
		case n > 0 && got[0] != 0 && got[0] != 4: // the version of a reply is 0; some servers repeat the request's 4
			return &Error{StageGreeting, NotAProxy, "the server's answer is not SOCKS4", err}
		case err != nil && n < len(got):
			return asError(StageRequest, err)
		}
	}
	reply := fmt.Errorf("SOCKS4 reply code %#02x", got[1])
	switch got[1] {
	case 0x5a:
		return nil
	case 0x5b:
		message := "the proxy refused the request or could not reach the target"
		if !t.addr.Is4() {
			message += ", or it cannot look names up (SOCKS4 without 4a): then it needs another type, such as socks5"
		}
		return &Error{StageRequest, RequestRefused, message, reply}
	case 0x5c, 0x5d:
		if p.Username == "" {
			return &Error{StageAuth, AuthRequired, "the proxy wants a user name", reply}
		}
		return &Error{StageAuth, AuthFailed, "the proxy does not take this user name", reply}
	}
	return &Error{StageRequest, NotAProxy, "the server's answer is not SOCKS4", reply}
}
