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
)

// farewell is how long a shim that was killed may take to let go of its lock: its files close one after the other.
const farewell = time.Second

// goodbye is how long a browser may take to end by itself when its shim has gone: it sees its pipe closed, and saves.
const goodbye = 5 * time.Second

// awaitGone returns when no process of a run is left whose shim is gone. One that does not go by itself is killed. Where a
// shim holds the profile there is nothing to do: what runs is its own.
func awaitGone(profileDir, name string) {
	if profileDir == "" {
		return
	}
	lock := profileLock(profileDir)
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil || !ok {
		return
	}
	defer lock.Unlock() //nolint:errcheck // the file is closed either way
	marks := []string{"--user-data-dir=" + userDataDir(profileDir), "--database=" + tempDir(name)}
	late := time.Now().Add(goodbye)
	for _, pid := range processesWith(marks) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // gone meanwhile
		}
		// With the descriptor open the process stays the same; whether it is the one that was found, its mark says again.
		if hasArgument(pid, marks) && !endsBefore(fd, late) {
			if group, err := unix.Getpgid(pid); err == nil && group == pid {
				_ = unix.Kill(-pid, unix.SIGKILL) // its renderers too: stopped ones would stay
			}
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			endsBefore(fd, time.Now().Add(goodbye))
		}
		_ = unix.Close(fd)
	}
}

// killListener kills the process that listens on a unix socket. Its number comes from the system (SO_PEERCRED, unix(7)) and is asked for
// again when the process is held by a descriptor: who listened before and after is the same all the while.
func killListener(socket string) error {
	pid, err := listenerOf(socket)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("hold process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if again, err := listenerOf(socket); err != nil || again != pid {
		return errors.Join(fmt.Errorf("process %d does not hold %s any more", pid, socket), err)
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// listenerOf is the process that listens on a unix socket. It need not accept.
func listenerOf(socket string) (int, error) {
	c, err := net.DialTimeout("unix", socket, farewell)
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
	if err := raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		return 0, errors.Join(err, failed)
	}
	if int(peer.Uid) != os.Geteuid() || peer.Pid <= 0 {
		return 0, fmt.Errorf("%s is held by process %d of user %d", socket, peer.Pid, peer.Uid)
	}
	return int(peer.Pid), nil
}

// endsBefore waits for a process to end.
func endsBefore(pidfd int, late time.Time) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(max(0, time.Until(late).Milliseconds())))
		if err != unix.EINTR { //nolint:errorlint // a system call's own
			return n > 0
		}
	}
}

func processesWith(arguments []string) (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, e := range entries {
		if pid, err := strconv.Atoi(filepath.Base(e)); err == nil && hasArgument(pid, arguments) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hasArgument says whether a process has one of the arguments. Zombies have none. Chrome's renderers write their command
// lines anew, with spaces between the arguments.
func hasArgument(pid int, arguments []string) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return false
	}
	line = append(bytes.ReplaceAll(line, []byte{0}, []byte{' '}), ' ')
	return slices.ContainsFunc(arguments, func(a string) bool { return bytes.Contains(line, []byte(" "+a+" ")) })
}
