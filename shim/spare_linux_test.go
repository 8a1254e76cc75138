package shim

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"log/slog"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"warren/browser"
	"warren/testnet"
)

// aSpare returns a starter that has a spare.
func aSpare(t *testing.T, s Spec) (*Spares, *spare) {
	t.Helper()
	spares := NewSpares(self(t), s.RunDir, slog.New(slog.DiscardHandler))
	t.Cleanup(spares.Close)
	spares.Keep()
	return spares, spareOf(t, spares)
}

// spareOf waits until the spare that is being made is ready.
func spareOf(t *testing.T, s *Spares) *spare {
	t.Helper()
	s.made.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil {
		t.Fatal("there is no spare")
	}
	return s.spare
}

// started launches a run and returns the pid of its shim.
func started(t *testing.T, spares *Spares, s Spec) (*Client, *State) {
	t.Helper()
	c, state, err := spares.Launch(soon(t), s)
	if err != nil {
		log, _ := os.ReadFile(logPath(s.RunDir, s.Name))
		t.Fatalf("Launch: %v\n%s", err, log)
	}
	t.Cleanup(func() { c.Kill(); c.Release() }) //nolint:errcheck // the shim may have exited
	return c, state
}

// A start takes the spare with its network, and another spare follows. The run leaves what every run leaves.
func TestSpareIsTaken(t *testing.T) {
	s := newSpec(t)
	s.DebugPort = true
	spares, first := aSpare(t, s)
	if entries, err := os.ReadDir(s.RunDir); err != nil || len(entries) > 0 {
		t.Errorf("a spare has files: %v, %v", entries, err)
	}
	networks := childrenOf(first.cmd.Process.Pid)
	c, state := started(t, spares, s)
	if c.cmd.Process.Pid != first.cmd.Process.Pid {
		t.Error("the run has another process than the spare")
	}
	if CheckIsolation() == nil && (len(networks) != 1 || state.PID != networks[0].pid || state.Isolation.Network != Namespace) {
		t.Errorf("the browser is process %d (%+v), and the spare had %v", state.PID, state.Isolation, networks)
	}
	if second := spareOf(t, spares); second.cmd.Process.Pid == first.cmd.Process.Pid {
		t.Error("the spare was not replaced")
	}
	if _, err := os.Stat(logPath(s.RunDir, s.Name)); err != nil {
		t.Errorf("the run has no log: %v", err)
	}
	if _, _, err := spares.Launch(soon(t), withName(s, "another12345")); kindOf(err) != "locked" {
		t.Errorf("a second run of the profile: %v", err)
	}
	if end, err := c.Stop(soon(t), false); err != nil || end.Outcome != Stopped {
		t.Errorf("the stop: %+v, %v", end, err)
	}
	Forget(s.RunDir, s.Name)
	Forget(s.RunDir, "another12345")
	wantNothing(t, s)
	c.Release()
}

func withName(s Spec, name string) Spec {
	s.Name = name
	return s
}

// A start goes on without a spare that has died, or whose network has.
func TestDeadSpare(t *testing.T) {
	for _, dead := range []string{"spare", "network"} {
		t.Run(dead, func(t *testing.T) {
			s := newSpec(t)
			spares, first := aSpare(t, s)
			pid := first.cmd.Process.Pid
			if dead == "network" {
				children := childrenOf(pid)
				if len(children) == 0 {
					t.Skip("needs network namespaces")
				}
				pid = children[0].pid
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c, state := started(t, spares, s)
			if c.cmd.Process.Pid == pid || state.PID == pid {
				t.Error("the run has the process that was killed")
			}
			if CheckIsolation() == nil && state.Isolation.Network != browser.InNamespace {
				t.Errorf("the run is isolated by %+v", state.Isolation)
			}
			if _, err := c.Stop(soon(t), false); err != nil {
				t.Error(err)
			}
			c.Release()
		})
	}
}

// A start that is refused leaves nothing of the spare that it took, also if the network's process hangs.
func TestRefusedStartEndsItsSpare(t *testing.T) {
	s := newSpec(t)
	spares, first := aSpare(t, s)
	children := childrenOf(first.cmd.Process.Pid)
	if len(children) == 0 {
		t.Skip("needs network namespaces")
	}
	hung := children[0].pid
	held := profileLock(s.ProfileDir)
	err := errors.Join(syscall.Kill(hung, syscall.SIGSTOP), os.MkdirAll(s.ProfileDir, 0o700), held.Lock())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock() //nolint:errcheck // the file goes with the test
	if _, _, err := spares.Launch(soon(t), s); kindOf(err) != "locked" {
		t.Errorf("the start of a held profile: %v", err)
	}
	if syscall.Kill(hung, syscall.SIGKILL) == nil {
		t.Error("the network's process is left over")
	}
}

// A start goes on without a spare that hangs, also if the run's Spec is longer than a pipe holds.
func TestHungSpare(t *testing.T) {
	testnet.Long(t)
	s := emptySpec(t)
	s.StartURLs = []string{"data:," + strings.Repeat("a", 1<<20)}
	_, hung := aSpare(t, s)
	if err := syscall.Kill(hung.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, _, used, err := hung.launch(soon(t), s); used || err != nil {
		t.Errorf("used: %v, %v", used, err)
	}
	if hung.cmd.ProcessState == nil {
		t.Error("the spare was not ended")
	}
}

// A spare that never says that it is ready is killed.
func TestSpareThatIsNotReady(t *testing.T) {
	testnet.Long(t)
	s := emptySpec(t)
	exe := filepath.Join(t.TempDir(), "silent")
	testnet.WriteProgram(t, exe, "#!/bin/sh\nexec sleep 1000\n")
	spares := NewSpares(exe, s.RunDir, slog.New(slog.DiscardHandler))
	spares.Keep()
	await(t, "the end of the silent process", waited(&spares.made))
	spares.Close()
	if spares.spare != nil {
		t.Error("a silent process is a spare")
	}
}

// waited returns a channel that is closed when g is done.
func waited(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Wait()
	}()
	return done
}

// A spare ends with the server, which closes its standard input even when it is killed, and so does its network's process.
func TestSpareEndsWithServer(t *testing.T) {
	s := newSpec(t)
	_, spare := aSpare(t, s)
	var network []unix.PollFd
	for _, p := range childrenOf(spare.cmd.Process.Pid) {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd) //nolint:errcheck // it only named a process
		network = append(network, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	spare.in.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for range spare.taken { //nolint:revive // it is closed when the spare was reaped
		}
	}()
	await(t, "the spare's end", gone)
	if code := spare.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the spare exited with %v", spare.cmd.ProcessState)
	}
	if n, err := unix.Poll(network, int(enough.Milliseconds())); err != nil || n != len(network) {
		t.Errorf("of %d processes with a network %d ended, %v", len(network), n, err)
	}
}

// Close ends the spare, and none follows.
func TestSparesClose(t *testing.T) {
	s := newSpec(t)
	spares, spare := aSpare(t, s)
	spares.Close()
	if spare.cmd.ProcessState == nil {
		t.Error("the spare still runs")
	}
	c, _ := started(t, spares, s)
	if _, err := c.Stop(soon(t), false); err != nil {
		t.Error(err)
	}
	c.Release()
	spares.made.Wait()
	if spares.spare != nil {
		t.Error("a spare was made after Close")
	}
}

// A start that is cancelled the moment it has the spare leaves no browser, even one that ends only when it is told to.
func TestSpareOfCancelledStart(t *testing.T) {
	s := emptySpec(t)
	if missing := CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: %v", missing)
	}
	dir := filepath.Dir(s.RunDir)
	s.BrowserPath = filepath.Join(dir, "silent")
	testnet.WriteProgram(t, s.BrowserPath, "#!/bin/sh\nexec sleep 1000\n")
	for i := range 3 {
		spares, _ := aSpare(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		if i == 0 {
			cancel()
		} else {
			time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
		}
		if _, _, err := spares.Launch(ctx, s); err == nil {
			t.Fatal("the start of a silent browser succeeded")
		}
		spares.Close()
		testnet.Eventually(t, "the end of every process of the run", func() bool { return len(processesIn(dir)) == 0 })
	}
	wantNothing(t, s)
}

// processesIn returns the processes that work in a folder, or have it in their environment.
func processesIn(dir string) (found []int) {
	for _, pid := range allPIDs() {
		at := "/proc/" + strconv.Itoa(pid)
		cwd, _ := os.Readlink(at + "/cwd")
		environ, _ := os.ReadFile(at + "/environ")
		if strings.HasPrefix(cwd, dir) || strings.Contains(string(environ), dir) {
			found = append(found, pid)
		}
	}
	return found
}
