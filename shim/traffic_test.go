package shim

import (
	"fmt"
	"testing"
	"time"

	"warren/proxy"
)

// What comes between two looks is of the day of the second one; each proxy has its own sums, and nothing is counted twice.
func TestTrafficByDay(t *testing.T) {
	var l trafficLog
	night := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	day := night.Unix() / secondsOfDay
	look := func(at time.Time, want string, stats ...proxy.RouteStats) {
		t.Helper()
		if got := fmt.Sprint(l.look(at, stats)); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	look(night, "[]")
	a := proxy.RouteStats{Key: "a", BytesUp: 10, BytesDown: 100, Connected: 1}
	look(night, fmt.Sprintf("[{a %d 10 100 1}]", day), a)
	look(night, fmt.Sprintf("[{a %d 10 100 1}]", day), a)
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1}]", day), a) // nothing came on the new day
	a.BytesUp, a.Connected = 15, 2
	direct := proxy.RouteStats{BytesDown: 7, Connected: 1}
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1} { %d 0 7 1} {a %d 5 0 1}]", day, day+1, day+1), direct, a)
	look(night.Add(time.Hour), fmt.Sprintf("[{a %d 10 100 1} { %d 0 7 1} {a %d 5 0 1}]", day, day+1, day+1), direct, a)
}
