package testnet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
)

// Reply codes of RFC 1928, section 6.
const (
	socksDone        = 0
	socksUnreachable = 4
)

// socksLogin negotiates the user and the password (RFC 1929), and refuses every other method.
func socksLogin(c io.ReadWriter, wantUser, wantPassword string) error {
	if err := socksMethod(c, 2); err != nil {
		return err
	}
	user, err := socksString(c, 1)
	if err != nil {
		return err
	}
	password, err := socksString(c, 0)
	if err != nil {
		return err
	}
	if user != wantUser || password != wantPassword {
		c.Write([]byte{1, 1}) //nolint:errcheck // the connection is closed either way
		return fmt.Errorf("%s is not let in", user)
	}
	_, err = c.Write([]byte{1, 0})
	return err
}

// socksMethod reads the methods that a client offers and selects one.
func socksMethod(c io.ReadWriter, method byte) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c, head); err != nil {
		return err
	}
	offered := make([]byte, head[1])
	if _, err := io.ReadFull(c, offered); err != nil {
		return err
	}
	if head[0] != 5 || !bytes.Contains(offered, []byte{method}) {
		c.Write([]byte{5, 0xff}) //nolint:errcheck // the connection is closed either way
		return fmt.Errorf("version %d with methods %v", head[0], offered)
	}
	_, err := c.Write([]byte{5, method})
	return err
}

// socksString reads skip bytes, a length and as many bytes.
func socksString(c io.Reader, skip int) (string, error) {
	head := make([]byte, skip+1)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	text := make([]byte, head[skip])
	_, err := io.ReadFull(c, text)
	return string(text), err
}

// socksRequest reads a CONNECT and returns "host:port".
func socksRequest(c io.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	var host string
	if head[3] == 3 {
		name, err := socksString(c, 0)
		if err != nil {
			return "", err
		}
		host = name
	} else {
		raw := make([]byte, size)
		if _, err := io.ReadFull(c, raw); err != nil {
			return "", err
		}
		a, _ := netip.AddrFromSlice(raw)
		host = a.String()
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(c, port); err != nil {
		return "", err
	}
	if head[1] != 1 {
		return "", fmt.Errorf("command %d", head[1])
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), nil
}

// socksReply answers a CONNECT with a reply code (RFC 1928, section 6).
func socksReply(c io.Writer, code byte) error {
	_, err := c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}
