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

// Every task is done once, however many callers there are, and never more at once than there are places.
func TestTurnsDoEachOnce(t *testing.T) {
	t.Parallel()
	turns := &Turns{Places: 7, Patience: time.Hour}
	var open, most atomic.Int64
	done := make([]atomic.Int64, 5*1000)
	var wg sync.WaitGroup
	for caller := range 5 {
		wg.Go(func() {
			turns.Run(t.Context(), string(rune('a'+caller%2)), 1000, func(i int) {
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

// Tasks that never end by themselves hold nobody up; together with those at work they stay below Most.
func TestTurnsGoOnBesideSilentOnes(t *testing.T) {
	t.Parallel()
	turns := &Turns{Places: 4, Most: 20, Patience: time.Millisecond}
	quiet := make(chan struct{})
	var silent, live atomic.Int64
	all := make(chan struct{})
	go func() {
		defer close(all)
		turns.Run(t.Context(), "", 60, func(i int) {
			if i%4 == 0 { // 15 of them: more than there are places, fewer than Most
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
		turns.Run(t.Context(), "", 50, func(int) {
			begun.Add(1)
			<-stuck
		})
	}()
	until(t, "20 tasks to begin", func() bool { return begun.Load() == 20 })
	turns.mu.Lock()
	if turns.busy+turns.beside != 20 || begun.Load() != 20 {
		t.Errorf("%d have a place, %d go on beside them, %d began: together 20 may", turns.busy, turns.beside, begun.Load())
	}
	turns.mu.Unlock()
	close(stuck)
	<-bound
}

// A group that comes later and asks for little is not behind one that asked for much.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	turns := &Turns{Places: 1, Patience: time.Hour}
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
		turns.Run(t.Context(), "big", 1000, func(i int) {
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
		wg.Go(func() { turns.Run(t.Context(), group, 10, func(int) { note(caller) }) })
	}
	until(t, "three more callers to queue", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		n := 0
		for _, g := range turns.groups {
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
	// 30 tasks of three callers in two groups: each of the three groups has every third turn, and two callers share one of them.
	if last["other"] > 40 || last["small"] > 75 || last["small too"] > 75 || len(order) != 1030 {
		t.Errorf("the last turns were at %v of %d", last, len(order))
	}
	if i := slices.Index(order, "other"); i > 5 {
		t.Errorf("the first turn of the last to come was at %d", i)
	}
}

// When the caller leaves nothing more begins, and nothing is left behind.
func TestTurnsEndWithTheCaller(t *testing.T) {
	before := goleak.IgnoreCurrent()
	turns := &Turns{Places: 2, Patience: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	turns.Run(ctx, "", 1000, func(i int) {
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
	turns.Run(ctx, "", 5, func(int) { t.Error("a task of a caller who had left began") })
	ran := false
	turns.Run(t.Context(), "", 1, func(int) { ran = true })
	turns.mu.Lock()
	if !ran || turns.busy != 0 || turns.beside != 0 || len(turns.groups) != 0 {
		t.Errorf("after the end: ran %v, %d have a place, %d go on beside, %d groups wait", ran, turns.busy, turns.beside, len(turns.groups))
	}
	turns.mu.Unlock() // what withdraws the second batch may wait for it still
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
