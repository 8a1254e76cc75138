package shim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warren/proxy"
	"warren/testnet"
)

// cookieSite sets a cookie on each visit, and keeps what the visits bring.
type cookieSite struct {
	*httptest.Server
	mu     sync.Mutex
	visits []string // the cookies of each visit of "/"
	pages  int      // that have come to the browser, with their cookie
}

func newCookieSite(t *testing.T) *cookieSite {
	t.Helper()
	s := new(cookieSite)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/come" {
			s.pages++
		}
		if r.URL.Path != "/" {
			return
		}
		s.visits = append(s.visits, r.Header.Get("Cookie"))
		w.Header().Set("Cache-Control", "no-store") // else a restored tab may come from Chrome's cache
		http.SetCookie(w, &http.Cookie{Name: "kept", Value: "yes", MaxAge: 3600})
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<img src="/come">`) //nolint:errcheck // the browser may have gone
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *cookieSite) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.visits)
}

// come returns how many pages have come to the browser.
func (s *cookieSite) come() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pages
}

// warmSpec is a run whose browser the kernel isolates, and the folder of warm runs beside its profile.
func warmSpec(t *testing.T) (s Spec, dir string) {
	t.Helper()
	s = newSpec(t)
	if err := errors.Join(CheckIsolation(), CheckFiles()); err != nil {
		t.Skipf("needs namespaces of network and files: %v", err)
	}
	data := filepath.Dir(s.ProfileDir)
	s.ProfileDir = filepath.Join(data, "profiles", "the-profile")
	if err := os.MkdirAll(filepath.Dir(s.ProfileDir), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Protected = []string{filepath.Join(data, "profiles"), filepath.Join(data, "warm"), s.RunDir}
	return s, filepath.Join(data, "warm")
}

// sentBeyondLoopback returns the interfaces of a process's network that have sent packets, but for lo
// (proc_pid_net(5): the tenth number counts them).
func sentBeyondLoopback(t *testing.T, pid int) (out []string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, counts, ok := strings.Cut(line, ":")
		if f := strings.Fields(counts); ok && len(f) > 9 && strings.TrimSpace(name) != "lo" && f[9] != "0" {
			out = append(out, line)
		}
	}
	return out
}

func launchWarm(t *testing.T, s Spec, dir string) *Warm {
	t.Helper()
	w, err := LaunchWarm(soon(t), self(t), s, dir, "warm"+s.Name[:8])
	if err != nil {
		t.Fatalf("LaunchWarm: %v", err)
	}
	t.Cleanup(w.End)
	return w
}

func wantNoFile(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
}

// TestWarmRun: a warm run sends nothing before a profile takes it. Then it is that profile's run: its data are in the
// profile's folder, and the next start finds them.
func TestWarmRun(t *testing.T) {
	site := newCookieSite(t)
	up := testnet.NewLocalProxy(t, site.Listener.Addr().String())
	s, dir := warmSpec(t)
	s.Timeout = enough
	w := launchWarm(t, s, dir)
	if n := up.Connections(); n > 0 || len(site.seen()) > 0 {
		t.Errorf("%d connections before the run was taken", n)
	}
	if browsers := processesWith([]string{"--user-data-dir=" + userDataDir(w.spec.ProfileDir)}); len(browsers) == 0 {
		t.Error("there is no browser")
	} else if sent := sentBeyondLoopback(t, browsers[0]); len(sent) > 0 {
		t.Errorf("packets have left the namespace: %v", sent)
	}
	wantNoFile(t, s.ProfileDir)
	if names, err := Names(s.RunDir); err != nil || len(names) > 0 {
		t.Errorf("a warm run counts as a run: %v, %v", names, err)
	}
	s.StartURLs = []string{"http://" + testnet.LocalSite + "/"}
	s.Upstream = &Upstream{ID: "up", Type: proxy.SOCKS5, Host: "127.0.0.1", Port: up.Port(), Username: up.User,
		Password: up.Password}
	s.Private, s.DebugPort = true, true
	if !w.Fits(s) {
		t.Fatal("the run is not for the start that it was launched for")
	}
	c, state, err := w.Take(soon(t), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(); c.Release() }) //nolint:errcheck // the shim may have exited
	if state.RunID != s.RunID || state.ProfileID != s.ProfileID || !strings.HasPrefix(state.DebuggerAddress, "127.77.") ||
		state.StartedAt.IsZero() || len(state.Upstreams) != 1 || !c.Alive(soon(t)) {
		t.Errorf("the state is %+v", state)
	}
	testnet.Eventually(t, "the visit", func() bool { return site.come() == 1 })
	warm := SeenAt(s.ProfileDir)
	if filepath.Dir(warm) != dir || !leadsTo(warm, s.ProfileDir) {
		t.Errorf("the browser sees its folder at %s", warm)
	}
	if again, _, err := Adopt(soon(t), s.RunDir, s.Name, func(string) string { return s.ProfileDir }); err != nil {
		t.Errorf("the run cannot be adopted: %v", err)
	} else {
		again.Release()
	}
	if err := CleanWarm(dir); err != nil || !leadsTo(warm, s.ProfileDir) {
		t.Errorf("a running browser's folder is gone from its path: %v", err)
	}
	if end, err := c.Stop(soon(t), false); err != nil || end.Outcome != Stopped {
		t.Errorf("the stop: %+v, %v", end, err)
	}
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
	wantNoFile(t, warm, warm+".log", warmPath(s.ProfileDir), tempDir(filepath.Base(warm)))

	cold, _ := launch(t, s)
	testnet.Eventually(t, "the second visit", func() bool { return len(site.seen()) >= 2 })
	if _, err := cold.Stop(soon(t), false); err != nil {
		t.Error(err)
	}
	for i, cookies := range site.seen() {
		if (cookies == "kept=yes") != (i > 0) {
			t.Errorf("visit %d brings the cookies %q", i, cookies)
		}
	}
}

// TestWarmRunIsNotTaken: a profile with a folder, or with other settings, is not given a warm run. Nothing of it is
// left, and the profile is as before.
func TestWarmRunIsNotTaken(t *testing.T) {
	s, dir := warmSpec(t)
	other := s
	other.Identity.Timezone = "Asia/Tokyo"
	mine := filepath.Join(s.ProfileDir, "mine")
	for _, spec := range []Spec{other, s} {
		w := launchWarm(t, s, dir)
		fits := spec.Identity.Timezone == ""
		if w.Fits(spec) != fits {
			t.Errorf("Fits says %v of a start in the time zone %q", !fits, spec.Identity.Timezone)
		}
		if fits {
			if err := os.MkdirAll(mine, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := w.Take(soon(t), spec)
		if f, ok := errors.AsType[*Failure](err); !ok || !f.Cold {
			t.Errorf("a start in the time zone %q: %v", spec.Identity.Timezone, err)
		}
		if _, err := os.Stat(mine); (err == nil) != fits {
			t.Errorf("the profile's folder: %v", err)
		}
		wantNothing(t, spec)
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

// TestWarmRunEnds: a warm run ends with its server, and with its browser, and leaves nothing.
func TestWarmRunEnds(t *testing.T) {
	s, dir := warmSpec(t)
	for what, end := range map[string]func(w *Warm, browser int){
		"the server dies":        func(w *Warm, _ int) { w.in.Close() },
		"the browser is killed":  func(_ *Warm, pid int) { syscall.Kill(pid, syscall.SIGKILL) }, //nolint:errcheck // seen below
		"the process is told to": func(w *Warm, _ int) { interrupt(w.cmd.Process) },
	} {
		w := launchWarm(t, s, dir)
		args := []string{"--user-data-dir=" + userDataDir(w.spec.ProfileDir)}
		pids := processesWith(args)
		if len(pids) == 0 {
			t.Fatal("there is no browser")
		}
		end(w, pids[0])
		await(t, what, w.Exited())
		if left := processesWith(args); len(left) > 0 {
			t.Errorf("%s: the browser %v goes on", what, left)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("%s: left over: %v", what, left)
		}
		wantNoFile(t, tempDir(w.spec.Name))
	}
}

// TestTakenRunIsKilled: what a taken run leaves when its process is killed is removed, and its browser with it.
func TestTakenRunIsKilled(t *testing.T) {
	s, dir := warmSpec(t)
	w := launchWarm(t, s, dir)
	c, _, err := w.Take(soon(t), s)
	if err != nil {
		t.Fatal(err)
	}
	warm := w.spec.ProfileDir
	testnet.Pause(t, w.cmd.Process.Pid)
	if err := c.Abandon(100 * time.Millisecond); err != nil {
		t.Error(err)
	}
	await(t, "the run's end", c.Done())
	if left := processesWith([]string{"--user-data-dir=" + userDataDir(warm)}); len(left) > 0 {
		t.Errorf("the browser %v goes on", left)
	}
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
	wantNoFile(t, warm, warmPath(s.ProfileDir), tempDir(filepath.Base(warm)))
	if _, err := os.Stat(userDataDir(s.ProfileDir)); err != nil {
		t.Errorf("the profile's data: %v", err)
	}
}

// TestSameLaunch: another value of any member makes another launch, but for those that the running browser is told
// later, or that its process alone uses.
func TestSameLaunch(t *testing.T) {
	var told []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Spec]()) {
		var s Spec
		v := reflect.ValueOf(&s).Elem().FieldByIndex(f.Index)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int64:
			v.SetInt(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Struct:
			v.Field(0).Set(reflect.New(v.Field(0).Type()).Elem())
			if f.Name == "Identity" {
				s.Identity.Languages = []string{"de"}
			} else {
				s.Rules.Log = true
			}
		default:
			t.Fatalf("%s is of a kind that this test does not know", f.Name)
		}
		if s.SameLaunch(Spec{}) {
			told = append(told, f.Name)
		}
	}
	want := []string{"RunID", "ProfileID", "ProfileDir", "Name", "StartURLs", "Upstream", "Fallbacks", "ForOnce", "Rules", "Private",
		"Bypasses", "Background", "DebugPort", "StarterFiles", "DebugKey", "DebugUntil", "Timeout", "Grace", "MaxRun", "Idle",
		"FreezeAfter", "CookieKey", "PasskeyKey", "Group", "Warm"}
	if !slices.Equal(told, want) {
		t.Errorf("a running browser may be given %v, want %v", told, want)
	}
}

// TestCleanWarm: what an earlier server left is removed. A link is, and what it leads to is not. A held folder stays.
func TestCleanWarm(t *testing.T) {
	data := t.TempDir()
	dir, profile := filepath.Join(data, "warm"), filepath.Join(data, "profiles", "p")
	held := filepath.Join(dir, "held")
	mine := filepath.Join(profile, "mine")
	for _, folder := range []string{filepath.Join(dir, "gone", "chrome"), held, mine} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock := profileLock(held)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Unlock() //nolint:errcheck // the test ends
	for name, to := range map[string]string{"link": "../profiles/p", "dangling": "../profiles/q"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"held.log", "gone.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a log goes after its folder
		if err := CleanWarm(dir); err != nil {
			t.Fatal(err)
		}
	}
	wantNoFile(t, filepath.Join(dir, "link"), filepath.Join(dir, "dangling"), filepath.Join(dir, "gone"), filepath.Join(dir, "gone.log"))
	for _, path := range []string{mine, held, held + ".log"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
