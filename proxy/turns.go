package proxy

import (
	"context"
	"sync"
	"time"
)

// What Turns takes when its fields are zero.
const (
	DefaultPlaces   = 2048
	DefaultPatience = 100 * time.Millisecond
)

// Turns runs many tasks at once that mostly wait for somebody else, as checks do. The rules are:
//
//   - Places tasks are at work at once. One that takes longer than Patience gives its place to another and goes on beside it, so
//     that silent proxies hold nobody up; Most is the bound of both together.
//   - Groups take turns, whatever each has to do, and so do the callers within a group.
//
// It is safe for concurrent use and must not be copied after the first Run.
type Turns struct {
	Places   int           // 0 means DefaultPlaces
	Most     int           // 0 means four times Places
	Patience time.Duration // 0 means DefaultPatience

	mu     sync.Mutex
	groups []*turnGroup // those that have tasks to begin, the next one first
	busy   int          // tasks that have a place
	beside int          // tasks that gave theirs up and go on
}

type turnGroup struct {
	name    string
	batches []*batch // the next one first
}

// batch is one call of Run.
type batch struct {
	ctx   context.Context
	each  func(int)
	next  int // the next task to begin; those from n on never do
	n     int
	open  int           // tasks that have begun and not ended
	ended chan struct{} // closed when there is nothing left of it
}

// Run calls each with 0 to n-1, many at once, in this order, and returns when all calls have returned. When ctx ends no further one
// begins; those that go on are each's to end.
func (t *Turns) Run(ctx context.Context, group string, n int, each func(i int)) {
	if n <= 0 || ctx.Err() != nil {
		return
	}
	b := &batch{ctx: ctx, each: each, n: n, ended: make(chan struct{})}
	t.mu.Lock()
	t.queue(group, b)
	t.hire()
	t.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { t.withdraw(b) })
	defer stop()
	<-b.ended
}

// queue adds a batch; the mutex is held, as in those below.
func (t *Turns) queue(group string, b *batch) {
	for _, g := range t.groups {
		if g.name == group {
			g.batches = append(g.batches, b)
			return
		}
	}
	t.groups = append(t.groups, &turnGroup{group, []*batch{b}})
}

// withdraw ends a batch of which nothing goes on, without waiting for its turn.
func (t *Turns) withdraw(b *batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.n = b.next
	b.endIfOver()
}

func (b *batch) endIfOver() {
	if b.next < b.n || b.open > 0 {
		return
	}
	select {
	case <-b.ended:
	default:
		close(b.ended)
	}
}

// take gives the next task, and moves its group and its batch behind the others.
func (t *Turns) take() (b *batch, i int) {
	for len(t.groups) > 0 {
		g := t.groups[0]
		t.groups = t.groups[1:]
		b := g.batches[0]
		g.batches = g.batches[1:]
		if b.ctx.Err() != nil {
			b.n = b.next
			b.endIfOver()
		}
		begun := b.next < b.n
		if begun {
			i = b.next
			b.next++
			b.open++
		}
		if b.next < b.n {
			g.batches = append(g.batches, b)
		}
		if len(g.batches) > 0 {
			t.groups = append(t.groups, g)
		}
		if begun {
			return b, i
		}
	}
	return nil, 0
}

// hire fills the free places, as far as there are tasks.
func (t *Turns) hire() {
	places := t.Places
	if places <= 0 {
		places = DefaultPlaces
	}
	most := t.Most
	if most <= 0 {
		most = 4 * places
	}
	for t.busy < places && t.busy+t.beside < most {
		b, i := t.take()
		if b == nil {
			return
		}
		t.busy++
		go t.work(b, i)
	}
}

// turn is one task at work.
type turn struct {
	began  time.Time
	beside bool // it has given its place up
	over   bool
}

// work does a task, and further ones for as long as it keeps its place: a stack that has grown is worth keeping.
func (t *Turns) work(b *batch, i int) {
	patience := t.Patience
	if patience <= 0 {
		patience = DefaultPatience
	}
	now := &turn{began: time.Now()}
	late := time.AfterFunc(patience, func() { t.stepAside(now, patience) })
	defer late.Stop()
	for {
		b.each(i)
		late.Stop()
		if b, i = t.next(now, b); b == nil {
			return
		}
		late.Reset(patience)
	}
}

// stepAside takes the place of a task that has had it for as long as it may. A word that came too late finds the next task.
func (t *Turns) stepAside(now *turn, patience time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.over || now.beside || time.Since(now.began) < patience {
		return
	}
	now.beside = true
	t.busy--
	t.beside++
	t.hire()
}

// next notes the end of a task of b and gives another one, when there is one and the place is still there.
func (t *Turns) next(now *turn, b *batch) (*batch, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.open--
	b.endIfOver()
	if now.beside {
		now.over = true
		t.beside--
		t.hire()
		return nil, 0
	}
	another, i := t.take()
	if another == nil {
		now.over = true
		t.busy--
		return nil, 0
	}
	now.began = time.Now()
	return another, i
}
