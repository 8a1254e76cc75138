package shim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// The parent of other processes' orphans reaps all of them, while its own child runs and when it exits. The exit of
// its own child goes to the goroutine that waits for it. The test runs in a process of its own, which has no other
// children.
func TestOrphansAreReaped(t *testing.T) {
	out, err := exec.Command(self(t), "orphans").CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// orphans is the main function of that process.
func orphans() {
	if err := adoptOrphans(); err != nil {
		fail("%v", err)
	}
	for round := range 30 { // the orphans and the main process exit at about the same time
		runWithOrphans(round, fmt.Sprintf("for i in 1 2 3 4 5; do (sleep 0.01 &); done; sleep 0.01; exit %d", round))
	}
	// The orphans exit first: they must not wait for the main process.
	runWithOrphans(7, "for i in 1 2 3 4 5; do (true &); done; read line; exit 7", func(pid int) {
		for late := time.Now().Add(10 * time.Second); len(children()) != 1; time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				fail("children while the main process %d lives: %v", pid, children())
			}
		}
	})
	// One orphan stays, in a session of its own: it is killed.
	runWithOrphans(3, "(setsid sleep 1000 &); exit 3")
	fmt.Println("done")
}

func fail(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

// runWithOrphans runs a script that leaves orphans. It calls meanwhile while the script runs with its input open.
func runWithOrphans(code int, script string, meanwhile ...func(pid int)) {
	cmd := exec.Command("/bin/sh", "-c", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		fail("%v", err)
	}
	gone, pid := make(chan struct{}), make(chan int, 1)
	known := 0
	stop := reapOrphans(func() int { // like the browser's: 0 until it runs
		select {
		case known = <-pid:
		default:
		}
		return known
	}, gone)
	if err := cmd.Start(); err != nil {
		fail("%v", err)
	}
	pid <- cmd.Process.Pid
	for _, f := range meanwhile {
		f(cmd.Process.Pid)
	}
	in.Close()
	err = cmd.Wait()
	close(gone)
	if got := cmd.ProcessState.ExitCode(); got != code {
		fail("the main process ended with %d, %v; want %d", got, err, code)
	}
	stop()
	if left := children(); len(left) > 0 {
		fail("children after all: %v", left)
	}
}

// A process whose shim is gone is awaited, and killed if it stays. A process with a similar name is left alone.
func TestAwaitGone(t *testing.T) {
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile")
	start := func(args ...string) *exec.Cmd {
		// The script starts no programs: dash uses vfork(2), and a shell whose child is suspended before its execve
		// cannot be suspended itself.
		cmd := exec.Command("/bin/sh", append([]string{"-c", "trap '' INT TERM; read line", "chrome"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if _, err := cmd.StdinPipe(); err != nil { // open and empty while cmd runs
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
		return cmd
	}
	stays := start("--x", "--user-data-dir="+profile+"/chrome", "--y")
	alike := start("--user-data-dir=" + profile + "/chrome2")
	within := start("--say=--user-data-dir=" + profile + "/chrome")
	rewritten := start(strings.Join([]string{"--type=renderer", "--user-data-dir=" + profile + "/chrome", "--z"}, " "))
	testnet.Pause(t, -stays.Process.Pid)
	lock := profileLock(profile)
	if err := os.Mkdir(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("lock: %v, %v", ok, err)
	}
	endLeftovers(profile, "012345678901") // the profile is held
	if err := syscall.Kill(stays.Process.Pid, 0); err != nil {
		t.Errorf("a process whose shim lives was ended: %v", err)
	}
	if pid, _ := syscall.Wait4(stays.Process.Pid, nil, syscall.WNOHANG, nil); pid != 0 {
		t.Error("a process whose shim lives was ended")
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	endLeftovers(profile, "012345678901")
	for what, c := range map[string]struct {
		cmd  *exec.Cmd
		gone bool
	}{"of the profile": {stays, true}, "renderer of the profile": {rewritten, true}, "of one alike": {alike, false},
		"that names it": {within, false}} {
		var info syscall.WaitStatus
		pid, err := syscall.Wait4(c.cmd.Process.Pid, &info, syscall.WNOHANG, nil)
		if gone := pid == c.cmd.Process.Pid && err == nil; gone != c.gone {
			t.Errorf("the process %s: gone %v, want %v", what, gone, c.gone)
		}
	}
}
