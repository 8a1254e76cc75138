package tests

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"warren/shim"
)

// Servers run on a machine that gives no user namespaces, as a container does. Chrome's sandbox is its setuid helper
// there.

// refuseNamespaces is what the test's binary is called with to become another program, as another user, that may make no user namespace.
const refuseNamespaces = "refuse-namespaces"

// playRole is what this binary does instead of testing when a test has called it so.
func playRole(args []string) {
	playMachine(args)
	if len(args) < 4 || args[1] != refuseNamespaces {
		return
	}
	fmt.Fprintln(os.Stderr, becomeUnprivileged(args[2], args[3:]))
	os.Exit(1)
}

func becomeUnprivileged(user string, args []string) error {
	id, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	filter := []unix.SockFilter{ // struct seccomp_data: nr at 0, the low half of the first argument at 16 (seccomp(2))
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jt: 2},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jt: 3, Jf: 4},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		// its flags are behind a pointer; programs fall back to clone
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(id); err != nil {
		return err
	}
	if err := syscall.Setuid(id); err != nil {
		return err
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// TestLoopbackRun: without a namespace a run still goes out through its proxy alone, reaches nothing of this machine, and its relay takes
// no connection of any other program.
func TestLoopbackRun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to forbid another user's processes their namespaces and leave Chrome its setuid helper")
	}
	if info, err := os.Stat("/usr/lib/chromium/chrome-sandbox"); err != nil || info.Mode()&os.ModeSetuid == 0 {
		t.Skip("needs Debian's chromium-sandbox")
	}
	g := newTestbed(t)
	g.asOrdinary()
	user := g.user
	g.user = nil
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.under = func(cmd *exec.Cmd) {
		cmd.Args = append([]string{self, refuseNamespaces, fmt.Sprint(user.uid), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = self
	}
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "startUrls": []string{s.world.url("/in")}})
	run := s.start(id, nil)
	if v := s.world.await(t, "/in", 1); v.address != s.proxy.Exit {
		t.Errorf("the site saw %s", v.address)
	}
	if run.Isolation.Network != shim.Loopback || !run.Isolation.Sandbox || !run.warned("isolation_loopback") {
		t.Errorf("isolation %+v, warnings %+v", run.Isolation, run.Warnings)
	}
	v := dialCDP(t, run.WsEndpoint, nil)
	page := v.open(s.world.url("/page"))
	v.awaitURL(page, s.world.url("/page"))
	if got := v.get(page, s.world.site.URL+"/canary"); got != "failed" {
		t.Errorf("a page reached this machine: %s", got)
	}
	relays := s.listeners()
	if len(relays) != 1 {
		t.Fatalf("the run listens at %v, want its relay alone", relays)
	}
	port, err := strconv.ParseUint(strings.Split(relays[0], ":")[1], 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for range 100 {
		if speaksSOCKS(t, fmt.Sprintf("127.0.0.1:%d", port)) {
			taken++
		}
	}
	if taken > 0 {
		t.Errorf("the relay took %d of 100 connections of another program", taken)
	}
	if got := v.get(page, s.world.url("/again")); !strings.HasPrefix(got, "200") {
		t.Errorf("after them the page got %q", got)
	}
}

// speaksSOCKS tells whether a server answers the first words of SOCKS5.
func speaksSOCKS(t *testing.T, address string) bool {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, enough)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(enough)) //nolint:errcheck // the read tells
	c.Write([]byte{5, 1, 0})              //nolint:errcheck // the read tells
	n, _ := c.Read(make([]byte, 2))
	return n > 0
}
