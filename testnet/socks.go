package testnet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Reply codes of RFC 1928, section 6.
const (
	socksDone        = 0
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksRefused     = 5
)

// acceptAll serves each connection of a listener in a goroutine of its own, until the listener is closed.
func acceptAll(wg *sync.WaitGroup, l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { serve(c) })
	}
}

// joinConns copies in both directions, until the end of either side ends both.
func joinConns(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			io.Copy(way[0], way[1]) //nolint:errcheck // the end of either side ends both
			a.Close()
			b.Close()
		})
	}
	both.Wait()
}

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
	var host string
	var err error
	if head[3] == 3 {
		host, err = socksString(c, 0)
	} else {
		raw := make([]byte, map[byte]int{1: 4, 4: 16}[head[3]])
		_, err = io.ReadFull(c, raw)
		a, _ := netip.AddrFromSlice(raw)
		host = a.String()
	}
	port := make([]byte, 2)
	if err == nil {
		_, err = io.ReadFull(c, port)
	}
	if err != nil {
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
