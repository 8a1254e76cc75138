package proxy

import (
	"errors"
	"net"
	"os"
	"time"
)

// A server that writes small wakes its reader for each piece, and each costs as much as a large one. So when pieces have come one upon the
// other for a while, and nothing went the other way meanwhile, the kernel is asked to wake a pump for many at once (SO_RCVLOWAT), for as
// long as they come so fast. What comes by itself, what is tiny, and what answers something goes at once.
const (
	minStreamRead = 1 << 10               // below this a piece is a message, and of no stream
	smallRead     = 128 << 10             // below this it is small
	streamReads   = 16                    // so many of them make a stream
	maxReadGap    = 10 * time.Millisecond // pieces further apart are of no stream
	lowWaterMark  = 1 << 20               // what is waited for
	receiveRoom   = 3 * lowWaterMark      // what the connection may hold: the sender goes on while this is moved

	// Nothing waits longer for what follows than a small part of the time that its stream has lasted.
	ageFraction     = 16
	coalesceWaitMin = time.Millisecond
	coalesceWaitMax = 10 * time.Millisecond
)

// pace is what one pump has seen of its stream.
type coalescer struct {
	*readWaiter
	src         *net.TCPConn // nil: it always goes as it comes
	direction   int32        // which pump this is
	smallReads  int          // small pieces in a row
	streamStart time.Time    // with the first of them
	lastRead    time.Time
	coalescing  bool // the kernel waits for lowWater
}

// next waits as waiter does, or until enough has gathered.
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
	if t.pumpsDone.Load() > 0 { // the other pump says so before it sets the deadline that has just gone
		p.src.SetReadDeadline(time.Now().Add(t.relay.idleTimeout))
	}
	if late && n == 0 {
		return p.wait()
	}
	return n, err
}

// saw takes down that n bytes are about to be moved, after what went the way moved.
func (p *coalescer) observe(n int, moved int32) {
	if p.src == nil || n == 0 {
		return
	}
	now := time.Now()
	switch {
	case moved != p.direction || n < minStreamRead || now.Sub(p.lastRead) > maxReadGap && !p.coalescing:
		p.smallReads = 0
	case n < smallRead && p.smallReads < streamReads:
		if p.smallReads++; p.smallReads == 1 {
			p.streamStart = now
		}
	}
	p.lastRead = now
	if p.smallReads == streamReads && !p.coalescing {
		// The first makes the kernel give the connection so much room (socket(7): the receive buffer grows with SO_RCVLOWAT), the second is what is waited for.
		p.coalescing = p.setLowWater(receiveRoom) && p.setLowWater(lowWaterMark)
	}
}
