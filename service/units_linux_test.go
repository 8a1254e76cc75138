package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCrashRestarts: a server that crashes, or that the watchdog ends by SIGABRT, ends with no exit code after which the unit starts
// no other. It leaves no core dump.
func TestCrashRestarts(t *testing.T) {
	t.Parallel()
	if how := os.Getenv("CRASH"); how != "" {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			t.Fatal(err)
		}
		if how == "panic" {
			go panic("as a fault of ours")
		} else if err := unix.Kill(os.Getpid(), unix.SIGABRT); err != nil {
			t.Fatal(err)
		}
		select {} // until it is dead
	}
	for _, unit := range []string{"warren.service", "warren-user.service"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", unit))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nLimitCORE=0\n") {
			t.Errorf("%s: a crash would write the keys in memory to a disk", unit)
		}
		var env []string
		for line := range strings.Lines(string(text)) {
			if given, is := strings.CutPrefix(strings.TrimSpace(line), "Environment="); is {
				env = append(env, given)
			}
		}
		for _, how := range []string{"panic", "abort"} {
			c := exec.Command(os.Args[0], "-test.run=^TestCrashRestarts$")
			c.Env = append(env, "CRASH="+how)
			said, _ := c.CombinedOutput()
			if state, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() || state.CoreDump() {
				t.Errorf("%s, %s: it ended with %v, for which the unit may have no restart:\n%.300s", unit, how, c.ProcessState, said)
			}
		}
	}
}
