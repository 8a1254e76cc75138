//go:build unix

package browser

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// writeSome writes what the socket takes without blocking, and returns how many bytes that was. A later blocking write reports errors.
func writeSome(c syscall.RawConn, b []byte) (n int) {
	_ = c.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}
