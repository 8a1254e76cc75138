//go:build !windows

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// userAgentAfter returns overrides that set a user agent, after a delay.
func userAgentAfter(agent string, after time.Duration) func(TargetInfo) []override {
	return func(TargetInfo) []override {
		time.Sleep(after)
		return []override{{"Emulation.setUserAgentOverride", map[string]string{"userAgent": agent}}}
	}
}

// waiting returns the parameters with which Playwright and Puppeteer attach: every target is paused for them.
func waiting() map[string]any {
	return map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}
}

// saysFirst serves a page and a worker that record what their first line sees. The page starts another worker if one does not answer.
// Chromium 156 loses some of the workers that a pop-up starts, without DevTools too. Of 60 on a busy machine, three never requested their
// script and four failed. So this page cannot tell a worker that Chromium loses from one that our own pause would lose.
func saysFirst(n *testnet.Site) {
	n.Mux.HandleFunc("/first", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>window.first = navigator.userAgent; window.sent = %q;
const ask = () => { window.worker || (new Worker('/worker').onmessage = e => window.worker = e.data) };
ask(); setInterval(ask, 1000)</script>`, r.UserAgent())
	})
	n.Mux.HandleFunc("/worker", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `postMessage(navigator.userAgent)`)
	})
}

// TestOverridesBeforeTheFirstLine: new pages, pop-ups, workers and their first requests have the overrides from the start. That holds even
// if the overrides come late and a client resumes the targets at once.
func TestOverridesBeforeTheFirstLine(t *testing.T) {
	p := newProfile(t)
	saysFirst(p.site)
	b := p.open(p.spec())
	b.overridesFor = userAgentAfter("Dressed/1.0", 300*time.Millisecond)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	url := serveGateway(t, b)
	plain := dial(t, url+"/")
	_, session := plain.openTab("http://a.test/first")
	checkFirst(t, plain, session)
	if status, body := ask(t, "PUT", url+"/json/new?http://b.test/first", nil); status != 200 {
		t.Fatalf("new: %d %s", status, body)
	} else {
		checkFirst(t, dial(t, strings.Replace(field(t, json.RawMessage(body), "webSocketDebuggerUrl"), "ws://", "http://", 1)), "")
	}

	c := dial(t, url+"/") // a client that pauses everything, as Playwright and Puppeteer do
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	c.send("", "Target.createTarget", map[string]any{"url": "http://a.test/first"})
	opener := runNext(t, c)
	checkFirst(t, c, opener)
	for _, how := range []string{`window.open('/first')`, `window.open('/first', '_blank', 'noopener')`} {
		c.send(opener, "Runtime.evaluate", map[string]any{"expression": how, "userGesture": true})
		checkFirst(t, c, runNext(t, c))
	}
}

// drain takes the events that are there.
func drain(c *tester) {
	c.call("", "Browser.getVersion", nil)
	for len(c.events) > 0 {
		<-c.events
	}
}

// runNext waits for the next page that the client holds, resumes it as a client does, and returns its session.
func runNext(t *testing.T, c *tester) string {
	t.Helper()
	for {
		m := c.event("Target.attachedToTarget")
		var p struct {
			SessionID  string
			TargetInfo TargetInfo
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.TargetInfo.Type == "page" {
			c.send(p.SessionID, "Page.enable", nil)
			c.wait(c.send(p.SessionID, "Runtime.runIfWaitingForDebugger", nil), "the page's resume")
			return p.SessionID
		}
	}
}

// checkFirst waits until the page and its worker have run, and checks what they and the request saw first.
func checkFirst(t *testing.T, c *tester, session string) {
	t.Helper()
	c.becomes(session, `!!window.worker`, "true")
	if got := c.value(session, `[first, sent, worker].join('|')`); got != `"Dressed/1.0|Dressed/1.0|Dressed/1.0"` {
		t.Errorf("first line, request and worker saw %s", got)
	}
}

// TestNothingRunsWithoutOverrides: a target without overrides is closed after three seconds. It has not run, and nothing waits for it any
// longer.
func TestNothingRunsWithoutOverrides(t *testing.T) {
	p := newProfile(t)
	b := p.open(p.spec())
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	started := make(chan struct{})
	b.overridesFor = func(TargetInfo) []override {
		select {
		case <-started:
			<-never
		default:
		}
		return nil
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := len(b.mux.controller.openPages())
	close(started)
	c := dial(t, serveGateway(t, b)+"/")
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	began := time.Now()
	c.send("", "Target.createTarget", map[string]any{"url": "http://a.test/without"})
	var page struct{ SessionID string }
	if err := json.Unmarshal(c.event("Target.attachedToTarget").Params, &page); err != nil {
		t.Fatal(err)
	}
	c.send(page.SessionID, "Runtime.runIfWaitingForDebugger", nil)
	c.event("Target.detachedFromTarget")
	if took := time.Since(began); took < attachTimeout {
		t.Errorf("the page was closed after %v", took)
	}
	testnet.Eventually(t, "the page has gone", func() bool { return len(b.mux.controller.openPages()) == before })
	select {
	case hit := <-p.site.Hits:
		t.Errorf("the site was asked for %s", hit)
	default:
	}
}

// TestClientsThatGoLeaveNothingPaused: pages that a client holds are resumed when it leaves, even without a close frame.
func TestClientsThatGoLeaveNothingPaused(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	other := dial(t, url+"/")
	for name, leave := range map[string]func(*tester){
		"closed":  func(c *tester) { c.socket.Close(1000, "") },
		"dropped": func(c *tester) { c.socket.CloseNow() },
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, url+"/")
			c.call("", "Target.setAutoAttach", waiting())
			drain(c)
			_, session := other.openTab("about:blank")
			c.event("Target.attachedToTarget") // and never resumes it
			other.send(session, "Page.navigate", map[string]any{"url": "http://a.test/paused"})
			leave(c)
			other.becomes(session, `location.pathname + document.readyState`, `"/pausedcomplete"`)
		})
	}
}

// TestContextsOfClientsThatGo: a browser context ends with its client if the client asked for that (disposeOnDetach, as Playwright does).
// Otherwise it stays, as with a connection to Chrome's own port.
func TestContextsOfClientsThatGo(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	goes := field(t, c.call("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}), "browserContextId")
	stays := field(t, c.call("", "Target.createBrowserContext", nil), "browserContextId")
	for _, id := range []string{goes, stays} {
		c.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": id})
	}
	c.socket.CloseNow()
	other := dial(t, url+"/")
	testnet.Eventually(t, "the context with disposeOnDetach has gone", func() bool {
		raw := string(other.call("", "Target.getBrowserContexts", nil))
		if !strings.Contains(raw, stays) {
			t.Fatalf("the context without disposeOnDetach has gone: %s", raw)
		}
		return !strings.Contains(raw, goes)
	})
}

// TestCrashedPage: a page whose renderer died can be loaded again.
func TestCrashedPage(t *testing.T) {
	b := newProfile(t).start()
	c := dial(t, serveGateway(t, b)+"/")
	_, session := c.openTab("http://a.test/crash")
	pageAt(t, b, "/crash")
	c.send(session, "Page.crash", nil)
	c.event("Inspector.targetCrashed")
	c.call(session, "Page.reload", nil)
	c.becomes(session, `location.pathname + document.readyState`, `"/crashcomplete"`)
}

// TestNothingIsKeptOfPagesThatWent: the multiplexer's tables are as before after pages and clients have come and gone.
func TestNothingIsKeptOfPagesThatWent(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	sizes := func() string {
		b.mux.mu.Lock()
		defer b.mux.mu.Unlock()
		b.mux.controller.mu.Lock()
		defer b.mux.controller.mu.Unlock()
		return fmt.Sprintf("sessions %d, commands %d, clients %d, targets %d, pages %d", len(b.mux.sessions), len(b.mux.pending),
			len(b.mux.clients), len(b.mux.controller.targets), len(b.mux.controller.pages))
	}
	b.Languages()
	testnet.Eventually(t, "the sessions to spare", func() bool { return strings.Contains(sizes(), "commands 0,") })
	before := sizes()
	for range 5 {
		c := dial(t, url+"/")
		c.call("", "Target.setAutoAttach", waiting())
		drain(c)
		target, _ := c.openTab("http://a.test/x")
		session := runNext(t, c)
		c.send(session, "Runtime.evaluate", map[string]any{"expression": "new Promise(() => {})", "awaitPromise": true})
		c.call("", "Target.closeTarget", map[string]any{"targetId": target})
		c.event("Target.detachedFromTarget")
		c.send("", "Runtime.evaluate", nil)
		c.socket.CloseNow()
	}
	testnet.Eventually(t, "the books are as before: "+before, func() bool { return sizes() == before })
}
