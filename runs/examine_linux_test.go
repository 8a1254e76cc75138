package runs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"warren/shim"
)

const noNamespaces = "WARREN_TEST_NO_NAMESPACES" // set in a process whose user namespace allows no more of them

// TestSandboxFinding: doctor says that Chrome cannot start where it can make no sandbox: without namespaces, and without its helper.
func TestSandboxFinding(t *testing.T) {
	folder := t.TempDir()
	browser := filepath.Join(folder, "chrome")
	if os.Getenv(noNamespaces) != "" {
		if canSandbox(browser) {
			t.Error("without namespaces and helper there is a sandbox")
		}
		helper := filepath.Join(folder, "chrome-sandbox")
		if err := os.WriteFile(helper, nil, 0o700); err != nil || os.Chmod(helper, 0o700|os.ModeSetuid) != nil {
			t.Fatal(err)
		}
		if !canSandbox(browser) {
			t.Error("the helper was not seen")
		}
		return
	}
	refused := errors.New("refused")
	for _, c := range []struct {
		root, possible, ok bool
		isolated           error
		says               string
	}{
		{false, true, true, nil, "on: warren"},
		{false, true, true, refused, "on: warren"},
		{false, false, false, refused, "can make no sandbox"},
		{true, false, true, nil, "on, also as root"},
		{true, true, false, refused, "as root and without"},
	} {
		f := sandboxFinding(c.root, c.isolated, c.possible)
		if f.OK != c.ok || !strings.Contains(f.Detail, c.says) || f.OK != (f.Advice == "") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
	for _, line := range []string{"[1:1:FATAL:zygote_host_impl_linux.cc(128)] No usable sandbox! If you are …",
		"[1:1:1129/014724.483254:FATAL:sandbox/linux/services/credentials.cc:137] Check failed: . : Permission denied (13)"} {
		if end := killedBy(&shim.Failure{Signal: "aborted", Lines: []string{line, "ERROR: later"}}); !strings.Contains(end, "no sandbox") {
			t.Errorf("a start without one says %q", end)
		}
	}
	if !canSandbox(browser) {
		t.Skip("needs user namespaces")
	}
	without := `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" -test.run '^TestSandboxFinding$'`
	cmd := exec.Command("/bin/sh", "-c", without, os.Args[0])
	cmd.Env = append(os.Environ(), noNamespaces+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getegid(), Size: 1}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
