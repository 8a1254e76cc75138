//go:build !windows

package shim

import (
	"os"
	"syscall"
)

// signalOf is the signal that ended a process; "" none.
func signalOf(state *os.ProcessState) string {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
