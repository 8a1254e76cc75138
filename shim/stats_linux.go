package shim

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clockTicks is the number of /proc's time units per second: 100 on every Linux that Go supports (sysconf(3),
// _SC_CLK_TCK).
const clockTicks = 100

// procStat is the part of /proc/<pid>/stat that is used (proc_pid_stat(5)).
type procStat struct {
	pid, parent int
	cpu         time.Duration // of the process and of its reaped children
}

// measureCPU adds up the time of all processes that descend from this one. The time of reaped processes is in their
// parents' times, and finally in ours.
func measureCPU() (cpuUse, bool) {
	var gone unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &gone) != nil {
		return cpuUse{}, false
	}
	use := cpuUse{time: time.Duration(gone.Utime.Nano() + gone.Stime.Nano())}
	children := childrenOf
	if !listsChildren() {
		all := byParent()
		children = func(pid int) []procStat { return all[pid] }
	}
	for next := children(os.Getpid()); len(next) > 0; next = next[1:] {
		use.time += next[0].cpu
		use.pids = append(use.pids, next[0].pid)
		next = append(next, children(next[0].pid)...)
	}
	return use, true
}

// listsChildren reports whether the kernel lists a thread's children (CONFIG_PROC_CHILDREN).
func listsChildren() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
}

// childrenOf returns the children of a process: those of each of its threads (proc_tid_children(5)). With a hundred
// runs, reading all processes for each would take seconds.
func childrenOf(pid int) (out []procStat) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, _ := os.ReadDir(tasks) // the process may have exited
	for _, thread := range threads {
		text, _ := os.ReadFile(tasks + thread.Name() + "/children")
		for _, child := range bytes.Fields(text) {
			if s, ok := readStat(int(number(child))); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// byParent returns all processes by their parents, for kernels that list no children.
func byParent() map[int][]procStat {
	out := map[int][]procStat{}
	for _, pid := range allPIDs() {
		if s, ok := readStat(pid); ok {
			out[s.parent] = append(out[s.parent], s)
		}
	}
	return out
}

// allPIDs lists the processes of the system. Without /proc there are none.
func allPIDs() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func readStat(pid int) (s procStat, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false // the process has exited
	}
	// The second field, in brackets, may contain anything; the third follows it.
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

// number parses a number that the kernel wrote.
func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}

// measureMemory adds up the processes' memory. All of it is measured in one way, since a mixed sum would mean
// nothing.
func measureMemory(pids []int) memoryUse {
	use, whole := memoryUse{kind: MemoryPSS}, true
	for _, pid := range pids {
		n, err := pssOf(pid)
		use.bytes, whole = use.bytes+n, whole && !os.IsPermission(err)
	}
	use.own, _ = pssOf(os.Getpid())
	if whole {
		return use
	}
	use = memoryUse{kind: MemoryPrivate, own: privateBytes(os.Getpid())}
	for _, pid := range pids {
		use.bytes += privateBytes(pid)
	}
	return use
}

// pssOf returns a process's proportional set size in bytes. Processes of another user namespace can be read by the
// process that created it.
func pssOf(pid int) (int64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	_, rest, _ := bytes.Cut(text, []byte("\nPss:"))
	if fields := bytes.Fields(rest[:min(len(rest), 64)]); len(fields) > 0 {
		return number(fields[0]) << 10, nil
	}
	return 0, err
}

// privateBytes returns a process's private memory: resident pages without files and shared memory. Everyone may read
// it (proc_pid_statm(5)).
func privateBytes(pid int) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm") // the process may have exited
	if fields := bytes.Fields(text); len(fields) >= 3 {
		return (number(fields[1]) - number(fields[2])) * int64(os.Getpagesize())
	}
	return 0
}
