package browser

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// errQueueClosed is what a queue answers after its end.
var errQueueClosed = errors.New("connection closed")

// errTooSlow is what a queue answers when its reader has fallen too far behind.
var errTooSlow = errors.New("reader too slow")

// queue holds messages for one reader. It is bounded by bytes: more than limit bytes waiting means that nothing more goes in.
// One message may be larger than the limit, so that frames of any size pass. A client's queue has no limit: its backlog looks after it.
type queue struct {
	limit   int
	backlog *backlog // what waits for all clients; nil for other readers

	mu         sync.Mutex
	items      [][]byte
	bytes      int       // that wait, with the message that is being written
	progress   int       // since moved
	progressAt time.Time // when the reader had last taken enough to count as one that reads, or something came where nothing waited
	closed     bool
	ready      chan struct{} // holds a token while there is something to read
	space      chan struct{} // closed and replaced when messages are taken out
	done       chan struct{} // closed by close
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1), space: make(chan struct{}), done: make(chan struct{})}
}

// enqueue adds a message or says errTooSlow. It never waits.
func (q *queue) enqueue(msg []byte) error {
	err := q.enqueueQuiet(msg)
	if err == nil {
		q.signal()
	}
	return err
}

// enqueueQuiet is put that wakes nobody: who lays messages down takes them away, or wakes who does.
func (q *queue) enqueueQuiet(msg []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errQueueClosed
	}
	if q.bytes > q.limit {
		return errTooSlow
	}
	q.add(msg)
	return nil
}

// signal lets one who waits look.
func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// enqueueAlways adds a message whatever waits already. It is for the owner's few small commands.
func (q *queue) enqueueAlways(msg []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errQueueClosed
	}
	q.add(msg)
	q.signal()
	return nil
}

// enqueueWait adds a message as soon as there is room.
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

// count notes that more waits, or less. q.mu is held.
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

// dequeue returns the next message as soon as there is one. After close it first returns what is left.
func (q *queue) dequeue(ctx context.Context) ([]byte, error) {
	for {
		msg, closed := q.pop()
		if msg != nil {
			return msg, nil
		}
		if closed {
			return nil, errQueueClosed
		}
		select {
		case <-q.ready:
		case <-q.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// await returns when somebody has woken who waits here, or with errQueueClosed when nothing more will come: what is left can be taken then.
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

// isEmpty reports whether nothing waits, and more may come.
func (q *queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0 && !q.closed
}

// pop takes the first message out, nil when there is none, and says whether the queue is closed.
func (q *queue) pop() (msg []byte, closed bool) { return q.popBelow(math.MaxInt) }

// popBelow is pop of a message of less than size bytes.
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

// removeFirst takes the first message out. There is one, and q.mu is held.
func (q *queue) removeFirst() (msg []byte) {
	msg, q.items[0] = q.items[0], nil
	q.items = q.items[1:]
	return msg
}

// popUncounted is pop of a message that is written in portions: it counts until it is finished.
func (q *queue) popUncounted() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil
	}
	return q.removeFirst()
}

// noteWritten notes that the reader took n bytes of the message that was begun.
func (q *queue) noteWritten(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteProgress(n)
}

// noteProgress notes that the reader reads. q.mu is held.
func (q *queue) noteProgress(n int) {
	if q.progress += n; q.progress >= minProgress {
		q.progressAt, q.progress = time.Now(), 0
	}
}

// uncount notes that the message that was begun, of n bytes, is written.
func (q *queue) uncount(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count(-n)
}

// idleTime says how much waits, and for how long the reader has taken next to nothing of it.
func (q *queue) idleTime() (bytes int, since time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes, time.Since(q.progressAt)
}

// leaveBacklog takes what waits out of the backlog, for a reader that has ended.
func (q *queue) leaveBacklog() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.backlog != nil {
		q.backlog.count(-q.bytes, 0)
		q.backlog = nil
	}
}

// close ends the queue. What waits can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.done)
	}
}
