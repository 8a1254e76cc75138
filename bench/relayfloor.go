package main

import (
	"errors"
	"fmt"
	"io"
	"net"

	"warren/proxy"
)

// relayFloor is a minimal relay: SOCKS5 without a password in, SOCKS5 with one out, and io.Copy in both directions,
// which is splice(2) between TCP connections on Linux. It checks no target, counts no bytes and has no timeouts.
// args: the upstream's address.
func relayFloor(args []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("up", l.Addr())
	return serveEach(l, func(c *net.TCPConn) error { return floorTunnel(c, args[0]) })
}

func floorTunnel(c *net.TCPConn, upstream string) error {
	var b [512]byte
	if _, err := readCounted(c, b[:], 1); err != nil {
		return err
	}
	if _, err := c.Write([]byte{5, 0}); err != nil {
		return err
	}
	target, err := readSOCKSRequest(c)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", upstream)
	if err != nil {
		return err
	}
	defer conn.Close()
	up := conn.(*net.TCPConn)
	if err := dialThrough(up, target, true); err != nil {
		return err
	}
	if _, err := c.Write(socksDone()); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		io.Copy(up, c)  //nolint:errcheck // the end is passed on either way
		up.CloseWrite() //nolint:errcheck // the connection may be closed
		close(done)
	}()
	io.Copy(c, up) //nolint:errcheck // the end is passed on either way
	c.CloseWrite() //nolint:errcheck // the connection may be closed
	<-done
	return nil
}

// dialThrough asks a SOCKS5 server for a target, with or without the password. It waits for each answer.
func dialThrough(c io.ReadWriter, target string, password bool) error {
	method := byte(0)
	if password {
		method = 2
	}
	if err := ask(c, []byte{5, 1, method}, 2, method); err != nil {
		return err
	}
	if password {
		login := append([]byte{1, byte(len(farUser))}, farUser...)
		login = append(append(login, byte(len(farPassword))), farPassword...)
		if err := ask(c, login, 2, 0); err != nil {
			return err
		}
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return err
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return err
	}
	request := append([]byte{5, 1, 0, 3, byte(len(host))}, host...)
	return ask(c, append(request, byte(n>>8), byte(n)), 10, 0)
}

// ask writes a message and reads an answer of size bytes, the second of which must be want.
func ask(c io.ReadWriter, message []byte, size int, want byte) error {
	if _, err := c.Write(message); err != nil {
		return err
	}
	var b [10]byte
	if _, err := io.ReadFull(c, b[:size]); err != nil {
		return err
	}
	if b[1] != want {
		return errors.New("the SOCKS5 server refused")
	}
	return nil
}

// relayOurs is the product's relay in its own process, like a shim's. args: the upstream's address, and allowed
// targets on this machine.
func relayOurs(args []string) error {
	upstream, err := proxy.Parse("socks5://" + args[0])
	if err != nil {
		return err
	}
	upstream.Username, upstream.Password = farUser, farPassword
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("up", l.Addr())
	policy := proxy.Policy{AllowPrivate: true, Exempt: args[1:]}
	return proxy.NewRelay(&proxy.Dialer{Upstream: &upstream, Policy: policy}, nil).Serve(l)
}
