//go:build !windows

package proxy

import (
	"io"

	"golang.org/x/sys/unix"
)

// look asks how much there is; where there is nothing, a peek tells the end of the stream from mere silence.
func (w *waiter) look(fd uintptr) bool {
	if w.n = available(int(fd)); w.n > 0 {
		return true
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

// some tells, whatever the deadline, whether there are bytes to read, where the system says how many.
func (w *waiter) some() (yes bool) {
	if w.raw != nil {
		w.raw.Control(func(fd uintptr) { yes = available(int(fd)) > 0 })
	}
	return yes
}
