package api

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"warren/runs"
	"warren/shim"
	"warren/shim/shimtest"
	"warren/store"
)

// Tests access to the live view and to CDP without a browser: a fake process of a run records what reaches it.

// fakeRun is a run without a browser that the server has adopted.
type fakeRun struct {
	*shimtest.Run
	profileID string
	secret    string // of the admin's own capability
}

// newFakeRun returns a server with one running profile.
func newFakeRun(t testing.TB, change ...func(*setup)) (*testAPI, *fakeRun) {
	t.Helper()
	a := newAPI(t, change...)
	id := a.profile(t)
	secret := rand.Text()
	a, run := a.adopt(t, id, "default", secret)
	return a, &fakeRun{run, id, secret}
}

// adopt makes a profile run without a browser: it writes a run's record, and the next server adopts it. secret is the admin's
// capability.
func (a *testAPI) adopt(t testing.TB, profileID, workspace, secret string) (*testAPI, *shimtest.Run) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	started := runs.Started{Info: runs.Info{ID: profileID, ProfileID: profileID, WorkspaceID: workspace, RunID: store.NewID(),
		Status: "running", StartedAt: now,
		Browser: runs.UsedBrowser{Match: "exact"}, Effective: runs.Effective{Locale: []string{}, Geolocation: []byte("null")},
		Isolation: runs.Isolation{Network: "loopback", Files: "guard"}, Pending: []string{}, Warnings: []runs.Warning{}}}
	text, err := json.Marshal(started)
	if err != nil {
		t.Fatal(err)
	}
	at := now.UnixMilli()
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		run := store.InsertRunParams{ID: started.RunID, ProfileID: profileID, StartedAt: at, Record: string(text)}
		if a.srv.nodes.Owner() != "" {
			place := store.PlaceProfileParams{ID: profileID, NodeID: a.srv.nodes.Owner()}
			if err := store.ErrorOf(q.PlaceProfile(t.Context(), place)); err != nil {
				return err
			}
		}
		_, err := q.SetProfileStatus(t.Context(), store.SetProfileStatusParams{ID: profileID, Status: "running", LastStartedAt: &at})
		return errors.Join(err, q.InsertRun(t.Context(), run))
	}); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(secret))
	own := shim.Capability{ID: store.NewID(), Hash: hash[:], Secret: secret, Key: EnvironmentMark(a.setup.APIKey)}
	var run *shimtest.Run
	next := a.serveAgain(t, func() {
		run = shimtest.Serve(t, filepath.Join(a.dir, "run"), runs.Name(started.RunID), shim.State{RunID: started.RunID,
			ProfileID: profileID, StartedAt: now,
			Capabilities: []shim.Capability{own}})
	})
	waitFor(t, "the run is adopted", func() bool { return next.do(t, "GET", "/runs", nil).want(t, 200).at("total") != 0.0 })
	return next, run
}

// last returns the last request.
func (f *fakeRun) last() *http.Request {
	if all := f.Requests(); len(all) > 0 {
		return all[len(all)-1]
	}
	return &http.Request{Header: http.Header{}}
}

func (f *fakeRun) count() int { return len(f.Requests()) }

// open connects a socket. The status is 101 on success.
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

// A viewer with a readonly capability is readonly for the run, whatever it sends. Others are if they ask for it.
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
	api := Prefix + "/profiles/" + run.profileID + "/live"
	lift := []http.Header{{}, {"X-Warren-Readonly": {"0"}}, {"X-Warren-Readonly": {""}}, {"X-Warren-Readonly": {"", ""}},
		{"x-warren-readonly": {"0"}},
		{"Connection": {"X-Warren-Readonly, Upgrade"}}, {"X-Warren-Readonly": {"false"}, "Connection": {"X-Warren-Readonly"}},
		{"Cookie": {"readonly=0"}}}
	for _, c := range []struct {
		path     string
		header   http.Header
		readonly bool
	}{
		{"/live/" + watch, nil, true}, {"/live/" + watch + "?readonly=0", nil, true}, {"/live/" + watch + "?readonly=false&readonly=0",
			nil, true},
		{"/live/" + work, nil, false}, {"/live/" + run.secret, nil, false}, {"/live/" + work + "?readonly=1", nil, true},
		{"/live/" + work + "?readonly=0&readonly=1", nil, true},
		{"/live/" + run.secret + "?readonly", nil, true}, {api, bearer, false}, {api + "?readonly=1", bearer, true},
		{api + "?readonly=yes", bearer, true}, {api + "?readonly=0", bearer, false},
	} {
		for _, h := range lift {
			header := maps.Clone(h)
			maps.Copy(header, c.header)
			before := run.count()
			if _, res := a.open(t, c.path, header); res.StatusCode != 101 {
				t.Errorf("%s: %d", c.path, res.StatusCode)
			}
			got := run.last()
			if values := got.Header["X-Warren-Readonly"]; run.count() != before+1 || slices.Equal(values, []string{"1"}) != c.readonly ||
				!c.readonly && values != nil {
				t.Errorf("%s with %v: the run was told readonly %q, want %v", c.path, h, values, c.readonly)
			}
			if got.URL.Path != "/live/" || got.Header.Get("Authorization")+got.Header.Get("Cookie") != "" {
				t.Errorf("%s: the run got %s %v", c.path, got.URL.Path, got.Header)
			}
		}
	}
	// Paths below are passed on too, and no others.
	for path, want := range map[string]string{"/live/" + watch + "/downloads/7": "/live/downloads/7", api +
		"/downloads/7": "/live/downloads/7"} {
		req := a.request(t, "GET", "/"+path, nil)
		if r := a.send(t, req); r.status != 200 || run.last().URL.Path != want || run.last().Header.Get("Authorization") != "" {
			t.Errorf("%s: %s, and the run got %s %v", path, r, run.last().URL.Path, run.last().Header)
		}
	}
	before := run.count()
	for path, want := range map[string]int{"/live/" + watch + "/../../state": 404, "/live/" + work + "/..%2f..%2fstate": 404, "/live/" +
		work + "//state": 404, "/live//" + work: 404, "/live/" + work + "/": 404,
		"/live/": 404, "/live/x": 404, "/cdp/" + watch: 404, "/cdp/" + watch + "/json/version": 404, "/cdp/" + work + "/../../state": 404,
		api + "/../../../state": 404} {
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

// {every way in} × {every Origin} × {what opens it, and what does not}. No other socket is opened, and the Origin is checked before
// anything else.
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
		"http://evil.test": false, "HTTP://EVIL.TEST": false, "http://evil.test:" + port: false, "null": false, "NULL": false,
		"chrome-extension://abcdefghijklmnop":        false,
		"https" + strings.TrimPrefix(a.base, "http"): false, a.base + ".evil.test": false, other.base: false, "http://127.0.0.1": false}
	byKey := map[string]int{a.key: 101, "": 401, "wrong-key-of-0123456789abcdef": 401, revoked: 401, reader: 403}
	byCapability := map[string]int{run.secret: 101, rand.Text(): 404, dead: 404, otherRun.secret: 404, strings.ToLower(run.secret) +
		"x": 404}
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
		ws, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(a.base, "http")+path,
			&websocket.DialOptions{HTTPHeader: header, Host: host})
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
		a.srv.authFailures.reset() // the test sends more wrong keys than one address may
		from := func(want int) int {
			if !ours {
				return 403
			}
			return want
		}
		for secret, want := range byCapability {
			for _, way := range []string{"/cdp/" + secret, "/cdp/" + secret + "/devtools/page/x", "/live/" + secret} {
				try(way, "", origin, "", from(want))
				try(way, "evil.test:"+port, origin, "", 421) // a foreign host name that resolves to this server
			}
		}
		for key, want := range byKey {
			for _, way := range []string{"/cdp", "/cdp/devtools/browser/x", "/live"} {
				try(Prefix+"/profiles/"+run.profileID+way, "", origin, key, from(want))
				try(Prefix+"/profiles/"+run.profileID+way, "evil.test:"+port, origin, key, 421)
			}
		}
	}
	if came := run.count() - before; came != 4*6 || wrong > 0 { // four Origins, six ways in
		t.Errorf("%d of %d came to the run, want 24; %d upgrades were wrong", came, n, wrong)
	}
	t.Logf("%d attempts", n)
}

// TestPictureOfAProcessThatEnds: a run whose process does not answer has no picture. That is no fault of the server.
func TestPictureOfAProcessThatEnds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	a, _ = a.adopt(t, id, "default", rand.Text())
	for _, picture := range []string{"screenshot", "screenshot?size=small", "pdf"} {
		a.do(t, "GET", "/profiles/"+id+"/"+picture, nil).refused(t, 503, "browser_failed")
	}
}
