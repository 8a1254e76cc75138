package tests

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

// Addresses lead back through a reverse proxy.

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
	s := newTestbed(t).serve(f.flags()...)
	f.lead(t, s.base)
	id := s.profile(nil)
	roots := f.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	through := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
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
	for address, begins := range map[string]string{run.CdpURL: f.base + "/cdp/", run.WsEndpoint: wss + "/cdp/",
		run.LiveURL:  f.base + "/live#",
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
		for origin, want := range map[string]int{"": 101, f.URL: 101, "http://" + f.host(): 403, s.base: 403, "https://evil.example": 403,
			"null": 403} {
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
