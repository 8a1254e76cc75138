package proxy

// poll is called once before the runtime waits with a read of zero bytes, and once after. The read that follows tells
// how many bytes there are.
func (w *readWaiter) poll(uintptr) bool {
	w.n++
	return w.n > 1
}
