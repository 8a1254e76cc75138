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
	tinyPiece  = 1 << 10               // below this a piece is a message, and of no stream
	smallPiece = 128 << 10             // below this it is small
	inARow     = 16                    // so many of them make a stream
	apart      = 10 * time.Millisecond // pieces further apart are of no stream
	lowWater   = 1 << 20               // what is waited for
	roomBeside = 3 * lowWater          // what the connection may hold: the sender goes on while this is moved

	// Nothing waits longer for what follows than a small part of the time that its stream has lasted.
	partOfAge     = 16
	leastPatience = time.Millisecond
	mostPatience  = 10 * time.Millisecond
)

// pace is what one pump has seen of its stream.
type pace struct {
	*waiter
	src    *net.TCPConn // nil: it always goes as it comes
	way    int32        // which pump this is
	small  int          // small pieces in a row
	began  time.Time    // with the first of them
	last   time.Time
	gather bool // the kernel waits for lowWater
}

// next waits as waiter does, or until enough has gathered.
func (p *pace) next(t *tunnel) (n int, err error) {
	if !p.gather {
		return p.wait()
	}
	now := time.Now()
	p.src.SetReadDeadline(now.Add(min(max(now.Sub(p.began)/partOfAge, leastPatience), mostPatience)))
	p.want = lowWater
	n, err = p.wait()
	p.want = 0
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late {
		if n = p.there(); n > 0 {
			err = nil
		}
	}
	if n < tinyPiece || t.moved.Load() != p.way {
		p.small, p.gather = 0, false
		p.setLowWater(1)
	}
	p.src.SetReadDeadline(time.Time{})
	if t.ended.Load() > 0 { // the other pump says so before it sets the deadline that has just gone
		p.src.SetReadDeadline(time.Now().Add(t.relay.silence))
	}
	if late && n == 0 {
		return p.wait()
	}
	return n, err
}

// saw takes down that n bytes are about to be moved, after what went the way moved.
func (p *pace) saw(n int, moved int32) {
	if p.src == nil || n == 0 {
		return
	}
	now := time.Now()
	switch {
	case moved != p.way || n < tinyPiece || now.Sub(p.last) > apart && !p.gather:
		p.small = 0
	case n < smallPiece && p.small < inARow:
		if p.small++; p.small == 1 {
			p.began = now
		}
	}
	p.last = now
	if p.small == inARow && !p.gather {
		// The first makes the kernel give the connection so much room (socket(7): the receive buffer grows with SO_RCVLOWAT), the second is what is waited for.
		p.gather = p.setLowWater(roomBeside) && p.setLowWater(lowWater)
	}
}
