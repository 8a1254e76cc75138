package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/nodes"
	"warren/pool"
	"warren/proxy"
	"warren/runs"
	"warren/schedules"
	"warren/shim"
	"warren/store"
	"warren/testnet"
	"warren/web"
	"warren/webhooks"
)

// Holds what the tests share: the API on a real listener and SQLite file, and a client. The client checks each answer against the
// OpenAPI document and the rules of all answers.

// testAPI is a server under test as the holder of one key sees it.
type testAPI struct {
	*testServer
	key string // sent in Authorization; "" sends none
}

type testServer struct {
	setup   setup
	srv     *API
	store   *store.Store
	base    string // http://127.0.0.1:port
	dir     string // the data folder
	log     *testnet.Buffer
	doc     *apiDocument
	client  *http.Client
	stop    func() error // ends the server and returns the error of serve; may be called twice
	answers *testnet.Buffer
}

// testAdminKey is WARREN_API_KEY of most servers under test.
const testAdminKey = "a-key-of-the-tests-own-making-0123456789"

// setup configures the product below the API.
type setup struct {
	Listen, Data, Browser, Executable string
	Database                          string            // of PostgreSQL; empty: testnet.DatabaseOf
	NodeName                          string            // the server's name among those of Database; empty: it is the only one
	Labels                            map[string]string // of the server
	Owner                             string            // the id that profiles get whose data it has
	Browsers                          []string
	BrowserMirror                     string
	CheckURL, CheckURL6               []string
	CheckUDPURL                       string
	CheckTimeout                      time.Duration
	CheckAtOnce                       int
	CheckEvery                        []string
	RotateEvery, RotateTimeout        time.Duration
	MaxQueue                          int
	ClosedPrivate                     bool // private networks are closed to pages and proxies
	AllowHost, BehindProxy            []string
	APIKey                            string
	LogLevel                          slog.Level
	Node                              *nodes.Node // nil: a server with a database of its own
	TLS                               *tls.Config
}

// testSetup returns a server on a free port with a new data folder. The path is short, because sockets in it may have 103 bytes. The
// browser only prints a version; these tests start none.
func testSetup(t testing.TB) *setup {
	t.Helper()
	data, err := os.MkdirTemp(testnet.FastFolder(), "warren-api-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	dir := t.TempDir()
	browser := testnet.FakeBrowser(t, "Chromium 156.0.8078.79", dir, "chromium")
	return &setup{Listen: "127.0.0.1:0", Data: filepath.Join(data, "data"), Browser: browser, Executable: filepath.Join(dir, "no-shim"),
		CheckTimeout: 10 * time.Second, RotateEvery: time.Hour, RotateTimeout: 10 * time.Second, MaxQueue: 1000, APIKey: testAdminKey,
		BrowserMirror: "http://127.0.0.1:1", // nothing answers there
		CheckURL:      []string{"http://" + testnet.LocalSite + "/ip"}}
}

// newAPI serves until the test ends, with the admin's key.
func newAPI(t testing.TB, change ...func(*setup)) *testAPI {
	t.Helper()
	c := testSetup(t)
	for _, fn := range change {
		fn(c)
	}
	return serveAPI(t, c)
}

// metricsForTests stands in for the metrics, which have tests of their own.
func metricsForTests(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	io.WriteString(w, "warren_runs 1\n") //nolint:errcheck // the test reads it
}

// emptyDatabase makes the files of a database that has no rows.
var emptyDatabase = testnet.Template(func(dir string) error {
	st, err := store.Open(context.Background(), dir, store.Options{})
	if err != nil {
		return err
	}
	return st.Close()
})

// serveAPI runs the product below the API as `warren serve` does, and the API on it.
func serveAPI(t testing.TB, c *setup) *testAPI {
	t.Helper()
	a := &testServer{setup: *c, dir: c.Data, log: new(testnet.Buffer), answers: new(testnet.Buffer)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v\n%s", err, a.log)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	for _, sub := range []string{"profiles", "run"} {
		must(os.MkdirAll(filepath.Join(c.Data, sub), 0o700))
	}
	log := slog.New(slog.NewJSONHandler(a.log, &slog.HandlerOptions{Level: c.LogLevel}))
	database := cmp.Or(c.Database, testnet.DatabaseOf(t, c.Data))
	if _, err := os.Stat(filepath.Join(c.Data, store.FileName)); err != nil && database == "" {
		emptyDatabase(t, c.Data)
	}
	st, err := store.Open(ctx, c.Data, store.Options{Logger: log, Database: database})
	must(err)
	a.store = st
	listener, err := net.Listen("tcp", c.Listen)
	must(err)
	own := pool.Own{Ports: []string{strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}}
	ev, err := events.Open(ctx, st.Bus(), log)
	must(err)
	checker := &proxy.Checker{URLs: c.CheckURL, URLs6: c.CheckURL6, UDPURL: c.CheckUDPURL, Timeout: c.CheckTimeout,
		Policy: proxy.Policy{AllowPrivate: !c.ClosedPrivate, DebugPorts: shim.DebugPorts(filepath.Join(c.Data, "run"))}}
	every := pool.ParseEvery(c.CheckEvery, func(format string, v ...any) { t.Fatalf(format, v...) })
	px := pool.New(ctx, pool.Config{AtOnce: c.CheckAtOnce, Every: every, RotateEvery: c.RotateEvery, RotateTimeout: c.RotateTimeout,
		Own: own}, log, st, ev, checker)
	cfg := runs.Config{Data: c.Data, Executable: c.Executable, Browser: c.Browser, Browsers: c.Browsers,
		BrowserMirror: c.BrowserMirror, Headless: "always",
		AllowPrivate: !c.ClosedPrivate, MaxStarting: runtime.NumCPU(), MaxQueue: c.MaxQueue, QueueTimeout: enough, StartTimeout: enough,
		TrashDays: 30, FilesQuota: 5 << 30, Own: own}
	if c.APIKey != "" {
		cfg.EnvironmentKey = EnvironmentMark(c.APIKey)
	}
	node, err := c.node(ctx, log, st, listener.Addr())
	must(err)
	if cfg.Node = cmp.Or(c.Owner, node.Owner()); node.Owner() != "" {
		cfg.Packages = node
	}
	rs, err := runs.New(ctx, cfg, log, st, ev, px)
	must(err)
	node.Attach(rs)
	site, err := web.New()
	must(err)
	a.srv = New(Deps{Config: c.config(listener.Addr()), Log: log, Store: st, Pool: px, Runs: rs, Events: ev, Nodes: node, Site: site,
		Schedules: schedules.New(schedules.Config{Node: node.Owner(), Nodes: node}, log, st, ev, px, rs),
		Webhooks:  sender(t, checker.Policy, own, log, st, ev),
		Metrics:   http.HandlerFunc(metricsForTests)})
	a.base = a.srv.Base()
	if _, err := rs.Browser(ctx); err != nil {
		t.Logf("no browser: %v", err)
	}
	must(rs.Adopt(ctx))
	must(a.srv.Prepare(ctx))
	must(rs.RecoverDeletions(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { a.srv.Serve(listener) }) //nolint:errcheck // it ends with the server
	goAll(ctx, &wg, a.srv.FollowKeys, a.srv.FollowChanges, px.KeepChecking, px.FollowOthers, rs.FollowExits, a.srv.schedules.Keep,
		a.srv.webhooks.Keep)
	a.stop = sync.OnceValue(func() error {
		defer st.Close()
		defer node.Leave()
		return stopAll(a.srv, rs, ev, &wg, end)
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.client = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := a.stop(); err != nil {
			t.Errorf("the stop: %v", err)
		}
	})
	a.doc = loadDocument(t, a.srv.openapi)
	return &testAPI{a, cmp.Or(c.APIKey, a.firstKey(t))}
}

// firstKey makes the key of an empty data folder; "": there is one.
func (a *testServer) firstKey(t testing.TB) string {
	t.Helper()
	key, err := a.srv.FirstKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// stopAll stops the product below the API as `warren serve` does.
func stopAll(srv *API, rs *runs.Manager, ev *events.Log, background *sync.WaitGroup, end context.CancelFunc) error {
	stopping, cancel := context.WithTimeout(context.Background(), runs.StopTime)
	defer cancel()
	rs.Shutdown(stopping)
	end()
	rs.Wait()
	ev.Close()
	answering, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := srv.Shutdown(answering)
	background.Wait()
	return err
}

// sender makes a sender of webhooks.
func sender(t testing.TB, policy proxy.Policy, own pool.Own, log *slog.Logger, st *store.Store, ev *events.Log) *webhooks.Sender {
	t.Helper()
	s, err := webhooks.New(t.Context(), webhooks.Config{Policy: policy, Own: own}, log, st, ev)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goAll runs functions beside the caller until ctx ends.
func goAll(ctx context.Context, wg *sync.WaitGroup, all ...func(context.Context)) {
	for _, fn := range all {
		wg.Go(func() { fn(ctx) })
	}
}

// config returns the configuration of the API at an address.
func (c *setup) config(address net.Addr) Config {
	var behind []netip.Prefix
	for _, p := range c.BehindProxy {
		if !strings.Contains(p, "/") {
			p += "/32"
		}
		behind = append(behind, netip.MustParsePrefix(p))
	}
	version := map[string]string{"version": "dev", "commit": "unknown", "go": runtime.Version()}
	return Config{Version: version, Data: c.Data, Listen: c.Listen, Address: address, AllowHost: c.AllowHost, BehindProxy: behind,
		Key: c.APIKey, AllowPrivate: !c.ClosedPrivate, TLS: c.TLS}
}

// loseBrowser removes the browser. back restores it.
func (a *testServer) loseBrowser(t testing.TB) (back func()) {
	t.Helper()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(a.setup.Browser, a.setup.Browser+".gone")
	return func() { move(a.setup.Browser+".gone", a.setup.Browser) }
}

// needIsolation skips tests that start something in place of a browser on machines where no process can be isolated.
func needIsolation(t testing.TB) {
	t.Helper()
	if missing := shim.CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
}

// enough is the time limit for what is immediate on an idle machine.
const enough = time.Minute

// as returns the same server with another key.
func (a *testAPI) as(key string) *testAPI { return &testAPI{a.testServer, key} }

// briefKey makes a key that expires after life, and returns it with that moment. Where the key would be expired before it is made, as on a
// busy machine, its life is longer.
func (a *testAPI) briefKey(t testing.TB, life time.Duration, scopes string, workspaces ...string) (string, time.Time) {
	t.Helper()
	in := map[string]any{"name": "brief", "scopes": strings.Split(scopes, ",")}
	if len(workspaces) > 0 {
		in["workspaces"] = workspaces
	}
	for ; ; life *= 2 {
		until := time.Now().Add(life).Truncate(time.Millisecond) // as exactly as it is kept
		in["expiresAt"] = until.UTC().Format(time.RFC3339Nano)
		r := a.do(t, "POST", "/keys", in)
		if r.status != 422 || life > enough {
			return r.want(t, 201).text("key"), until
		}
	}
}

// newKey creates a key that sees the workspaces (none: all), and returns it with its id.
func (a *testAPI) newKey(t testing.TB, scopes string, workspaces ...string) (key, id string) {
	t.Helper()
	in := map[string]any{"name": "test", "scopes": strings.Split(scopes, ",")}
	if len(workspaces) > 0 {
		in["workspaces"] = workspaces
	}
	r := a.do(t, "POST", "/keys", in).want(t, 201)
	return r.text("key"), r.text("id")
}

// request returns a request to the API. path is below /api/v1, or from the root if it starts with "//". A body that is no string or
// []byte is sent as JSON.
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
	address := a.base + Prefix + path
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

// answer is the answer to a request.
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

// want fails unless the status is the given one.
func (r *answer) want(t testing.TB, status int) *answer {
	t.Helper()
	if r.status != status {
		t.Fatalf("got %s\nwant %d", r, status)
	}
	return r
}

// refused fails unless the answer is a problem with this code.
func (r *answer) refused(t testing.TB, status int, code string) *answer {
	t.Helper()
	if r.status != status || r.text("code") != code {
		t.Fatalf("got %s\nwant %d %s", r, status, code)
	}
	return r
}

// faults returns the locations in a problem, in its order.
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
	r.speaksPlainly(t)
	return r
}

// speaksPlainly fails unless each fault's message is one that a person can read beside a field: a sentence, in no validator's words.
func (r *answer) speaksPlainly(t testing.TB) {
	t.Helper()
	list, _ := r.at("errors").([]any)
	for i := range list {
		message := r.text(fmt.Sprintf("errors.%d.message", i))
		if len(message) < 302 && !strings.HasSuffix(message, ".") || strings.HasPrefix(message, "expected ") ||
			message == "" || unicode.IsLower([]rune(message)[0]) {
			t.Errorf("%s is no sentence: %q", r.text(fmt.Sprintf("errors.%d.location", i)), message)
		}
	}
}

// at returns a member by a path such as "data.0.id", or nil.
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

// text returns a member that is a string, else an empty string.
func (r *answer) text(path string) string {
	s, _ := r.at(path).(string)
	return s
}

// has reports whether the object has the member, even as null.
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

// each returns a member of every object of a list.
func (r *answer) each(name string) (out []string) {
	list, _ := r.at("data").([]any)
	for i := range list {
		out = append(out, r.text(fmt.Sprintf("data.%d.%s", i, name)))
	}
	return out
}

// profile creates a profile and returns its id.
func (a *testAPI) profile(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"name": "p"}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/profiles", in).want(t, 201).text("id")
}

// proxy creates a proxy and returns its id.
func (a *testAPI) proxy(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"type": "socks5", "host": "proxy.example", "port": 1080}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/proxies", in).want(t, 201).text("id")
}

// template creates a template of a new name and returns its id.
func (a *testAPI) template(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"name": store.NewID()}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/templates", in).want(t, 201).text("id")
}

// schedule creates a schedule that is never due during a test, and returns its id.
func (a *testAPI) schedule(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"name": "s", "everyMs": 31536000000, "action": "snapshot", "tag": "t"}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/schedules", in).want(t, 201).text("id")
}

// webhook creates a webhook that is told nothing during a test, and returns its id.
func (a *testAPI) webhook(t testing.TB, members ...any) string {
	t.Helper()
	in := map[string]any{"url": "https://127.0.0.1:1/hook", "events": []string{"capability.*"}}
	for i := 0; i+1 < len(members); i += 2 {
		in[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/webhooks", in).want(t, 201).text("id")
}

// raw sends bytes on a connection of their own, and returns everything that the server answers.
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

// hostPort returns the server's own host:port.
func (a *testServer) hostPort() string { return strings.TrimPrefix(a.base, "http://") }

// shownTime is the API's format of times.
const shownTime = "2006-01-02T15:04:05.000Z"
