package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// tunnel is one connection of a browser: first a handshake, then two pumps.
type tunnel struct {
	relay  *Relay
	client net.Conn

	mu         sync.Mutex // guards what follows, since a close may come during the dial
	upstream   net.Conn
	closed     bool
	target     target             // as the browser asked for it; no host before that
	dialer     *Dialer            // of the route that it dials or has dialled through; nil when it is bypassed
	cancelDial context.CancelFunc // of the dial that runs
	nextRoute  *route             // the route to dial after the one in use was found dead; nil until then
	redial     bool               // the route was replaced during the dial, whose outcome does not count

	traffic *traffic     // of its route's key
	host    *hostTraffic // of its host; nil when hosts are not logged

	pumpsDone     atomic.Int32
	lastDirection atomic.Int32 // in which bytes were moved last
}

// The directions of a tunnel.
const (
	toTarget = 1
	toClient = 2
)

// chunkSize is how many bytes a pump copies at once where the kernel does not splice.
const chunkSize = 32 << 10

// serve does the handshake. The pumps get goroutines of their own: a stack that a dial has grown would stay for the tunnel's life.
func (t *tunnel) serve() {
	if t.open() != nil {
		t.finish()
		return
	}
	up, down := t.counters()
	go t.pump(t.upstream, t.client, up)
	go t.pump(t.client, t.upstream, down)
}

// finish closes the tunnel and removes it from the relay.
func (t *tunnel) finish() {
	r := t.relay
	t.closeConns()
	r.mu.Lock()
	delete(r.tunnels, t)
	r.mu.Unlock()
	r.stats.open.Add(-1)
	r.work.Done()
}

func (t *tunnel) closeConns() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLocked()
}

// closeLocked closes both connections. The caller holds t.mu.
func (t *tunnel) closeLocked() {
	t.closed = true
	t.client.Close()
	if t.upstream != nil {
		rawConn(t.upstream).Close()
	}
}

// rawConn returns the connection below TLS, or c itself. Its Close does not wait, where that of TLS sends an alert first.
func rawConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// open admits the client, reads its target, dials, and passes on what both sides have sent already.
func (t *tunnel) open() error {
	r := t.relay
	if admit := r.admit.Load(); admit != nil {
		if err := (*admit)(t.client); err != nil {
			r.stats.refused.Add(1)
			r.log.Warn("relay refused a connection", "error", err)
			return err
		}
	}
	t.client.SetDeadline(time.Now().Add(r.handshakeTimeout))
	address, up, err := readRequest(t.client)
	if err != nil {
		if code, ok := errors.AsType[requestError](err); ok {
			writeReply(t.client, byte(code), nil)
		}
		r.stats.refused.Add(1)
		return err
	}
	t.client.SetDeadline(time.Time{})
	var c net.Conn
	var down []byte
	fault := t.checkRules(address)
	if fault == nil {
		c, down, fault = t.dial(address)
	}
	if fault != nil {
		r.recordFailure(fault)
		writeReply(t.client, replyFor(fault, t.dialer == nil || t.dialer.Upstream == nil), nil)
		return fault
	}
	sent, got := t.counters()
	if len(up) > 0 {
		r.awaitSending()
		n, err := c.Write(up)
		sent.add(int64(n))
		if err != nil {
			return err
		}
	}
	got.add(int64(len(down)))
	return writeReply(t.client, replySucceeded, down)
}

// pump moves bytes in one direction until src ends, then ends dst and leaves the other direction alone. After a fault both
// connections are reset, so that neither side takes half an answer for a whole one.
func (t *tunnel) pump(dst, src net.Conn, count counter) {
	err := t.move(dst, src, count)
	if err == nil && t.pumpsDone.Load() == 0 { // otherwise both directions have ended, and the close says so
		err = closeWrite(dst)
	}
	if err != nil {
		resetOnClose(t.client, t.upstream)
		t.closeConns()
	}
	done := t.pumpsDone.Add(1)
	dst.SetReadDeadline(time.Now().Add(t.relay.idleTimeout)) // the other pump reads dst
	if done == 2 {
		t.finish()
	}
}

// resetOnClose makes the close of each connection a TCP reset.
func resetOnClose(all ...net.Conn) {
	for _, c := range all {
		if tcp, ok := rawConn(c).(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
}

// mover is the state of one pump. It stays on the goroutine's stack, so that an idle tunnel costs no more memory.
type mover struct {
	tunnel   *tunnel
	dst, src net.Conn
	from, to *net.TCPConn      // src, if it is TCP, and dst, where the kernel splices; else nil
	limit    *io.LimitedReader // over from
	in       coalescer
	count    counter
}

// move moves bytes until src ends.
func (t *tunnel) move(dst, src net.Conn, count counter) error {
	w, err := newReadWaiter(src)
	m := mover{tunnel: t, dst: dst, src: src, count: count, in: coalescer{readWaiter: w, direction: toClient}}
	m.from, _ = src.(*net.TCPConn)
	if canSplice && m.from != nil {
		m.in.src, m.limit = m.from, &io.LimitedReader{R: m.from}
		m.to, _ = dst.(*net.TCPConn)
	}
	if dst == t.upstream {
		m.in.direction = toTarget
	}
	for err == nil {
		err = m.step()
	}
	return ignoreEOF(err)
}

// step waits for bytes without holding a buffer, and moves them.
func (m *mover) step() error {
	t := m.tunnel
	n, err := m.in.next(t)
	if errors.Is(err, os.ErrDeadlineExceeded) && m.in.buffered() > 0 { // src was not idle: this process was late
		m.src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
		return nil
	}
	if err != nil {
		return err
	}
	if m.in.direction == toTarget {
		t.relay.awaitSending()
	}
	m.in.observe(n, t.lastDirection.Swap(m.in.direction))
	if err := m.transfer(n); err != nil {
		return err
	}
	if t.pumpsDone.Load() > 0 {
		m.src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
	}
	return nil
}

// transfer moves n bytes, or a chunk where the kernel does not splice. A deadline that passes meanwhile is ignored: dst was slow, but
// src was not idle.
func (m *mover) transfer(n int) (err error) {
	if m.to != nil {
		m.limit.N = int64(n)
		var moved int64
		moved, err = m.to.ReadFrom(m.limit) // splices, since it finds a bare *net.TCPConn on both sides
		m.count.add(moved)
	} else {
		err = m.tunnel.relay.moveChunk(m.dst, m.src, m.count)
	}
	if m.from != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// moveChunk reads once and writes what it got.
func (r *Relay) moveChunk(dst io.Writer, src io.Reader, count counter) error {
	b := r.chunks.Get().(*[chunkSize]byte)
	defer r.chunks.Put(b)
	n, err := src.Read(b[:])
	if n > 0 {
		m, werr := dst.Write(b[:n])
		count.add(int64(m))
		if werr != nil {
			return werr
		}
	}
	return err
}
