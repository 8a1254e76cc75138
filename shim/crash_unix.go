//go:build !windows

package shim

import (
	"os"
	"syscall"
)

// exitSignal returns the signal that ended a process, "" for none.
func exitSignal(state *os.ProcessState) string {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
