//go:build !windows

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// serveGateway serves a run's gateway to clients that may use files of the machine, and returns its address, "http://…".
func serveGateway(t *testing.T, b *Browser) string { t.Helper(); return serveGatewayTo(t, b, true) }

func serveGatewayTo(t *testing.T, b *Browser, files bool) string {
	t.Helper()
	gateway := b.Gateway()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Del(FilesHeader); files {
			r.Header.Set(FilesHeader, "1")
		}
		gateway.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL
}

// ask sends a request to the HTTP interface.
func ask(t *testing.T, method, url string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestGatewayHTTP(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	header := http.Header{"X-Warren-Base": {"wss://warren.example/cdp/CAP/"}}

	status, body := ask(t, "GET", url+"/json/version/", header)
	if status != 200 || !strings.Contains(
		body, `"webSocketDebuggerUrl": "wss://warren.example/cdp/CAP/devtools/browser/`+b.gateway.id+`"`) ||
		!strings.Contains(body, `"Browser": "Chrome/`) {
		t.Errorf("version: %d %s", status, body)
	}
	if status, plain := ask(t, "GET", url+"/json/version", nil); status != 200 ||
		!strings.Contains(plain, strings.Replace(url, "http", "ws", 1)+"/devtools/browser/") {
		t.Errorf("version without a base: %d %s", status, plain)
	}
	status, body = ask(t, "PUT", url+"/json/new?http://a.test/new", header)
	var made targetEntry
	if err := json.Unmarshal([]byte(body), &made); status != 200 || err != nil ||
		made.WebSocketDebuggerURL != "wss://warren.example/cdp/CAP/devtools/page/"+made.ID {
		t.Fatalf("new: %d %s", status, body)
	}
	pageAt(t, b, "/new")
	for _, path := range []string{"/json", "/json/", "/json/list", "/json/list/"} {
		status, body = ask(t, "GET", url+path, header)
		var all []targetEntry
		if err := json.Unmarshal([]byte(body), &all); status != 200 || err != nil || len(all) != 2 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if !strings.Contains(body, `"title": "/new"`) ||
		!strings.Contains(body, `bundled/inspector.html?wss=warren.example/cdp/CAP/devtools/page/`) {
		t.Errorf("list: %s", body)
	}
	status, body = ask(t, "GET", url+"/json/protocol", nil)
	var protocol struct {
		Domains []struct{ Domain string }
	}
	if err := json.Unmarshal([]byte(body), &protocol); status != 200 || err != nil || len(protocol.Domains) < 50 {
		t.Errorf("protocol: %d, %d domains, %v", status, len(protocol.Domains), err)
	}
	if status, body = ask(t, "GET", url+"/json/activate/"+made.ID, nil); status != 200 || body != "Target activated" {
		t.Errorf("activate: %d %s", status, body)
	}
	if status, body = ask(t, "GET", url+"/json/close/"+made.ID, nil); status != 200 || body != "Target is closing" {
		t.Errorf("close: %d %s", status, body)
	}
	for request, want := range map[string]int{
		"GET /json/new?http://a.test/": 405, "PUT /json/new?file:///etc/passwd": 400, "PUT /json/new?javascript:alert(1)": 400,
		"PUT /json/new?%zz":        400,
		"GET /json/close/nonsense": 404, "GET /": 426, "GET /devtools/browser/nonsense": 404, "GET /other": 404, "POST /json/version": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, body := ask(t, method, url+path, nil); status != want {
			t.Errorf("%s: %d %s, want %d", request, status, body, want)
		}
	}
}

func TestGatewayBeforeStart(t *testing.T) {
	p := newProfile(t)
	url := serveGateway(t, p.open(p.spec()))
	for _, path := range []string{"/json/version", "/json/list"} {
		if status, body := ask(t, "GET", url+path, nil); status != 503 {
			t.Errorf("%s: %d %s, want 503", path, status, body)
		}
	}
}

func TestGatewayOrigin(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	host := strings.TrimPrefix(url, "http://")
	for _, c := range []struct {
		base, origin string
		allowed      bool
	}{
		{"", "", true},
		{"", "http://" + host, true},
		{"", "HTTP://" + strings.ToUpper(host), true},
		{"", "https://" + host, false},
		{"", "http://evil.test", false},
		{"", "null", false},
		{"", "http://" + host + ".evil.test", false},
		{"", "http://" + host + "/", false},
		{"", "http://user@" + host, false},
		{"", "http://localhost", false},
		{"", "chrome-extension://abcdefghijklmnop", false},
		{"", "file://", false},
		{"wss://warren.example/cdp/CAP", "https://warren.example", true},
		{"wss://warren.example/cdp/CAP", "http://warren.example", false},
		{"wss://warren.example/cdp/CAP", "http://" + host, false},
		{"nonsense", "null", false},
		{"nonsense", "://", false},
	} {
		header := http.Header{}
		if c.base != "" {
			header.Set("X-Warren-Base", c.base)
		}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		for _, path := range []string{"/", "/devtools/browser/" + b.gateway.id} {
			socket, answer, err := websocket.Dial(t.Context(), url+path, &websocket.DialOptions{HTTPHeader: header})
			if socket != nil {
				socket.CloseNow()
			}
			if (err == nil) != c.allowed || !c.allowed && answer.StatusCode != 403 {
				t.Errorf("base %q, origin %q at %s: %v, want allowed %v", c.base, c.origin, path, err, c.allowed)
			}
		}
	}
	two := http.Header{"Origin": {"http://" + host, "http://evil.test"}}
	if status, _ := ask(t, "GET", url+"/json/version", two); status != 403 {
		t.Errorf("two origins: %d", status)
	}
}
