package proxy

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lowWaterOf returns the low-water mark of a connection.
func lowWaterOf(t *testing.T, c *net.TCPConn) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newCoalescer returns the coalescer of a real connection, and its other end.
func newCoalescer(t *testing.T) (p *coalescer, far *net.TCPConn) {
	t.Helper()
	taken := make(chan *net.TCPConn)
	over := make(chan bool)
	s := serve(t, func(c net.Conn) { taken <- c.(recorded).Conn.(*net.TCPConn); <-over })
	near := dialTCP(t, s.addr())
	w, err := newReadWaiter(near)
	if err != nil {
		t.Fatal(err)
	}
	far = <-taken
	t.Cleanup(func() { close(over) })
	return &coalescer{readWaiter: w, src: near, direction: toClient}, far
}

// TestCoalescing: small reads make a stream, and answers, tiny messages and pauses end it.
func TestCoalescing(t *testing.T) {
	p, far := newCoalescer(t)
	stream := func() {
		p.smallReads = 0
		for i := range streamReads {
			if p.coalescing {
				t.Fatalf("it gathers after %d pieces", i)
			}
			p.lastRead = time.Now()
			p.observe(6400, toClient)
		}
	}
	for name, breaks := range map[string]func(){
		"an answer":      func() { p.observe(6400, toTarget) },
		"a tiny message": func() { p.observe(100, toClient) },
		"a pause":        func() { p.lastRead = time.Now().Add(-2 * maxReadGap); p.observe(6400, toClient) },
	} {
		for range streamReads - 1 {
			p.lastRead = time.Now()
			p.observe(6400, toClient)
		}
		if breaks(); p.smallReads > 0 || p.coalescing {
			t.Errorf("after %s it has %d in a row", name, p.smallReads)
		}
	}
	for range 100 {
		p.lastRead = time.Now()
		if p.observe(1<<20, toClient); p.smallReads > 0 {
			t.Fatal("large pieces make a stream")
		}
	}
	if n := lowWaterOf(t, p.src); n != 1 {
		t.Errorf("the kernel waits for %d bytes", n)
	}
	stream()
	if n := lowWaterOf(t, p.src); !p.coalescing || n != lowWaterMark {
		t.Fatalf("gathers %v, and the kernel waits for %d bytes", p.coalescing, n)
	}
	tn := &tunnel{relay: &Relay{idleTimeout: time.Minute}}
	tn.lastDirection.Store(toClient)
	far.Write(make([]byte, 5000))
	if n, err := p.next(tn); n != 5000 || err != nil || !p.coalescing { // the bytes come when the wait is over
		t.Errorf("%d bytes, %v, gathers %v", n, err, p.coalescing)
	}
	take(p.src, 5000)
	far.Write([]byte("a message"))
	if n, err := p.next(tn); n != 9 || err != nil || p.coalescing || lowWaterOf(t, p.src) != 1 {
		t.Errorf("%d bytes, %v, gathers %v, the kernel waits for %d", n, err, p.coalescing, lowWaterOf(t, p.src))
	}
	take(p.src, 9)
	stream()
	tn.lastDirection.Store(toTarget)
	far.Write(make([]byte, 5000))
	if n, err := p.next(tn); n != 5000 || err != nil || p.coalescing {
		t.Errorf("after an answer: %d bytes, %v, gathers %v", n, err, p.coalescing)
	}
	take(p.src, 5000)
	stream()
	far.Close()
	if n, err := p.next(tn); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
}

// TestSmallPiecesArrive: a stream of small pieces arrives whole without an end, and so do single messages after it.
func TestSmallPiecesArrive(t *testing.T) {
	const pieces = 500
	data := make([]byte, pieces*6400)
	rand.Read(data)
	s := serve(t, func(c net.Conn) {
		for i := range pieces {
			c.Write(data[i*6400 : (i+1)*6400])
		}
		for len(take(c, 4)) == 4 { // it answers until the client goes
			if _, err := io.WriteString(c, "pong"); err != nil {
				return
			}
		}
	})
	_, address := startRelay(t, &Dialer{Policy: Policy{Exempt: []string{s.addr()}}})
	for range 5 {
		c := tunnelTo(t, address, "127.0.0.1", s.port())
		c.SetDeadline(time.Now().Add(waitLimit))
		if got := take(c, len(data)); !bytes.Equal(got, data) {
			t.Fatal("the stream is not what was sent")
		}
		for range 20 {
			io.WriteString(c, "ping")
			if got := string(take(c, 4)); got != "pong" {
				t.Fatalf("after it: %q", got)
			}
		}
		c.Close()
	}
}
