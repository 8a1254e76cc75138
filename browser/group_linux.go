package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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
