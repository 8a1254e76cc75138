package browser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warren/testnet"
)

// needsNamespace skips the test on a machine without namespaces.
func needsNamespace(t *testing.T) {
	t.Helper()
	if err := CheckIsolation(); err != nil {
		t.Skipf("needs user and network namespaces: %v", err)
	}
}

// TestBestIsolation: on a machine with namespaces a run has one. Elsewhere a warning says so, and root does not run at all.
func TestBestIsolation(t *testing.T) {
	missing := CheckIsolation()
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t)})
	if err != nil {
		var why *IsolationError
		if missing == nil || os.Geteuid() != 0 || !errors.As(err, &why) || !why.Refused {
			t.Fatalf("Open: %v; a namespace: %v", err, missing)
		}
		return
	}
	defer b.Close()
	want := Isolation{Network: OnLoopback, Files: FilesByGuard, Sandbox: true}
	if missing == nil {
		want.Network, want.Files = InNamespace, FilesInNamespace
	}
	if got := b.Isolation(); got != want {
		t.Errorf("isolation %+v, want %+v; a namespace: %v", got, want, missing)
	}
	warned := slices.ContainsFunc(b.Warnings(), func(w Warning) bool { return w.Code == "isolation_loopback" && w.Message != "" })
	if warned != (missing != nil) {
		t.Errorf("warnings %+v; a namespace: %v", b.Warnings(), missing)
	}
}

// TestSandboxIsOn: every renderer of Chrome's is under seccomp, even if the test runs as root, and no process has a capability.
func TestSandboxIsOn(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	renderers := 0
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err != nil || !isMember(pid, b.PID()) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue // gone meanwhile
		}
		if statusOf(status, "CapEff") != "0000000000000000" && !strings.Contains(string(args), "--type=zygote") {
			t.Errorf("%s has capabilities %s", args, statusOf(status, "CapEff"))
		}
		if !strings.Contains(string(args), "--type=renderer") {
			continue
		}
		renderers++
		if got := statusOf(status, "Seccomp"); got != "2" {
			t.Errorf("%s: Seccomp is %s, want 2", args, got)
		}
	}
	if renderers == 0 {
		t.Error("no renderer was found")
	}
}

func statusOf(status []byte, name string) string {
	m := regexp.MustCompile(`(?m)^` + name + `:\s*(\S+)`).FindSubmatch(status)
	if m == nil {
		return ""
	}
	return string(m[1])
}

func itoa(n int) string { return strconv.Itoa(n) }

// TestWhatNeedsLoopback: a run that cannot use a namespace is recognised in advance, and a spec that requires one is refused.
func TestWhatNeedsLoopback(t *testing.T) {
	t.Setenv("WAYLAND_DISPLAY", "")
	snap := filepath.Join(t.TempDir(), "chromium-browser") // as Ubuntu's
	testnet.WriteProgram(t, snap, "#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n")
	for name, c := range map[string]struct {
		spec    Spec
		display string
		refused bool
	}{
		"headless over ssh":     {Spec{Path: "/bin/true", Headless: true}, "localhost:10.0", false},
		"headed over ssh":       {Spec{Path: "/bin/true"}, "localhost:10.0", true},
		"headed on a host":      {Spec{Path: "/bin/true"}, "10.0.0.1:0", true},
		"headed here":           {Spec{Path: "/bin/true"}, ":0", false},
		"headed here by a path": {Spec{Path: "/bin/true"}, "/private/tmp/launch/x:0", false},
		"headed with Wayland":   {Spec{Path: "/bin/true", ExtraEnv: []string{"WAYLAND_DISPLAY=wayland-0"}}, "localhost:10.0", false},
		"a snap":                {Spec{Path: snap, Headless: true}, "", true},
		"direct WebRTC":         {Spec{Path: "/bin/true", Headless: true, WebRTC: WebRTCDefault}, "", true},
		"no WebRTC":             {Spec{Path: "/bin/true", Headless: true, WebRTC: WebRTCOff}, "", false},
	} {
		t.Setenv("DISPLAY", c.display)
		if why := c.spec.needsLoopback(); (why != nil) != c.refused {
			t.Errorf("%s: %v, want a reason: %v", name, why, c.refused)
		} else if why != nil && (!why.Refused || why.Advice == "") {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// TestPagesAreOnline: in a namespace a page believes that it is online, although there is no route.
func TestPagesAreOnline(t *testing.T) {
	needsNamespace(t)
	p := newProfile(t)
	b := p.start()
	var online bool
	if err := b.mux.controller.evaluate(t.Context(), b.mux.controller.openPages()[0], "navigator.onLine", &online); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(b.Warnings(), func(w Warning) bool { return w.Code == "offline_shown" }) {
		if out, err := exec.Command(
			"unshare", "--map-root-user", "--net", "ip", "link", "add", "type", "veth").CombinedOutput(); err == nil {
			t.Fatalf("the kernel has virtual interfaces: %+v", b.Warnings())
		} else {
			t.Skipf("needs the kernel's module veth: %s %v", out, err)
		}
	}
	if !online {
		t.Error("the page believes to be offline")
	}
	routes, err := os.ReadFile(filepath.Join("/proc", itoa(b.PID()), "net", "route"))
	if err != nil || strings.Count(string(routes), "\n") != 1 {
		t.Errorf("routes, %v:\n%s", err, routes)
	}
}
