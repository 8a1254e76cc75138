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

// tunnel is one connection of a browser's: first a handshake, then two pumps.
type tunnel struct {
	relay  *Relay
	client net.Conn

	mu         sync.Mutex // guards what follows; a Close, or a cut, may come while the dial runs
	upstream   net.Conn
	closed     bool
	target     target             // as it was asked for; no host: not yet
	dialer     *Dialer            // that it dials or has dialled with; nil: it goes through no route
	cancelDial context.CancelFunc // of the dial that runs
	nextRoute  *route             // behind the one in use, which it has found dead; nil: it has not
	redial     bool               // a cut came while it dialled: what comes of the dial is worth nothing

	traffic *traffic     // of what it counts under
	host    *hostTraffic // its host's; nil: not kept

	pumpsDone     atomic.Int32 // pumps that have ended
	lastDirection atomic.Int32 // which way bytes were moved last
}

// The ways of a tunnel.
const (
	toTarget = 1
	toClient = 2
)

// chunkSize is how much a pump moves at once where the kernel does not do it alone.
const chunkSize = 32 << 10

// serve does the handshake. The pumps are goroutines of their own, since the stack that a dial has grown would stay
// with a tunnel for its life.
func (t *tunnel) serve() {
	if t.open() != nil {
		t.finish()
		return
	}
	up, down := t.counters()
	go t.pump(t.upstream, t.client, up)
	go t.pump(t.client, t.upstream, down)
}

// end forgets the tunnel.
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
	t.closed = true
	t.client.Close()
	if t.upstream != nil {
		rawConn(t.upstream).Close()
	}
}

// bare is the connection below TLS, or c itself. Closing it waits for nobody, where TLS would say goodbye first.
func rawConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// open admits the client, learns its target, dials, and passes on what both sides have sent already.
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
		n, err := c.Write(up)
		sent.add(int64(n))
		if err != nil {
			return err
		}
	}
	got.add(int64(len(down)))
	return writeReply(t.client, replySucceeded, down)
}

// pump moves bytes one way until src ends, passes the end on, and leaves the other way alone. After a fault both ways
// are reset, so that nobody takes half an answer for a whole one.
func (t *tunnel) pump(dst, src net.Conn, count counter) {
	err := t.move(dst, src, count)
	if err == nil && t.pumpsDone.Load() == 0 { // else both have ended, and the close says so
		err = closeWrite(dst)
	}
	if err != nil {
		t.reset()
	}
	ended := t.pumpsDone.Add(1)
	dst.SetReadDeadline(time.Now().Add(t.relay.idleTimeout)) // dst is what the other pump reads
	if ended == 2 {
		t.finish()
	}
}

func (t *tunnel) reset() {
	resetOnClose(t.client, t.upstream)
	t.closeConns()
}

// lingerNot makes the close of each connection a reset.
func resetOnClose(all ...net.Conn) {
	for _, c := range all {
		if tcp, ok := rawConn(c).(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
}

// move passes bytes on until src ends, in chunks: wait for bytes with nothing in hand, then move what there is.
func (t *tunnel) move(dst, src net.Conn, count counter) error {
	w, err := newReadWaiter(src)
	if err != nil {
		return err
	}
	from, fromTCP := src.(*net.TCPConn)
	to, toTCP := dst.(*net.TCPConn)
	limit := &io.LimitedReader{R: from}
	p := coalescer{readWaiter: w, direction: toClient}
	if canSplice && fromTCP {
		p.src = from
	}
	if dst == t.upstream {
		p.direction = toTarget
	}
	for {
		n, err := p.next(t)
		if errors.Is(err, os.ErrDeadlineExceeded) && w.buffered() > 0 { // src was not silent: it was this process that had no time
			src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
			continue
		}
		if err == nil {
			p.observe(n, t.lastDirection.Swap(p.direction))
		}
		if err == nil && canSplice && fromTCP && toTCP {
			limit.N = int64(n)
			var moved int64
			moved, err = to.ReadFrom(limit) // splices, since it finds a *net.TCPConn on both sides and nothing around them
			count.add(moved)
			err = ignoreDeadline(err)
		} else if err == nil {
			err = t.relay.moveChunk(dst, src, count)
			if fromTCP {
				err = ignoreDeadline(err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if t.pumpsDone.Load() > 0 {
			src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
		}
	}
}

// stillHere passes over a deadline that went by while a chunk was being moved: dst was slow, but src was not silent.
func ignoreDeadline(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
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
