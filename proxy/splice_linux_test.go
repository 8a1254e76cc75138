package proxy

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipes counts this process's open pipes. Only splice needs any here.
func pipes() (n int) {
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}

// Through every plain upstream the kernel moves the bytes in both directions. An idle tunnel holds no pipe.
func TestSplice(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	behindTLS, roots := overTLS(t, names.connect(nil))
	for typ, handle := range map[Type]func(net.Conn){SOCKS5: names.socks5(nil), HTTP: names.connect(nil), SOCKS4: names.socks4(""),
		HTTPS: behindTLS} {
		t.Run(string(typ), func(t *testing.T) {
			s := serve(t, handle)
			r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(typ, s, "", ""), RootCAs: roots})
			var buffers atomic.Int64
			fresh := r.chunks.New
			r.chunks.New = func() any { buffers.Add(1); return fresh() }
			var idle []*net.TCPConn
			for range 50 {
				c := tunnelTo(t, address, "site.test", 7)
				roundTrip(t, c)
				idle = append(idle, c)
			}
			until(t, "all are idle", func() bool { return r.Stats().BytesDown == 250 })
			for range 3 {
				runtime.GC() // drops the runtime's spare pipes
			}
			before := pipes()
			if before > 8 {
				t.Errorf("50 idle tunnels hold %d pipe ends", before)
			}
			c := tunnelTo(t, address, "site.test", 7)
			go func() { io.CopyN(c, zeros{}, 8<<20); c.CloseWrite() }()
			most := 0
			for i := range 9 {
				if n, err := io.CopyN(io.Discard, c, 1<<20); i < 8 && err != nil || i == 8 && (n != 0 || err != io.EOF) {
					t.Fatalf("MiB %d: got %d bytes, %v", i, n, err)
				}
				most = max(most, pipes())
			}
			c.Close()
			for _, c := range idle {
				c.Close()
			}
			until(t, "all tunnels end", func() bool { return r.Stats().Open == 0 })
			if spliced := most > 0 && buffers.Load() == 0; spliced != (typ != HTTPS) {
				t.Errorf("spliced: %v (%d pipe ends, %d buffers)", spliced, most, buffers.Load())
			}
		})
	}
}

// A host that drops the first packets of a connection times out while connecting.
func TestConnectTimesOut(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil { // room for one connection that nobody accepts; the next gets no answer
		t.Fatal(err)
	}
	sa, _ := unix.Getsockname(fd)
	port := sa.(*unix.SockaddrInet4).Port
	d := &Dialer{Policy: nearby, Upstream: &Proxy{Type: SOCKS5, Host: "127.0.0.1", Port: port}, Timeout: 100 * time.Millisecond}
	for range 10 {
		_, err = d.DialContext(t.Context(), "tcp", "example.com:80")
		if e := err.(*Error); e.Stage == StageConnect {
			wantFault(t, err, StageConnect, TimedOut)
			c := &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: 100 * time.Millisecond}
			wantFault(t, c.Check(t.Context(), *d.Upstream).Err, StageConnect, TimedOut)
			return
		}
		fill, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), 100*time.Millisecond)
		if err == nil {
			defer fill.Close()
		}
	}
	t.Errorf("the queue never filled: %v", err)
}
