//go:build unix

package main

import "syscall"

// openFiles is how many files and connections this process may have open (getrlimit(2); Go raises the soft limit at its start); 0: not known.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
