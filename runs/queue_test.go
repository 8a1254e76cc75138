package runs

import (
	"testing"
)

// Slots go first in, first out to starts that are ready. Every way of leaving frees a slot.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := &queue{limit: 2}
	adopted := []*slot{q.occupy(), q.occupy(), q.occupy()} // adopted runs may exceed the limit
	first, second, third, fourth := q.enqueue(), q.enqueue(), q.enqueue(), q.enqueue()
	held := func(want ...*slot) {
		t.Helper()
		got := 0
		for _, s := range []*slot{first, second, third, fourth} {
			if isClosed(s.granted) {
				got++
			}
		}
		for _, s := range want {
			if !isClosed(s.granted) {
				t.Errorf("one of %d waits for its slot", len(want))
			}
		}
		if taken, _ := q.counts(); got != len(want) {
			t.Errorf("%d hold a slot, want %d; %d are taken", got, len(want), taken)
		}
	}
	q.markReady(fourth)
	q.markReady(second)
	q.markReady(third)
	q.release(adopted[0])
	held()
	q.release(adopted[1])
	held(second) // the first is not ready
	q.markReady(first)
	held(second)
	q.release(adopted[2])
	held(second, first)
	q.release(third) // leaves the queue
	q.release(nil)
	held(second, first)
	q.release(second)
	held(second, first, fourth)
	q.release(first)
	q.release(fourth)
	if taken, _ := q.counts(); taken != 0 || len(q.waiting) != 0 {
		t.Errorf("in the end %d are taken, and %d wait", taken, len(q.waiting))
	}
}
