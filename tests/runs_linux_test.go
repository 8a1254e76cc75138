package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/shim"
	"warren/testnet"
)

// No word of a user gets on a command line, and no secret into an environment, of any process of a run.
func TestNothingOnCommandLines(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	hostile := []string{s.world.url("/--renderer-cmd-prefix=canary-one"), s.world.url("/?--no-sandbox=canary-two")}
	id := s.profile(map[string]any{"name": "--canary-three --headless", "notes": "--canary-four", "tags": []string{"--canary-five"},
		"proxyId": s.addProxy(nil), "startUrls": hostile})
	for _, bad := range []string{"--renderer-cmd-prefix=/bin/false", "-x", "file:///etc/passwd", "chrome://version", "javascript:1",
		"http://"} {
		s.refused("POST", "/profiles/"+id+"/start", map[string]any{"startUrls": []string{bad}}, 422, "validation_failed")
		s.refused("POST", "/profiles", map[string]any{"name": "x", "startUrls": []string{bad}}, 422, "validation_failed")
	}
	s.start(id, nil)
	s.world.await(t, "/--renderer-cmd-prefix=canary-one", 1)
	s.world.await(t, "/?--no-sandbox=canary-two", 1)
	var kinds []string
	for _, p := range s.processes() {
		kinds = append(kinds, p.command)
		for _, secret := range []string{"canary", s.proxy.Password} {
			if strings.Contains(p.command, secret) {
				t.Errorf("process %d has %q on its command line: %s", p.pid, secret, p.command)
			}
			if strings.Contains(p.environ, secret) {
				t.Errorf("process %d has %q in its environment", p.pid, secret)
			}
		}
		for _, secret := range []string{liveKey, "postgres://"} { // whose address has a password
			if !strings.Contains(p.command, "warren serve ") && strings.Contains(p.environ, secret) {
				t.Errorf("process %d has %s in its environment: %s", p.pid, secret, p.command)
			}
		}
	}
	all := strings.Join(kinds, "\n")
	if !strings.Contains(all, "warren shim") || !strings.Contains(all, "--type=renderer") || len(kinds) < 6 {
		t.Errorf("too few processes were seen to prove anything:\n%s", all)
	}
	for _, word := range []string{"--renderer-cmd-prefix", "file:///"} {
		if strings.Contains(all, word) {
			t.Errorf("%s is on a command line:\n%s", word, all)
		}
	}
}

// A browser that somebody else runs on the profile is not touched.
func TestProfileHeldByABrowser(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", g.script("broken", "exit 7"))
	id := s.profile(nil)
	dir := filepath.Join(s.data, "profiles", id, "chrome")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	theirs := exec.Command("/bin/sh", "-c", "sleep 1000; :", "chrome", "--user-data-dir="+dir)
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { theirs.Process.Kill(); theirs.Wait() }()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fmt.Sprintf("%s-%d", host, theirs.Process.Pid), filepath.Join(dir, "SingletonLock")); err != nil {
		t.Fatal(err)
	}
	s.refused("POST", "/profiles/"+id+"/start", nil, 409, "profile_running")
	if err := theirs.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other browser was ended: %v", err)
	}
}

// A profile folder that cannot be written is told as what it is.
func TestProfileFolderUnwritable(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	g.asOrdinary()
	broken := g.script("broken", "exit 7")
	s := g.serve("--browser", broken)
	for _, locked := range []string{"", "chrome"} {
		id := s.profile(nil)
		dir := filepath.Join(s.data, "profiles", id, locked)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if g.user != nil && locked != "" {
			if err := os.Chown(filepath.Dir(dir), int(g.user.uid), int(g.user.gid)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o555); err != nil { //nolint:gosec // to be unwritable
			t.Fatal(err)
		}
		p := s.failedStart(id, 503, "browser_failed")
		if !strings.Contains(p.Detail, "cannot be written") || strings.Contains(p.Detail, s.dir) {
			t.Errorf("folder %q: the refusal says %s", locked, p.Detail)
		}
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as it was
			t.Fatal(err)
		}
	}
}

// An ordinary user's run has Chrome's sandbox.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	g.asOrdinary()
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "startUrls": []string{s.world.url("/in")}})
	run := s.start(id, nil)
	s.world.await(t, "/in", 1)
	if missing := shim.CheckIsolation(); run.warned("isolation_loopback") != (missing != nil) || !run.Isolation.Sandbox {
		t.Errorf("isolation %+v, warnings %+v; a namespace: %v", run.Isolation, run.Warnings, missing)
	}
	s.wantSandbox()
	if v := s.stop(id); v.Method != "close" {
		t.Errorf("the stop took %q", v.Method)
	}
}

// A full disk refuses what would change something, and nothing else; it heals by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	needFile(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	g := newTestbed(t)
	if err := os.Mkdir(g.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", g.data, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("needs to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(g.data, 0); err != nil {
			t.Errorf("the small file system stays: %v", err)
		}
	})
	browser := needBrowser(t)
	s := g.serve("--browser", browser)
	running, waiting := s.profile(nil), s.profile(nil)
	s.start(running, nil)
	page := s.opensPage(t, "#/profiles/"+waiting)
	page.writesNotes()
	g.fillDisk()
	page.isToldOfFullDisk()
	s.refused("POST", "/profiles", map[string]any{"name": "x"}, 507, "disk_full")
	s.refused("PUT", "/profiles/"+waiting, map[string]any{"name": "x", "notes": strings.Repeat("n", 9000)}, 507, "disk_full")
	s.refused("POST", "/profiles/"+waiting+"/start", nil, 507, "disk_full")
	if got := s.ready(); got != "503 disk_full" {
		t.Errorf("on a full disk the server is ready: %s", got)
	}
	if v := s.get(waiting); v.Status != "stopped" && v.Status != "failed" {
		t.Errorf("a start on a full disk leaves the profile %s", v.Status)
	}
	if v := s.get(running); v.Status != "running" {
		t.Errorf("the other profile shows %s", v.Status)
	}
	if v := s.stop(running); !v.Stopped {
		t.Errorf("stop on a full disk answered %+v", v)
	}
	if v := s.get(running); v.Status == "running" || v.Run != nil {
		t.Errorf("then the profile shows %s, %+v", v.Status, v.Run)
	}
	if err := os.Remove(filepath.Join(g.data, "filler")); err != nil {
		t.Fatal(err)
	}
	page.savesNotes()
	if got := s.get(waiting).Notes; got != longNotes {
		t.Errorf("healed, the profile has %d letters of notes", len(got))
	}
	s.do("PUT", "/profiles/"+waiting, map[string]any{"name": "healed"}, 200, nil)
	if got := s.ready(); got != "200 " {
		t.Errorf("healed, the server is ready: %s", got)
	}
	s.start(running, nil)
	s.stop(running)
	if v := s.get(running); v.Status != "stopped" || v.LastRun == nil || v.LastRun.Reason != "stopped" {
		t.Errorf("healed, the profile shows %s, %+v", v.Status, v.LastRun)
	}
	s.terminate()
}

// longNotes need room on the disk.
var longNotes = strings.Repeat("They take room. ", 500) + "The end."

// writesNotes types notes into the form of the profile whose drawer is open.
func (p *person) writesNotes() {
	p.t.Helper()
	p.clicks("More for this profile")
	p.clicks("Edit")
	p.clicks("Notes None")
	p.writes("dialog textarea[name=notes]", longNotes)
}

// isToldOfFullDisk saves on a full disk. The page says why nothing is saved and what to do, and keeps what was typed.
func (p *person) isToldOfFullDisk() {
	p.t.Helper()
	p.clicks("Save")
	p.reads("dialog .problem", "The disk is full")
	p.reads("dialog .problem", "Free some space")
	p.wantNames("a full disk")
	p.until(fmt.Sprintf("document.querySelector('dialog textarea[name=notes]').value.length === %d", len(longNotes)))
}

// savesNotes saves the form again.
func (p *person) savesNotes() {
	p.t.Helper()
	p.clicks("Save")
	p.until("!document.querySelector('dialog')")
}

// ready is what the server says of itself: the status, and the code of a refusal.
func (s *liveServer) ready() string {
	s.t.Helper()
	res, err := http.Get(s.base + "/readyz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var p problemView
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		s.t.Fatal(err)
	}
	return strconv.Itoa(res.StatusCode) + " " + p.Code
}

// fillDisk takes every byte of the file system that holds the data.
func (g *testbed) fillDisk() {
	g.t.Helper()
	f, err := os.Create(filepath.Join(g.data, "filler"))
	if err != nil {
		g.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 16 {
		for block := make([]byte, size); ; {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
	}
}

// A data folder that cannot be written is refused with a word on what to do, and left as it is.
func TestDataFolderReadOnly(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	g.asOrdinary()
	s := g.serve("--browser", "/nowhere/chromium")
	s.profile(nil)
	s.terminate()
	refused := func(what string) {
		t.Helper()
		before := listing(t, g.data)
		code, out, errs := exitOf(t, g.command("serve", "--listen", "127.0.0.1:0", "--data", g.data))
		if code != 1 || out != "" || !strings.Contains(errs, "--data") ||
			!strings.Contains(errs, "cannot be") && !strings.Contains(errs, "not ours") {
			t.Errorf("%s: exit code %d, %q, %q", what, code, out, errs)
		}
		if after := listing(t, g.data); after != before && what != "warren.db of another user" { // SQLite's own files may come beside it
			t.Errorf("%s: the folder was\n%s and is\n%s", what, before, after)
		}
	}
	if g.user != nil { // another user's, whom an ordinary user cannot make one of without root
		for _, name := range []string{"warren.db", "."} {
			if name == "warren.db" && testnet.OnPostgres() { // there is none
				continue
			}
			path := filepath.Join(g.data, name)
			if err := os.Chown(path, 0, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // readable, not writable
				t.Fatal(err)
			}
			refused(name + " of another user")
			if err := os.Chown(path, int(g.user.uid), int(g.user.gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.data = filepath.Join(g.dir, "closed", "d")
	if err := os.Mkdir(filepath.Dir(g.data), 0o555); err != nil { //nolint:gosec // to be unwritable
		t.Fatal(err)
	}
	refused("a folder that cannot be made")
}

// listing is every file below dir with its size and mode.
func listing(t *testing.T, dir string) (out string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error { //nolint:errcheck // a folder that is not there lists nothing
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out += fmt.Sprintf("%s %d %v\n", path, info.Size(), info.Mode())
		return nil
	})
	return out
}

// A run whose process hangs holds up neither a change of its proxy nor the runs beside it.
func TestHangingRunHoldsUpNobody(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	proxy := s.addProxy(nil)
	hanging, lively := s.profile(map[string]any{"proxyId": proxy}), s.profile(map[string]any{"proxyId": proxy})
	s.start(hanging, nil)
	hung := s.pidOfShim()
	c := dialCDP(t, s.start(lively, nil).WsEndpoint, nil)
	page := c.open(s.world.url("/page"))
	c.awaitURL(page, s.world.url("/page"))
	pause(t, hung)
	began := time.Now()
	s.do("PUT", "/proxies/"+proxy, map[string]any{"password": "wrong"}, 200, nil)
	s.do("PUT", "/profiles/"+hanging, map[string]any{"proxyId": s.addProxy(map[string]any{"port": 1})}, 200, nil)
	const patience = 5 * time.Second // what a run may take to answer
	if took := time.Since(began); took < patience || took > 10*patience {
		t.Errorf("two changes took %v", took)
	}
	s.proxy.Drop()
	if got := c.get(page, s.world.url("/changed")); got != "failed" {
		t.Errorf("with the wrong password a page got %q", got)
	}
	if n := strings.Count(s.log.String(), "keeps its old proxy"); n != 2 {
		t.Errorf("the log tells %d times of a run that keeps its proxy, want 2", n)
	}
}

// Whatever becomes of a proxy, nothing goes out beside it. This runs in a network of its own, where a site on a public address is
// one step away, and a browser without a proxy does reach it.
func TestNothingGoesDirect(t *testing.T) {
	needBrowser(t)
	if os.Getenv("WARREN_TEST_NETWORK") == "" {
		inOwnNetwork(t)
		return
	}
	const public = "93.184.216.34"
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"route", "add", "local", public + "/32", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Skipf("needs ip: %v: %s", err, out)
		}
	}
	s := newTestbed(t).serve()
	canary := newWorldAt(t, public+":80")
	at := func(path string) string { return "http://" + public + path }
	s.start(s.profile(map[string]any{"startUrls": []string{at("/without-a-proxy")}}), nil)
	canary.await(t, "/without-a-proxy", 1) // so it can be reached

	proxy := s.addProxy(nil)
	id := s.profile(map[string]any{"proxyId": proxy, "startUrls": []string{at("/at-start"), s.world.url("/in")}})
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	s.world.await(t, "/in", 1)
	page := c.open("about:blank")
	tries := 0
	try := func() {
		t.Helper()
		tries++
		if got := c.get(page, at(fmt.Sprint("/try/", tries))); got != "failed" {
			t.Errorf("try %d: a page got %q", tries, got)
		}
	}
	try() // the proxy knows no such place
	s.proxy.Close()
	try()
	s.do("PUT", "/proxies/"+proxy, map[string]any{"host": "no-such-host.invalid"}, 200, nil)
	try()
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": nil}, 200, nil)
	try()
	s.do("DELETE", "/proxies/"+proxy, nil, 204, nil)
	try()
	if seen := canary.paths(); len(seen) != 1 {
		t.Errorf("beside the proxy the site saw %v", seen)
	}
}

// inOwnNetwork runs the calling test again in a network namespace.
func inOwnNetwork(t *testing.T) {
	t.Helper()
	needFile(t) // PostgreSQL does not run as the only user of a namespace
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), "WARREN_TEST_NETWORK=own", "WARREN_TEST_BINARY="+builtBinary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil:
		t.Skipf("needs a network of its own: %v", err)
	case err != nil:
		t.Errorf("in a network of its own: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("in a network of its own: %s", out)
	}
}
