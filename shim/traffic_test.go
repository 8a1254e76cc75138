package shim

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/proxy"
)

// Traffic between two updates belongs to the day of the second. Each proxy has its own sums, and nothing counts
// twice.
func TestTrafficByDay(t *testing.T) {
	var l trafficLog
	night := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	day := night.Unix() / secondsOfDay
	look := func(at time.Time, want string, stats ...proxy.RouteStats) {
		t.Helper()
		if got := fmt.Sprint(l.update(func() time.Time { return at }, func() []proxy.RouteStats { return stats })); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	look(night, "[]")
	a := proxy.RouteStats{Key: "a", BytesUp: 10, BytesDown: 100, Connected: 1}
	look(night, fmt.Sprintf("[{a %d 10 100 1}]", day), a)
	look(night, fmt.Sprintf("[{a %d 10 100 1}]", day), a)
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1}]", day), a) // no traffic on the new day
	a.BytesUp, a.Connected = 15, 2
	direct := proxy.RouteStats{BytesDown: 7, Connected: 1}
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1} { %d 0 7 1} {a %d 5 0 1}]", day, day+1, day+1), direct, a)
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1} { %d 0 7 1} {a %d 5 0 1}]", day, day+1, day+1), direct, a)
}

// Concurrent updates never subtract anything, in any order and across any change of day.
func TestTrafficOnlyGrows(t *testing.T) {
	var l trafficLog
	var counter, day atomic.Int64
	read := func() []proxy.RouteStats {
		n := counter.Add(1)
		return []proxy.RouteStats{{Key: "a", BytesUp: n, BytesDown: n, Connected: n}}
	}
	clock := func() time.Time { return time.Unix(day.Add(1)*secondsOfDay, 0) } // each update is on another day
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				l.update(clock, read)
			}
		})
	}
	wg.Wait()
	for _, sum := range l.update(clock, read) {
		if sum.BytesUp < 0 || sum.BytesDown < 0 || sum.Connections < 0 {
			t.Fatalf("a day has %+v", sum)
		}
	}
}
