package main

import (
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file proves the ways in, to the live view and to CDP, without a browser behind them: what stands in a run's place tells what came to it.

// fakeRun answers on a run's socket, and says what came.
type fakeRun struct {
	profileID string
	secret    string       // its first capability
	kept      atomic.Int64 // how many capabilities it was told to keep
	refuse    atomic.Bool  // whether it refuses to

	mu   sync.Mutex
	came []*http.Request
}

// newFakeRun serves, and has one profile that runs.
func newFakeRun(t testing.TB, change ...func(*serveConfig)) (*testAPI, *fakeRun) {
	t.Helper()
	a := newAPI(t, change...)
	f := &fakeRun{profileID: a.profile(t), secret: newCapability()}
	r := newRun(f.profileID, "default", "running")
	r.id = store.NewID()
	r.name = runName(r.id)
	l, err := net.Listen("unix", filepath.Join(a.dir, "run", r.name+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: f}
	go h.Serve(l)
	t.Cleanup(func() { h.Close() })
	close(r.ready)
	r.answer = &startJSON{known: true}
	r.answer.RunJSON = RunJSON{ID: f.profileID, ProfileID: f.profileID, WorkspaceID: "default", RunID: r.id, Status: "running", StartedAt: time.Now().UTC().Truncate(time.Millisecond),
		Browser: browserJSON{Match: "exact"}, Effective: effectiveJSON{Locale: []string{}, Geolocation: []byte("null")},
		Isolation: isolationJSON{Network: "loopback", Files: "guard"}, Pending: []string{}, Warnings: []warningJSON{}}
	r.client = shim.Hold(filepath.Join(a.dir, "run"), r.name, filepath.Join(a.dir, "profiles", f.profileID))
	if _, _, err := a.srv.runs.claim(r); err != nil {
		t.Fatal(err)
	}
	admit(t, a.srv, r, f.secret)
	t.Cleanup(func() {
		r.client.Release()
		a.srv.runs.leave(r)
	})
	return a, f
}

// ServeHTTP is the run's side: sockets are open until their other side closes them.
func (f *fakeRun) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/watch":
		<-r.Context().Done()
		return
	case r.URL.Path == "/capabilities" && f.refuse.Load():
		http.Error(w, "not now", http.StatusBadGateway)
		return
	case r.URL.Path == "/capabilities":
		var all []shim.Capability
		if json.UnmarshalRead(r.Body, &all) == nil {
			f.kept.Store(int64(len(all)))
		}
		io.WriteString(w, "{}")
		return
	}
	f.mu.Lock()
	f.came = append(f.came, r.Clone(r.Context()))
	f.mu.Unlock()
	if r.Header.Get("Upgrade") == "" {
		w.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(w, "the run")
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{"warren.live", "warren.cdp"}})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.Read(r.Context())
}

// last is what came last.
func (f *fakeRun) last() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.came) == 0 {
		return &http.Request{Header: http.Header{}}
	}
	return f.came[len(f.came)-1]
}

func (f *fakeRun) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.came)
}

// open connects a socket; the status is 101 when that went well.
func (a *testAPI) open(t testing.TB, path string, header http.Header) (*websocket.Conn, *http.Response) {
	t.Helper()
	ws, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(a.base, "http")+path, &websocket.DialOptions{HTTPHeader: header})
	if res == nil {
		t.Fatalf("%s: %v", path, err)
	}
	if ws != nil {
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, res
}

// A viewer who may only watch is one to the run, whatever it sends; others are when they ask to be.
func TestReadonlyStaysReadonly(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	path := "/profiles/" + run.profileID + "/capabilities"
	secretOf := func(body string) string {
		_, secret, _ := strings.Cut(a.do(t, "POST", path, body).want(t, 201).text("liveUrl"), "#")
		return secret
	}
	watch, work := secretOf(`{"readonly":true}`), secretOf(`{}`)
	bearer := http.Header{"Authorization": {"Bearer " + a.key}}
	api := apiPrefix + "/profiles/" + run.profileID + "/live"
	lift := []http.Header{{}, {"X-Warren-Readonly": {"0"}}, {"X-Warren-Readonly": {""}}, {"X-Warren-Readonly": {"", ""}}, {"x-warren-readonly": {"0"}},
		{"Connection": {"X-Warren-Readonly, Upgrade"}}, {"X-Warren-Readonly": {"false"}, "Connection": {"X-Warren-Readonly"}}, {"Cookie": {"readonly=0"}}}
	for _, c := range []struct {
		path     string
		header   http.Header
		readonly bool
	}{
		{"/live/" + watch, nil, true}, {"/live/" + watch + "?readonly=0", nil, true}, {"/live/" + watch + "?readonly=false&readonly=0", nil, true},
		{"/live/" + work, nil, false}, {"/live/" + run.secret, nil, false}, {"/live/" + work + "?readonly=1", nil, true}, {"/live/" + work + "?readonly=0&readonly=1", nil, true},
		{"/live/" + run.secret + "?readonly", nil, true}, {api, bearer, false}, {api + "?readonly=1", bearer, true}, {api + "?readonly=yes", bearer, true}, {api + "?readonly=0", bearer, false},
	} {
		for _, h := range lift {
			header := maps.Clone(h)
			maps.Copy(header, c.header)
			before := run.count()
			if _, res := a.open(t, c.path, header); res.StatusCode != 101 {
				t.Errorf("%s: %d", c.path, res.StatusCode)
			}
			got := run.last()
			if values := got.Header["X-Warren-Readonly"]; run.count() != before+1 || slices.Equal(values, []string{"1"}) != c.readonly || !c.readonly && values != nil {
				t.Errorf("%s with %v: the run was told readonly %q, want %v", c.path, h, values, c.readonly)
			}
			if got.URL.Path != "/live/" || got.Header.Get("Authorization")+got.Header.Get("Cookie") != "" {
				t.Errorf("%s: the run got %s %v", c.path, got.URL.Path, got.Header)
			}
		}
	}
	// What lies below goes there too, and nothing else does.
	for path, want := range map[string]string{"/live/" + watch + "/downloads/7": "/live/downloads/7", api + "/downloads/7": "/live/downloads/7"} {
		req := a.request(t, "GET", "/"+path, nil)
		if r := a.send(t, req); r.status != 200 || run.last().URL.Path != want || run.last().Header.Get("Authorization") != "" {
			t.Errorf("%s: %s, and the run got %s %v", path, r, run.last().URL.Path, run.last().Header)
		}
	}
	before := run.count()
	for path, want := range map[string]int{"/live/" + watch + "/../../state": 404, "/live/" + work + "/..%2f..%2fstate": 404, "/live/" + work + "//state": 404, "/live//" + work: 404, "/live/" + work + "/": 404,
		"/live/": 404, "/live/x": 404, "/cdp/" + watch: 404, "/cdp/" + watch + "/json/version": 404, "/cdp/" + work + "/../../state": 404, api + "/../../../state": 404} {
		req := a.request(t, "GET", "/"+path, nil)
		if r := a.send(t, req); r.status != want {
			t.Errorf("%s: %s, want %d", path, r, want)
		}
	}
	a.do(t, "POST", "//live/"+work, nil).want(t, 404)
	a.do(t, "POST", "/profiles/"+run.profileID+"/live", nil).refused(t, 405, "method_not_allowed")
	if n := run.count() - before; n != 0 {
		t.Errorf("%d of them came to the run", n)
	}
}

// Who opens a socket from which page with what: {every way in} × {every Origin} × {what opens it, and what does not}. No socket is opened that
// should not be, and the page is looked at before anything else is.
func TestSocketsByOrigin(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	other, otherRun := newFakeRun(t)
	path := "/profiles/" + run.profileID + "/capabilities"
	made := a.do(t, "POST", path, nil).want(t, 201)
	dead := strings.TrimPrefix(made.text("cdpUrl"), a.base+"/cdp/")
	a.do(t, "DELETE", path+"/"+made.text("id"), nil).want(t, 204)
	revoked, id := a.newKey(t, "run")
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	reader, _ := a.newKey(t, "read")
	_, port, _ := strings.Cut(a.hostPort(), ":")
	origins := map[string]bool{"": true, a.base: true, strings.ToUpper(a.base): true, "http://localhost:" + port: true,
		"http://evil.test": false, "HTTP://EVIL.TEST": false, "http://evil.test:" + port: false, "null": false, "NULL": false, "chrome-extension://abcdefghijklmnop": false,
		"https" + strings.TrimPrefix(a.base, "http"): false, a.base + ".evil.test": false, other.base: false, "http://127.0.0.1": false}
	byKey := map[string]int{a.key: 101, "": 401, "wrong-key-of-0123456789abcdef": 401, revoked: 401, reader: 403}
	byCapability := map[string]int{run.secret: 101, newCapability(): 404, dead: 404, otherRun.secret: 404, strings.ToLower(run.secret) + "x": 404}
	n, wrong := 0, 0
	try := func(path, host, origin, key string, want int) {
		t.Helper()
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		if key != "" {
			header.Set("Authorization", "Bearer "+key)
		}
		ws, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(a.base, "http")+path, &websocket.DialOptions{HTTPHeader: header, Host: host})
		if res == nil {
			t.Fatal(err)
		}
		if ws != nil {
			ws.CloseNow()
		}
		if n++; res.StatusCode != want {
			t.Errorf("%s at %q from %q: %d, want %d", path, host, origin, res.StatusCode, want)
			if res.StatusCode == 101 {
				wrong++
			}
		}
	}
	before := run.count()
	for origin, ours := range origins {
		a.srv.guesses.forget() // it tries more wrong keys than one address may
		from := func(want int) int {
			if !ours {
				return 403
			}
			return want
		}
		for secret, want := range byCapability {
			for _, way := range []string{"/cdp/" + secret, "/cdp/" + secret + "/devtools/page/x", "/live/" + secret} {
				try(way, "", origin, "", from(want))
				try(way, "evil.test:"+port, origin, "", 421) // a name that was made to lead here
			}
		}
		for key, want := range byKey {
			for _, way := range []string{"/cdp", "/cdp/devtools/browser/x", "/live"} {
				try(apiPrefix+"/profiles/"+run.profileID+way, "", origin, key, from(want))
				try(apiPrefix+"/profiles/"+run.profileID+way, "evil.test:"+port, origin, key, 421)
			}
		}
	}
	if came := run.count() - before; came != 4*6 || wrong > 0 { // four Origins, six ways in
		t.Errorf("%d of %d came to the run, want 24; %d upgrades were wrong", came, n, wrong)
	}
	t.Logf("%d attempts", n)
}
