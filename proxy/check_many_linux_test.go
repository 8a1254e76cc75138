package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// 2,000 proxies with addresses and passwords of their own are checked concurrently, and each gets its own exit.
func TestEveryExitIsItsProxys(t *testing.T) {
	const n = 2000
	if openFiles() < 3*n {
		t.Skip("too few descriptors")
	}
	// own answers with the address that was dialled, if the password is that address.
	own := func(c net.Conn) {
		host := c.LocalAddr().(*net.TCPAddr).IP.String()
		step{greetingLen, "\x05\x02"}.hear(c)
		c.Write([]byte{5, 2})
		take(c, 1)
		take(c, int(at(take(c, 1), 0)))
		if string(take(c, int(at(take(c, 1), 0)))) != host {
			c.Write([]byte{1, 1})
			return
		}
		c.Write([]byte{1, 0})
		take(c, 4+1+len("ip.test")+2)
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		rq := make([]byte, 0, 512)
		for !bytes.HasSuffix(rq, []byte("\r\n\r\n")) {
			k, err := c.Read(rq[len(rq):cap(rq)])
			if rq = rq[:len(rq)+k]; err != nil {
				return
			}
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(host), host)
		io.Copy(io.Discard, c)
	}
	first := serveOn(t, "127.1.0.1:0", own)
	a := netip.MustParseAddr("127.1.0.1")
	for range n - 1 {
		a = a.Next()
		serveOn(t, netip.AddrPortFrom(a, uint16(first.port())).String(), own)
	}
	c := &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: time.Minute}
	results := make([]Result, n)
	(&FairLimiter{Slots: 200, SlowAfter: time.Minute}).Run(t.Context(), "", n, func(i int) {
		host := netip.AddrFrom4([4]byte{127, 1, byte((i + 1) >> 8), byte(i + 1)}).String()
		results[i] = c.Check(t.Context(), Proxy{Type: SOCKS5, Host: host, Port: first.port(), Username: "u", Password: host})
	})
	for i, r := range results {
		if want := netip.AddrFrom4([4]byte{127, 1, byte((i + 1) >> 8), byte(i + 1)}).String(); !r.OK || r.ExitIP != want {
			t.Fatalf("%s: got %q, %v", want, r.ExitIP, r.Err)
		}
	}
}
