package runs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Queues starts. A run holds a slot from its launch to its recorded end, and --max-running bounds the slots. Slots go
// first in, first out to starts that are ready to launch, so slow lookups do not block others.

// queue counts the slots in use and holds the starts that wait for one.
type queue struct {
	limit int // 0: no bound

	mu       sync.Mutex
	taken    int
	waiting  []*slot // in order of arrival
	rejected [60]struct{ second, n int64 }
	refused  atomic.Int64 // in all
}

// slot is the right of one run to exist, held or waited for.
type slot struct {
	ready   bool
	granted chan struct{} // closed when the slot is held
}

// enqueue adds a start to the queue. It gets no slot before markReady.
func (q *queue) enqueue() *slot {
	s := &slot{granted: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, s)
	return s
}

// occupy takes a slot at once for an adopted run, even beyond the limit.
func (q *queue) occupy() *slot {
	s := &slot{granted: make(chan struct{})}
	close(s.granted)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken++
	return s
}

// markReady lets s be granted a slot, after the ready starts that came before it.
func (q *queue) markReady(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.ready = true
	q.grant()
}

// grant gives free slots to ready starts. The mutex is held.
func (q *queue) grant() {
	for q.limit == 0 || q.taken < q.limit {
		i := slices.IndexFunc(q.waiting, func(s *slot) bool { return s.ready })
		if i < 0 {
			return
		}
		close(q.waiting[i].granted)
		q.waiting = slices.Delete(q.waiting, i, i+1)
		q.taken++
	}
}

// release frees a slot or leaves the queue. nil is ignored.
func (q *queue) release(s *slot) {
	if s == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if isClosed(s.granted) {
		q.taken--
	} else {
		q.waiting = slices.DeleteFunc(q.waiting, func(other *slot) bool { return other == s })
	}
	q.grant()
}

// countRefusal counts a start that was refused for lack of capacity.
func (q *queue) countRefusal() {
	q.refused.Add(1)
	at := time.Now().Unix()
	q.mu.Lock()
	defer q.mu.Unlock()
	bucket := &q.rejected[at%60]
	if bucket.second != at {
		bucket.second, bucket.n = at, 0
	}
	bucket.n++
}

// counts returns the slots in use and the starts refused within the last minute.
func (q *queue) counts() (taken int, refused int64) {
	since := time.Now().Unix() - 60
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, bucket := range q.rejected {
		if bucket.second > since {
			refused += bucket.n
		}
	}
	return q.taken, refused
}

// awaitSlot waits until the run holds a slot. It fails after QueueTimeout, if the run is stopped, or if no caller waits
// for the start any more.
func (m *Manager) awaitSlot(ctx context.Context, r *run) error {
	m.queue.markReady(r.slot)
	if isClosed(r.slot.granted) { // checked first: a start that need not wait continues without its caller
		return nil
	}
	select {
	case <-r.slot.granted:
		return nil
	case <-r.abandoned:
		return abandonedStart()
	case <-ctx.Done():
		return m.cancelledStart()
	case <-time.After(m.cfg.QueueTimeout):
		m.queue.countRefusal()
		return capacityExceeded(m.cfg)
	}
}

// join counts a caller that waits for a start, until the returned function is called. When the last caller goes away, a
// start that is still queued leaves the queue.
func (r *run) join() (leave func(gone bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters++
	return func(gone bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.waiters--; gone && r.waiters == 0 && !isClosed(r.abandoned) {
			close(r.abandoned)
		}
	}
}

// enterStartQueue counts a waiting start; takeTurn must follow. It refuses the start if --max-queue others wait, unless
// the run already holds a slot.
func (m *Manager) enterStartQueue(r *run) error {
	if m.queued.Add(1) <= int64(m.cfg.MaxQueue) || r != nil && r.slot != nil {
		return nil
	}
	m.queued.Add(-1)
	m.queue.countRefusal()
	return StartQueueFull()
}

// takeTurn waits until the run has a slot and fewer than --max-starting browsers are being launched. It resolves the
// exit and the identity first, so that a dead proxy does not block other starts.
//
// A start that gets a warm run launches no browser, and does not count among --max-starting.
//
// A leak test (r is nil) takes no slot, no warm run, and looks up no exit. The caller must call release when the launch
// has succeeded or failed.
func (m *Manager) takeTurn(ctx context.Context, r *run, p *plan) (release func(), err error) {
	defer m.queued.Add(-1)
	if err := m.requireExit(ctx, p); err != nil {
		return nil, err
	}
	if err := m.resolveIdentity(ctx, p, r != nil); err != nil {
		return nil, err
	}
	if r != nil {
		if err := m.awaitSlot(ctx, r); err != nil {
			return nil, err
		}
		if p.warm = m.reserveWarm(p); p.warm != nil {
			return func() {}, nil
		}
	}
	return m.claimStarting(ctx)
}

// claimStarting waits until fewer than --max-starting browsers are being launched, and counts one more until release is
// called. Browsers that have just started yield to those that are being launched.
func (m *Manager) claimStarting(ctx context.Context) (release func(), err error) {
	select {
	case m.startSem <- struct{}{}:
		m.yieldToOthers()
		return sync.OnceFunc(func() {
			<-m.startSem
			m.yieldToOthers()
		}), nil
	case <-ctx.Done():
		return nil, m.cancelledStart()
	}
}
