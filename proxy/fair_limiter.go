package proxy

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Defaults of a FairLimiter's fields.
const (
	DefaultSlots     = 2048
	DefaultSlowAfter = 100 * time.Millisecond
)

// FairLimiter runs many tasks concurrently that spend most of their time waiting, as checks do. The rules are:
//
//   - At most Slots tasks hold a slot. A task that runs longer than SlowAfter releases its slot and goes on without one.
//     So silent proxies do not block other tasks. MaxRunning bounds the tasks with and without a slot together.
//   - Groups are served round-robin, whatever their sizes, and so are the callers within a group.
//
// A FairLimiter is safe for concurrent use and must not be copied after the first Run.
type FairLimiter struct {
	Slots      int           // 0 means DefaultSlots
	MaxRunning int           // 0 means four times Slots
	SlowAfter  time.Duration // 0 means DefaultSlowAfter

	mu      sync.Mutex
	groups  []*taskGroup // groups with tasks to start, the next one first
	running int          // tasks that hold a slot
	slow    int          // tasks that released their slot and still run
}

type taskGroup struct {
	name    string
	batches []*batch // the next one first
}

// batch is one call of Run.
type batch struct {
	ctx     context.Context
	task    func(int)
	next    int           // the next task to start
	n       int           // tasks from n on are never started
	running int           // tasks that were started and have not ended
	done    chan struct{} // closed when no task runs and none will be started
}

// Run calls task with 0 to n-1, in this order and many concurrently, and returns when all calls have returned.
// When ctx ends, no further task is started; ending those that run is task's own work.
func (l *FairLimiter) Run(ctx context.Context, group string, n int, task func(i int)) {
	if n <= 0 || ctx.Err() != nil {
		return
	}
	b := &batch{ctx: ctx, task: task, n: n, done: make(chan struct{})}
	l.mu.Lock()
	l.enqueue(group, b)
	l.startTasks()
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { l.cancelBatch(b) })
	defer stop()
	<-b.done
}

// enqueue adds a batch to its group. The caller holds l.mu.
func (l *FairLimiter) enqueue(group string, b *batch) {
	for _, g := range l.groups {
		if g.name == group {
			g.batches = append(g.batches, b)
			return
		}
	}
	l.groups = append(l.groups, &taskGroup{group, []*batch{b}})
}

// cancelBatch drops the tasks of a batch that were not started, without waiting for the batch's turn.
func (l *FairLimiter) cancelBatch(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.n = b.next
	b.closeIfDone()
}

func (b *batch) closeIfDone() {
	if b.next < b.n || b.running > 0 {
		return
	}
	select {
	case <-b.done:
	default:
		close(b.done)
	}
}

// nextTask returns the next task, and moves its group and its batch to the end of their queues; nil means that there is none.
// The caller holds l.mu.
func (l *FairLimiter) nextTask() (b *batch, i int) {
	for len(l.groups) > 0 {
		g := l.groups[0]
		l.groups = l.groups[1:]
		b := g.batches[0]
		g.batches = g.batches[1:]
		if b.ctx.Err() != nil {
			b.n = b.next
			b.closeIfDone()
		}
		found := b.next < b.n
		if found {
			i = b.next
			b.next++
			b.running++
		}
		if b.next < b.n {
			g.batches = append(g.batches, b)
		}
		if len(g.batches) > 0 {
			l.groups = append(l.groups, g)
		}
		if found {
			return b, i
		}
	}
	return nil, 0
}

// startTasks starts tasks while slots are free. The caller holds l.mu.
func (l *FairLimiter) startTasks() {
	slots := cmp.Or(l.Slots, DefaultSlots)
	most := cmp.Or(l.MaxRunning, 4*slots)
	for l.running < slots && l.running+l.slow < most {
		b, i := l.nextTask()
		if b == nil {
			return
		}
		l.running++
		go l.runTasks(b, i)
	}
}

// worker is a goroutine that runs tasks.
type worker struct {
	taskStart time.Time
	slow      bool // it has released its slot
	done      bool
}

// runTasks runs a task, and further ones while the worker keeps its slot. So a stack that has grown is used again.
func (l *FairLimiter) runTasks(b *batch, i int) {
	slowAfter := cmp.Or(l.SlowAfter, DefaultSlowAfter)
	w := &worker{taskStart: time.Now()}
	timer := time.AfterFunc(slowAfter, func() { l.releaseSlot(w, slowAfter) })
	defer timer.Stop()
	for {
		b.task(i)
		timer.Stop()
		if b, i = l.finishTask(w, b); b == nil {
			return
		}
		timer.Reset(slowAfter)
	}
}

// releaseSlot takes the slot of a worker whose task is slow. A timer that fires late may find the worker at its next task,
// which keeps the slot.
func (l *FairLimiter) releaseSlot(w *worker, slowAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.done || w.slow || time.Since(w.taskStart) < slowAfter {
		return
	}
	w.slow = true
	l.running--
	l.slow++
	l.startTasks()
}

// finishTask records the end of a task of b. It returns the worker's next task, or nil when there is none or the slot is gone.
func (l *FairLimiter) finishTask(w *worker, b *batch) (*batch, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.running--
	b.closeIfDone()
	if w.slow {
		w.done = true
		l.slow--
		l.startTasks()
		return nil, 0
	}
	next, i := l.nextTask()
	if next == nil {
		w.done = true
		l.running--
		return nil, 0
	}
	w.taskStart = time.Now()
	return next, i
}
