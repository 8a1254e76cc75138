//go:build unix

package main

import (
	"os"
	"syscall"
)

// openFiles is the number of descriptors that this process may have (getrlimit(2)), 0 if unknown. Go raises the soft limit
// when it starts.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}

// private has new files readable by their owner only (umask(2)).
func private() { syscall.Umask(0o077) }

// ownedByOther reports whether path belongs to another user than this process.
func ownedByOther(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}
