//go:build !windows && !linux

package browser

import (
	"strings"

	"golang.org/x/sys/unix"
)

// hasLiving returns true: the system's init reaps zombies at once, so a group that accepts a signal has a running member.
func hasLiving(int) bool { return true }

// commandLine returns a process' arguments, nil if it has gone (sysctl kern.procargs2: a count, the path, the arguments).
func commandLine(pid int) []string {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return nil
	}
	return strings.FieldsFunc(string(raw[4:]), func(r rune) bool { return r == 0 })
}
