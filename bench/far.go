package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// The far side of relays and checks: a SOCKS5 server with a user and a password (RFC 1928, RFC 1929). The only target
// is in the same process.

const (
	farUser     = "bench"
	farPassword = "a password of the bench"
)

// farSide serves on a free port until it is killed.
func farSide([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("up", l.Addr())
	return serveEach(l, farServe)
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

func farServe(c *net.TCPConn) error {
	if err := farGreet(c); err != nil {
		return err
	}
	if _, err := readSOCKSRequest(c); err != nil {
		return err
	}
	if _, err := c.Write(socksDone()); err != nil {
		return err
	}
	return farTarget(c)
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
