package shim

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setSessionNice sets the nice value of this process' session beside other sessions (sched(7), "The autogroup feature"):
// the run's process and its browser. Threads keep their own nice values. It needs no right, also to set it back. It has
// no effect where autogroups are switched off, or where the session is in a control group for processor time.
func setSessionNice(nice int) error {
	return os.WriteFile("/proc/self/autogroup", strconv.AppendInt(nil, int64(nice), 10), 0)
}

// adoptOrphans makes this process the parent of the browser's orphans (prctl(2), PR_SET_CHILD_SUBREAPER).
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphanTimeout is how long orphans may outlive the browser. Its crash handlers exit when they see that it is gone.
const orphanTimeout = 2 * time.Second

// reapOrphans reaps the children that this process inherited as orphans. main returns the pid of our own child, 0
// before it runs. exited is closed after our own child was reaped by its starter. stop must be called after that. It
// kills the children that stay, and returns when none is left.
func reapOrphans(main func() int, exited <-chan struct{}) (stop func()) {
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, unix.SIGCHLD)
	stopc, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for again := exited; ; {
			select {
			case <-exits:
			case <-again: // reaps what was queued behind main
				again = nil
			case <-stopc:
				awaitOrphans(exits)
				return
			}
			reap(main, exited)
		}
	}()
	return func() {
		close(stopc)
		<-stopped
		signal.Stop(exits)
	}
}

// reap reaps every exited child except main, and reports whether any child is left.
func reap(main func() int, exited <-chan struct{}) (left bool) {
	mine := main()
	if mine == 0 {
		return true // main may already be among the children, but its pid is not known yet
	}
	for {
		pid, err := nextExit()
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil: // ECHILD
			return false
		case pid == 0, pid == mine && !isClosed(exited):
			return true
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // another reaper may have been faster
	}
}

// awaitOrphans reaps until no child is left. Main has exited.
func awaitOrphans(exits <-chan os.Signal) {
	none, closed := func() int { return -1 }, make(chan struct{})
	close(closed)
	late := time.NewTimer(orphanTimeout)
	defer late.Stop()
	for reap(none, closed) {
		select {
		case <-exits:
		case <-late.C:
			for _, pid := range children() {
				_ = unix.Kill(pid, unix.SIGKILL) // the child is not reaped yet, so its pid cannot be reused
			}
			late.Reset(orphanTimeout)
		}
	}
}

// nextExit returns the pid of an exited child without reaping it, 0 if there is none (waitid(2)).
func nextExit() (int, error) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
		return 0, err
	}
	// siginfo_t begins with si_signo, si_errno and si_code. si_pid follows, aligned for a pointer.
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), (3*4+word-1)/word*word))), nil
}

// children lists the processes whose parent is this one.
func children() (pids []int) {
	for _, child := range byParent()[os.Getpid()] {
		pids = append(pids, child.pid)
	}
	return pids
}
