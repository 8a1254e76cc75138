package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The machine lacks something: descriptors, memory, a folder, a proxy that was there.

// limited has the next commands run with so many descriptors; 0: as many as there are.
func (g *testbed) limited(files int) {
	g.under = nil
	if files > 0 {
		g.under = func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files), cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
		}
	}
}

// A server that is short of descriptors gives no living browser up for lost, and the next one that has enough goes on with all of them.
func TestShortOfDescriptors(t *testing.T) {
	t.Parallel()
	needFile(t) // its numbers of descriptors are those of a server with one
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve("--orphan-grace", "300s")
	runs := map[string]runView{}
	for range 3 {
		id := s.profile(nil)
		runs[id] = s.start(id, nil)
	}
	s.kill()
	short := 0
	for files := 14; files <= 34; files++ {
		g.limited(files)
		said := ""
		if s, err := g.tryServe(); err != nil { // it ends when what it cannot do without fails
			said = err.Error()
		} else {
			s.kill()
			said = s.log.String()
		}
		if strings.Contains(said, "too many open files") && strings.Contains(said, "adopted a run") {
			short++
		}
		if strings.Contains(said, "a run ended while no server was there") {
			t.Errorf("with %d descriptors a server gave up a run that goes on:\n%s", files, said)
		}
	}
	if short == 0 {
		t.Fatal("no server was short of descriptors while it looked for runs")
	}
	t.Logf("%d servers were short of descriptors while they looked for runs", short)
	g.limited(0)
	s = g.serve()
	for id, run := range runs {
		if p := s.get(id); p.Status != "running" || p.Run == nil || p.Run.RunID != run.RunID {
			t.Errorf("in the end the profile shows %s, %+v, %+v", p.Status, p.Run, p.LastRun)
		}
		if again := s.start(id, nil); !again.Reused || again.RunID != run.RunID {
			t.Errorf("start gave %+v, want the run %s", again, run.RunID)
		}
		if v := s.stop(id); v.Method != "close" {
			t.Errorf("the stop took %q", v.Method)
		}
	}
}

// A run whose proxy was deleted goes on through it, and still follows its profile.
func TestRunOfADeletedProxyFollowsItsProfile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	proxy := s.addProxy(nil)
	id := s.profile(map[string]any{"proxyId": proxy, "timezone": "Asia/Tokyo"})
	s.start(id, nil)
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": nil}, 200, nil)
	s.do("DELETE", "/proxies/"+proxy, nil, 204, nil)
	var v shownView
	s.do("PUT", "/profiles/"+id, map[string]any{"timezone": "America/Lima", "idleTimeoutMs": 3600000}, 200, &v)
	if v.Run.Effective.Timezone != "America/Lima" || fmt.Sprint(v.Run.Pending) != "[idleTimeoutMs proxyId]" {
		t.Errorf("the run shows %s, pending %v", v.Run.Effective.Timezone, v.Run.Pending)
	}
	if zone := s.zoneOfPages(id); zone != "America/Lima" {
		t.Errorf("its pages say %s", zone)
	}
}

// A run's process that is killed during the start counts as the browser's failure, with a hint at memory. A data
// folder that is no folder is named as such.
func TestStartThatIsKilled(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", g.script("silent", "cat <&3 >/dev/null; exit")) // as Chrome it ends with its pipe
	id := s.profile(nil)
	go func() {
		for !isClosed(s.exited) {
			if len(s.browsers()) == 1 { // earlier, what the process has begun may be between two programs, where nobody finds it
				syscall.Kill(s.pidOfShim(), syscall.SIGKILL) //nolint:errcheck // it is there
				return
			}
		}
	}()
	if p := s.failedStart(id, 503, "browser_failed"); !strings.Contains(p.Detail, "short of memory") {
		t.Errorf("the refusal says %s", p.Detail)
	}
	eventually(t, "what the killed process had begun ends by itself", enough, func() bool { return len(s.alive()) == 0 })
	file := s.profile(nil)
	if err := os.WriteFile(filepath.Join(s.data, "profiles", file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := s.failedStart(file, 503, "browser_failed"); !strings.Contains(p.Detail, "not a directory") ||
		!strings.Contains(p.Detail, "folder") {
		t.Errorf("the refusal says %s", p.Detail)
	}
}

// smallMemory makes a control group of so many bytes, and has the next commands run in it.
func (g *testbed) smallMemory(bytes int) {
	g.t.Helper()
	group, limit := "/sys/fs/cgroup/memory/warren-test-"+strconv.Itoa(os.Getpid()), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group, limit = strings.Replace(group, "/memory", "", 1), "memory.max"
	}
	if err := os.Mkdir(group, 0o755); err != nil { //nolint:gosec // the kernel's
		g.t.Skipf("needs a control group of its own: %v", err)
	}
	g.t.Cleanup(func() { os.Remove(group) }) //nolint:errcheck // once it is empty
	if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(bytes)), 0o600); err != nil {
		g.t.Skipf("needs a control group with a limit of memory: %v", err)
	}
	g.under = func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"/bin/sh", "-c", `echo $$ > ` + group + `/cgroup.procs && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
}

// Where the kernel kills for want of memory, the refusal of the start says that it did.
func TestStartShortOfMemory(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	g := newTestbed(t)
	g.smallMemory(400 << 20) // what the browser takes doubles: when it is full that is more than the server, which the kernel leaves then
	s := g.serve("--browser", g.script("greedy", `exec /bin/sh -c 'x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done'`))
	if p := s.failedStart(s.profile(nil), 503, "browser_failed"); !strings.Contains(p.Detail, "memory ran short") {
		t.Errorf("the refusal says %s", p.Detail)
	}
}
