package shim

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of the browser's orphans (prctl(2), PR_SET_CHILD_SUBREAPER).
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphansLeave is how long orphans may outlive the browser: its crash handlers go by themselves when they see it gone.
const orphansLeave = 2 * time.Second

// reapOrphans takes the exits of the children that came to this process as orphans. main is the one child of our own: its id,
// 0 before it runs; gone is closed when its exit was taken, by who started it. stop, to be called after that, returns
// when no child is left; those that stay are killed.
func reapOrphans(main func() int, gone <-chan struct{}) (stop func()) {
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, unix.SIGCHLD)
	halt, halted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(halted)
		for again := gone; ; {
			select {
			case <-exits:
			case <-again: // for what stood behind main in the queue of exits
				again = nil
			case <-halt:
				awaitOrphans(exits)
				return
			}
			reap(main, gone)
		}
	}()
	return func() {
		close(halt)
		<-halted
		signal.Stop(exits)
	}
}

// reap takes every exit that waits but main's, and reports whether any child is left.
func reap(main func() int, gone <-chan struct{}) (left bool) {
	mine := main()
	if mine == 0 {
		return true // main may be among the children already, and cannot be told from the others yet
	}
	for {
		pid, err := nextExit()
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil: // ECHILD
			return false
		case pid == 0, pid == mine && !isClosed(gone):
			return true
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // somebody else may have been quicker
	}
}

// awaitOrphans reaps until no child is left. Main has gone.
func awaitOrphans(exits <-chan os.Signal) {
	none, closed := func() int { return -1 }, make(chan struct{})
	close(closed)
	late := time.NewTimer(orphansLeave)
	defer late.Stop()
	for reap(none, closed) {
		select {
		case <-exits:
		case <-late.C:
			for _, pid := range children() {
				_ = unix.Kill(pid, unix.SIGKILL) // it is ours until we reap it: its id is nobody else's
			}
			late.Reset(orphansLeave)
		}
	}
}

// nextExit names a child whose exit waits and leaves it waiting; 0 when there is none (waitid(2)).
func nextExit() (int, error) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return 0, err
	}
	// siginfo_t begins with si_signo, si_errno and si_code; behind them, aligned for a pointer, stands si_pid.
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), (3*4+word-1)/word*word))), nil
}

// children lists the processes whose parent this one is.
func children() (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // gone meanwhile
		}
		// "pid (name) state ppid …"; the name may hold anything, so look behind its end (proc_pid_stat(5)).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
