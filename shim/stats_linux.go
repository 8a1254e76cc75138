package shim

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clockTicks is how many of its units of time /proc counts in a second: 100 on every Linux that Go runs on (sysconf(3), _SC_CLK_TCK).
const clockTicks = 100

// procStat is what /proc/<pid>/stat says of a process (proc_pid_stat(5)).
type procStat struct {
	pid, parent int
	cpu         time.Duration // of the process, and of those of its children that it has waited for
}

// measureCPU adds up the time of all processes that descend from this one. Those that have gone are in their parents' times, in the end
// in ours.
func measureCPU() (cpuUse, bool) {
	var gone unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &gone) != nil {
		return cpuUse{}, false
	}
	use := cpuUse{time: time.Duration(gone.Utime.Nano() + gone.Stime.Nano())}
	children := map[int][]procStat{}
	entries, _ := os.ReadDir("/proc") // without it there are no children
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := readStat(pid); ok {
				children[s.parent] = append(children[s.parent], s)
			}
		}
	}
	for next := children[os.Getpid()]; len(next) > 0; next = next[1:] {
		use.time += next[0].cpu
		use.pids = append(use.pids, next[0].pid)
		next = append(next, children[next[0].pid]...)
	}
	return use, true
}

func readStat(pid int) (s procStat, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false // gone meanwhile
	}
	// The second field, in brackets, may hold anything; behind it stands the third.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return s, false
	}
	s.pid, s.parent = pid, int(number(fields[1]))
	for _, ticks := range fields[11:15] {
		s.cpu += time.Duration(number(ticks)) * time.Second / clockTicks
	}
	return s, true
}

// number reads what the kernel wrote.
func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}

// measureMemory adds up what the processes hold. It is of one kind: a sum of both would be neither.
func measureMemory(pids []int) memoryUse {
	use, whole := memoryUse{kind: MemoryPSS}, true
	for _, pid := range pids {
		n, err := shareOf(pid)
		use.bytes, whole = use.bytes+n, whole && !os.IsPermission(err)
	}
	use.own, _ = shareOf(os.Getpid())
	if whole {
		return use
	}
	use = memoryUse{kind: MemoryPrivate, own: privateOf(os.Getpid())}
	for _, pid := range pids {
		use.bytes += privateOf(pid)
	}
	return use
}

// shareOf is a process' proportional set size. A process of another user namespace may be looked at by the one who made that.
func shareOf(pid int) (int64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	_, rest, _ := bytes.Cut(text, []byte("\nPss:"))
	if fields := bytes.Fields(rest[:min(len(rest), 64)]); len(fields) > 0 {
		return number(fields[0]) << 10, nil
	}
	return 0, err
}

// privateOf is what a process has of its own, as everyone may read it (proc_pid_statm(5)): resident pages without those of files and shared memory.
func privateOf(pid int) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm") // it may have gone
	if fields := bytes.Fields(text); len(fields) >= 3 {
		return (number(fields[1]) - number(fields[2])) * int64(os.Getpagesize())
	}
	return 0
}
