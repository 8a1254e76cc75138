package shim

import "golang.org/x/sys/unix"

// reapOrphans makes this process the parent of the browser's orphans (prctl(2), PR_SET_CHILD_SUBREAPER).
func reapOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
