package runs

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processorTimes returns the time that all processors have spent since boot, in the kernel's ticks (proc_stat(5)).
func processorTimes() (busy, total int64, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if err != nil || len(fields) < 9 {
		return 0, 0, false
	}
	for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal; guests are in user
		n, _ := strconv.ParseInt(string(field), 10, 64) // the kernel writes numbers
		total += n
		if i != 3 && i != 4 {
			busy += n
		}
	}
	return busy, total, true
}

// bootTime returns when the machine was started (proc_stat(5)); zero if it is not known.
func bootTime() time.Time {
	text, _ := os.ReadFile("/proc/stat") //nolint:errcheck // not known then
	_, after, _ := bytes.Cut(text, []byte("\nbtime "))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// loadAverage returns the load average of the last minute (proc_loadavg(5)).
func loadAverage() *float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseFloat(string(first), 64)
	if err != nil {
		return nil
	}
	return &n
}

// machineMemory returns the machine's memory (proc_meminfo(5)).
func machineMemory() *Memory {
	text, _ := os.ReadFile("/proc/meminfo")
	total, available := memoryField(text, "MemTotal:"), memoryField(text, "MemAvailable:")
	if total == 0 {
		return nil
	}
	return &Memory{total, available}
}

func memoryField(text []byte, name string) int64 {
	_, rest, _ := bytes.Cut(text, []byte(name))
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(fields[0]), 10, 64) // the kernel writes numbers
	return n << 10
}

// FreeBytes returns the free bytes of the file system that holds dir (statfs(2)).
func FreeBytes(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
