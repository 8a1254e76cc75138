package browser

import (
	"errors"
	"sync"
	"time"
)

// errStuck is the end of a client that does not read.
var errStuck = errors.New("the client does not read")

const (
	// clientLimit is how many bytes may wait for a client that does not read. One that reads may have any number waiting.
	clientLimit = 64 << 20
	// clientsLimit is how many bytes wait for all clients together before Chrome has to wait.
	clientsLimit = 1 << 30
	// stuckAfter is how long a client may take less than reads while more than its limit waits.
	stuckAfter = 20 * time.Second
	// reads is how many bytes a client takes within that time if it reads at all.
	reads = 1 << 20
)

// backlog counts what waits for the clients of a run. It is bounded without a bound on messages: a client that does not read is cut off after a while, and
// while more waits than the limit for all, whatever for whom, nothing is read from Chrome. Then a client that does not read is one too many at any size.
type backlog struct {
	mu      sync.Mutex
	each    int           // clientLimit; tests set others
	all     int           // clientsLimit
	stuck   time.Duration // stuckAfter
	bytes   int
	room    chan struct{} // closed and replaced when there is room again
	looking bool          // look will be called
	look    func()
}

func newBacklog(look func()) *backlog {
	return &backlog{each: clientLimit, all: clientsLimit, stuck: stuckAfter, room: make(chan struct{}), look: look}
}

// count notes that more waits, or less, and how much of it for the same client.
func (b *backlog) count(more, same int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.bytes > b.all
	b.bytes += more
	if full && b.bytes <= b.all {
		close(b.room)
		b.room = make(chan struct{})
	}
	if more > 0 && (same > b.each || b.bytes > b.all) {
		b.lookSoon()
	}
}

// lookSoon has somebody look at who reads. b.mu is held.
func (b *backlog) lookSoon() {
	if !b.looking {
		b.looking = true
		time.AfterFunc(b.stuck/4, b.look)
	}
}

// begin is what look calls first. It says how much may wait for a client that does not read, and for how long.
func (b *backlog) begin() (limit int, stuck time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looking = false // what comes from now on is looked at again
	if b.bytes > b.all {
		return 0, b.stuck
	}
	return b.each, b.stuck
}

// full returns what is closed when there is room again, nil when there is.
func (b *backlog) full() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes <= b.all {
		return nil
	}
	return b.room
}
