package proxy

import "golang.org/x/sys/unix"

// canSplice says that bytes between two TCP connections never enter this process (splice(2)).
const canSplice = true

// readableBytes returns how many bytes can be read now (tcp(7), SIOCINQ). 0 also means the end of the stream, or an error.
func readableBytes(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// setLowWater makes the kernel report a connection readable at n bytes, or at its end (socket(7), SO_RCVLOWAT).
func (w *readWaiter) setLowWater(n int) (done bool) {
	w.raw.Control(func(fd uintptr) { done = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, n) == nil })
	return done
}
