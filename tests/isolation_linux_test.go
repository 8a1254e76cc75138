package tests

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"warren/shim"
)

// Runs are isolated, and say so where they are not.

// withoutNamespaces makes the testbed's commands run where the kernel gives no namespaces, as inner user uid: a user namespace of their
// own, whose sysctl forbids more (user_namespaces(7)).
func (g *testbed) withoutNamespaces(uid int) {
	g.t.Helper()
	if err := shim.CheckIsolation(); err != nil {
		g.t.Skipf("needs user namespaces: %v", err)
	}
	g.under = func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"/bin/sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"`, cmd.Path},
			cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getegid(), Size: 1}}}
	}
}

// Without namespaces root starts no browser, since its sandbox would be off. Nor does a server that requires
// isolation. Both answers, and doctor, name the reason and the command that mends it. Nothing is left.
func TestIsolationUnavailable(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for name, c := range map[string]struct {
		uid   int
		flags []string
	}{"root": {0, nil}, "ordinary user, required": {1000, []string{"--require-isolation"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newTestbed(t)
			g.withoutNamespaces(c.uid)
			s := g.serve(c.flags...)
			id := s.profile(nil)
			p := s.failedStart(id, 503, "isolation_unavailable")
			if !strings.Contains(p.Detail, "user.max_user_namespaces=") {
				t.Errorf("the refusal does not name the command that mends it: %s", p.Detail)
			}
			s.refused("POST", "/profiles/"+id+"/start", map[string]any{"dryRun": true}, 503, "isolation_unavailable")
			_, out, _ := exitOf(t, g.command("doctor"))
			if !strings.Contains(out, "!!  isolation") || !strings.Contains(out, "sysctl -w user.max_user_namespaces=") {
				t.Errorf("doctor says\n%s", out)
			}
		})
	}
}

// Without namespaces an ordinary user gets a run on loopback, and is told what that leaves open. Chrome's own sandbox
// has no namespaces either, and Chrome refuses to run. So the test looks at the plan alone.
func TestLoopbackIsTold(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	g.withoutNamespaces(1000)
	s := g.serve()
	var plan struct {
		Arguments []string
		Warnings  []struct{ Code, Message string }
	}
	s.do("POST", "/profiles/"+s.profile(nil)+"/start", map[string]any{"dryRun": true}, 200, &plan)
	if len(plan.Warnings) != 1 || plan.Warnings[0].Code != "isolation_loopback" ||
		!strings.Contains(plan.Warnings[0].Message, "user.max_user_namespaces=") {
		t.Errorf("warnings %+v", plan.Warnings)
	}
	if all := strings.Join(plan.Arguments, " "); strings.Contains(all, "no-sandbox") ||
		!strings.Contains(all, "--proxy-bypass-list=<-loopback>") {
		t.Errorf("arguments %s", all)
	}
}

// In a namespace a run listens nowhere on the machine, and every renderer has Chrome's sandbox, whoever runs the server.
func TestNamespace(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	if err := shim.CheckIsolation(); err != nil {
		t.Skipf("needs user and network namespaces: %v", err)
	}
	s := newTestbed(t).serve("--require-isolation")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "startUrls": []string{s.world.url("/in")}})
	run := s.start(id, nil)
	s.world.await(t, "/in", 1)
	if run.Isolation.Network != shim.Namespace || !run.Isolation.Sandbox || len(run.Warnings) > 0 && run.warned("isolation_loopback") {
		t.Errorf("isolation %+v, warnings %+v", run.Isolation, run.Warnings)
	}
	s.wantSandbox()
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.browsers() {
		if theirs, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/ns/net"); err != nil || theirs == ours {
			t.Errorf("process %d is in this machine's network: %v", p.pid, err)
		}
	}
	if own := s.listeners(); len(own) > 0 {
		t.Errorf("the run listens on the machine: %v", own)
	}
	s.stop(id)
	s.start(id, map[string]any{"debugPort": true}) // which is to be seen
	if own := s.listeners(); len(own) != 1 {
		t.Errorf("with a debug port the run listens at %v", own)
	}
}

// wantSandbox wants Chrome's own sandbox on in every process that shows pages.
func (g *testbed) wantSandbox() {
	g.t.Helper()
	renderers := 0
	for _, p := range g.alive() {
		if strings.Contains(p.command, "--no-sandbox") {
			g.t.Errorf("--no-sandbox is on a command line: %.200s", p.command)
		}
		if !strings.Contains(p.command, "--type=renderer") {
			continue
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
		if err != nil {
			continue // gone meanwhile
		}
		renderers++
		if !strings.Contains(string(status), "\nSeccomp:\t2\n") {
			g.t.Errorf("a renderer without seccomp: %.100s\n%s", p.command, status)
		}
	}
	if renderers == 0 {
		g.t.Error("no renderer was found")
	}
	g.t.Logf("%d renderers have Seccomp: 2", renderers)
}

// listeners are the TCP sockets of this machine's network on which processes of runs listen.
func (g *testbed) listeners() (out []string) {
	g.t.Helper()
	listening := map[string]string{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			g.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" { // proc_pid_net(5): st, inode
				listening["socket:["+f[9]+"]"] = f[1]
			}
		}
	}
	for _, p := range g.alive() {
		fds, _ := filepath.Glob("/proc/" + strconv.Itoa(p.pid) + "/fd/*")
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && listening[to] != "" {
				out = append(out, listening[to])
			}
		}
	}
	return out
}

// Of webrtc's three, off leaves pages no RTCPeerConnection, also in frames, pop-ups and after a navigation; and an alert is answered though
// nobody is there. default cannot live in a namespace.
func TestWebRTC(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--require-isolation")
	s.refused("POST", "/profiles/"+s.profile(map[string]any{"webrtc": "default"})+"/start", nil, 503, "isolation_unavailable")
	for _, c := range []struct{ webrtc, want string }{{"off", "undefined undefined undefined"},
		{"proxy_only", "function function function"}} {
		id := s.profile(map[string]any{"proxyId": s.addProxyOnce(), "webrtc": c.webrtc})
		v := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
		page := v.open(s.world.url("/" + c.webrtc))
		v.awaitURL(page, s.world.url("/"+c.webrtc))
		got := v.eval(page, `(async () => {
			const frame = document.body.appendChild(document.createElement("iframe"));
			const blank = typeof frame.contentWindow.RTCPeerConnection;
			const other = document.createElement("iframe");
			await new Promise(done => { other.onload = done; other.src = location.origin + "/frame"; document.body.append(other) });
			return [typeof RTCPeerConnection, blank, typeof other.contentWindow.RTCPeerConnection].join(" ");
		})()`)
		if got != c.want {
			t.Errorf("webrtc %s: page, blank frame and frame have %s, want %s", c.webrtc, got, c.want)
		}
		s.stop(id)
	}
}

// A page reaches a service of this machine that its profile names, also when its proxy is dead. Without the name it
// reaches nothing.
func TestAllowLocal(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Write([]byte("here")) //nolint:errcheck // the page may be gone
	}))
	t.Cleanup(service.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(service.URL, "http://"), ":")
	s := newTestbed(t).serve()
	for _, c := range []struct {
		name   string
		allow  []string
		target string
		want   string
	}{
		{"not named", nil, "localhost:" + port, "failed"},
		{"named", []string{"localhost:" + port}, "localhost:" + port, "200 here"},
		{"named, another spelling", []string{"127.0.0.1:" + port}, "2130706433:" + port, "200 here"},
		{"another port", []string{"localhost:1"}, "localhost:" + port, "failed"},
	} {
		id := s.profile(map[string]any{"proxyId": s.addProxyOnce(), "allowLocal": c.allow})
		v := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
		page := v.open("about:blank")
		if got := v.get(page, "http://"+c.target+"/"); got != c.want {
			t.Errorf("%s: the page got %q, want %q", c.name, got, c.want)
		}
		s.stop(id)
	}
}
