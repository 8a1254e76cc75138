package browser

import (
	"errors"
	"sync"
	"time"
)

// errStalled is the end of a client that does not read.
var errStalled = errors.New("the client does not read")

const (
	// clientLimit is how many bytes may wait for a client that does not read. One that reads may have any number waiting.
	clientLimit = 64 << 20
	// clientsLimit is how many bytes wait for all clients together before Chrome has to wait.
	clientsLimit = 1 << 30
	// stallTimeout is how long a client may take less than reads while more than its limit waits.
	stallTimeout = 20 * time.Second
	// minProgress is how many bytes a client takes within that time if it reads at all.
	minProgress = 1 << 20
)

// backlog counts what waits for the clients of a run. It is bounded without a bound on messages: a client that does not read is cut off after a while, and
// while more waits than the limit for all, whatever for whom, nothing is read from Chrome. Then a client that does not read is one too many at any size.
type backlog struct {
	mu        sync.Mutex
	perClient int           // clientLimit; tests set others
	total     int           // clientsLimit
	stall     time.Duration // stuckAfter
	bytes     int
	space     chan struct{} // closed and replaced when there is room again
	checking  bool          // look will be called
	check     func()
}

func newBacklog(look func()) *backlog {
	return &backlog{perClient: clientLimit, total: clientsLimit, stall: stallTimeout, space: make(chan struct{}), check: look}
}

// count notes that more waits, or less, and how much of it for the same client.
func (b *backlog) count(more, same int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.bytes > b.total
	b.bytes += more
	if full && b.bytes <= b.total {
		close(b.space)
		b.space = make(chan struct{})
	}
	if more > 0 && (same > b.perClient || b.bytes > b.total) {
		b.checkSoon()
	}
}

// checkSoon has somebody look at who reads. b.mu is held.
func (b *backlog) checkSoon() {
	if !b.checking {
		b.checking = true
		time.AfterFunc(b.stall/4, b.check)
	}
}

// beginCheck is what look calls first. It says how much may wait for a client that does not read, and for how long.
func (b *backlog) beginCheck() (limit int, stuck time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checking = false // what comes from now on is looked at again
	if b.bytes > b.total {
		return 0, b.stall
	}
	return b.perClient, b.stall
}

// full returns what is closed when there is room again, nil when there is.
func (b *backlog) full() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes <= b.total {
		return nil
	}
	return b.space
}
