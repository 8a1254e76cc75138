package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// hasLiving reports whether the process group has a member that is not a zombie. Zombies stay for as long as their parent
// likes (in a container without an init for ever), so that a signal alone cannot tell.
func hasLiving(group int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		// "pid (name) state ppid pgrp …"; the name may hold anything, so look behind its end (proc_pid_stat(5)).
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
