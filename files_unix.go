//go:build unix

package main

import "syscall"

// openFiles is the number of descriptors that this process may have (getrlimit(2)), 0 if unknown. Go raises the soft limit
// when it starts.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
