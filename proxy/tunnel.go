package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tunnel is one connection of a browser's: first a handshake, then two pumps.
type tunnel struct {
	relay  *Relay
	client net.Conn

	mu       sync.Mutex // guards upstream and closed; a Close may come while the dial runs
	upstream net.Conn
	closed   bool

	ended atomic.Int32 // pumps that have ended
}

// halfClosedIdle is how long a tunnel may stay silent after one side has ended. A browser that ends its side has
// mostly gone altogether, and then only silence tells.
const halfClosedIdle = 2 * time.Minute

// chunkSize is how much a pump moves at once where the kernel does not do it alone.
const chunkSize = 32 << 10

// serve does the handshake. The pumps are goroutines of their own, since the stack that a dial has grown would stay
// with a tunnel for its life.
func (t *tunnel) serve() {
	early, fault := t.open()
	if fault != nil || t.pass(early) != nil {
		t.end()
		return
	}
	go t.pump(t.upstream, t.client, &t.relay.stats.up)
	go t.pump(t.client, t.upstream, &t.relay.stats.down)
}

// end forgets the tunnel.
func (t *tunnel) end() {
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
		t.upstream.Close()
	}
}

// setUpstream hands c over to the tunnel, or closes it when the tunnel was closed meanwhile.
func (t *tunnel) setUpstream(c net.Conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.Close()
		return net.ErrClosed
	}
	t.upstream = c
	return nil
}

// open admits the client, learns its target and dials. It returns what the upstream has sent already.
func (t *tunnel) open() (early []byte, err error) {
	r := t.relay
	if admit := r.admit.Load(); admit != nil {
		if err := (*admit)(t.client); err != nil {
			r.stats.refused.Add(1)
			r.log.Warn("relay refused a connection", "error", err)
			return nil, err
		}
	}
	t.client.SetDeadline(time.Now().Add(handshakeTimeout))
	address, err := readRequest(t.client)
	if err != nil {
		if code, ok := errors.AsType[requestError](err); ok {
			writeReply(t.client, byte(code))
		}
		r.stats.refused.Add(1)
		return nil, err
	}
	t.client.SetDeadline(time.Time{})
	d := r.dialer.Load()
	c, _, fault := d.dial(r.ctx, "tcp", address)
	if fault != nil {
		r.failed(fault)
		writeReply(t.client, replyOf(fault, d.Upstream == nil))
		return nil, fault
	}
	if e, ok := c.(*earlyConn); ok { // the bytes go first, then the bare connection, which can be spliced
		c, early = e.Conn, e.early
	}
	return early, t.setUpstream(c)
}

// pass tells the client that its tunnel is there, together with what the upstream has sent already.
func (t *tunnel) pass(early []byte) error {
	_, err := t.client.Write(append([]byte{socksVersion, replySucceeded, 0, 1, 0, 0, 0, 0, 0, 0}, early...))
	t.relay.stats.down.Add(int64(len(early)))
	return err
}

// pump moves bytes one way until src ends, passes the end on, and leaves the other way alone. After a fault both ways
// are reset, so that nobody takes half an answer for a whole one.
func (t *tunnel) pump(dst, src net.Conn, count *atomic.Int64) {
	err := t.move(dst, src, count)
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		t.reset()
	}
	if t.ended.Add(1) == 2 {
		t.end()
		return
	}
	dst.SetReadDeadline(time.Now().Add(halfClosedIdle)) // dst is the src of the other pump
}

func (t *tunnel) reset() {
	for _, c := range []net.Conn{t.client, t.upstream} {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
	t.closeConns()
}

func (t *tunnel) move(dst, src net.Conn, count *atomic.Int64) error {
	w, err := waiterFor(src)
	if err != nil {
		return err
	}
	from, fromTCP := src.(*net.TCPConn)
	to, toTCP := dst.(*net.TCPConn)
	limit := &io.LimitedReader{R: from}
	for {
		n, err := w.wait()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if kernelCopies && fromTCP && toTCP {
			limit.N = int64(n)
			var moved int64
			moved, err = to.ReadFrom(limit) // splice: poll.Splice wants a *net.TCPConn on both sides and nothing around them
			count.Add(moved)
		} else {
			err = t.relay.moveChunk(dst, src, count)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if t.ended.Load() > 0 {
			src.SetReadDeadline(time.Now().Add(halfClosedIdle))
		}
	}
}

// moveChunk reads once and writes what it got.
func (r *Relay) moveChunk(dst io.Writer, src io.Reader, count *atomic.Int64) error {
	b := r.chunks.Get().(*[chunkSize]byte)
	defer r.chunks.Put(b)
	n, err := src.Read(b[:])
	if n > 0 {
		m, werr := dst.Write(b[:n])
		count.Add(int64(m))
		if werr != nil {
			return werr
		}
	}
	return err
}
