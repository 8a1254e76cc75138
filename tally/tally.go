// Package tally counts events and durations where they happen. It knows no metrics system: package metrics reads it.
package tally

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Counts counts events by a word out of a small set, such as a problem's code. The zero value is empty.
type Counts struct {
	mu sync.Mutex
	by map[string]int64
}

// Add counts n more events of a word.
func (c *Counts) Add(word string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int64{}
	}
	c.by[word] += n
}

// All returns the counts by word.
func (c *Counts) All() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}

// bounds are the upper bounds of a histogram's buckets in seconds, from a write of the database to a slow start.
var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Histogram counts durations. The zero value is empty.
type Histogram struct {
	buckets [len(bounds) + 1]atomic.Int64
	nanos   atomic.Int64
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	i, seconds := 0, d.Seconds()
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(d))
}

// Durations are the durations of a histogram.
type Durations struct {
	Count   uint64
	Sum     float64            // seconds
	Buckets map[float64]uint64 // how many took at most so many seconds
}

// Read returns the durations that were observed.
func (h *Histogram) Read() Durations {
	d := Durations{Buckets: make(map[float64]uint64, len(bounds)), Sum: time.Duration(h.nanos.Load()).Seconds()}
	for i := range h.buckets {
		d.Count += uint64(h.buckets[i].Load()) //nolint:gosec // a count
		if i < len(bounds) {
			d.Buckets[bounds[i]] = d.Count
		}
	}
	return d
}

// Histograms are histograms by a word out of a small set, such as the phase of a start. The zero value is empty.
type Histograms struct {
	mu sync.Mutex
	by map[string]*Histogram
}

// Observe counts one duration of a word.
func (h *Histograms) Observe(word string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[string]*Histogram{}
	}
	one := h.by[word]
	if one == nil {
		one = new(Histogram)
		h.by[word] = one
	}
	one.Observe(d)
}

// Read returns the durations by word.
func (h *Histograms) Read() map[string]Durations {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]Durations, len(h.by))
	for word, one := range h.by {
		out[word] = one.Read()
	}
	return out
}
