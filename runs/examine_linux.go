package runs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// stReadOnly is ST_RDONLY of statfs(2).
const stReadOnly = 1

func shmFinding() Finding {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return Finding{Name: "/dev/shm", Detail: err.Error(), Advice: "mount a tmpfs at /dev/shm: Chrome keeps shared memory there"}
	}
	size := float64(st.Blocks) * float64(st.Bsize) / (1 << 20)
	f := Finding{Name: "/dev/shm", OK: size >= 256, Detail: fmt.Sprintf("%.0f MiB", size)}
	if st.Flags&stReadOnly != 0 {
		return Finding{Name: "/dev/shm", Detail: "it cannot be written: browsers keep shared memory in their temporary folders " +
			"instead", Advice: "mount a tmpfs at /dev/shm that can be written"}
	}
	if !f.OK {
		f.Advice = "give the container more: --shm-size=1g"
	}
	return f
}

func filesFinding() Finding {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return Finding{Name: "open files", Detail: err.Error()}
	}
	f := Finding{Name: "open files", OK: l.Max >= 4096, Detail: fmt.Sprintf("%d, at most %d", l.Cur, l.Max)}
	if !f.OK {
		f.Advice = "ulimit -n 65536, or LimitNOFILE=65536 in the unit"
	}
	return f
}

// canSandbox reports whether the Chrome at a path can make its sandbox as an ordinary user (Chromium, docs/linux/sandboxing.md). It needs a
// user namespace, or the helper beside it, which becomes root where the kernel lets it (PR_SET_NO_NEW_PRIVS(2const)). A namespace without
// capabilities, as AppArmor gives on Ubuntu 24.04, is of no use: Chrome makes further ones inside.
func canSandbox(path string) bool {
	// The kernel makes the namespaces before it looks for the program, which does not exist.
	_, err := syscall.ForkExec("/dev/null/none", nil, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWPID}})
	if errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	status, err := os.ReadFile("/proc/self/status")
	info, missing := os.Stat(filepath.Join(filepath.Dir(path), "chrome-sandbox"))
	return err == nil && bytes.Contains(status, []byte("\nNoNewPrivs:\t0\n")) && missing == nil && info.Mode()&os.ModeSetuid != 0
}
