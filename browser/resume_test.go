//go:build !windows

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"warren/testnet"
)

// saysGiven serves a page and a shared worker whose first line records what was set before it.
func saysGiven(n *testnet.Site) {
	n.Mux.HandleFunc("/given", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>window.found = String(window.given)</script>`)
	})
	n.Mux.HandleFunc("/givenshared", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `const found = String(self.given); onconnect = e => e.ports[0].postMessage(found)`)
	})
}

// next waits for the next target of a type that the client is attached to.
func (c *tester) next(kind string) (target, session string) {
	c.t.Helper()
	for {
		var p struct {
			SessionID  string
			TargetInfo TargetInfo
		}
		if err := json.Unmarshal(c.event("Target.attachedToTarget").Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.TargetInfo.Type == kind {
			return p.TargetInfo.TargetID, p.SessionID
		}
	}
}

// owned waits until a target has its overrides, and the controller would have resumed it.
func owned(t *testing.T, b *Browser, target string) {
	t.Helper()
	testnet.AwaitClosed(t, "the target has its overrides", b.mux.controller.stateOf(target).done, testnet.Patience)
}

// given sends a page a script, and resumes it.
func (c *tester) given(session string) {
	c.t.Helper()
	c.call(session, "Page.enable", nil)
	c.send(session, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "window.given = 123"})
	c.send(session, "Runtime.runIfWaitingForDebugger", nil)
}

// TestPopupsWaitForTheClient: what a client sets in a pop-up or a shared worker before it resumes it is there from the first line. That
// holds even if the controller has been ready for long, and however the client attaches.
func TestPopupsWaitForTheClient(t *testing.T) {
	p := newProfile(t)
	saysGiven(p.site)
	b := p.start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	_, opener := c.openTab("http://a.test/given")
	c.becomes(opener, `window.found`, `"undefined"`)
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	opens := func(c *tester, opener, expression string) <-chan message {
		return c.send(opener, "Runtime.evaluate",
			map[string]any{"expression": expression, "userGesture": true, "returnByValue": true, "awaitPromise": true})
	}
	saw := func(what string, m message) {
		var r struct{ Result struct{ Value string } }
		if err := json.Unmarshal(m.Result, &r); err != nil || r.Result.Value != "123" {
			t.Errorf("%s found %s, %v", what, m.Result, m.Error)
		}
	}
	for i := range 20 {
		answer := opens(c, opener, `var w = window.open('about:blank'), r = String(w.given); w.close(); r`)
		target, session := c.next("page")
		owned(t, b, target)
		c.given(session)
		saw(fmt.Sprintf("pop-up %d", i), c.wait(answer, "window.open"))
	}
	opens(c, opener, `window.open('http://b.test/given'); ''`)
	target, session := c.next("page")
	owned(t, b, target)
	c.given(session)
	c.becomes(session, `window.found`, `"123"`)

	answer := opens(c, opener, `new Promise(done => { new SharedWorker('/givenshared').port.onmessage = e => done(e.data) })`)
	target, session = c.next("shared_worker")
	owned(t, b, target)
	c.send(session, "Runtime.evaluate", map[string]any{"expression": "self.given = 123"})
	c.send(session, "Runtime.runIfWaitingForDebugger", nil)
	saw("the shared worker", c.wait(answer, "the shared worker"))

	byTab := dial(t, url+"/") // as Puppeteer does; the first client is idle from now on
	c.call("", "Target.setAutoAttach", map[string]any{"autoAttach": false, "waitForDebuggerOnStart": false, "flatten": true})
	_, opener = byTab.openTab("http://a.test/given")
	byTab.becomes(opener, `window.found`, `"undefined"`)
	tabs := waiting()
	tabs["filter"] = []map[string]any{{"type": "page", "exclude": true}, {}}
	byTab.call("", "Target.setAutoAttach", tabs)
	drain(byTab)
	answer = opens(byTab, opener, `String(window.open('about:blank').given)`)
	_, tab := byTab.next("tab")
	byTab.call(tab, "Target.setAutoAttach", waiting())
	byTab.call(tab, "Runtime.runIfWaitingForDebugger", nil)
	target, session = byTab.next("page")
	owned(t, b, target)
	byTab.given(session)
	saw("the pop-up of a client with tabs", byTab.wait(answer, "window.open"))
}

// TestPopupsOfClientsThatGo: a pop-up that a client holds is resumed when the client leaves or detaches. One that no client holds runs at
// once.
func TestPopupsOfClientsThatGo(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	other := dial(t, url+"/")
	_, opener := other.openTab("http://a.test/x")
	open := func() <-chan message {
		return other.send(opener, "Runtime.evaluate",
			map[string]any{"expression": `typeof window.open('about:blank')`, "userGesture": true})
	}
	other.wait(open(), "window.open that nobody holds")
	for name, leave := range map[string]func(c *tester, session string){
		"detached": func(c *tester, session string) {
			c.call("", "Target.detachFromTarget", map[string]any{"sessionId": session})
		},
		"closed":  func(c *tester, _ string) { c.socket.Close(1000, "") },
		"dropped": func(c *tester, _ string) { c.socket.CloseNow() },
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, url+"/")
			c.call("", "Target.setAutoAttach", waiting())
			drain(c)
			answer := open()
			target, session := c.next("page")
			owned(t, b, target)
			if len(answer) > 0 {
				t.Error("the pop-up did not wait")
			}
			leave(c, session)
			other.wait(answer, "window.open")
		})
	}
	tabs := waiting()
	tabs["filter"] = []map[string]any{{"type": "page", "exclude": true}, {}}
	c := dial(t, url+"/")
	c.call("", "Target.setAutoAttach", tabs)
	drain(c)
	answer := open()
	c.next("tab") // and never attaches to its page
	other.wait(answer, "window.open beside a client that never attaches to what is in the tab")
}

// TestServiceWorkersScript: a client that observes the network gets the response to a service worker's own script.
func TestServiceWorkersScript(t *testing.T) {
	p := newProfile(t)
	p.site.Mux.HandleFunc("/service", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
	})
	b := p.start()
	c := dial(t, serveGateway(t, b)+"/")
	_, page := c.openTab("http://app.localhost/x") // a secure context
	c.becomes(page, `location.pathname + document.readyState`, `"/xcomplete"`)
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	registered := c.send(page, "Runtime.evaluate",
		map[string]any{"expression": `navigator.serviceWorker.register('/service').then(() => navigator.serviceWorker.ready).then(() ` +
			`=> 'ready')`,
			"awaitPromise": true, "returnByValue": true})
	target, session := c.next("service_worker")
	owned(t, b, target)
	c.send(session, "Network.enable", nil)
	c.send(session, "Runtime.runIfWaitingForDebugger", nil)
	for {
		var p struct{ RequestID string }
		m := c.event("Network.responseReceived")
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		if m.SessionID == session && p.RequestID == target {
			break
		}
	}
	if m := c.wait(registered, "register"); m.Error != nil {
		t.Error(m.Error)
	}
}

// TestDownloadsOfADeclaredAgent: a download is requested with the user agent that a client has set for the page. After the client has reset
// it or left, it is requested with the profile's.
func TestDownloadsOfADeclaredAgent(t *testing.T) {
	p := newProfile(t)
	agents := make(chan string, 10)
	p.site.Mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		w.Header().Set("Content-Disposition", "attachment")
	})
	spec := p.spec()
	found, err := Find(t.Context(), p.path)
	if err != nil {
		t.Fatal(err)
	}
	spec.Version = found.Version
	b := p.open(spec)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	target, session := c.openTab("http://a.test/x")
	c.becomes(session, `document.readyState`, `"complete"`)
	other := dial(t, url+"/")
	others := field(t, other.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}), "sessionId")
	load := func() string {
		t.Helper()
		other.call(others, "Runtime.evaluate",
			map[string]any{"expression": `var a = document.createElement('a'); a.href = '/file'; a.download = 'x'; a.click()`,
				"userGesture": true})
		select {
		case agent := <-agents:
			return agent
		case <-time.After(testnet.Patience):
			t.Fatal("no download")
			return ""
		}
	}
	loads := func(want string) {
		t.Helper()
		if got := load(); got != want {
			t.Errorf("a download was asked for by %q, want %q", got, want)
		}
	}
	own := b.emulation.agent.userAgent
	loads(own)
	c.call(session, "Emulation.setUserAgentOverride", map[string]any{"userAgent": "Declared/1.0"})
	loads("Declared/1.0")
	c.call(session, "Emulation.setUserAgentOverride", map[string]any{"userAgent": ""})
	loads(own)
	c.call(session, "Network.setUserAgentOverride", map[string]any{"userAgent": "Declared/2.0"})
	loads("Declared/2.0")
	c.socket.CloseNow()
	// it is reset when Chrome has ended its session
	testnet.Eventually(t, "the client has gone, and its agent with it", func() bool { return load() == own })
}
