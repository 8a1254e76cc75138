//go:build unix

package main

import (
	"os"
	"syscall"
)

// private makes what this process creates the owner's alone.
func private() { syscall.Umask(0o077) }

// ownedByOther says that path belongs to another user than the one that runs this.
func ownedByOther(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}
