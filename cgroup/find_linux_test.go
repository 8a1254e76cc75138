package cgroup

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestFindLayout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mounts, self string
		want         layout
	}{
		"version 2": {"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			"0::/system.slice/warren.service/server\n",
			layout{"/sys/fs/cgroup/system.slice/warren.service/server", "/sys/fs/cgroup", map[string]string{}}},
		"version 1, and 2 without controllers": {
			"31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
				"33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"34 30 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"35 30 0:31 / /sys/fs/cgroup/blk\\040io rw - cgroup cgroup rw,blkio\n" +
				"36 30 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n",
			"4:memory:/a/b\n3:cpu,cpuacct:/\n2:blkio:/c\n1:name=systemd:/d\n0::/e\n",
			layout{"/sys/fs/cgroup/unified/e", "/sys/fs/cgroup/unified", map[string]string{Memory: "/sys/fs/cgroup/memory/a/b",
				CPU: "/sys/fs/cgroup/cpu,cpuacct", Account: "/sys/fs/cgroup/cpu,cpuacct", IO: "/sys/fs/cgroup/blk io/c"}}},
		"a container that sees its part alone": {"34 30 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"4:memory:/docker/abc\n", layout{v1: map[string]string{Memory: "/sys/fs/cgroup/memory"}}},
		"nothing": {"22 1 0:1 / / rw - ext4 /dev/vda rw\n", "0::/\n", layout{v1: map[string]string{}}},
	} {
		if got := findLayout([]byte(c.mounts), []byte(c.self)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// fake makes a folder that looks like a group of version 2 to this package.
func fake(t *testing.T, dir, controllers, procs string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"cgroup.controllers": controllers, "cgroup.subtree_control": "", "cgroup.procs": procs,
		"cgroup.type": "domain\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSupport is what is found in each kind of tree, and that looking changes nothing in it.
func TestSupport(t *testing.T) {
	t.Parallel()
	own := strconv.Itoa(os.Getpid()) + "\n"
	for _, c := range []struct {
		name   string
		make   func(root string) layout
		line   string // what Look's answer holds
		builds bool   // a group of version 2 is made
	}{
		{"alone in its group", func(root string) layout {
			fake(t, root+"/a", "cpu io memory pids", own)
			fake(t, root+"/a/server", "", "")
			return layout{v2: root + "/a", at: root}
		}, "cgroup v2 with cpu, io, memory, pids", true},
		{"half delegated", func(root string) layout {
			fake(t, root+"/a", "pids", own)
			fake(t, root+"/a/server", "", "")
			return layout{v2: root + "/a", at: root}
		}, "cgroup v2 with pids; missing: memory, cpu, io", true},
		{"in the leaf that a server before it has made", func(root string) layout {
			fake(t, root+"/a", "memory pids", "")
			fake(t, root+"/a/server", "", own)
			return layout{v2: root + "/a/server", at: root}
		}, "cgroup v2 with memory, pids; missing: cpu, io", true},
		{"beside others, where the root cannot be written", func(root string) layout {
			fake(t, root+"/a", "memory pids", own+"1\n")
			return layout{v2: root + "/a", at: root}
		}, "not delegated to this user", false},
		{"nothing is handed down", func(root string) layout {
			fake(t, root+"/a", "hugetlb", own)
			return layout{v2: root + "/a", at: root}
		}, "offers neither memory nor pids", false},
		{"version 1, half", func(root string) layout {
			fake(t, root+"/memory", "", "")
			return layout{v1: map[string]string{Memory: root + "/memory", PIDs: root + "/missing"}}
		}, "cgroup v1 with memory; missing: pids, cpu, io", false},
		{"nothing", func(string) layout { return layout{} }, "no control groups (version 2 is not mounted", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			l := c.make(root)
			before := tally(t, root)
			if got := look(l); !strings.Contains(got.String(), c.line) || (len(got.Missing) > 0) != (got.Advice != "") {
				t.Errorf("Look says %q, and advises %q; it should hold %q", got, got.Advice, c.line)
			}
			if after := tally(t, root); after != before {
				t.Errorf("looking has made %s of %s", after, before)
			}
			tr := &Tree{name: "w", kind: None}
			failed := tr.openV2(l) // a made-up group lacks the kernel's files: it is not completed
			if _, err := os.Stat(root + "/a/w"); (err == nil) != c.builds {
				t.Errorf("building has failed with %v, and made %v", failed, tr.dirs)
			}
		})
	}
}

// tally lists what is in a folder.
func tally(t *testing.T, root string) string {
	t.Helper()
	var out []string
	if err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		out = append(out, path+info.ModTime().String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}
