package browser

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// TestExtensionGoesNowhere: an extension may set another proxy than the command line's. In a namespace it reaches nothing, neither a name
// nor this machine.
func TestExtensionGoesNowhere(t *testing.T) {
	needsNamespace(t)
	p := newProfile(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "direct", "version": "1", "permissions": ["proxy"], "background": ` +
			`{"service_worker": "direct.js"}}`,
		"direct.js": `chrome.proxy.settings.set({value: {mode: "direct"}, scope: "regular"})`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := p.start()
	page := b.mux.controller.openPages()[0].Session
	visit := func(url string) string {
		t.Helper()
		var went struct {
			ErrorText string `json:"errorText"`
		}
		if err := b.mux.call(t.Context(), page, "Page.navigate", map[string]string{"url": url}, &went); err != nil {
			t.Fatal(err)
		}
		return went.ErrorText
	}
	if failure := visit("http://a.test/before"); failure != "" {
		t.Fatalf("through the relay: %s", failure)
	}
	p.site.Await(t, "a.test/before")
	if err := b.mux.call(t.Context(), "", "Extensions.loadUnpacked", map[string]string{"path": dir}, nil); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the extension has its way", func() bool { return visit("http://a.test/after") == "net::ERR_NAME_NOT_RESOLVED" })
	for _, url := range []string{
		p.site.Server.URL + "/direct", strings.Replace(p.site.Server.URL, "127.0.0.1", "localhost", 1) + "/direct",
		"http://192.0.2.77/direct", "http://203.0.113.1/direct"} {
		if failure := visit(url); failure == "" {
			t.Errorf("%s was reached", url)
		}
	}
	for {
		select {
		case hit := <-p.site.Hits:
			if strings.HasSuffix(hit, "/direct") {
				t.Errorf("the site saw %s", hit)
			}
			continue
		default:
		}
		break
	}
}

// anExtension writes an extension into a folder of its own and returns it. Its key is its name.
func anExtension(t *testing.T, dir, name, manifest string, files map[string]string) Extension {
	t.Helper()
	manifest = fmt.Sprintf(`{"manifest_version": 3, "name": %q, "version": "1", "key": %q, %s}`, name,
		base64.StdEncoding.EncodeToString([]byte(name)), manifest)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("manifest.json", manifest)
	for name, text := range files {
		write(name, text)
	}
	return Extension{ID: pathID(name), Path: dir}
}

// helper is an extension with a script in every page, a page, a worker that counts its starts, and every wish for files.
func helper(t *testing.T, dir string) Extension {
	return anExtension(t, dir, "helper", `"permissions": ["storage", "proxy", "tabs"], "host_permissions": ["<all_urls>", "file:///*"],
		"background": {"service_worker": "worker.js"}, "content_scripts": [{"matches": ["<all_urls>"], "js": ["content.js"],
		"run_at": "document_start"}]`, map[string]string{
		"content.js": `document.documentElement.dataset.helper = "there"`, "page.html": "<title>its page</title>",
		"worker.js": `
			let counted = Promise.resolve()
			const count = name => counted = counted.then(() => chrome.storage.local.get(name)).then(had =>
				chrome.storage.local.set({[name]: (had[name] || 0) + 1}))
			chrome.runtime.onInstalled.addListener(() => count("installed"))
			chrome.runtime.onStartup.addListener(() => count("started"))
			const tell = async () => { await counted; return {...await chrome.storage.local.get(null),
				allowed: await chrome.extension.isAllowedFileSchemeAccess(),
				read: await fetch("file:///etc/passwd").then(r => r.text()).catch(() => "")} }
			const proxy = port => chrome.proxy.settings.set({scope: "regular", value: {mode: "fixed_servers", rules: {singleProxy:
				{scheme: "http", host: "127.0.0.1", port}}}})
			chrome.runtime.onMessage.addListener((port, _, answer) => {
				(port ? proxy(port) : tell()).then(answer, e => answer({read: String(e)})); return true })`})
}

// helperState is what the helper says of itself.
type helperState struct {
	Installed, Started int
	Allowed            bool
	Read               string
}

// askHelper opens the helper's page as a client and asks its worker, until that was told of so many starts.
func askHelper(c *tester, e Extension, started int) (helperState, string) {
	c.t.Helper()
	page := field(c.t, c.call("", "Target.createTarget", map[string]any{"url": "chrome-extension://" + e.ID + "/page.html"}), "targetId")
	session := field(c.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": page, "flatten": true}), "sessionId")
	var r struct{ Result struct{ Value helperState } }
	testnet.Eventually(c.t, "the worker answers", func() bool {
		m := c.try(session, "Runtime.evaluate", map[string]any{"expression": "chrome.runtime.sendMessage(0)", "awaitPromise": true,
			"returnByValue": true})
		return m.Error == nil && json.Unmarshal(m.Result, &r) == nil && r.Result.Value.Installed > 0 &&
			r.Result.Value.Started >= started
	})
	return r.Result.Value, session
}

// TestExtensions: a run loads its extensions before its first page, from a folder that shows no others and that it cannot write. They keep
// their data, begin once, get no files and no other way out, and are gone from a run without them.
func TestExtensions(t *testing.T) {
	needsNamespace(t)
	p := newProfile(t)
	packages := filepath.Join(t.TempDir(), "extensions")
	e := helper(t, filepath.Join(packages, fmt.Sprintf("%x", sha256.Sum256([]byte("helper")))))
	anExtension(t, filepath.Join(packages, "of another profile"), "other", `"description": ""`, nil)
	spec := func(with ...Extension) Spec {
		s := p.spec()
		s.Protected, s.Extensions, s.HomeDir = []string{packages}, with, filepath.Join(filepath.Dir(p.dir), "home")
		if err := os.MkdirAll(s.HomeDir, 0o700); err != nil {
			t.Fatal(err)
		}
		return s
	}
	blocker := anExtension(t, filepath.Join(filepath.Dir(p.dir), "home", "cache", "extensions", pathID("blocker")), "blocker",
		`"permissions": ["declarativeNetRequest"], "declarative_net_request": {"rule_resources": [{"id": "r", "enabled": true,
		"path": "rules.json"}]}`, map[string]string{"rules.json": `[{"id": 1, "action": {"type": "block"}, "condition":
		{"urlFilter": "/blocked", "resourceTypes": ["main_frame"]}}]`})
	start := func(s Spec) *Browser {
		t.Helper()
		b := p.open(s)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b
	}
	for round := range 2 {
		b := start(spec(e, blocker))
		if round == 0 {
			call(t, b, b.mux.controller.openPages()[0].Session, "Page.navigate", map[string]string{"url": "http://a.test/first"})
		}
		tab := pageAt(t, b, "/first")
		if got := evaluate(t, b, tab, "document.documentElement.dataset.helper"); got != `"there"` {
			t.Errorf("round %d: the page has %s of the script", round, got)
		}
		c := dial(t, serveGateway(t, b)+"/")
		if got, _ := askHelper(c, e, round); got != (helperState{Installed: 1, Started: round}) {
			t.Errorf("round %d: %+v", round, got)
		}
		if m := c.try("", "Extensions.getExtensions", nil); m.Error == nil || m.Error.Message != notExtended {
			t.Errorf("a client got %s", m.Result)
		}
		var went struct{ ErrorText string }
		if err := json.Unmarshal(call(t, b, tab.Session, "Page.navigate", map[string]string{
			"url": "http://a.test/blocked"}), &went); err != nil || went.ErrorText != "net::ERR_BLOCKED_BY_CLIENT" {
			t.Errorf("round %d: the rules let through: %+v, %v", round, went, err)
		}
		call(t, b, tab.Session, "Page.navigate", map[string]string{"url": "http://a.test/first"})
		pageAt(t, b, "/first")
		assertSeen(t, b, packages, e)
		if round == 1 {
			assertNoOtherWay(t, p, b, c, e)
		}
		b.Stop(t.Context(), false)
		all, err := readPreferences(filepath.Join(p.dir, profileFolder, "Preferences"))
		flags, _ := preference{path: extensionSettings + "." + e.ID + ".creation_flags"}.get(all).(json.Number)
		if n, bad := flags.Int64(); err != nil || bad != nil || n&allowFileAccess != 0 {
			t.Errorf("round %d: it may read files' pages: flags %s, %v %v", round, flags, err, bad)
		}
	}
	without := start(spec())
	var there struct{ Extensions []json.RawMessage }
	if err := json.Unmarshal(call(t, without, "", "Extensions.getExtensions", nil), &there); err != nil || len(there.Extensions) > 0 {
		t.Errorf("without them the run has %s, %v", there.Extensions, err)
	}
	c := dial(t, serveGateway(t, without)+"/")
	if m := c.try("", "Target.createTarget", map[string]any{"url": "chrome-extension://" + e.ID + "/page.html"}); m.Error == nil {
		t.Error("a page of an extension that the run does not have was opened")
	}
	if _, err := os.Stat(filepath.Join(p.dir, profileFolder, "Local Extension Settings", e.ID)); err != nil {
		t.Errorf("its data: %v", err)
	}
}

// assertSeen looks at the packages as the run does.
func assertSeen(t *testing.T, b *Browser, packages string, e Extension) {
	t.Helper()
	inside := fmt.Sprintf("/proc/%d/root", b.PID())
	all, err := os.ReadDir(inside + packages)
	if err != nil || len(all) != 1 || all[0].Name() != filepath.Base(e.Path) {
		t.Errorf("the run sees %v, %v", all, err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(inside+e.Path, &st); err != nil || st.Flags&unix.ST_RDONLY == 0 {
		t.Errorf("the run can write the package: %x, %v", st.Flags, err)
	}
}

// assertNoOtherWay has the helper choose another proxy. Nothing comes there.
func assertNoOtherWay(t *testing.T, p *profile, b *Browser, c *tester, e Extension) {
	t.Helper()
	canary, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var hits atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := canary.Accept()
			if err != nil {
				return
			}
			hits.Add(1)
			conn.Close()
		}
	}()
	_, session := askHelper(c, e, 0)
	c.call(session, "Runtime.evaluate", map[string]any{"awaitPromise": true,
		"expression": fmt.Sprintf("chrome.runtime.sendMessage(%d)", canary.Addr().(*net.TCPAddr).Port)})
	page := b.mux.controller.openPages()[0].Session
	testnet.Eventually(t, "the extension has its proxy, and pages reach nothing", func() bool {
		var went struct{ ErrorText string }
		return json.Unmarshal(call(t, b, page, "Page.navigate", map[string]string{"url": "http://a.test/elsewhere"}), &went) == nil &&
			went.ErrorText == "net::ERR_PROXY_CONNECTION_FAILED"
	})
	canary.Close()
	<-ended
	if hits.Load() > 0 {
		t.Errorf("%d connections came to the extension's proxy", hits.Load())
	}
}
