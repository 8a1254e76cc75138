package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"warren/problem"
)

// This file is the queue of starts. A run holds a place from its launch to its recorded end, where --max-running bounds the places; who
// came first is first, as soon as it is ready: what has to be looked up before its launch holds nobody up.

// room is for the runs that may be there at once, and the starts that wait for one to end.
type room struct {
	most int // 0: no bound

	mu       sync.Mutex
	taken    int
	waiting  []*place // as they came
	rejected [60]struct{ second, n int64 }
}

// place is a run's, or waits to be.
type place struct {
	ready bool
	held  chan struct{} // closed when it is the run's
}

// queue takes a start's place in the queue.
func (p *room) queue() *place {
	w := &place{held: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, w)
	return w
}

// take gives a place to a run that is there already, whatever the bound.
func (p *room) take() *place {
	w := &place{held: make(chan struct{})}
	close(w.held)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	return w
}

// ready lets w have a place as soon as there is one and nobody who is ready came before.
func (p *room) ready(w *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.ready = true
	p.give()
}

// give hands out what is free; the mutex is held.
func (p *room) give() {
	for p.most == 0 || p.taken < p.most {
		i := slices.IndexFunc(p.waiting, func(w *place) bool { return w.ready })
		if i < 0 {
			return
		}
		close(p.waiting[i].held)
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.taken++
	}
}

// leave gives a place back, held or not. nil is none.
func (p *room) leave(w *place) {
	if w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if isClosed(w.held) {
		p.taken--
	} else {
		p.waiting = slices.DeleteFunc(p.waiting, func(other *place) bool { return other == w })
	}
	p.give()
}

// refused counts a start that was sent away for want of room.
func (p *room) refused() {
	at := time.Now().Unix()
	p.mu.Lock()
	defer p.mu.Unlock()
	slot := &p.rejected[at%60]
	if slot.second != at {
		slot.second, slot.n = at, 0
	}
	slot.n++
}

// counts says how many places are taken, and how many starts were sent away within the last minute.
func (p *room) counts() (taken int, refused int64) {
	since := time.Now().Unix() - 60
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, slot := range p.rejected {
		if slot.second > since {
			refused += slot.n
		}
	}
	return p.taken, refused
}

// awaitPlace waits until the run may be launched. It gives up when it takes too long, when the run is stopped, and when everybody who
// wanted it has gone.
func (rs *runs) awaitPlace(ctx context.Context, r *profileRun) error {
	rs.room.ready(r.place)
	late := time.NewTimer(rs.cfg.QueueTimeout)
	defer late.Stop()
	select {
	case <-r.place.held: // before all else: a start that need not wait goes on without its client
		return nil
	default:
	}
	select {
	case <-r.place.held:
		return nil
	case <-r.deserted:
		return desertedStart()
	case <-ctx.Done():
		return cancelledStart()
	case <-late.C:
		rs.room.refused()
		return capacityExceeded(rs.cfg)
	}
}

func capacityExceeded(cfg Config) *problem.Error {
	return problem.New(problem.Unavailable, "capacity_exceeded", fmt.Sprintf("As many browsers run as this server may have (%d, --max-running), and none of them ended within %v. Stop one, or try again later.",
		cfg.MaxRunning, cfg.QueueTimeout)).After(10 * time.Second)
}

// desertedStart is for nobody, or for who comes in that moment: it tries anew.
func desertedStart() *problem.Error {
	return problem.New(problem.Cancelled, "cancelled", "The start was given up, because nobody waited for it any more.")
}

// want counts one more who waits for a start; the function that it returns counts it off. When the last one goes away a start that is still
// in the queue gives its place up.
func (r *profileRun) want() (leave func(away bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted++
	return func(away bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.wanted--; away && r.wanted == 0 && !isClosed(r.deserted) {
			close(r.deserted)
		}
	}
}

// enterQueue lets a start wait for its turn, when not too many do; takeTurn must follow. One that has its place already waits for nobody.
func (rs *runs) enterQueue(r *profileRun) error {
	if rs.queued.Add(1) <= int64(rs.cfg.MaxQueue) || r != nil && r.place != nil {
		return nil
	}
	rs.queued.Add(-1)
	rs.room.refused()
	return startQueueFull()
}

// takeTurn leaves the queue when one more run may be there and fewer browsers start than may at once. It looks up first what preflight requires, and
// the exit that pages are told of: a dead proxy holds no other start up. A leak test (r is nil) is no run, and looks no exit up. release must be
// called when the browser has started, or has not.
func (rs *runs) takeTurn(ctx context.Context, r *profileRun, p *plan) (release func(), err error) {
	defer rs.queued.Add(-1)
	if err := rs.requireExit(ctx, p); err != nil {
		return nil, err
	}
	if err := rs.settleIdentity(ctx, p, r != nil); err != nil {
		return nil, err
	}
	if r != nil {
		if err := rs.awaitPlace(ctx, r); err != nil {
			return nil, err
		}
	}
	select {
	case rs.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-rs.slots }), nil
	case <-ctx.Done():
		return nil, cancelledStart()
	}
}
