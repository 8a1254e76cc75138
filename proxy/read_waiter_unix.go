//go:build !windows

package proxy

import (
	"io"

	"golang.org/x/sys/unix"
)

// poll asks how many bytes there are. When there are none, a peek tells the end of the stream from silence.
func (w *readWaiter) poll(fd uintptr) bool {
	w.polls++
	if w.n = readableBytes(int(fd)); w.n > 0 {
		return w.polls > 1 || w.n >= w.minBytes // after a wait any bytes count: the kernel had a reason to end it
	}
	var b [1]byte
	for {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return false
		case err != nil:
			w.err = err
		case n == 0:
			w.err = io.EOF
		default:
			w.n = n
		}
		return true
	}
}
