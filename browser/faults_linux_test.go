package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// These tests break the setup of a namespace at every point. Each does it in a process of its own, this test's binary again, since a
// forbidden system call or removed memory cannot be restored.

const insideMark = "WARREN_TEST_INSIDE"

// inside runs this test again in a process of its own with the given attributes, and reports whether this is that process.
func inside(t *testing.T, what string, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(insideMark) == what {
		return true
	}
	if os.Getenv(insideMark) != "" {
		t.SkipNow() // the other process runs another part of the test
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	if end, bounded := t.Deadline(); bounded { // a minute before this process ends, so that its output is shown
		cmd.Args = append(cmd.Args, "-test.timeout="+(time.Until(end)-time.Minute).String())
	}
	cmd.Env = append(os.Environ(), insideMark+"="+what)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the inner test did not run:\n%s", out)
	}
	return false
}

// forbid makes a system call of this process and its children end with action if argument has all bits of mask (0: always). It is a
// seccomp(2) filter, as containers use it.
func forbid(t *testing.T, call uint32, argument int, mask, value uint32, action uint32) {
	t.Helper()
	const load, jumpEqual, and, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{ // struct seccomp_data: nr at 0, the low half of an argument at 16 + 8*n
		{Code: load, K: 0},
		{Code: jumpEqual, K: call, Jf: 4},
		{Code: load, K: uint32(16 + 8*argument)},
		{Code: and, K: mask},
		{Code: jumpEqual, K: value, Jf: 1},
		{Code: ret, K: action},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(
		unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Skipf("needs seccomp filters: %v", errno)
	}
}

const (
	refusal = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	death   = uint32(unix.SECCOMP_RET_KILL_PROCESS)
)

// wantRefused opens a run on a machine without namespaces: a warning says why, root does not run, and neither does a run that requires
// isolation.
func wantRefused(t *testing.T, step, files string) {
	t.Helper()
	var why *IsolationError
	if err := CheckIsolation(); !errors.As(err, &why) || !why.Refused || !strings.Contains(why.Error(), step) {
		t.Fatalf("got %v, want a refusal of %q", err, step)
	}
	s := Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t), Network: InNamespace}
	if _, err := Open(s); !errors.As(err, &why) || !why.Refused {
		t.Errorf("a run that requires isolation: %v", err)
	}
	s.Network = ""
	b, err := Open(s)
	if os.Geteuid() == 0 {
		if !errors.As(err, &why) || !strings.Contains(err.Error(), "as root") {
			t.Errorf("root without a namespace: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := b.Isolation(); got != (Isolation{Network: OnLoopback, Files: files, Sandbox: true}) || len(b.Warnings()) != 1 ||
		!strings.Contains(b.Warnings()[0].Message, step) {
		t.Errorf("isolation %+v, warnings %+v", got, b.Warnings())
	}
}

// TestNamespaceRefused: a container's filter, a hardened kernel's sysctl, and AppArmor's way of allowing a useless namespace.
func TestNamespaceRefused(t *testing.T) {
	needsNamespace(t)
	t.Run("seccomp", func(t *testing.T) {
		if inside(t, "seccomp", nil) {
			forbid(t, unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.CLONE_NEWUSER, refusal)
			wantRefused(t, "make user and network namespaces", FilesByGuard)
		}
	})
	t.Run("interface", func(t *testing.T) {
		if inside(t, "interface", nil) {
			forbid(t, unix.SYS_IOCTL, 1, ^uint32(0), unix.SIOCSIFFLAGS, refusal)
			wantRefused(t, stepUp, FilesInNamespace)
		}
	})
	for name, files := range map[string]string{"max_user_namespaces": FilesByGuard, "max_net_namespaces": FilesInNamespace} {
		t.Run(name, func(t *testing.T) {
			owner := 1000 + os.Geteuid() // an ordinary user inside, whoever runs the test
			attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
				UidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: os.Getegid(), Size: 1}}}
			if inside(t, name, attr) {
				if err := os.WriteFile("/proc/sys/user/"+name, []byte("0"), 0); err != nil {
					t.Skipf("needs sysctls of its own user namespace: %v", err)
				}
				wantRefused(t, "make user and network namespaces", files)
				if advice := namespaceAdvice(); !strings.Contains(advice, "user."+name) {
					t.Errorf("the advice is %q", advice)
				}
			}
		})
	}
}

// TestNamespaceChildKilled: the child dies before each of its steps. The run ends with a typed error, and nothing is left.
func TestNamespaceChildKilled(t *testing.T) {
	needsNamespace(t)
	for step, call := range map[string]uint32{
		"interface": unix.SYS_IOCTL, "bind": unix.SYS_BIND, "listen": unix.SYS_LISTEN, "bounding set": unix.SYS_PRCTL,
		"capabilities": unix.SYS_CAPSET} {
		t.Run(step, func(t *testing.T) {
			if !inside(t, step, nil) {
				return
			}
			forbid(t, call, 0, 0, 0, death)
			var why *IsolationError
			if _, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t)}); call != unix.SYS_PRCTL &&
				call != unix.SYS_CAPSET && (!errors.As(err, &why) || why.Refused) {
				t.Errorf("Open: %v, want a fault that may pass", err)
			}
			failsToStart(t)
		})
	}
	t.Run("exec", func(t *testing.T) {
		if inside(t, "exec", nil) {
			forbid(t, unix.SYS_CHDIR, 0, 0, 0, death) // the step before it
			wantFailed(t, opened(t, "/bin/true"), StartFailed)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		b := opened(t, "/bin/true")
		n := b.isolator.(*namespace)
		if err := n.child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		wantFailed(t, b, StartFailed)
	})
}

// failsToStart opens and starts a run; one of both must fail and leave nothing.
func failsToStart(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: dir, TempDir: tempDir(t)})
	if err == nil {
		wantFailed(t, b, StartFailed)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the profile's folder is left")
	}
	noChildren(t)
}

func opened(t *testing.T, path string) *Browser {
	t.Helper()
	b, err := Open(Spec{Path: path, UserDataDir: filepath.Join(t.TempDir(), "p"), TempDir: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) //nolint:errcheck // wantFailed has checked
	return b
}

// wantFailed starts a run that must fail in this way and leave nothing.
func wantFailed(t *testing.T, b *Browser, kind string) *StartError {
	t.Helper()
	err := b.Start(t.Context())
	var failed *StartError
	var why *IsolationError
	if !errors.As(err, &failed) || failed.Kind != kind && !errors.As(err, &why) {
		t.Errorf("Start: %v, want %s", err, kind)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for _, dir := range []string{b.spec.TempDir, b.spec.UserDataDir} {
		if _, err := os.Lstat(dir); err == nil && b.createdDir {
			t.Errorf("%s is left", dir)
		}
	}
	noChildren(t)
	return failed
}

// noChildren checks that no child process is left, not even a zombie.
func noChildren(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

// TestNoMemory: without memory for the child the run ends with a typed error.
func TestNoMemory(t *testing.T) {
	needsNamespace(t)
	if !inside(t, "memory", nil) {
		return
	}
	// A Go program begins with a heap arena of this size, and only a large one takes another.
	forbid(t, unix.SYS_MMAP, 1, ^uint32(0), 64<<20, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOMEM))
	var why *IsolationError
	if err := CheckIsolation(); !errors.As(err, &why) || why.Refused {
		t.Errorf("got %v, want a fault that may pass", err)
	}
	failsToStart(t)
}

// TestNotThereInside: a program that exists and cannot be started, and a folder of another user's.
func TestNotThereInside(t *testing.T) {
	needsNamespace(t)
	script := filepath.Join(t.TempDir(), "browser")
	testnet.WriteProgram(t, script, "#!/nonexistent/interpreter\n")
	if e := wantFailed(t, opened(t, script), StartNotFound); e == nil || !strings.Contains(e.Error(), script) {
		t.Errorf("the error does not name the program: %v", e)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a folder to another user")
	}
	b := opened(t, "/bin/true")
	if err := os.MkdirAll(b.spec.UserDataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(b.spec.UserDataDir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	wantFailed(t, b, StartUnwritable)
	if left, _ := os.ReadDir(b.spec.UserDataDir); len(left) > 0 {
		t.Errorf("files were made in another user's folder: %v", left)
	}
	// Only its owner may enter a folder above it: root can, the browser cannot.
	b = opened(t, "/bin/true")
	if err := os.Chown(filepath.Dir(b.spec.UserDataDir), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(b.spec.UserDataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	wantFailed(t, b, StartUnwritable)
}

// TestRelayGone: when the relay dies the page fails, and nothing else.
func TestRelayGone(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/before"}); err != nil {
		t.Fatal(err)
	}
	p.site.Await(t, "a.test/before")
	if err := b.Listener().Close(); err != nil {
		t.Fatal(err)
	}
	pages := b.mux.controller.openPages()
	var went struct {
		ErrorText string `json:"errorText"`
	}
	if err := b.mux.call(t.Context(), pages[0].Session, "Page.navigate", map[string]string{"url": "http://b.test/after"},
		&went); err != nil || !strings.Contains(went.ErrorText, "PROXY") {
		t.Errorf("the page: %q, %v", went.ErrorText, err)
	}
	if m := b.Stop(t.Context(), false); m != MethodClose {
		t.Errorf("the stop took %q", m)
	}
}

// TestStrangersAreRefused: on loopback the relay accepts only connections of our own browser's processes.
func TestStrangersAreRefused(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; read line <&3", l.Addr().(*net.TCPAddr).Port)
	ours := exec.Command("bash", "-c", "("+connect+") & wait") // not the leader itself: Chrome's network service is a child too
	ours.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := ours.Start(); err != nil {
		t.Skipf("needs bash: %v", err)
	}
	defer func() { syscall.Kill(-ours.Process.Pid, syscall.SIGKILL); ours.Wait() }() //nolint:errcheck // killed
	var who peers
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 { // the first check finds the process, the others try it first
		if err := who.check(c, ours.Process.Pid); err != nil {
			t.Errorf("the browser's own connection: %v", err)
		}
	}
	refused := 0
	for range 100 {
		mine, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := who.check(theirs, ours.Process.Pid); errors.Is(err, errStranger) {
			refused++
		}
		mine.Close()
		theirs.Close()
	}
	if refused != 100 {
		t.Errorf("%d of 100 strangers were refused", refused)
	}
	if err := who.check(c, 0); err == nil {
		t.Error("a connection was taken before there is a browser")
	}
}

// TestTinySharedMemory: with almost no /dev/shm, as in a container, a page that shares much memory still works, and nothing of it is left.
func TestTinySharedMemory(t *testing.T) {
	needsNamespace(t)
	installed(t)
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	if !inside(t, "shm", attr) {
		return
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("needs to mount: %v", err)
	}
	p := newProfile(t)
	b := p.start()
	if !slices.Contains(b.Arguments(), "--disable-dev-shm-usage") {
		t.Errorf("arguments %v", b.Arguments())
	}
	var drawn int
	const draw = `(() => { const c = document.createElement("canvas"); c.width = c.height = 4000; const x = c.getContext("2d"); ` +
		`x.fillRect(0, 0, 4000, 4000); document.body.append(c); return x.getImageData(0, 0, 4000, 4000).data.length })()`
	if err := b.mux.controller.evaluate(t.Context(), b.mux.controller.openPages()[0], draw, &drawn); err != nil || drawn != 4000*4000*4 {
		t.Errorf("a page that draws much: %d, %v", drawn, err)
	}
	var shot struct {
		Data []byte `json:"data"`
	}
	if err := b.mux.call(t.Context(), b.mux.controller.openPages()[0].Session, "Page.captureScreenshot", nil, &shot); err != nil ||
		len(shot.Data) == 0 {
		t.Errorf("its picture: %d bytes, %v", len(shot.Data), err)
	}
	b.Stop(t.Context(), false)
	if left, err := os.ReadDir(b.spec.TempDir); err == nil {
		t.Errorf("left in the temporary folder: %v", left)
	}
}
