package browser

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Read counts the bytes in the moment that it takes them, so that await counts none twice and misses none.
func (a *answers) Read(b []byte) (n int, err error) {
	waited := a.raw.Read(func(fd uintptr) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for n, err = unix.Read(int(fd), b); err == unix.EINTR; n, err = unix.Read(int(fd), b) {
		}
		a.read += int64(max(n, 0))
		return err != unix.EAGAIN
	})
	switch {
	case waited != nil: // the file is closed
		return 0, waited
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// unread returns how many bytes lie in the pipe (ioctl(2), FIONREAD).
func (a *answers) unread() (n int) {
	_ = a.raw.Control(func(fd uintptr) {
		if there, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = there
		}
	})
	return n
}
