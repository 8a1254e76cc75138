package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpu returns the CPU time that the process has used, user and system. It reads the process's clock
// (clock_getcpuclockid(3)), which is more precise than the 10 ms of /proc.
func cpu(pid int) time.Duration {
	const processClock = 2 // CPUCLOCK_SCHED of include/linux/posix-timers_types.h
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|processClock), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// memory returns the process's resident memory in bytes (proc(5), smaps_rollup).
func memory(pid int) int64 { return kernelBytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Rss:") }

// pss returns the process's proportional set size in bytes: shared pages are divided among their users.
func pss(pid int) int64 { return kernelBytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:") }

// available returns the memory that new programs can have, in bytes (proc(5), meminfo).
func available() int64 { return kernelBytes("/proc/meminfo", "MemAvailable:") }

// swapTotal returns the swap of the machine, in bytes.
func swapTotal() int64 { return kernelBytes("/proc/meminfo", "SwapTotal:") }

// zramUsed returns the memory of all compressed disks, in bytes: the third number of mm_stat (zram.rst of the kernel).
func zramUsed() (sum int64) {
	files, _ := filepath.Glob("/sys/block/zram*/mm_stat") // the pattern is valid
	for _, file := range files {
		text, _ := os.ReadFile(file) // one that is gone has none
		if fields := strings.Fields(string(text)); len(fields) > 2 {
			n, _ := strconv.ParseInt(fields[2], 10, 64) // the kernel writes numbers
			sum += n
		}
	}
	return sum
}

// childrenOf returns a process's children; each of its threads has its own (proc(5), children).
func childrenOf(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, file := range files {
		text, _ := os.ReadFile(file) // the thread may have exited
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// kernelBytes reads a line such as "Rss: 123 kB". It returns 0 on failure.
func kernelBytes(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// descriptors returns the number of the process's open files.
func descriptors(pid int) int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries)
}

const canMeasureProcesses = true

// nobody is the user that replaces root where root may not be used.
const nobody = 65534

// asNobody runs cmd as another user if we are root. It creates dir, which belongs to that user.
func asNobody(cmd *exec.Cmd, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || os.Geteuid() != 0 {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return os.Chown(dir, nobody, nobody)
}

// withSandbox lets a bare browser keep its sandbox if we are root: in a user namespace root is an ordinary user, as
// in a run's.
func withSandbox() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	one := []syscall.SysProcIDMap{{ContainerID: 1000, HostID: 0, Size: 1}}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one}
}

// groupsRoot is where the kernel's control groups are mounted.
const groupsRoot = "/sys/fs/cgroup"

// canHideGroups reports whether withoutGroups works: only root mounts.
func canHideGroups() bool { return os.Geteuid() == 0 }

// withoutGroups runs a program that cannot reach the control groups. It is in a mount namespace of its own, in which an empty folder
// covers them (mount_namespaces(7)).
func withoutGroups(args []string) error {
	if len(args) == 0 {
		return errors.New("without-groups PROGRAM ARGUMENT…")
	}
	runtime.LockOSThread() // the namespace is this thread's, and that of the program which replaces it
	if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("none", groupsRoot, "tmpfs", unix.MS_RDONLY, "")); err != nil {
		return err
	}
	return unix.Exec(args[0], args, os.Environ())
}
