package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// creates lets callers insert profiles for a while and returns the acknowledged inserts per second.
func creates(b *testing.B, s *Store, callers int, length time.Duration) float64 {
	b.Helper()
	ctx := context.Background()
	var done atomic.Int64
	begun := time.Now()
	var crowd sync.WaitGroup
	for range callers {
		crowd.Go(func() {
			for time.Since(begun) < length {
				p := AddProfileParams(aProfile("default", "benchmark"))
				if err := s.Write(ctx, func(q *Queries) error { return q.AddProfile(ctx, p) }); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	crowd.Wait()
	return float64(done.Load()) / time.Since(begun).Seconds()
}

// BenchmarkCreates compares group commit with a transaction per create, both at synchronous(FULL), in rounds of
// changing order. The result is the median of the rounds' ratios, since the disk's speed changes between rounds.
func BenchmarkCreates(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			stores := map[int]*Store{groupLength: openTest(b), 1: openTest(b)}
			for length, s := range stores {
				s.writer.length = length
				ensure(b, s, "default")
			}
			var ratios, grouped, single []float64
			for b.Loop() {
				order := []int{groupLength, 1}
				if len(ratios)%2 == 1 {
					slices.Reverse(order)
				}
				perSecond := map[int]float64{}
				for _, length := range order {
					perSecond[length] = creates(b, stores[length], callers, 250*time.Millisecond)
				}
				ratios = append(ratios, perSecond[groupLength]/perSecond[1])
				grouped, single = append(grouped, perSecond[groupLength]), append(single, perSecond[1])
			}
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(median(grouped), "grouped/s")
			b.ReportMetric(median(single), "ungrouped/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
