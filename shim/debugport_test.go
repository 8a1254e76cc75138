package shim

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"warren/proxy"
)

// The port listens at a random address of the range. A system without the range records the port in a file, which is
// removed with the run.
func TestDebugPortIsOutOfTheWay(t *testing.T) {
	dir := t.TempDir()
	seen := map[netip.Addr]bool{}
	for range 8 {
		l, err := listenDebug(dir, "run")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a := l.Addr().(*net.TCPAddr).AddrPort().Addr()
		if seen[a] = true; !proxy.DebugRange().Contains(a) {
			t.Skipf("this system has no %v", proxy.DebugRange())
		}
	}
	if len(seen) < 2 {
		t.Errorf("8 runs listen at %v alone", seen)
	}
	if ports := DebugPorts(dir)(); len(ports) > 0 {
		t.Errorf("ports are noted: %v", ports)
	}
}

func TestDebugPortThatIsNoted(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for _, name := range []string{"one", "two"} {
		l, err := listenLoopback(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		want = append(want, port)
	}
	if got := DebugPorts(dir)(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("noted are %v, want %v", got, want)
	}
	d := &proxy.Dialer{Policy: proxy.Policy{AllowPrivate: true, DebugPorts: DebugPorts(dir)},
		Bypasses: []proxy.Bypass{{Host: "localhost", Port: want[0], Address: "localhost:" + want[0]}}}
	if c, err := d.DialContext(t.Context(), "tcp", "localhost:"+want[0]); err == nil {
		c.Close()
		t.Error("it is reached")
	}
	Forget(dir, "one")
	life, end := context.WithCancel(t.Context())
	port := &debugPort{server: new(http.Server), file: debugPortPath(dir, "two"), ctx: life, cancel: end}
	port.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// The port is closed when its key expires, without a server.
func TestDebugPortExpires(t *testing.T) {
	p := &process{browser: opened(t), log: slog.New(slog.DiscardHandler),
		spec: Spec{RunDir: t.TempDir(), Name: "r", DebugUntil: time.Now().Add(time.Hour).UnixMilli()}}
	if err := p.openDebugPort(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.state.DebuggerAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p.debug.close()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection from before goes on: %v", err)
	}
	p.spec.DebugUntil = time.Now().UnixMilli()
	if err := p.openDebugPort(); err != nil {
		t.Fatal(err)
	}
	<-p.debug.ctx.Done()
	for { // until the expired port is closed
		c, err := net.Dial("tcp", p.state.DebuggerAddress)
		if err != nil {
			break
		}
		c.Close()
	}
	if p.debug.isOpen() {
		t.Error("it counts as open")
	}
}
