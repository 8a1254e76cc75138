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
