package web

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Opens the page in a real Chromium, with a server whose names are hostile.

// payloads are names that run a script, load something or close a tag if a page takes text for markup.
var payloads = []string{
	`<img src="/hit" onerror="fetch('/hit')">`, `<script>fetch('/hit')</script>`, `"><svg onload="fetch('/hit')">`,
	`javascript:fetch('/hit')`, `</title><script>fetch('/hit')</script>`, `<iframe srcdoc="<script>parent.fetch('/hit')</script>">`,
	`<base href="/hit/">`,
	`<style>@import "/hit";</style>`, `<link rel="stylesheet" href="/hit">`, `{{constructor.constructor("fetch('/hit')")()}}`,
	"${fetch('/hit')}",
	`<a href="javascript:fetch('/hit')">`, "\u202egnp.exe", `__proto__`,
}

// fakeAPI answers the page's requests; every text in its answers is a payload.
type fakeAPI struct {
	site *Site
	mu   sync.Mutex
	seen []string
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen = append(f.seen, r.URL.Path)
	f.mu.Unlock()
	if h, ok := f.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/enter" { // stores the key as the page does, and redirects to the address in the query
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>sessionStorage.setItem('warren.key', 'k'); location.replace(%q)</script>`, r.URL.Query().Get("to"))
		return
	}
	if r.URL.Path != "/version" && r.URL.Path != "/openapi.json" && r.Header.Get("Authorization") != "Bearer k" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/api/v1/events" {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(f.answer(r)) //nolint:errcheck // the client may be gone
}

func (f *fakeAPI) answer(r *http.Request) any {
	var profiles, proxies, workspaces []any
	for i, p := range payloads {
		workspaces = append(workspaces, map[string]any{"id": p})
		proxies = append(proxies, map[string]any{"id": fmt.Sprint("x", i), "workspaceId": p, "name": p, "type": p, "host": p, "port": 1,
			"username": p, "tags": payloads[:3], "notes": p, "status": []string{"alive", "dead", p}[i%3], "profileCount": 1,
			"lastCheck": map[string]any{"ok": i%2 == 0, "exitIp": p, "country": p, "countryName": p, "timezone": p, "latencyMs": 1,
				"checkedAt": p, "error": map[string]any{"code": p, "stage": p, "message": p}}})
		profiles = append(profiles, map[string]any{"id": fmt.Sprint("p", i), "workspaceId": p, "name": p, "os": p, "browserVersion": p,
			"tags": payloads, "notes": p, "proxyId": fmt.Sprint("x", i), "status": []string{"running", "failed", "stopped", p}[i%4],
			"trashedAt": p, "lastRun": map[string]any{"reason": p, "endedAt": p, "startedAt": p, "lines": payloads, "signal": p},
			"run": map[string]any{"startedAt": p, "pid": 1, "browser": map[string]any{"product": p, "version": p},
				"proxy":     map[string]any{"exitIp": p, "country": p},
				"effective": map[string]any{"os": p, "browserVersion": p, "timezone": p, "locale": payloads},
				"isolation": map[string]any{"network": p}}})
	}
	switch r.URL.Path {
	case "/version":
		return map[string]any{"version": payloads[0]}
	case "/openapi.json":
		return f.description()
	case "/api/v1/summary":
		return noCounts()
	case "/api/v1/proxies":
		return map[string]any{"data": proxies, "total": len(proxies)}
	case "/api/v1/workspaces":
		return map[string]any{"data": workspaces, "total": len(workspaces)}
	}
	return map[string]any{"data": profiles, "total": len(profiles)}
}

// noCounts is an answer of GET /summary.
func noCounts() any {
	return map[string]any{"profiles": map[string]any{"total": 0, "running": 0, "failed": 0, "trashed": 0},
		"proxies": map[string]any{"total": 0, "dead": 0}, "workspaces": []string{}, "browsers": 1, "trashDays": 7,
		"version": payloads[0]}
}

// description is a document that uses each part of OpenAPI that /docs draws.
func (f *fakeAPI) description() any {
	paths := map[string]any{}
	for i, p := range payloads {
		schema := map[string]any{"type": "object", "properties": map[string]any{p: map[string]any{"type": "string", "description": p,
			"enum": payloads, "default": p, "examples": payloads}}}
		paths["/"+p] = map[string]any{"post": map[string]any{"operationId": fmt.Sprint("op", i), "summary": p,
			"description": p, "tags": []string{p}, "parameters": []any{map[string]any{"name": p, "in": "query", "description": p,
				"schema": map[string]any{"type": "string", "examples": payloads}}},
			"requestBody": map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": schema}}},
			"responses": map[string]any{"200": map[string]any{"description": p,
				"content": map[string]any{"application/json": map[string]any{"schema": schema}}}, "404": map[string]any{"description": p}}}}
	}
	return map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": payloads[0], "version": payloads[1],
		"description": strings.Join(payloads, "\n\n")}, "paths": paths}
}

// TestHostileNamesStayText opens each part of the page. Every name must be shown as text, and none may be run or
// loaded. The browser's console, which would show a violation of the policy, must be empty.
func TestHostileNamesStayText(t *testing.T) {
	browser := findChromium(t)
	for place, mark := range map[string]string{"/#/profiles": `aria-label="Profiles"`, "/#/proxies": `aria-label="Proxies"`,
		"/#/running": `aria-label="Running browsers"`, "/#/trash": `aria-label="Deleted profiles"`, "/docs#op0": "operation-words"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			api := &fakeAPI{site: newSite(t)}
			server := httptest.NewServer(api)
			defer server.Close()
			defer server.CloseClientConnections()
			dom, log := dump(t, browser, server.URL+"/enter?to="+strings.ReplaceAll(place, "#", "%23"))
			if !strings.Contains(dom, mark) {
				_, main, _ := strings.Cut(dom, "<main")
				t.Fatalf("the page has no %q: %.2000s", mark, main)
			}
			text := html.UnescapeString(dom)
			for _, p := range payloads {
				if !strings.Contains(text, p) {
					t.Errorf("the page does not show %q", p)
				}
			}
			if i := strings.Index(log, "CONSOLE"); i >= 0 {
				t.Errorf("the browser complains: %.1000s", log[i:])
			}
			api.mu.Lock()
			defer api.mu.Unlock()
			for _, path := range api.seen {
				if strings.HasPrefix(path, "/hit") {
					t.Errorf("a name was run or loaded: %s", path)
				}
			}
		})
	}
}

// dump returns the page a while after it was opened, and the browser's log.
func dump(t *testing.T, browser, address string) (dom, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, browser, append(flags(t), "--virtual-time-budget=4000", "--dump-dom", address)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, errs.String())
	}
	return out.String(), errs.String()
}

// flags let a browser reach only this machine, and store nothing.
func flags(t *testing.T) []string {
	t.Helper()
	out := []string{"--headless", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr"}
	if os.Geteuid() == 0 {
		out = append(out, "--no-sandbox")
	}
	return out
}

func findChromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("in short no page is opened: its tests drive a browser, which a race detector sees nothing of")
	}
	for _, name := range []string{os.Getenv("WARREN_BROWSER"), "chromium", "chromium-browser", "google-chrome", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium to open the page in; set WARREN_BROWSER")
	return ""
}
