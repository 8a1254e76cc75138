package tests

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/shim"
	"warren/testnet"
)

// What the tests of running browsers share: a folder of their own, the world that browsers see, and servers as
// processes.

// enough is how long anything may take on a busy machine before a test gives up.
const enough = testnet.Patience

// testbed is where one test's servers run one after the other.
type testbed struct {
	t      testing.TB
	dir    string // everything that the test makes lies below
	data   string
	world  *world
	proxy  *testnet.LocalProxy // the only way to the world, with a password
	user   *ordinary           // who the servers run as; nil: whoever runs the test
	killed bool                // a server was
	under  func(cmd *exec.Cmd) // changes how a command is run; nil: it is run as it is
}

// ordinary is a user that is not root.
type ordinary struct{ uid, gid uint32 }

// newTestbed makes a testbed. At the end of the test nothing may be left on it.
func newTestbed(t testing.TB) *testbed {
	t.Helper()
	dir, err := os.MkdirTemp(shortTemp(), "wr")
	if err != nil {
		t.Fatal(err)
	}
	g := &testbed{t: t, dir: dir, data: filepath.Join(dir, "d")}
	if err := os.Mkdir(filepath.Join(dir, "t"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.nothingLeft()
		g.noRaces()
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("the test's folder stays: %v", err)
		}
	})
	t.Cleanup(g.awaitEnds)
	g.world = newWorld(t)
	g.proxy = testnet.NewLocalProxy(t, g.world.site.Listener.Addr().String())
	return g
}

// noRaces shows what the race detector in the servers and the shims found.
func (g *testbed) noRaces() {
	found, _ := filepath.Glob(filepath.Join(g.dir, "race.*"))
	for _, name := range found {
		text, err := os.ReadFile(name)
		g.t.Errorf("a data race: %s %v", text, err)
	}
}

// needBrowser skips a test where there is no Chromium.
func needBrowser(t testing.TB) string {
	t.Helper()
	b, err := shim.FindBrowser(t.Context(), os.Getenv("WARREN_BROWSER"))
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	needIsolation(t)
	return b.Path
}

// needIsolation skips a test that starts browsers, real ones or others, where nothing is started at all.
func needIsolation(t testing.TB) {
	t.Helper()
	if missing := shim.CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
}

// needFile skips a test of the SQLite file where the state is in PostgreSQL.
func needFile(t testing.TB) {
	t.Helper()
	if testnet.OnPostgres() {
		t.Skip("of the SQLite file")
	}
}

// ownFile is a file of the data folder that is the server's own: the database, or with PostgreSQL what says which server it is.
func (g *testbed) ownFile() string {
	if testnet.OnPostgres() {
		return filepath.Join(g.data, "node.json")
	}
	return filepath.Join(g.data, "warren.db")
}

// liveServer is `warren serve` as a process.
type liveServer struct {
	*testbed
	base, token string // token is the key that it is asked with; "" is liveKey

	cmd    *exec.Cmd
	log    *testnet.Buffer // standard error
	exited chan struct{}
	code   int // only after exited
}

// apiPrefix is where the API begins.
const apiPrefix = "/api/v1"

// liveKey is WARREN_API_KEY of the servers.
const liveKey = "the-key-of-the-live-servers-0123456789"

// environ is the environment of a command on this testbed: nothing of the caller's but where programs are.
func (g *testbed) environ() []string {
	env := []string{"HOME=" + g.dir, "TMPDIR=" + filepath.Join(g.dir, "t"), "TMP=" + filepath.Join(g.dir, "t"),
		"TEMP=" + filepath.Join(g.dir, "t"),
		"WARREN_API_KEY=" + liveKey, "GORACE=log_path=" + filepath.Join(g.dir, "race")}
	if url := testnet.DatabaseOf(g.t, g.data); url != "" {
		env = append(env, "WARREN_STORE="+url)
	}
	for _, name := range []string{"PATH", "SystemRoot", "LANG", "WARREN_BROWSER", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// command is the real binary with arguments, on this testbed.
func (g *testbed) command(args ...string) *exec.Cmd {
	cmd := exec.Command(builtBinary, args...)
	cmd.Env, cmd.Dir = g.environ(), g.dir
	g.user.become(cmd)
	if g.under != nil {
		g.under(cmd)
	}
	return cmd
}

// serve starts a server and waits until it serves. Flags come behind the tests' own, and win.
func (g *testbed) serve(flags ...string) *liveServer {
	g.t.Helper()
	s, err := g.tryServe(flags...)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *testbed) tryServe(flags ...string) (*liveServer, error) {
	grace := "20s"
	if testnet.OnPostgres() { // a server waits 15 s for the beat of one that was killed
		grace = "60s"
	}
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--data", g.data, "--headless", "always", "--check-url", g.world.url("/ip"),
		"--orphan-grace", grace, "--start-timeout", "5m"}, flags...)
	s := &liveServer{testbed: g, cmd: g.command(args...), log: new(testnet.Buffer), exited: make(chan struct{})}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		in := bufio.NewReader(out)
		text, _ := in.ReadString('\n')
		line <- text
		io.Copy(io.Discard, in)
		s.cmd.Wait()
		s.code = s.cmd.ProcessState.ExitCode()
		close(s.exited)
	}()
	g.t.Cleanup(s.end)
	text := <-line
	base, ok := strings.CutPrefix(strings.TrimSpace(text), "warren: listening on ")
	if !ok {
		<-s.exited
		return nil, fmt.Errorf("the server did not serve: %q, exit code %d\n%s", text, s.code, s.log)
	}
	s.base = base
	return s, nil
}

// end stops the server at the end of a test, and shows its log when the test failed.
func (s *liveServer) end() {
	if !isClosed(s.exited) {
		s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(enough):
			s.t.Errorf("the server did not stop in time")
			s.kill()
		}
	}
	if s.t.Failed() {
		s.t.Logf("the log of the server %s:\n%s", s.base, s.log)
	}
}

// kill ends the server as a crash would.
func (s *liveServer) kill() {
	s.killed = true
	s.cmd.Process.Kill()
	<-s.exited
}

// terminate tells the server to stop and returns its exit code.
func (s *liveServer) terminate() int {
	s.t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(enough):
		s.t.Fatalf("the server did not stop in time")
	}
	return s.code
}

// reply is what an operation answered.
type reply struct {
	status int
	body   []byte
}

// try does one operation.
func (s *liveServer) try(method, path string, in any) (reply, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return reply{}, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, s.base+apiPrefix+path, body)
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(s.token, liveKey))
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, text}, err
}

// do does one operation, wants its status, and decodes its answer into out (nil: nobody asks).
func (s *liveServer) do(method, path string, in any, status int, out any) {
	s.t.Helper()
	r, err := s.try(method, path, in)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	r.want(s.t, method+" "+path, status, out)
}

func (r reply) want(t testing.TB, what string, status int, out any) {
	t.Helper()
	if r.status != status {
		t.Fatalf("%s answered %d, want %d: %s", what, r.status, status, r.body)
	}
	if out != nil {
		if err := json.Unmarshal(r.body, out); err != nil {
			t.Fatalf("%s: %v: %s", what, err, r.body)
		}
	}
}

// refused wants an operation refused with a code, and returns the problem.
func (s *liveServer) refused(method, path string, in any, status int, code string) problemView {
	s.t.Helper()
	var p problemView
	s.do(method, path, in, status, &p)
	if p.Code != code || p.Detail == "" {
		s.t.Fatalf("%s %s was refused with %q (%s), want %q", method, path, p.Code, p.Detail, code)
	}
	return p
}

// profile makes a profile and returns its id.
func (s *liveServer) profile(members map[string]any) string {
	s.t.Helper()
	in := map[string]any{"name": s.t.Name()}
	for k, v := range members {
		in[k] = v
	}
	var p profileView
	s.do("POST", "/profiles", in, 201, &p)
	return p.ID
}

// addProxy saves the way to the world (or one at another port with the same password) and returns its id.
func (s *liveServer) addProxy(members map[string]any) string {
	s.t.Helper()
	in := map[string]any{"type": "socks5", "host": "127.0.0.1", "port": s.proxy.Port(), "username": s.proxy.User,
		"password": s.proxy.Password}
	for k, v := range members {
		in[k] = v
	}
	var p struct{ ID string }
	s.do("POST", "/proxies", in, 201, &p)
	return p.ID
}

func (s *liveServer) start(id string, body any) (r runView) {
	s.t.Helper()
	s.do("POST", "/profiles/"+id+"/start", body, 200, &r)
	return r
}

func (s *liveServer) stop(id string) (v stopView) {
	s.t.Helper()
	s.do("POST", "/profiles/"+id+"/stop", nil, 200, &v)
	return v
}

func (s *liveServer) get(id string) (p profileView) {
	s.t.Helper()
	s.do("GET", "/profiles/"+id, nil, 200, &p)
	return p
}

// eventView is something that the server told.
type eventView struct {
	Type string
	At   time.Time
	Data struct {
		ID, RunID, Status, Reason string
		From, To, Code, DueAt     string
		EndsAt                    time.Time
	}
	seen time.Time
}

// listen follows the server's events, from now on, until the test ends.
func (s *liveServer) listen() *eventStream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", s.base+apiPrefix+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	in := bufio.NewScanner(res.Body)
	if !in.Scan() || in.Text() != ": hello" {
		s.t.Fatalf("events begin with %q", in.Text())
	}
	e := &eventStream{t: s.t, ch: make(chan eventView, 1000)}
	go func() {
		defer close(e.ch)
		for in.Scan() {
			text, ok := strings.CutPrefix(in.Text(), "data: ")
			if !ok {
				continue
			}
			ev := eventView{seen: time.Now()}
			if json.Unmarshal([]byte(text), &ev) == nil {
				e.ch <- ev
			}
		}
	}()
	s.t.Cleanup(func() { cancel(); res.Body.Close() })
	return e
}

type eventStream struct {
	t  testing.TB
	ch chan eventView
}

// await returns the next event of a type (and, when it is not empty, of a status) that is about the profile.
func (e *eventStream) await(kind, status, id string) eventView {
	e.t.Helper()
	late := time.After(enough)
	for {
		select {
		case ev, ok := <-e.ch:
			if !ok {
				e.t.Fatalf("the events ended before %s %s", kind, status)
			}
			if ev.Type == kind && ev.Data.ID == id && (status == "" || ev.Data.Status == status) {
				return ev
			}
		case <-late:
			e.t.Fatalf("no event %s %s", kind, status)
		}
	}
}

// eventually polls where there is no event to wait for.
func eventually(t testing.TB, what string, within time.Duration, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(within); ; <-tick.C {
		if ok() {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// script writes a program for /bin/sh that takes a browser's place. It tells a version, as every browser does.
func (g *testbed) script(name, text string) string {
	g.t.Helper()
	needIsolation(g.t)
	path := filepath.Join(g.dir, name)
	text = "#!/bin/sh\n[ \"$1\" = --version ] && { echo Chromium 156.0.0.1; exit 0; }\n" + text + "\n"
	testnet.WriteProgram(g.t, path, text)
	return path
}

// exitOf runs a command to its end and returns its exit code and what it said.
func exitOf(t testing.TB, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// noFiles wants no sockets, reports and temporary folders of runs.
func (g *testbed) noFiles() {
	g.t.Helper()
	for _, pattern := range []string{filepath.Join(g.data, "run", "*"), filepath.Join(g.dir, "t", "warren-*")} {
		left, _ := filepath.Glob(pattern)
		if len(left) > 0 {
			g.t.Errorf("left over: %v", left)
		}
	}
}

// shortTemp is a folder for temporary files whose path leaves room for a socket's.
func shortTemp() string {
	if t := os.TempDir(); len(t) < 40 || runtime.GOOS == "windows" {
		return t
	}
	return "/tmp"
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
