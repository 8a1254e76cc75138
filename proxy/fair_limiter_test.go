package proxy

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Every task runs once, however many callers there are, and never more run at once than there are slots.
func TestFairLimiterRunsEachTaskOnce(t *testing.T) {
	t.Parallel()
	limiter := &FairLimiter{Slots: 7, SlowAfter: time.Hour}
	var open, most atomic.Int64
	done := make([]atomic.Int64, 5*1000)
	var wg sync.WaitGroup
	for caller := range 5 {
		wg.Go(func() {
			limiter.Run(t.Context(), string(rune('a'+caller%2)), 1000, func(i int) {
				n := open.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				done[caller*1000+i].Add(1)
				open.Add(-1)
			})
			for i := range 1000 {
				if n := done[caller*1000+i].Load(); n != 1 {
					t.Errorf("task %d of caller %d was done %d times when Run returned", i, caller, n)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > 7 {
		t.Errorf("%d tasks were at work at once, of 7", most.Load())
	}
}

// Tasks that do not end do not block the others; with and without a slot they stay below MaxRunning.
func TestFairLimiterPassesSlowTasks(t *testing.T) {
	t.Parallel()
	limiter := &FairLimiter{Slots: 4, MaxRunning: 20, SlowAfter: time.Millisecond}
	quiet := make(chan struct{})
	var silent, live atomic.Int64
	all := make(chan struct{})
	go func() {
		defer close(all)
		limiter.Run(t.Context(), "", 60, func(i int) {
			if i%4 == 0 { // 15 of them: more than there are slots, fewer than MaxRunning
				silent.Add(1)
				<-quiet
				return
			}
			if live.Add(1) == 45 {
				close(quiet)
			}
		})
	}()
	select {
	case <-all:
	case <-time.After(waitLimit):
		t.Fatalf("%d of 45 live tasks were done, while %d silent ones went on", live.Load(), silent.Load())
	}

	stuck, bound := make(chan struct{}), make(chan struct{})
	var begun atomic.Int64
	go func() {
		defer close(bound)
		limiter.Run(t.Context(), "", 50, func(int) {
			begun.Add(1)
			<-stuck
		})
	}()
	until(t, "20 tasks to begin", func() bool { return begun.Load() == 20 })
	limiter.mu.Lock()
	if limiter.running+limiter.slow != 20 || begun.Load() != 20 {
		t.Errorf("%d have a slot, %d run without one, %d began: together 20 may", limiter.running, limiter.slow, begun.Load())
	}
	limiter.mu.Unlock()
	close(stuck)
	<-bound
}

// A group that comes later with few tasks does not wait for all tasks of an earlier group.
func TestFairLimiterIsFair(t *testing.T) {
	t.Parallel()
	limiter := &FairLimiter{Slots: 1, SlowAfter: time.Hour}
	var mu sync.Mutex
	var order []string
	note := func(who string) {
		mu.Lock()
		order = append(order, who)
		mu.Unlock()
	}
	come, came := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		limiter.Run(t.Context(), "big", 1000, func(i int) {
			if i == 0 {
				close(come)
				<-came
			}
			note("big")
		})
	})
	<-come
	for _, caller := range []string{"small", "small too", "other"} {
		group := caller
		if caller == "small too" {
			group = "small"
		}
		wg.Go(func() { limiter.Run(t.Context(), group, 10, func(int) { note(caller) }) })
	}
	until(t, "three more callers to queue", func() bool {
		limiter.mu.Lock()
		defer limiter.mu.Unlock()
		n := 0
		for _, g := range limiter.groups {
			n += len(g.batches)
		}
		return n == 4
	})
	close(came)
	wg.Wait()
	last := map[string]int{}
	for i, who := range order {
		last[who] = i
	}
	// Three callers in two groups have 30 tasks. Each of the three groups has every third turn, and two callers share one of these.
	if last["other"] > 40 || last["small"] > 75 || last["small too"] > 75 || len(order) != 1030 {
		t.Errorf("the last turns were at %v of %d", last, len(order))
	}
	if i := slices.Index(order, "other"); i > 5 {
		t.Errorf("the first turn of the last to come was at %d", i)
	}
}

// When the caller's context ends, no further task starts, and nothing is left behind.
func TestFairLimiterEndsWithTheCaller(t *testing.T) {
	before := goleak.IgnoreCurrent()
	limiter := &FairLimiter{Slots: 2, SlowAfter: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	limiter.Run(ctx, "", 1000, func(i int) {
		if begun.Add(1) == 3 {
			cancel()
		}
		if i >= 2 {
			<-ctx.Done()
		}
	})
	if n := begun.Load(); n < 3 || n > 4 {
		t.Errorf("%d tasks began, though the caller left at the third", n)
	}
	limiter.Run(ctx, "", 5, func(int) { t.Error("a task of a caller whose context had ended was started") })
	ran := false
	limiter.Run(t.Context(), "", 1, func(int) { ran = true })
	limiter.mu.Lock()
	if !ran || limiter.running != 0 || limiter.slow != 0 || len(limiter.groups) != 0 {
		t.Errorf("after the end: ran %v, %d have a slot, %d run without one, %d groups wait",
			ran, limiter.running, limiter.slow, len(limiter.groups))
	}
	limiter.mu.Unlock() // cancelBatch of the second batch may still wait for it
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
