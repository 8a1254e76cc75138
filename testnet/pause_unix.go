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

// Pause suspends a process, or with a negative number its group (kill(2)). It returns when all threads have stopped,
// which may be a while after the signal. Nothing resumes the process.
func Pause(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// There is no event to wait for.
	for late := time.Now().Add(30 * time.Second); !isStopped(max(pid, -pid)); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("process %d goes on, and was to stop", pid)
		}
	}
}

// isStopped reports whether every thread of a process is stopped (proc_pid_stat(5)). Without /proc it returns true.
func isStopped(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // the pattern is valid
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has exited
		}
		// "tid (name) state …": the name may contain anything, so the search starts behind it.
		if rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(rest) == 0 || string(rest[0]) != "T" {
			return false
		}
	}
	return true
}
