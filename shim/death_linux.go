package shim

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryKills counts the processes that the kernel has killed for want of memory where this process is: in its control group (memory.events of
// version 2, memory.oom_control of version 1), or where no group tells, on the machine (proc_vmstat(5)).
func memoryKills() int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // cgroups(7): number, controllers, path
		if len(fields) != 3 {
			continue
		}
		for _, dir := range memoryFolders(fields[1], fields[2]) {
			for _, name := range []string{"memory.events", "memory.oom_control"} {
				if n, ok := killsIn(filepath.Join(dir, name)); ok {
					return n
				}
			}
		}
	}
	n, _ := killsIn("/proc/vmstat")
	return n
}

// memoryFolders are where a group may be found. In a container the path is as the host sees it, and the group is the mount itself.
func memoryFolders(controllers, path string) []string {
	switch {
	case controllers == "":
		return []string{"/sys/fs/cgroup" + path, "/sys/fs/cgroup/unified" + path, "/sys/fs/cgroup"}
	case strings.Contains(","+controllers+",", ",memory,"):
		return []string{"/sys/fs/cgroup/memory" + path, "/sys/fs/cgroup/memory"}
	}
	return nil
}

// killsIn reads the line oom_kill of a file of the kernel's.
func killsIn(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if name, number, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok && string(name) == "oom_kill" {
			n, err := strconv.ParseInt(string(number), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
