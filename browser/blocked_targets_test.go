//go:build !windows

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warren/testnet"
)

// TestClosedAddresses: addresses that clients may open and that are blocked. Two extensions are installed, one of which may read files, and
// a component of Chrome is one too.
func TestClosedAddresses(t *testing.T) {
	const installed, component = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "mhjfbmdgcfjbbpaeojofohoefgiehjai"
	const reads, might = "cccccccccccccccccccccccccccccccc", "dddddddddddddddddddddddddddddddd"
	x := &extensions{folder: t.TempDir()}
	if x.has(installed) {
		t.Error("an extension is there without preferences")
	}
	text := `{"extensions": {"settings": {"` + installed + `": {"location": 4}, "` + component +
		`": {"location": 5}, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb": {},
		"` + reads + `": {"location": 1, "newAllowFileAccess": true, "granted_permissions": {"explicit_host": ["\u003Call_urls>"]}},
		"` + might + `": {"location": 1, "newAllowFileAccess": false, "granted_permissions": {"explicit_host": ["file:///*"]}}}}}`
	if err := os.WriteFile(filepath.Join(x.folder, "Secure Preferences"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]struct{ opens, closed bool }{
		"http://a.test/": {true, false}, "https://a.test/": {true, false}, "data:text/html,x": {true, false}, "about:blank": {true, false},
		"":                    {true, false},
		"about:blank#blocked": {true, false}, "about:version": {false, false}, "mailto:a@b": {false, false},
		"view-source:http://a.test/": {true, false},
		"blob:http://a.test/1":       {true, false}, "blob:null/1": {true, false}, "blob:file:///1": {false, true},
		"blob:chrome://settings/1": {false, true},
		"file:///etc/passwd":       {false, true}, "FILE:///x": {false, true}, " f\nile:///x": {false, true},
		"view-source:file:///x": {false, true}, "filesystem:http://a.test/": {false, true},
		"chrome://settings/": {false, true}, "chrome-untrusted://print/": {false, true}, "chrome-search://local-ntp/": {false, true},
		"devtools://devtools/": {false, true}, "edge://settings/": {false, true},
		"chrome-error://chromewebdata/": {false, false}, "chrome-extension://invalid/": {false, false},
		"chrome-extension://" + installed + "/a.html": {true, false}, "chrome-extension://" + component + "/index.html": {false, true},
		"chrome-extension://" + reads + "/": {false, true}, "chrome-extension://" + might + "/": {true, false},
		"chrome-extension://bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/": {false, true}, "chrome-extension:" + installed: {false, true},
		"chrome-extension://" + installed + "@" + component + "/": {false, true},
	} {
		if opens, closed := x.mayOpen(address), x.isBlocked(address); opens != want.opens || closed != want.closed {
			t.Errorf("%q: opens %t, is closed %t, want %+v", address, opens, closed, want)
		}
	}
	if err := os.Remove(filepath.Join(x.folder, "Secure Preferences")); err != nil || x.has(installed) {
		t.Errorf("an extension that is not installed any more is: %v", err)
	}
}

// TestNoOtherWayOut: a client's browser context uses the profile's proxy, and clients cannot use extensions.
func TestNoOtherWayOut(t *testing.T) {
	c, _, _ := guarded(t)
	for _, params := range []map[string]any{
		{"proxyServer": "http://127.0.0.1:1"}, {"proxyServer": "direct://"}, {"proxyServer": ""}, {"proxyBypassList": "*"}} {
		if m := c.try("", "Target.createBrowserContext", params); m.Error == nil || m.Error.Message != notElsewhere {
			t.Errorf("%v: %s %v", params, m.Result, m.Error)
		}
	}
	c.call("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true})
	for _, method := range []string{
		"Extensions.loadUnpacked", "Extensions.getExtensions", "Extensions.triggerAction", "Extensions.uninstall"} {
		if m := c.try("", method, map[string]any{"path": t.TempDir(), "id": "x"}); m.Error == nil || m.Error.Message != notExtended {
			t.Errorf("%s: %s %v", method, m.Result, m.Error)
		}
	}
}

// TestPaperIsShown: Chrome shows a PDF with a component that is an extension. A client that attaches to everything is not attached to the
// component.
func TestPaperIsShown(t *testing.T) {
	p := newProfile(t)
	p.site.Mux.HandleFunc("/a.pdf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write([]byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
			"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<<>>>>endobj\ntrailer<</Root 1 0 R>>\n"))
	})
	b := p.start()
	c := dial(t, serveGateway(t, b)+"/")
	_, session := c.openTab("about:blank")
	c.call(session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true})
	c.call(session, "Page.navigate", map[string]any{"url": "http://a.test/a.pdf"})
	testnet.Eventually(t, "the viewer, and the paper in it", func() bool {
		targets, err := b.mux.targets(t.Context())
		kinds := map[string]bool{}
		for _, i := range targets {
			kinds[i.Type+" "+i.URL] = true
		}
		return err == nil && kinds["iframe http://a.test/a.pdf"] &&
			kinds["iframe chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html"]
	})
	c.call("", "Browser.getVersion", nil)
	for more := true; more; {
		select {
		case m := <-c.events:
			if strings.HasPrefix(m.Method, "Target.attached") && strings.Contains(string(m.Params), "iframe") {
				t.Errorf("the client was attached to a frame of the viewer: %s", m.Params)
			}
		default:
			more = false
		}
	}
	if shown := c.shown(); slices.ContainsFunc(shown, func(u string) bool { return strings.HasPrefix(u, "chrome") }) {
		t.Errorf("the client sees %v", shown)
	}
}

// TestWorkersWithoutAContext: workers that Chrome keeps without a browser context are hidden from clients, which would fail on them.
func TestWorkersWithoutAContext(t *testing.T) {
	m := newTestMux(t)
	c := newClient(m)
	c.root, c.base = "root", "root"
	m.sessions["root"] = &session{id: "root", kind: "browser", client: c}
	for context, told := range map[string]bool{"": false, "C": true} {
		info := TargetInfo{TargetID: "T" + context, Type: "service_worker", URL: "http://a.test/w.js", Context: context}
		for method, params := range map[string]any{
			"Target.targetCreated":    map[string]any{"targetInfo": info},
			"Target.attachedToTarget": map[string]any{"targetInfo": info, "sessionId": "S" + context}} {
			raw, err := json.Marshal(map[string]any{"method": method, "sessionId": "root", "params": params})
			if err != nil {
				t.Fatal(err)
			}
			m.receive(raw)
			if msg, _ := c.out.pop(); (msg != nil) != told {
				t.Errorf("%s of a worker in the context %q: the client hears %s", method, context, msg)
			}
		}
		result, _ := json.Marshal(map[string]any{"targetInfos": []TargetInfo{info}})
		if left, ok := m.visibleTargets(result); !ok || strings.Contains(string(left), "w.js") != told {
			t.Errorf("the targets are %s", left)
		}
	}
}

// TestLateWordOfADocument: a page stays blocked when its renderer reports an earlier document late, or the new document before the browser
// process has left the blocked one.
func TestLateWordOfADocument(t *testing.T) {
	m := newTestMux(t)
	starts := func(url, loader string) string {
		return `{"method": "Page.frameStartedNavigating", "params": {"frameId": "T", "url": "` + url + `", "loaderId": "` + loader + `"}}`
	}
	there := func(url, loader string) string {
		return `{"method": "Page.frameNavigated", "params": {"type": "Navigation", "frame": {"id": "T", "url": "` + url +
			`", "loaderId": "` + loader + `"}}}`
	}
	m.controller.pages = []Page{{Target: "T", Session: "S"}}
	// history answers the controller's query, if there is one: Chrome is at url.
	history := func(url string) {
		for msg, _ := m.in.pop(); msg != nil; msg, _ = m.in.pop() {
			var c struct {
				ID     int
				Method string
			}
			if err := json.Unmarshal(msg[:len(msg)-1], &c); err != nil {
				t.Fatal(err)
			}
			if c.Method == "Page.getNavigationHistory" {
				m.receive(fmt.Appendf(nil, `{"id": %d, "result": {"currentIndex": 0, "entries": [{"url": %q}]}}`, c.ID, url))
			}
		}
	}
	const changed = `{"method": "Target.targetInfoChanged", "params": {"targetInfo": {"targetId": "T", "type": "page", "url": ` +
		`"http://b.test/"}}}`
	for i, step := range []struct {
		event, at string
		shut      bool
	}{
		{starts("http://a.test/", "1"), "", false}, {starts("chrome://settings/", "2"), "http://a.test/", true},
		{there("http://a.test/", "1"), "http://a.test/", true},
		{there("chrome://settings/", "2"), "chrome://settings/", true}, {starts("http://b.test/", "3"), "chrome://settings/", true},
		{changed, "chrome://settings/", true}, {there("http://b.test/", "3"), "chrome://settings/", true},
		{changed, "http://b.test/", false},
		{starts("chrome://settings/", "4"), "http://b.test/", true}, {starts("http://c.test/", "5"), "http://b.test/", true},
		{starts("file:///x", "6"), "http://b.test/", true},
		{there("http://c.test/", "5"), "http://c.test/", true}, {there("file:///x", "6"), "file:///x", true},
		{starts("http://d.test/", "7"), "file:///x", true}, {there("http://d.test/", "7"), "http://d.test/", false},
	} {
		m.receive([]byte(step.event))
		if history(step.at); m.isBlocked("T") != step.shut {
			t.Errorf("after step %d, %s, clients are off: %t", i, step.event, m.isBlocked("T"))
		}
	}
}

// TestOtherChromeProfiles: a run opens the one Chrome profile that is prepared, even if a person opened another one last.
func TestOtherChromeProfiles(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	state := `{"profile": {"last_used": "Profile 1", "last_active_profiles": ["Profile 1"], "info_cache": {"Default": {"name": "a"}, ` +
		`"Profile 1": {"name": "b"}}}}`
	for name, text := range map[string]string{"Local State": state, "Profile 1/Preferences": `{}`} {
		file := filepath.Join(s.UserDataDir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Stop(t.Context(), false)
	if text, err := os.ReadFile(filepath.Join(s.UserDataDir, "Profile 1", "Preferences")); err != nil || string(text) != `{}` {
		t.Errorf("the other profile was opened: %v, %d bytes", err, len(text))
	}
}
