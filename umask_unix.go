//go:build unix

package main

import (
	"os"
	"syscall"
)

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
