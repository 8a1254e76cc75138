//go:build linux

package browser

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"warren/testnet"
)

// clients opens the tabs of TestIdentityTable that clients of the gateway open. A client is attached only to its own tab, and leaves when
// the tab has reported.
func (r *tableRound) clients() {
	r.rawTab()
	r.httpTab()
	r.playwrightTab()
	r.puppeteerTab()
	r.privateTab()
	r.realClients()
}

// rawTab is opened at its address, and no client attaches.
func (r *tableRound) rawTab() {
	c := dial(r.t, r.gateway+"/")
	defer c.socket.CloseNow()
	target := field(r.t, c.call("", "Target.createTarget", map[string]any{"url": r.url("a.test", "tab-raw", "")}), "targetId")
	r.await("tab-raw")
	c.call("", "Target.closeTarget", map[string]any{"targetId": target})
}

func (r *tableRound) httpTab() {
	status, body := ask(r.t, "PUT", r.gateway+"/json/new?"+url.QueryEscape(r.url("a.test", "tab-http", "")), nil)
	if status != 200 {
		r.t.Errorf("new: %d %s", status, body)
		return
	}
	r.await("tab-http")
	ask(r.t, "GET", r.gateway+"/json/close/"+field(r.t, json.RawMessage(body), "id"), nil)
}

// playwrightTab is opened as Playwright does it (1.65: crBrowser.ts, crPage.ts).
func (r *tableRound) playwrightTab() {
	c := dial(r.t, r.gateway+"/")
	defer c.socket.CloseNow()
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	target := field(r.t, c.call("", "Target.createTarget", map[string]any{"url": BlankPage}), "targetId")
	session := r.attachedTo(c, target)
	for _, method := range []string{"Page.enable", "Page.getFrameTree", "Log.enable", "Runtime.enable", "Network.enable"} {
		c.send(session, method, nil)
	}
	c.send(session, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	c.send(session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "", "worldName": "utility"})
	c.send(session, "Target.setAutoAttach", waiting())
	c.send(session, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	c.send(session, "Emulation.setEmulatedMedia", map[string]any{"media": "", "features": []any{}})
	go follow2(c)
	c.wait(c.send(session, "Runtime.runIfWaitingForDebugger", nil), "resume")
	c.call(session, "Page.navigate", map[string]any{"url": r.url("a.test", "tab-playwright", "")})
	r.await("tab-playwright")
	c.call("", "Target.closeTarget", map[string]any{"targetId": target})
}

// puppeteerTab is opened as Puppeteer does it (24: TargetManager.ts): through the tab.
func (r *tableRound) puppeteerTab() {
	c := dial(r.t, r.gateway+"/")
	defer c.socket.CloseNow()
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": []map[string]any{{}}})
	through := waiting()
	through["filter"] = []map[string]any{{"type": "page", "exclude": true}, {}}
	c.call("", "Target.setAutoAttach", through)
	target := field(r.t, c.call("", "Target.createTarget", map[string]any{"url": BlankPage}), "targetId")
	// Each new target is told to auto-attach, and is resumed.
	sessions := map[string]string{}
	for late := time.After(testnet.Patience); sessions[target] == ""; {
		select {
		case m := <-c.events:
			var p struct {
				SessionID  string
				TargetInfo TargetInfo
			}
			if m.Method != "Target.attachedToTarget" || json.Unmarshal(m.Params, &p) != nil {
				continue
			}
			sessions[p.TargetInfo.TargetID] = p.SessionID
			c.send(p.SessionID, "Target.setAutoAttach", waiting())
			c.send(p.SessionID, "Runtime.runIfWaitingForDebugger", nil)
		case <-late:
			r.t.Error("a client that attaches through tabs never met its page")
			return
		}
	}
	for _, method := range []string{
		"Network.enable", "Page.enable", "Page.getFrameTree", "Runtime.enable", "Performance.enable", "Log.enable"} {
		c.send(sessions[target], method, nil)
	}
	go follow2(c)
	c.call(sessions[target], "Page.navigate", map[string]any{"url": r.url("a.test", "tab-puppeteer", "")})
	r.await("tab-puppeteer")
	c.call("", "Target.closeTarget", map[string]any{"targetId": target})
}

// privateTab is a tab of a context that a client created (Playwright's newContext).
func (r *tableRound) privateTab() {
	c := dial(r.t, r.gateway+"/")
	defer c.socket.CloseNow()
	id := field(r.t, c.call("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}), "browserContextId")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "browserContextId": id})
	c.call("", "Target.createTarget", map[string]any{"url": r.url("a.test", "tab-private", ""), "browserContextId": id})
	r.await("tab-private")
}

// attachedTo waits for the client's session on a target. It resumes all other targets.
func (r *tableRound) attachedTo(c *tester, target string) string {
	r.t.Helper()
	for {
		var p struct {
			SessionID  string
			TargetInfo TargetInfo
		}
		if err := json.Unmarshal(c.event("Target.attachedToTarget").Params, &p); err != nil {
			r.t.Fatal(err)
		}
		if p.TargetInfo.TargetID == target {
			return p.SessionID
		}
		c.send(p.SessionID, "Runtime.runIfWaitingForDebugger", nil)
	}
}

// follow2 resumes everything that waits for the client.
func follow2(c *tester) {
	for {
		select {
		case m := <-c.events:
			var p struct{ SessionID string }
			if m.Method == "Target.attachedToTarget" && json.Unmarshal(m.Params, &p) == nil {
				c.send(p.SessionID, "Runtime.runIfWaitingForDebugger", nil)
			}
		case <-c.ended:
			return
		}
	}
}

// realClients are Playwright and Puppeteer themselves, from the folder WARREN_NODE_MODULES.
func (r *tableRound) realClients() {
	modules := os.Getenv("WARREN_NODE_MODULES")
	if modules == "" {
		r.lack("WARREN_NODE_MODULES names no folder with playwright-core and puppeteer-core", "playwright", "puppeteer")
		return
	}
	for _, name := range []string{"playwright", "puppeteer"} {
		cmd := exec.CommandContext(
			r.t.Context(), "node", filepath.Join("testdata", "table", "client.mjs"), modules, name, r.gateway, r.url("a.test", name, ""))
		in, err := cmd.StdinPipe()
		if err != nil {
			r.t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = r.t.Output(), r.t.Output()
		if err := cmd.Start(); err != nil {
			r.t.Fatal(err)
		}
		r.await(name)
		in.Close() // it exits
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("%s: %v", name, err)
		}
	}
}

// extension installs one with a page, a service worker, and a script in a site's page.
func (r *tableRound) extension() {
	dir := r.t.TempDir()
	probeAs := func(ctx string) string {
		me, _ := json.Marshal(
			map[string]any{"ctx": ctx, "site": r.scheme + "://a.test", "own": r.scheme + "://a.test", "kinds": contextNamed(ctx).requests(),
				"webrtc": !contextNamed(ctx).lacksFor("webrtc", r.scheme)}) // of strings and booleans
		return "{" + probeSource() + "; probe(" + string(me) + ")}"
	}
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "table", "version": "1", "host_permissions": ["*://*.test/*"], "background": ` +
			`{"service_worker": "worker.js"},
			"content_scripts": [{"matches": ["*://d.test/*"], "js": ["content.js"], "run_at": "document_start"}],
			"content_security_policy": {"extension_pages": "script-src 'self'"}}`,
		"worker.js": probeAs("extension-worker"), "page.js": probeAs("extension-page"), "content.js": probeAs("extension-content"),
		"page.html": "<!doctype html><script src=page.js></script>",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	id := field(r.t, call(r.t, r.b, "", "Extensions.loadUnpacked", map[string]string{"path": dir}), "id")
	r.await("extension-worker")
	testnet.Eventually(r.t, "Chrome has written that it is installed", func() bool { return r.b.extensions.has(id) })
	p := r.tab()
	r.visit(p, "chrome-extension://"+id+"/page.html")
	r.await("extension-page")
	r.visit(p, r.url("d.test", "elsewhere", ""))
	r.await("extension-content")
	r.closeTab(p)
}
