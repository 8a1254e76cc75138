package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
)

// This file is what the tests of the API share: a server as `serve` runs it, on a real listener and a real SQLite file,
// and a client that checks each answer against the OpenAPI document and against the rules that all answers keep.

// testAPI is a server under test, seen with one key.
type testAPI struct {
	*testServer
	key string // goes into Authorization; "" sends none
}

type testServer struct {
	srv     *server
	base    string // http://127.0.0.1:port
	dir     string // the data folder
	out     *lockedBuffer
	log     *lockedBuffer // standard error: the log, and the first key
	doc     *apiDocument
	client  *http.Client
	stop    func() error // ends the server and tells what serve returned; may be called twice
	answers *lockedBuffer
}

// lockedBuffer is a buffer that the server may write to while the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testAdminKey is WARREN_API_KEY of most servers under test.
const testAdminKey = "a-key-of-the-tests-own-making-0123456789"

// testConfig is `warren serve` on a free port with a fresh data folder. The path is short: sockets in it may have 103 bytes.
func testConfig(t testing.TB) *serveConfig {
	t.Helper()
	dir, err := os.MkdirTemp("", "warren-api-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &serveConfig{Listen: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Browser: filepath.Join(dir, "no-browser"), Headless: "always",
		CheckTimeout: 10 * time.Second, RotateEvery: time.Hour, RotateTimeout: 10 * time.Second, StartTimeout: enough, MaxQueue: 1000, QueueTimeout: enough, TrashDays: 30, AllowPrivate: "auto", APIKey: testAdminKey,
		CheckURL: []string{"http://" + demoHost + "/ip"}}
}

// newAPI serves until the test ends, and speaks as the admin.
func newAPI(t testing.TB, change ...func(*serveConfig)) *testAPI {
	t.Helper()
	cfg := testConfig(t)
	for _, c := range change {
		c(cfg)
	}
	return serveAPI(t, cfg)
}

// serveAPI runs serve with cfg. A browser is believed to be there; none is ever started by these tests.
func serveAPI(t testing.TB, cfg *serveConfig) *testAPI {
	t.Helper()
	if err := cfg.resolve(); err != nil {
		t.Fatal(err)
	}
	a := &testServer{dir: cfg.Data, out: new(lockedBuffer), log: new(lockedBuffer), answers: new(lockedBuffer)}
	ctx, cancel := context.WithCancel(context.Background())
	up, ended := make(chan struct{}), make(chan struct{})
	var result error
	go func() {
		defer close(ended)
		result = serve(ctx, cfg, &console{strings.NewReader(""), a.out, a.log}, func(s *server, base string) {
			a.srv, a.base = s, base
			s.runs.exe = filepath.Join(cfg.Data, "no-shim")
			s.runs.found.Store(&foundBrowser{looked: time.Now().Add(24 * time.Hour), Installed: shim.Installed{
				Path: "/opt/chromium/chromium", Product: "Chromium", Version: "156.0.8078.79", Major: 156}})
			close(up)
		})
	}()
	a.stop = func() error {
		cancel()
		<-ended
		return result
	}
	select {
	case <-up:
	case <-ended:
		t.Fatalf("serve ended: %v\n%s", result, a.log)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	a.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := a.stop(); err != nil {
			t.Errorf("serve returned %v", err)
		}
	})
	a.doc = loadDocument(t, a.srv.openapi)
	return &testAPI{a, cfg.APIKey}
}

// as is the same server seen with another key.
func (a *testAPI) as(key string) *testAPI { return &testAPI{a.testServer, key} }

// newKey makes a key that sees the workspaces (none: all) and returns it with its id.
func (a *testAPI) newKey(t testing.TB, scopes string, workspaces ...string) (key, id string) {
	t.Helper()
	in := map[string]any{"name": "test", "scopes": strings.Split(scopes, ",")}
	if len(workspaces) > 0 {
		in["workspaces"] = workspaces
	}
	r := a.do(t, "POST", "/keys", in).want(t, 201)
	return r.text("key"), r.text("id")
}

// request makes a request to the API: path is below /api/v1, or from the root when it starts with "//".
// A body that is no string or []byte is sent as JSON.
func (a *testAPI) request(t testing.TB, method, path string, body any) *http.Request {
	t.Helper()
	var r io.Reader
	var plain []byte
	switch b := body.(type) {
	case nil:
	case string:
		plain = []byte(b)
	case []byte:
		plain = b
	default:
		var err error
		if plain, err = json.Marshal(b, json.Deterministic(true)); err != nil {
			t.Fatal(err)
		}
	}
	if body != nil {
		r = bytes.NewReader(plain)
	}
	address := a.base + apiPrefix + path
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		address = a.base + "/" + rest
	}
	req, err := http.NewRequest(method, address, r)
	if err != nil {
		t.Fatal(err)
	}
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// do sends one request through the real handler and checks the answer (see check).
func (a *testAPI) do(t testing.TB, method, path string, body any) *answer {
	t.Helper()
	return a.send(t, a.request(t, method, path, body))
}

// send sends req and checks the answer.
func (a *testAPI) send(t testing.TB, req *http.Request) *answer {
	t.Helper()
	var sent []byte
	if req.GetBody != nil {
		if b, err := req.GetBody(); err == nil {
			sent, _ = io.ReadAll(b)
		}
	}
	res, err := a.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	r := &answer{req: req, sent: sent, status: res.StatusCode, header: res.Header, body: body}
	fmt.Fprintf(a.answers, "%v\n%s\n", res.Header, body)
	a.check(t, r)
	return r
}

// answer is what came back.
type answer struct {
	req    *http.Request
	sent   []byte
	status int
	header http.Header
	body   []byte

	decoded any
}

func (r *answer) String() string {
	return fmt.Sprintf("%s %s -> %d %.2000s", r.req.Method, r.req.URL, r.status, r.body)
}

// want fails unless the status is the one.
func (r *answer) want(t testing.TB, status int) *answer {
	t.Helper()
	if r.status != status {
		t.Fatalf("got %s\nwant %d", r, status)
	}
	return r
}

// refused fails unless the answer is the problem with this code.
func (r *answer) refused(t testing.TB, status int, code string) *answer {
	t.Helper()
	if r.status != status || r.text("code") != code {
		t.Fatalf("got %s\nwant %d %s", r, status, code)
	}
	return r
}

// faults are the locations that a problem names, in its order.
func (r *answer) faults() (out []string) {
	list, _ := r.at("errors").([]any)
	for i := range list {
		out = append(out, r.text(fmt.Sprintf("errors.%d.location", i)))
	}
	return out
}

// invalid fails unless the answer is 422 validation_failed with exactly these locations.
func (r *answer) invalid(t testing.TB, locations ...string) *answer {
	t.Helper()
	r.refused(t, 422, "validation_failed")
	slices.Sort(locations)
	if got := r.faults(); !slices.Equal(got, locations) {
		t.Fatalf("got faults %q\nwant %q\n%s", got, locations, r)
	}
	return r
}

// at finds a member: "data.0.id". Absent members are nil.
func (r *answer) at(path string) any {
	if r.decoded == nil {
		if err := json.Unmarshal(r.body, &r.decoded); err != nil {
			return nil
		}
	}
	v := r.decoded
	if path == "" {
		return v
	}
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			var i int
			if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// text is a member that is a string, else "".
func (r *answer) text(path string) string {
	s, _ := r.at(path).(string)
	return s
}

// has says whether the object has the member, be it null.
func (r *answer) has(name string) bool {
	m, _ := r.at("").(map[string]any)
	_, ok := m[name]
	return ok
}

// equal fails unless the member is want, in JSON.
func (r *answer) equal(t testing.TB, path string, want any) {
	t.Helper()
	got, err := json.Marshal(r.at(path), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, w) {
		t.Errorf("%s: %s is %s, want %s", r.req.Method+" "+r.req.URL.Path, path, got, w)
	}
}

// each collects a member of every object of a list.
func (r *answer) each(name string) (out []string) {
	list, _ := r.at("data").([]any)
	for i := range list {
		out = append(out, r.text(fmt.Sprintf("data.%d.%s", i, name)))
	}
	return out
}

// profile makes a profile and returns its id.
func (a *testAPI) profile(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"name": "p"}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/profiles", in).want(t, 201).text("id")
}

// proxy makes a proxy and returns its id.
func (a *testAPI) proxy(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"type": "socks5", "host": "proxy.example", "port": 1080}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/proxies", in).want(t, 201).text("id")
}

// raw sends bytes as they are on a connection of their own and returns what comes back until its end.
func (a *testAPI) raw(t testing.TB, request string) (status string, rest string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(a.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	status, rest, _ = strings.Cut(string(b), "\r\n")
	return status, rest
}

// hostPort is the server's own host:port.
func (a *testServer) hostPort() string { return strings.TrimPrefix(a.base, "http://") }

// shownTime is how the API shows times.
const shownTime = "2006-01-02T15:04:05.000Z"
