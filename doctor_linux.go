package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// namespaceFinding says whether a process of this user may have user and network namespaces of its own.
func namespaceFinding() finding {
	cmd := exec.Command("/proc/self/exe", "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
	if err := cmd.Run(); err != nil {
		return finding{Name: "namespaces", Detail: "not allowed here: " + err.Error(), Advice: namespaceAdvice()}
	}
	return finding{Name: "namespaces", OK: true, Detail: "user and network namespaces are allowed; runs do not use them yet"}
}

// namespaceAdvice names the switch that stands in the way.
func namespaceAdvice() string {
	for file, want := range map[string][2]string{
		"/proc/sys/kernel/unprivileged_userns_clone":             {"0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		"/proc/sys/user/max_user_namespaces":                     {"0", "sudo sysctl -w user.max_user_namespaces=15000"},
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": {"1", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if b, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(b)) == want[0] {
			return want[1]
		}
	}
	return "in a container: allow user namespaces in its seccomp profile"
}

func shmFinding() finding {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return finding{Name: "/dev/shm", Detail: err.Error(), Advice: "mount a tmpfs at /dev/shm: Chrome keeps shared memory there"}
	}
	size := float64(st.Blocks) * float64(st.Bsize) / (1 << 20)
	f := finding{Name: "/dev/shm", OK: size >= 256, Detail: fmt.Sprintf("%.0f MiB", size)}
	if !f.OK {
		f.Advice = "give the container more: --shm-size=1g"
	}
	return f
}

func filesFinding() finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return finding{Name: "open files", Detail: err.Error()}
	}
	f := finding{Name: "open files", OK: l.Max >= 4096, Detail: fmt.Sprintf("%d, at most %d", l.Cur, l.Max)}
	if !f.OK {
		f.Advice = "ulimit -n 65536, or LimitNOFILE=65536 in the unit"
	}
	return f
}

func freeBytes(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
