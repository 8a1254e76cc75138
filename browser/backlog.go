package browser

import (
	"errors"
	"sync"
	"time"
)

// errStalled says that a client was disconnected because it had stopped reading.
var errStalled = errors.New("the client does not read")

const (
	// clientLimit is how many bytes may wait for a client that has stopped reading. For a client that reads there is no limit.
	clientLimit = 64 << 20
	// clientsLimit is how many bytes may wait for all clients together before Chrome is no longer read.
	clientsLimit = 1 << 30
	// stallTimeout is how long a client may read less than minProgress while more than its limit waits.
	stallTimeout = 20 * time.Second
	// minProgress is how many bytes a reading client reads at least within stallTimeout.
	minProgress = 1 << 20
)

// backlog counts the bytes that wait for all clients of a run. A client that has stopped reading is disconnected after stallTimeout if more
// than clientLimit waits for it. While more than clientsLimit waits for all clients together, Chrome is not read, and a client that has
// stopped reading is disconnected at any size.
type backlog struct {
	mu        sync.Mutex
	perClient int           // clientLimit; tests set others
	total     int           // clientsLimit
	stall     time.Duration // stallTimeout
	bytes     int
	space     chan struct{} // closed and replaced when the total is below its limit again
	checking  bool          // check has been scheduled
	check     func()
}

func newBacklog(look func()) *backlog {
	return &backlog{perClient: clientLimit, total: clientsLimit, stall: stallTimeout, space: make(chan struct{}), check: look}
}

// count adds more bytes to those that wait; more may be negative. same is the number of bytes that wait for the same client.
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

// checkSoon schedules check. b.mu is held.
func (b *backlog) checkSoon() {
	if !b.checking {
		b.checking = true
		time.AfterFunc(b.stall/4, b.check)
	}
}

// beginCheck is the first thing that check calls. It returns how many bytes may wait for a client that does not read, and for how long.
func (b *backlog) beginCheck() (limit int, stall time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checking = false // later additions schedule another check
	if b.bytes > b.total {
		return 0, b.stall
	}
	return b.perClient, b.stall
}

// full returns nil while the total is below its limit, else a channel that is closed when it is again.
func (b *backlog) full() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes <= b.total {
		return nil
	}
	return b.space
}
