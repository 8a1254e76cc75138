package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// This file proves addresses behind a reverse proxy.

// TestForwarded: what X-Forwarded headers say counts from --behind-proxy alone, and only what is harmless.
func TestForwarded(t *testing.T) {
	t.Parallel()
	plain, plainRun := newFakeRun(t)
	behind, behindRun := newFakeRun(t, func(c *serveConfig) {
		c.BehindProxy, c.AllowHost = []string{"127.0.0.1"}, []string{"warren.example", "warren.example:8443"}
	})
	elsewhere, elsewhereRun := newFakeRun(t, func(c *serveConfig) {
		c.BehindProxy, c.AllowHost = []string{"10.0.0.0/8"}, []string{"warren.example"}
	})
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add("X-Forwarded-"+pairs[i], pairs[i+1])
		}
		return h
	}
	all := header("Proto", "https", "Host", "warren.example", "Prefix", "/team/warren")
	own := func(a *testAPI) string { return a.base }
	for _, c := range []struct {
		a      *testAPI
		run    *fakeRun
		header http.Header
		want   string // "": 421
	}{
		{plain, plainRun, all, own(plain)},
		{elsewhere, elsewhereRun, all, own(elsewhere)},
		{plain, plainRun, header("Host", "evil.example"), own(plain)},
		{behind, behindRun, nil, own(behind)},
		{behind, behindRun, all, "https://warren.example/team/warren"},
		{behind, behindRun, header("Proto", "HTTPS", "Host", "Warren.Example:8443"), "https://Warren.Example:8443"},
		{behind, behindRun, header("Proto", "wss", "Host", "warren.example", "Prefix", "/a/"), "https://warren.example/a"},
		{behind, behindRun, header("Proto", "http", "Host", "warren.example", "Prefix", "/"), "http://warren.example"},
		{behind, behindRun, header("Proto", "javascript", "Host", "warren.example"), "http://warren.example"},
		{behind, behindRun, header("Prefix", "/~me/v1.2_x-y"), own(behind) + "/~me/v1.2_x-y"},
		{behind, behindRun, header("Host", "evil.example"), ""},
		{behind, behindRun, header("Host", ""), ""},
		{behind, behindRun, header("Host", "warren.example", "Host", "warren.example"), ""},
		{behind, behindRun, header("Host", "warren.example, evil.example"), ""},
		{behind, behindRun, header("Host", "warren.example/x"), ""},
		{behind, behindRun, header("Prefix", "/a", "Prefix", "/b"), own(behind)},
		{behind, behindRun, header("Prefix", "/"+strings.Repeat("a", 200)), own(behind)},
		{behind, behindRun, header("Prefix", "a/b"), own(behind)}, {behind, behindRun, header("Prefix", "//evil.example"), own(behind)},
		{behind, behindRun, header("Prefix", "/a/../b"), own(behind)}, {behind, behindRun, header("Prefix", "/./a"), own(behind)},
		{behind, behindRun, header("Prefix", "/a?b"), own(behind)}, {behind, behindRun, header("Prefix", "/a#b"), own(behind)},
		{behind, behindRun, header("Prefix", "/a%2fb"), own(behind)}, {behind, behindRun, header("Prefix", "/a b"), own(behind)},
		{behind, behindRun, header("Prefix", "/a\"><script>"), own(behind)}, {behind, behindRun, header("Prefix", "/a@evil.example"), own(behind)},
		{behind, behindRun, header("Prefix", "/a:1"), own(behind)}, {behind, behindRun, header("Prefix", `/a\b`), own(behind)},
	} {
		req := c.a.request(t, "POST", "/profiles/"+c.run.profileID+"/capabilities", nil)
		req.Header = c.header.Clone()
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("Authorization", "Bearer "+c.a.key)
		r := c.a.send(t, req)
		if c.want == "" {
			r.refused(t, 421, "host_not_allowed")
			continue
		}
		r.want(t, 201)
		ws := "ws" + strings.TrimPrefix(c.want, "http")
		for member, begins := range map[string]string{"liveUrl": c.want + "/live#", "cdpUrl": c.want + "/cdp/", "wsEndpoint": ws + "/cdp/"} {
			if !strings.HasPrefix(r.text(member), begins) {
				t.Errorf("%v: %s is %s, want it to begin with %s", c.header, member, r.text(member), begins)
			}
		}
	}
	// A page under a name of its own, which was made to lead here, gets nowhere with the header.
	req := behind.request(t, "GET", "/profiles", nil)
	req.Host = "evil.example"
	req.Header.Set("X-Forwarded-Host", "warren.example")
	behind.send(t, req).refused(t, 421, "host_not_allowed")
}

// front is a reverse proxy with TLS that has a server under a path of its own.
type front struct {
	*httptest.Server
	base   string // with the path
	target atomic.Pointer[url.URL]
}

// newFront makes one that leads nowhere yet.
func newFront(t testing.TB) *front {
	f := &front{}
	const prefix = "/team/warren"
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.Path, prefix), ""
		r.SetURL(f.target.Load())
		r.SetXForwarded()
		r.Out.Header.Set("X-Forwarded-Prefix", prefix)
	}}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	f.base = f.URL + prefix
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

// host is the front's host and port.
func (f *front) host() string { return strings.TrimPrefix(f.URL, "https://") }

// flags are what a server behind the front is started with.
func (f *front) flags() []string {
	return []string{"--behind-proxy", "127.0.0.0/8", "--allow-host", f.host()}
}

// lead sends what comes to the server.
func (f *front) lead(t testing.TB, base string) {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	f.target.Store(u)
}

// certificate writes the front's certificate into a file, for clients to trust.
func (f *front) certificate(t testing.TB, dir string) string {
	path := filepath.Join(dir, "front.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Through a reverse proxy that has the server under a path and does TLS, every address that is answered leads back through it.
func TestBehindProxyUnderPath(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	f := newFront(t)
	s := newGround(t).serve(f.flags()...)
	f.lead(t, s.base)
	id := s.profile(nil)
	through := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}}
	t.Cleanup(through.CloseIdleConnections)
	ask := func(method, address string, out any) {
		t.Helper()
		req, err := http.NewRequest(method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+liveKey)
		res, err := through.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text := readAll(t, res.Body); res.StatusCode/100 != 2 || json.Unmarshal([]byte(text), out) != nil {
			t.Fatalf("%s %s: %d %s", method, address, res.StatusCode, text)
		}
	}
	var run, plain runView
	var made madeView
	api := f.base + apiPrefix + "/profiles/" + id
	ask("POST", api+"/start", &run)
	ask("POST", api+"/capabilities", &made)
	wss := "wss" + strings.TrimPrefix(f.base, "https")
	for address, begins := range map[string]string{run.CdpURL: f.base + "/cdp/", run.WsEndpoint: wss + "/cdp/", run.LiveURL: f.base + "/live#",
		*made.CdpURL: f.base + "/cdp/", *made.WsEndpoint: wss + "/cdp/", made.LiveURL: f.base + "/live#"} {
		if !strings.HasPrefix(address, begins) {
			t.Errorf("%s does not begin with %s", address, begins)
		}
	}
	if plain = s.start(id, nil); !strings.HasPrefix(plain.CdpURL, s.base+"/cdp/") {
		t.Errorf("who comes directly is answered %s", plain.CdpURL)
	}
	sockets := []string{run.WsEndpoint, *made.WsEndpoint}
	for cdp, ws := range map[string]string{run.CdpURL: run.WsEndpoint, api + "/cdp": wss + apiPrefix + "/profiles/" + id + "/cdp"} {
		var version, opened struct{ WebSocketDebuggerURL string }
		var list []struct{ WebSocketDebuggerURL string }
		ask("GET", cdp+"/json/version", &version)
		ask("PUT", cdp+"/json/new", &opened)
		ask("GET", cdp+"/json/list", &list)
		found := []string{version.WebSocketDebuggerURL, opened.WebSocketDebuggerURL}
		for _, page := range list {
			found = append(found, page.WebSocketDebuggerURL)
		}
		for _, address := range found {
			if !strings.HasPrefix(address, ws+"/devtools/") {
				t.Errorf("%s is not below %s", address, ws)
			}
		}
		sockets = append(sockets, found...)
	}
	for _, address := range sockets {
		for origin, want := range map[string]int{"": 101, f.URL: 101, "http://" + f.host(): 403, s.base: 403, "https://evil.example": 403, "null": 403} {
			header := http.Header{"Authorization": {"Bearer " + liveKey}}
			if origin != "" {
				header.Set("Origin", origin)
			}
			ws, res, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{HTTPClient: through, HTTPHeader: header})
			if res == nil || res.StatusCode != want {
				t.Fatalf("%s from a page of %q: %v, want %d", address, origin, err, want)
			}
			if ws == nil {
				continue
			}
			c := &cdpClient{t: t, ws: ws}
			c.call("", "Target.getTargetInfo", nil, nil)
			ws.CloseNow()
		}
	}
}
