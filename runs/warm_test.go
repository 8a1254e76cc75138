package runs

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"warren/problem"
	"warren/shim"
)

// TestReserveWarm: each warm run is given to one start at most, and only to one with its settings. Those that are ready
// come first.
func TestReserveWarm(t *testing.T) {
	w := newWarmRuns()
	here, tokyo := shim.Spec{Headless: true}, shim.Spec{Headless: true, Identity: shim.Identity{Timezone: "Asia/Tokyo"}}
	add := func(settings shim.Spec, ready bool) *warmRun {
		r := &warmRun{settings: settings, ready: make(chan struct{})}
		if ready {
			close(r.ready)
		}
		w.all = append(w.all, r)
		return r
	}
	launching, ready := add(here, false), add(here, true)
	for settings, want := range map[*shim.Spec]int{nil: 0, &here: 1, &tokyo: 0} {
		if w.settings = settings; w.countReady() != want {
			t.Errorf("%d are ready for %+v, want %d", w.countReady(), settings, want)
		}
	}
	if w.reserve(tokyo) != nil {
		t.Error("a start got a run with other settings")
	}
	if got := w.reserve(here); got != ready {
		t.Error("a start did not get the run that is ready")
	}
	if got := w.reserve(here); got != launching {
		t.Error("a start did not get the run that is being launched")
	}
	for range 10 {
		add(here, true)
	}
	var mu sync.Mutex
	var starts sync.WaitGroup
	given := map[*warmRun]int{}
	for range 30 {
		starts.Go(func() {
			if r := w.reserve(here); r != nil {
				mu.Lock()
				defer mu.Unlock()
				given[r]++
			}
		})
	}
	starts.Wait()
	if len(given) != 10 || w.count() != 0 {
		t.Errorf("30 starts got %d of 10 runs, and %d are left", len(given), w.count())
	}
	for _, n := range given {
		if n != 1 {
			t.Errorf("a run was given to %d starts", n)
		}
	}
}

// TestRefillWarmWaits: a warm run is launched when no start is under way, none waits and none was a moment ago. The
// program of this manager does not exist, so that a launch is an error.
func TestRefillWarmWaits(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Warm = 1 })
	if wait, err := r.refillWarm(t.Context()); wait != 0 || err != nil {
		t.Errorf("without settings: wait %v, %v", wait, err)
	}
	r.warm.follow(shim.Spec{Timeout: enough, RunDir: t.TempDir()})
	start := newRun("r", "p", "w", starting)
	for name, c := range map[string]struct{ begin, end func() }{
		"a moment after a start": {func() { r.warm.use(time.Now().Add(time.Hour)) }, func() {}},
		"while one is launched":  {func() { r.startSem <- struct{}{} }, func() { <-r.startSem }},
		"while one waits":        {func() { r.queued.Add(1) }, func() { r.queued.Add(-1) }},
		"while one is under way": {func() { r.byProfile["p"] = start }, func() { delete(r.byProfile, "p") }},
	} {
		r.warm.use(time.Time{})
		c.begin()
		if wait, err := r.refillWarm(t.Context()); wait != warmPause || err != nil || r.warm.count() != 0 {
			t.Errorf("%s: wait %v, %v", name, wait, err)
		}
		c.end()
	}
	if _, err := r.refillWarm(t.Context()); err != nil {
		t.Errorf("at once after a start: %v", err)
	}
	r.warm.use(time.Time{})
	if _, err := r.refillWarm(t.Context()); err == nil || r.warm.count() != 0 {
		t.Errorf("on an idle machine: %v, and %d are there", err, r.warm.count())
	}
}

// TestWarmNeedsMemory: where the system tells no memory there is room.
func TestWarmNeedsMemory(t *testing.T) {
	for available, want := range map[int64]bool{warmMemory - 1: false, warmMemory: true} {
		if got := hasRoom(&Memory{AvailableBytes: available}); got != want {
			t.Errorf("room with %d bytes: %v", available, got)
		}
	}
	if !hasRoom(nil) {
		t.Error("no room on a system that does not tell")
	}
}

// TestColdAfterWarm: a start that has lost its warm run waits for its turn to launch a browser.
func TestColdAfterWarm(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxStarting = 1 })
	r.startSem <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := r.launchCold(ctx, &plan{warm: &warmRun{}})
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Code != CancelledStart().Code {
		t.Errorf("while another start is launched: %v", err)
	}
	<-r.startSem
}
