package tally

import (
	"sync"
	"testing"
	"time"
)

// TestTally: events and durations are counted from several goroutines, and buckets include the smaller ones.
func TestTally(t *testing.T) {
	t.Parallel()
	var c Counts
	var h Histograms
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			c.Add("a", 2)
			h.Observe("x", 20*time.Millisecond)
			h.Observe("x", time.Minute)
		})
	}
	wg.Wait()
	if all := c.All(); all["a"] != 20 || len(all) != 1 {
		t.Errorf("%v", all)
	}
	x := h.Read()["x"]
	if x.Count != 20 || x.Sum < 600.1 || x.Sum > 600.3 || x.Buckets[0.005] != 0 || x.Buckets[0.025] != 10 || x.Buckets[30] != 10 {
		t.Errorf("%+v", x)
	}
	var one Histogram
	one.Observe(time.Millisecond)
	if got := one.Read(); got.Buckets[0.001] != 1 {
		t.Errorf("a duration at the bound: %+v", got)
	}
}
