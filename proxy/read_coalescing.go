package proxy

import (
	"errors"
	"net"
	"os"
	"time"
)

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
