package shim

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oomKills counts the processes that the kernel has killed in this process's control group, for lack of memory. It
// reads memory.events (version 2) or memory.oom_control (version 1). Without a group it counts those of the machine
// (proc_vmstat(5)).
func oomKills() int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // cgroups(7): number, controllers, path
		if len(fields) != 3 {
			continue
		}
		for _, dir := range memoryCgroups(fields[1], fields[2]) {
			for _, name := range []string{"memory.events", "memory.oom_control"} {
				if n, ok := readOOMKills(filepath.Join(dir, name)); ok {
					return n
				}
			}
		}
	}
	n, _ := readOOMKills("/proc/vmstat")
	return n
}

// memoryCgroups returns the folders in which a group may be found. In a container the path is as the host sees it,
// and the mount itself is the group.
func memoryCgroups(controllers, path string) []string {
	switch {
	case controllers == "":
		return []string{"/sys/fs/cgroup" + path, "/sys/fs/cgroup/unified" + path, "/sys/fs/cgroup"}
	case strings.Contains(","+controllers+",", ",memory,"):
		return []string{"/sys/fs/cgroup/memory" + path, "/sys/fs/cgroup/memory"}
	}
	return nil
}

// readOOMKills reads the line oom_kill of one of the kernel's files.
func readOOMKills(path string) (int64, bool) {
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
