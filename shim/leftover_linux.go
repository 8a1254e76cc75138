package shim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"warren/cgroup"
)

// lockReleaseTimeout bounds the wait for the lock of a shim that was killed: its files close one after the other.
const lockReleaseTimeout = time.Second

// browserExitTimeout bounds the wait for a browser whose shim is gone. The browser sees its pipe closed, saves, and
// exits.
const browserExitTimeout = 5 * time.Second

// endLeftovers returns when no process is left of a run whose shim is gone. It kills those that do not exit by
// themselves. If a shim holds the profile, endLeftovers does nothing: the processes are that shim's.
func endLeftovers(profileDir, name string) {
	if profileDir == "" {
		return
	}
	lock := profileLock(profileDir)
	ctx, cancel := context.WithTimeout(context.Background(), lockReleaseTimeout)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil || !ok {
		return
	}
	defer lock.Unlock() //nolint:errcheck // the file is closed either way
	marks := []string{"--user-data-dir=" + userDataDir(profileDir), "--database=" + tempDir(name)}
	if warm := readWarm(profileDir); warm != "" { // its browser was launched before the run was the profile's
		marks = append(marks, "--user-data-dir="+userDataDir(warm), "--database="+tempDir(filepath.Base(warm)))
		defer forgetWarm(profileDir)          //nolint:errcheck // the profile's next start removes it
		defer removeTemp(filepath.Base(warm)) //nolint:errcheck // nothing uses it any more
	}
	late := time.Now().Add(browserExitTimeout)
	for _, pid := range processesWith(marks) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // the process has exited
		}
		cgroup.ThawProcess(pid) //nolint:errcheck // what stays is killed with its group
		// The open descriptor pins the process. Its arguments say again whether it is the one that was found.
		if hasArgument(pid, marks) && !awaitExit(fd, late) {
			if group, err := unix.Getpgid(pid); err == nil && group == pid {
				_ = unix.Kill(-pid, unix.SIGKILL) // its renderers too: suspended ones would stay
			}
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			awaitExit(fd, time.Now().Add(browserExitTimeout))
		}
		_ = unix.Close(fd)
	}
}

// killListener kills the process that listens on a unix socket. The system names its pid (SO_PEERCRED, unix(7)). The
// pid is read again once a descriptor pins the process, so that a reused pid is not killed.
func killListener(socket string) error {
	pid, err := listenerPID(socket)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("hold process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if again, err := listenerPID(socket); err != nil || again != pid {
		return errors.Join(fmt.Errorf("process %d does not hold %s any more", pid, socket), err)
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// listenerPID returns the process that listens on a unix socket. The process need not accept.
func listenerPID(socket string) (int, error) {
	c, err := net.DialTimeout("unix", socket, lockReleaseTimeout)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || failed != nil {
		return 0, errors.Join(err, failed)
	}
	if int(peer.Uid) != os.Geteuid() || peer.Pid <= 0 {
		return 0, fmt.Errorf("%s is held by process %d of user %d", socket, peer.Pid, peer.Uid)
	}
	return int(peer.Pid), nil
}

// awaitExit waits for a process to exit, until late.
func awaitExit(pidfd int, late time.Time) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(max(0, time.Until(late).Milliseconds())))
		if err != unix.EINTR { //nolint:errorlint // a system call returns it unwrapped
			return n > 0
		}
	}
}

func processesWith(arguments []string) []int {
	return slices.DeleteFunc(allPIDs(), func(pid int) bool { return !hasArgument(pid, arguments) })
}

// hasArgument reports whether a process has one of the arguments. Zombies have none. Chrome's renderers rewrite their
// command lines, with spaces between the arguments.
func hasArgument(pid int, arguments []string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	line = append(bytes.ReplaceAll(line, []byte{0}, []byte{' '}), ' ')
	return slices.ContainsFunc(arguments, func(a string) bool { return bytes.Contains(line, []byte(" "+a+" ")) })
}
