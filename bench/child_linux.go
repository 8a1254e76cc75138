package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the CPU time that the process has used, user and system, read from its own clock (clock_getcpuclockid(3)), which is finer than
// the 10 ms of /proc.
func cpu(pid int) time.Duration {
	const processClock = 2 // CPUCLOCK_SCHED of include/linux/posix-timers_types.h
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|processClock), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// memory is the process' resident memory in bytes (proc(5), smaps_rollup).
func memory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "Rss:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// descriptors is how many files the process holds.
func descriptors(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

const seesProcesses = true

// nobody is the user that takes root's place where root may not be used.
const nobody = 65534

// asOrdinary makes cmd another user's when we are root; dir is made, and that user's.
func asOrdinary(cmd *exec.Cmd, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || os.Geteuid() != 0 {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return os.Chown(dir, nobody, nobody)
}

// withSandbox lets a bare browser keep its sandbox when we are root: in a user namespace root is an ordinary user, as it is in a run's.
func withSandbox() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	one := []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one}
}
