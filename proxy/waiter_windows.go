package proxy

// look is called once before the runtime waits with a read of zero bytes, and once after. The read that follows tells
// what there is.
func (w *waiter) look(uintptr) bool {
	w.n++
	return w.n > 1
}

// there is not known here.
func (w *waiter) there() int { return 0 }
