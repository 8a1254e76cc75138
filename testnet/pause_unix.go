//go:build unix

package testnet

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Pause stops a process, or with a negative number its group (kill(2)), and returns when the process stands still: kill returns
// before the threads have noticed, and on a busy machine they go on for a while. Nothing lets it go on again.
func Pause(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(30 * time.Second); !stands(max(pid, -pid)); time.Sleep(time.Millisecond) { // there is no event to wait for
		if time.Now().After(late) {
			t.Fatalf("process %d goes on, and was to stop", pid)
		}
	}
}

// stands reports whether every thread of a process is stopped (proc_pid_stat(5)). Where there is no /proc it is believed.
func stands(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // the pattern is well-formed
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		// "tid (name) state …"; the name may hold anything, so look behind its end.
		if rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(rest) == 0 || string(rest[0]) != "T" {
			return false
		}
	}
	return true
}
