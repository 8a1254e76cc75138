package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"warren/browser"
	"warren/testnet"
)

// TestMain makes the test binary a shim when it has the same arguments as the server's shim.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == ChildArgument:
		fmt.Fprintln(os.Stderr, EnterNamespace())
		os.Exit(1)
	case len(os.Args) == 2 && os.Args[1] == "shim":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		main := Run
		if IsSpare() {
			main = RunSpare
		}
		if err := main(ctx, os.Stdin, os.Stdout, slog.New(slog.NewJSONHandler(os.Stderr, nil))); err != nil {
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "orphans":
		orphans()
	default:
		goleak.VerifyTestMain(m)
	}
}

// enough bounds any wait, also on a busy machine.
const enough = 5 * time.Minute

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	t.Cleanup(cancel)
	return ctx
}

// newSpec is a run of the machine's Chromium in folders of the test. Without a Chromium the test is skipped.
func newSpec(t *testing.T) Spec {
	t.Helper()
	b, err := FindBrowser(t.Context(), os.Getenv("WARREN_BROWSER"))
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	if missing := CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
	s := emptySpec(t)
	s.BrowserPath = b.Path
	return s
}

func emptySpec(t *testing.T) Spec {
	t.Helper()
	parent := os.TempDir()
	if len(parent) > 40 && runtime.GOOS != "windows" {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "ws")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	name := filepath.Base(dir) + "0123456789ab"
	return Spec{RunID: "the-run", ProfileID: "the-profile", ProfileDir: filepath.Join(dir, "p"), RunDir: filepath.Join(dir, "run"),
		Name: name[:12], Headless: true, Timeout: enough, Grace: enough}
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func launch(t *testing.T, s Spec) (*Client, *State) {
	t.Helper()
	c, state, err := Launch(soon(t), self(t), s)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.RunDir, s.Name+".log"))
		t.Fatalf("Launch: %v\n%s", err, log)
	}
	t.Cleanup(func() { c.Kill(); c.Release() }) //nolint:errcheck // the shim may have exited
	return c, state
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(enough):
		t.Fatalf("%s: not within %v", what, enough)
	}
}

// wantNothing checks that a run leaves no file but its lock and its profile.
func wantNothing(t *testing.T, s Spec) {
	t.Helper()
	for _, pattern := range []string{filepath.Join(s.RunDir, "*"), filepath.Join(s.RunDir, ".*.end"), tempDir(s.Name)} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

// One run from its start to its stop, through the socket alone.
func TestRun(t *testing.T) {
	s := newSpec(t)
	s.DebugPort, s.MaxRun = true, time.Hour
	c, state := launch(t, s)
	if state.RunID != s.RunID || state.PID == 0 || state.UserAgent == "" ||
		len(state.Languages) == 0 || state.Timezone == "" || state.Browser.Major == 0 ||
		!strings.HasPrefix(state.DebuggerAddress, "127.77.") {
		t.Errorf("the state is %+v", state)
	}
	if !c.Alive(soon(t)) {
		t.Error("a run that goes on is not alive")
	}
	second := s
	second.Name = "another12345"
	if _, _, err := Launch(soon(t), self(t), second); kindOf(err) != "locked" {
		t.Errorf("a second run of the profile: %v", err)
	}
	front := httptest.NewServer(c.Gateway(Rights{}, "ws://base.test/cdp/CAP", "/cdp/CAP", http.NotFound))
	defer front.Close()
	if status, text := get(t, front.URL+"/cdp/CAP/json/version"); status != 200 ||
		!strings.Contains(text, `"ws://base.test/cdp/CAP/devtools/browser/`) {
		t.Errorf("json/version through the gateway: %d %s", status, text)
	}
	end, err := c.Stop(soon(t), false)
	if err != nil || end.Outcome != Stopped || end.Method != browser.MethodClose {
		t.Errorf("the stop: %+v, %v", end, err)
	}
	if end, err := c.Stop(soon(t), false); err != nil || end.Outcome != Stopped {
		t.Errorf("a second stop: %+v, %v", end, err)
	}
	if c.Alive(soon(t)) {
		t.Error("a run that is over is alive")
	}
	if status, _ := get(t, front.URL+"/cdp/CAP/json/version"); status != 404 {
		t.Errorf("the gateway of a run that is over answers %d", status)
	}
	if e := Remains(s.RunDir, s.Name, s.ProfileDir); e.Outcome != Stopped {
		t.Errorf("what remains says %+v", e)
	}
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
	c.Release()
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	res, err := http.Get(address) //nolint:gosec,noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func kindOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

// A server disconnects, and the next one adopts the run. If none does, the browser closes after the grace. The grace
// begins when the browser runs, however long its start took.
func TestAdoptAndGrace(t *testing.T) {
	s := newSpec(t)
	s.Grace = 200 * time.Millisecond // shorter than any start
	c, state := launch(t, s)
	late := time.NewTimer(3 * s.Grace)
	defer late.Stop()
	select {
	case <-c.Done():
		t.Fatalf("a run that is watched ended: %+v", c.End())
	case <-late.C:
	}
	next, again, err := Adopt(soon(t), s.RunDir, s.Name, func(string) string { return s.ProfileDir })
	if err != nil || again.PID != state.PID || again.RunID != state.RunID {
		t.Fatalf("adopted %+v, %v; want %+v", again, err, state)
	}
	c.Release()
	late.Reset(3 * s.Grace)
	select {
	case <-next.Done():
		t.Fatalf("a run that the next server watches ended: %+v", next.End())
	case <-late.C:
	}
	next.Release()
	await(t, "the end of the shim", c.exited) // this test is its parent
	if !c.cmd.ProcessState.Success() {
		t.Errorf("the shim ended with %v", c.cmd.ProcessState)
	}
	if e := Remains(s.RunDir, s.Name, s.ProfileDir); e.Outcome != Orphaned || e.Method != browser.MethodClose {
		t.Errorf("what remains says %+v", e)
	}
	if _, _, err := Adopt(soon(t), s.RunDir, s.Name, func(string) string { return s.ProfileDir }); err == nil {
		t.Error("a run that is over can be adopted")
	}
	if names, err := Names(s.RunDir); err != nil || len(names) != 1 || names[0] != s.Name {
		t.Errorf("Names: %v, %v", names, err)
	}
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
}

// The stop of an adopted run returns when the profile is free: the next start may follow at once.
func TestAdoptedRunLetsGo(t *testing.T) {
	s := newSpec(t)
	c, _ := launch(t, s)
	next, _, err := Adopt(soon(t), s.RunDir, s.Name, func(string) string { return s.ProfileDir })
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	// The shim waits a second for a connection without a request, after it has sent the end.
	silent, err := net.Dial("unix", socketPath(s.RunDir, s.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if end, err := next.Stop(soon(t), false); err != nil || end.Outcome != Stopped {
		t.Errorf("the stop: %+v, %v", end, err)
	}
	lock := profileLock(s.ProfileDir)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Errorf("after the stop the profile is not free: %v", err)
	}
	lock.Unlock() //nolint:errcheck // the test ends
	await(t, "the end of the shim", c.Done())
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
}

// A server that disconnects does not wait for a shim that hangs after sending the end.
func TestReleaseEndsTheWait(t *testing.T) {
	s := emptySpec(t)
	if err := os.MkdirAll(s.ProfileDir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := profileLock(s.ProfileDir)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lock.Unlock() //nolint:errcheck // the test ends
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	awaitUnlocked(ctx, s.ProfileDir)
	if took := time.Since(began); took >= slack {
		t.Errorf("the wait took %v", took)
	}
}

// A run without grace continues while it is watched, and closes when it is not.
func TestNoGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, -time.Second} {
		s := newSpec(t)
		s.Grace = grace
		c, _ := launch(t, s)
		if !c.Alive(soon(t)) {
			t.Errorf("grace %v: a run that is watched is not alive", grace)
		}
		c.Release()
		await(t, "the end of the shim", c.exited)
		if !c.cmd.ProcessState.Success() {
			t.Errorf("grace %v: the shim ended with %v", grace, c.cmd.ProcessState)
		}
		if e := Remains(s.RunDir, s.Name, s.ProfileDir); e.Outcome != Orphaned {
			t.Errorf("grace %v: what remains says %+v", grace, e)
		}
		Forget(s.RunDir, s.Name)
		wantNothing(t, s)
	}
}

// A shim whose server died before it received the report closes its browser at once: no other server knows of the
// run.
func TestNobodyHears(t *testing.T) {
	s := newSpec(t)
	s.Grace = time.Hour
	if err := os.MkdirAll(s.RunDir, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self(t), "shim")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(in)), os.Stderr
	detach(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close() // the server dies
	over := make(chan struct{})
	go func() { defer close(over); err = cmd.Wait() }()
	await(t, "the end of a run that no server knows of", over)
	if err != nil {
		t.Errorf("the shim ended with %v", err)
	}
	if e := Remains(s.RunDir, s.Name, s.ProfileDir); e.Outcome != Stopped || e.Method != browser.MethodClose {
		t.Errorf("what remains says %+v", e)
	}
	Forget(s.RunDir, s.Name)
	wantNothing(t, s)
}

// A cancelled launch leaves nothing, whenever it is cancelled.
func TestLaunchGivenUp(t *testing.T) {
	s := newSpec(t)
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		c, _, err := Launch(ctx, self(t), s)
		cancel()
		if err == nil { // the launch was faster
			if _, err := c.Stop(soon(t), true); err != nil {
				t.Fatal(err)
			}
			Forget(s.RunDir, s.Name)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
		wantNothing(t, s)
	}
}

// A program that is no shim, or whose report cannot be read, is a failure and leaves nothing.
func TestLaunchOfSomethingElse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs /bin/sh")
	}
	for what, text := range map[string]string{"silence": "exit 0", "junk": "echo junk", "half": `printf '{"state":'`,
		"death": "echo last words >&2; kill -9 $$"} {
		s := emptySpec(t)
		exe := filepath.Join(filepath.Dir(s.RunDir), "exe")
		testnet.WriteProgram(t, exe, "#!/bin/sh\n"+text+"\n")
		want := "internal"
		if what == "death" {
			want = "killed"
		}
		_, _, err := Launch(soon(t), exe, s)
		if kindOf(err) != want {
			t.Errorf("%s: %v", what, err)
		}
		if f, ok := errors.AsType[*Failure](err); ok && what == "death" && (f.Signal != "killed" || fmt.Sprint(f.Lines) != "[last words]") {
			t.Errorf("a shim that was killed: %+v", f)
		}
		wantNothing(t, s)
	}
	s := emptySpec(t)
	if _, _, err := Launch(soon(t), filepath.Join(s.RunDir, "nowhere"), s); err == nil {
		t.Error("a program that is not there was launched")
	}
}

// A shim that hangs is killed after a while.
func TestLaunchHangs(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("takes the 15 s that a shim may")
	}
	s := emptySpec(t)
	exe := filepath.Join(filepath.Dir(s.RunDir), "exe")
	const script = "#!/bin/sh\ntrap '' TERM INT\nwhile :; do sleep 1; done\n"
	testnet.WriteProgram(t, exe, script)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := Launch(ctx, exe, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Launch: %v", err)
	}
	if took := time.Since(began); took > 3*slack {
		t.Errorf("it took %v", took)
	}
}

// Every cause of a failed start has its kind.
func TestFailureKinds(t *testing.T) {
	p := &process{spec: Spec{ProfileDir: filepath.Join("data", "p")}}
	inside, outside := filepath.Join("data", "p", "chrome", "x"), filepath.Join("elsewhere", "x")
	for _, c := range []struct {
		err  error
		kind string
	}{
		{&Failure{Kind: "locked"}, "locked"},
		{&browser.StartError{Kind: browser.StartLocked}, "locked"},
		{&browser.StartError{Kind: browser.StartTimeout, Err: context.DeadlineExceeded}, "timeout"},
		{&browser.StartError{Kind: browser.StartCancelled, Err: context.Canceled}, "cancelled"},
		{&browser.StartError{Kind: browser.StartFailed, Err: &os.PathError{Op: "mkdir", Path: inside, Err: syscall.ENOSPC}}, "disk_full"},
		{&browser.StartError{Kind: browser.StartFailed, Err: &os.PathError{Op: "mkdir", Path: inside, Err: syscall.EACCES}}, "unwritable"},
		{&browser.StartError{Kind: browser.StartFailed, Err: &os.PathError{Op: "mkdir", Path: inside, Err: syscall.EROFS}}, "unwritable"},
		{&os.PathError{Op: "mkdir", Path: filepath.Join("data", "p"), Err: syscall.ENOTDIR}, "folder_unusable"},
		{&browser.StartError{Kind: browser.StartFailed, Err: &os.PathError{Op: "open", Path: inside, Err: syscall.EIO}}, "folder_unusable"},
		{&browser.StartError{Kind: browser.StartFailed, Err: &os.PathError{Op: "fork/exec", Path: outside, Err: syscall.EACCES}}, "failed"},
		{&browser.NotFoundError{}, "not_found"},
		{context.Canceled, "cancelled"},
		{errors.New("who knows"), "internal"},
	} {
		if f := p.failure(errors.Join(c.err, nil)); f.Kind != c.kind {
			t.Errorf("%v is reported as %s, want %s", c.err, f.Kind, c.kind)
		}
	}
}

// The port for Selenium accepts requests that name its exact address and come from programs.
func TestOnlyHost(t *testing.T) {
	h := requireHost("127.0.0.1:9222", Rights{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("X-Warren-Base")) //nolint:errcheck // a test's recorder
	}))
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:9222", "", 200}, {"127.0.0.1", "", 200}, {"127.0.0.1:80", "", 403}, {"localhost:9222", "", 403}, {"localhost", "", 403},
		{"evil.test:9222", "", 403}, {"evil.test", "", 403}, {"", "", 403}, {"127.0.0.1", "http://127.0.0.1", 403},
		{"127.0.0.1:9222", "http://127.0.0.1:9222", 403}, {"127.0.0.1:9222", "null", 403}, {"127.0.0.1:9222", "http://evil.test", 403},
	} {
		r := httptest.NewRequest("GET", "/json/version", nil)
		r.Host = c.host
		r.Header.Set("X-Warren-Base", "ws://evil.test")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Code == 200 && w.Body.String() != "ws://127.0.0.1:9222" {
			t.Errorf("Host %q, Origin %q: %d %s, want %d", c.host, c.origin, w.Code, w.Body, c.status)
		}
	}
}

// The server's environment holds its keys, which a run does not inherit.
func TestEnvironment(t *testing.T) {
	t.Setenv("WARREN_API_KEY", "canary")
	t.Setenv("WARREN_X", "canary")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "canary")
	t.Setenv("OTHER", "kept")
	all := strings.Join(environment(), "\n")
	if strings.Contains(all, "canary") || !strings.Contains(all, "OTHER=kept") {
		t.Errorf("a run inherits\n%s", all)
	}
}
