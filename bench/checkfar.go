package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// The far side of checks: SOCKS5 servers with a password on many loopback addresses. Each one answers with its own
// address as the exit, which reveals a verdict for the wrong proxy. Some addresses accept and stay silent, and some
// have no listener. Linux has all of 127.0.0.0/8 on loopback.

// checkList is the number of servers of each kind.
type checkList struct{ live, refusing, silent int }

// The first address of each kind.
const (
	firstLive     = "127.1.0.1"
	firstRefusing = "127.2.0.1"
	firstSilent   = "127.3.0.1"
)

// addresses returns n consecutive addresses with one port.
func addresses(first string, n, port int) (out []string) {
	a := netip.MustParseAddr(first)
	for range n {
		out = append(out, netip.AddrPortFrom(a, uint16(port)).String())
		a = a.Next()
	}
	return out
}

// checkFar serves until it is killed. args: the number of live servers, of silent ones, and the simulated round trip.
func checkFar(args []string) error {
	live, silent, err := 0, 0, error(nil)
	if live, err = strconv.Atoi(args[0]); err != nil {
		return err
	}
	if silent, err = strconv.Atoi(args[1]); err != nil {
		return err
	}
	rtt, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(firstLive, "0"))
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	answer := func(c *net.TCPConn) error {
		if rtt > 0 {
			return checkServe(delayed(c, rtt))
		}
		return checkServe(c)
	}
	if err := listenAll(addresses(firstLive, live, port)[1:], answer); err != nil {
		return err
	}
	mute := func(c *net.TCPConn) error { _, err := io.Copy(io.Discard, c); return err }
	if err := listenAll(addresses(firstSilent, silent, port), mute); err != nil {
		return err
	}
	fmt.Println("up", l.Addr())
	return serveEach(l, answer)
}

func listenAll(where []string, serve func(*net.TCPConn) error) error {
	for _, address := range where {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go serveEach(l, serve) //nolint:errcheck // serves until the process ends
	}
	return nil
}

// checkServe is the server's side of one check: greeting, request, answer. It reads whatever arrives in one piece.
func checkServe(c net.Conn) error {
	in := bufio.NewReaderSize(c, 1024)
	both := struct {
		io.Reader
		io.Writer
	}{in, c}
	if err := farGreet(both); err != nil {
		return err
	}
	if _, err := readSOCKSRequest(in); err != nil {
		return err
	}
	if _, err := c.Write(socksDone()); err != nil {
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
	}
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	if err != nil {
		return err
	}
	body := `{"ip":"` + host + `","country":"DE"}`
	_, err = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		len(body), body)
	return err
}

// delayedConn delays what arrives by one round trip, in order and without holding back what follows. It simulates the
// network's latency. The TCP handshake is not delayed.
type delayedConn struct {
	net.Conn
	chunks chan chunk
	rest   []byte
}

type chunk struct {
	bytes []byte
	due   time.Time
}

func delayed(c net.Conn, rtt time.Duration) *delayedConn {
	d := &delayedConn{Conn: c, chunks: make(chan chunk, 64)}
	go func() {
		defer close(d.chunks)
		for {
			b := make([]byte, 1024)
			n, err := c.Read(b)
			if n > 0 {
				d.chunks <- chunk{b[:n], time.Now().Add(rtt)}
			}
			if err != nil {
				return
			}
		}
	}()
	return d
}

func (d *delayedConn) Read(b []byte) (int, error) {
	if len(d.rest) == 0 {
		next, ok := <-d.chunks
		if !ok {
			return 0, errors.New("the client has gone")
		}
		time.Sleep(time.Until(next.due))
		d.rest = next.bytes
	}
	n := copy(b, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
