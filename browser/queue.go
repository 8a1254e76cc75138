package browser

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// errQueueClosed says that a queue is closed.
var errQueueClosed = errors.New("connection closed")

// errTooSlow says that too much waits for a client or behind its held commands.
var errTooSlow = errors.New("reader too slow")

// queue holds messages for one reader. enqueueWait accepts messages until more than limit bytes wait. One message may be larger than the
// limit. A client's queue has no limit of its own; its backlog bounds it.
type queue struct {
	limit   int
	backlog *backlog // counts what waits for all clients; nil for other readers

	mu         sync.Mutex
	items      [][]byte
	bytes      int       // that wait, including a message that is being written
	progress   int       // bytes read since progressAt
	progressAt time.Time // when the reader last read minProgress bytes, or when the queue last became non-empty
	closed     bool
	ready      chan struct{} // holds a token while there is something to read
	space      chan struct{} // closed and replaced when the queue is below its limit again
	done       chan struct{} // closed by close
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1), space: make(chan struct{}), done: make(chan struct{})}
}

// enqueue appends a message regardless of the limit. It never blocks.
func (q *queue) enqueue(msg []byte) error {
	err := q.enqueueQuiet(msg)
	if err == nil {
		q.signal()
	}
	return err
}

// enqueueQuiet appends without signalling; the caller must drain the queue or signal.
func (q *queue) enqueueQuiet(msg []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errQueueClosed
	}
	q.add(msg)
	return nil
}

// signal wakes the reader.
func (q *queue) signal() { putToken(q.ready) }

// putToken puts a token into a channel that has room for one, unless one is there.
func putToken(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isClosed reports whether a channel that nobody sends on is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// receive waits for a value of a channel, or for its end. It fails with ctx's error.
func receive[T any](ctx context.Context, from <-chan T) (v T, err error) {
	select {
	case v = <-from:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// enqueueWait appends a message as soon as the queue is below its limit.
func (q *queue) enqueueWait(ctx context.Context, msg []byte) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return errQueueClosed
		}
		if q.bytes <= q.limit {
			q.add(msg)
			q.signal()
			q.mu.Unlock()
			return nil
		}
		room := q.space
		q.mu.Unlock()
		select {
		case <-room:
		case <-q.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *queue) add(msg []byte) {
	if q.bytes == 0 {
		q.progressAt, q.progress = time.Now(), 0
	}
	q.items = append(q.items, msg)
	q.count(len(msg))
}

// count adds more bytes to those that wait; more may be negative. q.mu is held.
func (q *queue) count(more int) {
	over := q.bytes > q.limit
	q.bytes += more
	if over && q.bytes <= q.limit {
		close(q.space)
		q.space = make(chan struct{})
	}
	if q.backlog != nil {
		q.backlog.count(more, q.bytes)
	}
}

// dequeue returns the next message as soon as there is one. After close it first returns the remaining messages.
func (q *queue) dequeue(ctx context.Context) ([]byte, error) {
	for {
		msg, closed := q.pop()
		if msg != nil {
			return msg, nil
		}
		if closed {
			return nil, errQueueClosed
		}
		if err := q.await(ctx); err != nil && !errors.Is(err, errQueueClosed) {
			return nil, err
		}
	}
}

// await returns after a signal. It returns errQueueClosed after close; then the remaining messages can still be read.
func (q *queue) await(ctx context.Context) error {
	select {
	case <-q.ready:
		return nil
	case <-q.done:
		return errQueueClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isEmpty reports whether an open queue holds no message.
func (q *queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0 && !q.closed
}

// pop removes the first message, nil for none. closed says that no more messages will come.
func (q *queue) pop() (msg []byte, closed bool) { return q.popBelow(math.MaxInt) }

// popBelow is pop for a message of less than size bytes.
func (q *queue) popBelow(size int) (msg []byte, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 || len(q.items[0]) >= size {
		return nil, q.closed
	}
	msg = q.removeFirst()
	q.noteProgress(len(msg))
	q.count(-len(msg))
	return msg, q.closed
}

// removeFirst removes the first message. The queue is not empty, and q.mu is held.
func (q *queue) removeFirst() (msg []byte) {
	msg, q.items[0] = q.items[0], nil
	q.items = q.items[1:]
	return msg
}

// popUncounted is pop for a message that is written in portions. Its bytes count until uncount.
func (q *queue) popUncounted() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil
	}
	return q.removeFirst()
}

// noteWritten records that n bytes of a message of popUncounted were written.
func (q *queue) noteWritten(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteProgress(n)
}

// noteProgress records that n bytes were read. q.mu is held.
func (q *queue) noteProgress(n int) {
	if q.progress += n; q.progress >= minProgress {
		q.progressAt, q.progress = time.Now(), 0
	}
}

// uncount ends the count of a message of popUncounted that had n bytes.
func (q *queue) uncount(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(-n)
}

// idleTime returns how many bytes wait, and for how long the reader has read less than minProgress of them.
func (q *queue) idleTime() (bytes int, since time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes, time.Since(q.progressAt)
}

// leaveBacklog stops counting in the backlog, since the reader has ended.
func (q *queue) leaveBacklog() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.backlog != nil {
		q.backlog.count(-q.bytes, 0)
		q.backlog = nil
	}
}

// close ends the queue. The remaining messages can still be read.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.done)
	}
}

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
