package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// The far side of relays and checks: a SOCKS5 server with a user and a password (RFC 1928, RFC 1929). The only target
// is in the same process.

const (
	farUser     = "bench"
	farPassword = "a password of the bench"
)

// farLogin is the message with user and password.
func farLogin() []byte {
	return fmt.Appendf(nil, "\x01%c%s%c%s", len(farUser), farUser, len(farPassword), farPassword)
}

// listenFree listens on a free port of loopback, and tells the parent its address.
func listenFree() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Println("up", l.Addr())
	}
	return l, err
}

// serves returns a role that serves each connection on a free port until it is killed.
func serves(serve func(c *net.TCPConn, args []string) error) func(args []string) error {
	return func(args []string) error {
		l, err := listenFree()
		if err != nil {
			return err
		}
		return serveEach(l, func(c *net.TCPConn) error { return serve(c, args) })
	}
}

// serveEach serves each connection in its own goroutine.
func serveEach(l net.Listener, serve func(*net.TCPConn) error) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			serve(c.(*net.TCPConn)) //nolint:errcheck // the other side sees the end
		}()
	}
}

func farServe(c *net.TCPConn, _ []string) error {
	if err := farConnect(c); err != nil {
		return err
	}
	return farTarget(c)
}

// farConnect accepts clients with the password, and any target.
func farConnect(c io.ReadWriter) error {
	if err := farGreet(c); err != nil {
		return err
	}
	if _, err := readSOCKSRequest(c); err != nil {
		return err
	}
	_, err := c.Write(socksDone())
	return err
}

// socksDone is the answer "succeeded", with an unused address.
func socksDone() []byte { return []byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0} }

// farGreet accepts clients with the password.
func farGreet(c io.ReadWriter) error {
	var b [512]byte
	methods, err := readCounted(c, b[:], 1)
	if err != nil {
		return err
	}
	if !strings.Contains(string(methods), "\x02") {
		c.Write([]byte{5, 0xff}) //nolint:errcheck // the client is refused either way
		return errors.New("no password is offered")
	}
	if _, err := c.Write([]byte{5, 2}); err != nil {
		return err
	}
	user, err := readCounted(c, b[:], 1)
	if err != nil {
		return err
	}
	name := string(user)
	password, err := readCounted(c, b[:], 0)
	if err != nil {
		return err
	}
	if name != farUser || string(password) != farPassword {
		c.Write([]byte{1, 1}) //nolint:errcheck // the client is refused either way
		return errors.New("wrong password")
	}
	_, err = c.Write([]byte{1, 0})
	return err
}

// readCounted skips bytes, reads a length and that many bytes, into b.
func readCounted(c io.Reader, b []byte, skip int) ([]byte, error) {
	if _, err := io.ReadFull(c, b[:skip+1]); err != nil {
		return nil, err
	}
	n := int(b[skip])
	_, err := io.ReadFull(c, b[:n])
	return b[:n], err
}

// readSOCKSRequest reads a CONNECT and returns "host:port".
func readSOCKSRequest(c io.Reader) (string, error) {
	var b [262]byte
	if _, err := io.ReadFull(c, b[:5]); err != nil {
		return "", err
	}
	size := map[byte]int{1: 4, 3: 1 + int(b[4]), 4: 16}[b[3]] // its first byte has been read
	if b[0] != 5 || b[1] != 1 || size == 0 {
		return "", errors.New("no CONNECT of SOCKS5")
	}
	if _, err := io.ReadFull(c, b[5:4+size+2]); err != nil {
		return "", err
	}
	host, port := string(b[5:4+size]), b[4+size:]
	if b[3] != 3 {
		host = net.IP(b[4 : 4+size]).String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))), nil
}

// farTarget serves HTTP: /bytes/N returns N bytes, /ip an address like check services, any other path "ok".
func farTarget(c net.Conn) error {
	in := bufio.NewReaderSize(c, 1024)
	chunk := make([]byte, 0)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return err
		}
		size, isBytes := strings.CutPrefix(r.URL.Path, "/bytes/")
		body := "ok"
		if r.URL.Path == "/ip" {
			body = `{"ip":"203.0.113.7","country":"DE"}`
		}
		if !isBytes {
			if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				len(body), body); err != nil {
				return err
			}
			continue
		}
		if len(chunk) == 0 {
			chunk = make([]byte, 256<<10) // only streams need it; the memory of idle tunnels excludes it
		}
		n, _ := strconv.ParseInt(size, 10, 64)
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n); err != nil {
			return err
		}
		for ; n > 0; n -= int64(len(chunk)) {
			if _, err := c.Write(chunk[:min(n, int64(len(chunk)))]); err != nil {
				return err
			}
		}
	}
}

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
	live, badLive := strconv.Atoi(args[0])
	silent, badSilent := strconv.Atoi(args[1])
	rtt, badTrip := time.ParseDuration(args[2])
	if err := errors.Join(badLive, badSilent, badTrip); err != nil {
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
	if err := farConnect(both); err != nil {
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
