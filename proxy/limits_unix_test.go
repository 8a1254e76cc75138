//go:build !windows

package proxy

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// sockets counts this process's open sockets, or returns 0 where the system does not tell (Linux does).
func sockets() (n int) {
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// openFiles returns how many descriptors this process may have.
func openFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur)
}
