package logs

import (
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Bounded lets events into a log at a bounded rate, so that whoever causes them cannot fill the disk. It counts those that are
// left out.
type Bounded struct {
	rate    *rate.Limiter
	leftOut atomic.Int64
}

// NewBounded lets a second's number of events in, and at most burst at once.
func NewBounded(second float64, burst int) *Bounded {
	return &Bounded{rate: rate.NewLimiter(rate.Limit(second), burst)}
}

// Allow reports whether the log takes one more event. before is how many were left out since the last one that it took.
func (b *Bounded) Allow() (before int64, ok bool) {
	if !b.rate.Allow() {
		b.leftOut.Add(1)
		return 0, false
	}
	return b.leftOut.Swap(0), true
}

// LeftOut returns how many events were left out since Allow or LeftOut said so last.
func (b *Bounded) LeftOut() int64 { return b.leftOut.Swap(0) }
