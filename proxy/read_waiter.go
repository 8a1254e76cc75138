package proxy

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// readWaiter waits until a connection has bytes to read, without holding a buffer or a pipe. So an idle tunnel costs two descriptors and
// no memory beyond its connections. io.Copy would hold two pipes, four more descriptors, while it waits.
type readWaiter struct {
	raw      syscall.RawConn // nil when there is nothing to poll: a read has to block
	ready    func(fd uintptr) bool
	minBytes int // fewer bytes do not end the wait before it began; 0 means any
	polls    int // calls of poll in one wait
	n        int
	err      error
}

func newReadWaiter(c net.Conn) (*readWaiter, error) {
	w := &readWaiter{}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return w, nil
	}
	var err error
	w.raw, err = tcp.SyscallConn()
	w.ready = w.poll
	return w, err
}

// buffered returns how many bytes can be read, whatever the deadline; 0 where the system does not tell.
func (w *readWaiter) buffered() (n int) {
	if w.raw != nil {
		w.raw.Control(func(fd uintptr) { n = readableBytes(int(fd)) })
	}
	return n
}

// wait returns at least how many bytes can be read; 0 means that this is unknown and a read tells. The error io.EOF is the end of
// the stream.
func (w *readWaiter) wait() (int, error) {
	if w.raw == nil {
		return 0, nil
	}
	w.n, w.polls, w.err = 0, 0, nil
	if err := w.raw.Read(w.ready); err != nil {
		return 0, err
	}
	return w.n, w.err
}

// Coalesces small reads. A server that writes small pieces wakes a pump for each, and each costs as much as a large one.
// When small reads follow each other for a while, and nothing goes the other way, the kernel is told to wake the pump for many at
// once (socket(7), SO_RCVLOWAT). Single reads, tiny reads and answers are never delayed.
const (
	minStreamRead = 1 << 10               // below this a read is a message, and not part of a stream
	smallRead     = 128 << 10             // below this a read is small
	streamReads   = 16                    // so many small reads in a row make a stream
	maxReadGap    = 10 * time.Millisecond // between the reads of a stream
	lowWaterMark  = 1 << 20               // bytes to wait for while coalescing
	receiveRoom   = 3 * lowWaterMark      // of the receive buffer: the sender goes on while a pump moves lowWaterMark

	// A read waits for more for a fraction of the time that its stream has lasted, within bounds.
	ageFraction     = 16
	coalesceWaitMin = time.Millisecond
	coalesceWaitMax = 10 * time.Millisecond
)

// coalescer is what one pump has seen of its stream.
type coalescer struct {
	*readWaiter
	src         *net.TCPConn // nil never coalesces
	direction   int32        // of the pump
	smallReads  int          // in a row
	streamStart time.Time    // time of the first of them
	lastRead    time.Time
	coalescing  bool // the kernel waits for lowWaterMark
}

// next waits as readWaiter.wait does, and while coalescing until lowWaterMark bytes are there or the wait is over.
func (p *coalescer) next(t *tunnel) (n int, err error) {
	if !p.coalescing {
		return p.wait()
	}
	now := time.Now()
	p.src.SetReadDeadline(now.Add(min(max(now.Sub(p.streamStart)/ageFraction, coalesceWaitMin), coalesceWaitMax)))
	p.minBytes = lowWaterMark
	n, err = p.wait()
	p.minBytes = 0
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late {
		if n = p.buffered(); n > 0 {
			err = nil
		}
	}
	if n < minStreamRead || t.lastDirection.Load() != p.direction {
		p.smallReads, p.coalescing = 0, false
		p.setLowWater(1)
	}
	p.src.SetReadDeadline(time.Time{})
	if t.pumpsDone.Load() > 0 { // the other pump counts itself before it sets the deadline that was just replaced
		p.src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
	}
	if late && n == 0 {
		return p.wait()
	}
	return n, err
}

// observe records that n bytes are about to be moved, after bytes were last moved in the direction last.
func (p *coalescer) observe(n int, last int32) {
	if p.src == nil || n == 0 {
		return
	}
	now := time.Now()
	switch {
	case last != p.direction || n < minStreamRead || now.Sub(p.lastRead) > maxReadGap && !p.coalescing:
		p.smallReads = 0
	case n < smallRead && p.smallReads < streamReads:
		if p.smallReads++; p.smallReads == 1 {
			p.streamStart = now
		}
	}
	p.lastRead = now
	if p.smallReads == streamReads && !p.coalescing {
		// The first call makes the receive buffer grow, as socket(7) says of SO_RCVLOWAT. The second sets the mark.
		p.coalescing = p.setLowWater(receiveRoom) && p.setLowWater(lowWaterMark)
	}
}
