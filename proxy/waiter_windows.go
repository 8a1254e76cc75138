package proxy

// look is called once before the runtime waits with a read of zero bytes, and once after. The read that follows tells
// what there is.
func (w *waiter) look(uintptr) bool {
	w.n++
	return w.n > 1
}

// some is not known here.
func (w *waiter) some() bool { return false }
