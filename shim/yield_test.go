package shim

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// niceSystem is a system that takes nice values, and refuses some attempts.
type niceSystem struct {
	mu                    sync.Mutex
	nice, refusals, calls int
}

func (s *niceSystem) set(nice int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.refusals > 0 {
		s.refusals--
		return errors.New("try again")
	}
	s.nice = nice
	return nil
}

// refuse makes the system refuse the next attempts, and counts all attempts anew.
func (s *niceSystem) refuse(attempts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals, s.calls = attempts, 0
}

// now returns the nice value, and the attempts since refuse.
func (s *niceSystem) now() (nice, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nice, s.calls
}

// The nice value is set back in the end, also where the system refuses it for a while. A run in use does not yield, and a
// system without nice values is asked once.
func TestYieldingIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := &niceSystem{}
		y := &yielding{setNice: system.set}
		after := func(d time.Duration, want int) (calls int) {
			t.Helper()
			time.Sleep(d) // of the bubble's clock
			synctest.Wait()
			nice, calls := system.now()
			if nice != want {
				t.Errorf("after %v the nice value is %d, want %d", d, nice, want)
			}
			return calls
		}
		y.begin(time.Second)
		after(999*time.Millisecond, yieldNice)
		system.refuse(3)
		y.begin(time.Second) // again, while it yields: its time begins anew
		after(999*time.Millisecond, yieldNice)
		after(2*time.Millisecond, yieldNice)
		after(2*niceRetry, yieldNice)
		after(niceRetry, 0)

		y.begin(time.Minute)
		system.refuse(2)
		y.end()
		after(niceRetry, yieldNice)
		after(niceRetry, 0)

		system.refuse(0)
		y.begin(time.Minute)
		y.end()
		if calls := after(time.Hour, 0); calls != 0 {
			t.Errorf("a run in use: %d calls", calls)
		}

		system.refuse(1)
		y = &yielding{setNice: system.set}
		y.begin(time.Second)
		if calls := after(time.Hour, 0); calls != 1 {
			t.Errorf("a system that refuses: %d calls", calls)
		}
	})
}
