package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// hasLiving reports whether a process group has a member that is not a zombie. A zombie stays as long as its parent does not wait for it,
// in a container without an init forever. So a signal alone does not tell.
func hasLiving(group int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		// "pid (name) state ppid pgrp …"; the name may contain anything, so parsing begins after its end (proc_pid_stat(5)).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
			continue
		}
		if pgrp, err := strconv.Atoi(string(fields[2])); err == nil && pgrp == group {
			return true
		}
	}
	return false
}

// commandLine returns a process' arguments, nil if it has gone. Chrome may have replaced the NULs between its arguments by spaces. Then a
// path is found only if it contains no space.
func commandLine(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == 0 })
}
