package shim

import (
	"bytes"
	"context"
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
