//go:build !windows

package proxy

import (
	"io"

	"golang.org/x/sys/unix"
)

// look asks how much there is; where there is nothing, a peek tells the end of the stream from mere silence.
func (w *readWaiter) poll(fd uintptr) bool {
	w.polls++
	if w.n = readableBytes(int(fd)); w.n > 0 {
		return w.polls > 1 || w.n >= w.minBytes // whatever has ended the wait has its reason
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

// there tells, whatever the deadline, how many bytes can be read, where the system says.
func (w *readWaiter) buffered() (n int) {
	if w.raw != nil {
		w.raw.Control(func(fd uintptr) { n = readableBytes(int(fd)) })
	}
	return n
}
