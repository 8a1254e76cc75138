//go:build linux

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// tableRound is one browser in which the contexts of TestIdentityTable are created.
type tableRound struct {
	t        *testing.T
	browser  Installed
	identity declared
	scheme   string
	headed   bool
	second   bool           // a client is attached to everything, as Playwright and Puppeteer attach
	follows  bool           // it starts with other languages, and gets these while it runs
	warm     bool           // it starts before it belongs to a profile
	change   func(*Spec)    // changes the spec; nil: it stays
	spoil    func(*Browser) // changes the open browser; nil: it stays

	p       *profile
	site    *tableSite
	b       *Browser
	gateway string
	main    Page
	absent  map[string]string // contexts that this round does not have, and why
	late    int               // how often something did not come
}

func (r *tableRound) name() string {
	name := r.identity.name + " " + r.scheme
	if r.headed {
		name += " headed"
	}
	if r.second {
		name += " second client"
	}
	if r.follows {
		name += " told later"
	}
	if r.warm {
		name += " warm"
	}
	return name
}

// url returns the address of a context's page.
func (r *tableRound) url(host, ctx, do string) string {
	url := r.scheme + "://" + host + "/page?ctx=" + ctx
	if do != "" {
		url += "&do=" + do
	}
	return url
}

// run starts the browser and creates all contexts.
func (r *tableRound) run() {
	t := r.t
	r.absent = map[string]string{}
	r.p = newProfile(t)
	r.site = newTableSite(t, r.p.site, r.scheme)
	r.start()
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the page", r.page}, {"tabs of clients", r.clients}, {"pop-ups", r.popups}, {"prerendering", r.prerender},
		{"the way back", r.back},
		{"crash", r.crash}, {"Chrome's own pages", r.inside}, {"extension", r.extension}, {"restart", r.restart},
	} {
		began := time.Now()
		step.do()
		t.Logf("%s: %v", step.name, time.Since(began).Round(time.Millisecond))
	}
	r.b.Stop(t.Context(), false)
}

// start starts the browser, and begins to read its events.
func (r *tableRound) start() {
	t := r.t
	s := r.p.spec()
	s.Product, s.Version = r.browser.Product, r.browser.Version
	s.Identity, s.TrustSPKI = r.identity.Identity, r.site.spki
	if r.follows {
		s.Identity.Languages = []string{"ru-RU", "ru"}
	}
	if r.headed {
		s.Headless, s.ExtraEnv = false, []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	}
	// The pages download several times by themselves.
	file := filepath.Join(s.UserDataDir, "Default", "Preferences")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mergeInto(file, []preference{{"profile.default_content_setting_values.automatic_downloads", 1, false}}); err != nil {
		t.Fatal(err)
	}
	if r.change != nil {
		r.change(&s)
	}
	take := func() {}
	if first := r.b == nil; r.warm && first {
		r.b, take = r.p.openWarm(s)
	} else {
		r.b = r.p.open(s)
	}
	if r.spoil != nil {
		r.spoil(r.b)
	}
	if err := r.b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	take()
	if r.follows {
		takes(t, r.b, r.identity.Identity)
	}
	r.gateway = serveGateway(t, r.b)
	call(t, r.b, "", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": t.TempDir()})
	r.main = r.b.mux.controller.openPages()[0]
	if r.second {
		follow(dial(t, r.gateway+"/"))
	}
}

// follow attaches a client to everything, and resumes everything.
func follow(c *tester) {
	c.call("", "Target.setAutoAttach", waiting())
	go func() {
		for {
			select {
			case m := <-c.events:
				var p struct{ SessionID string }
				if m.Method != "Target.attachedToTarget" || json.Unmarshal(m.Params, &p) != nil {
					continue
				}
				c.send(p.SessionID, "Page.enable", nil)
				c.send(p.SessionID, "Runtime.enable", nil)
				c.send(p.SessionID, "Network.enable", nil)
				c.send(p.SessionID, "Target.setAutoAttach", waiting())
				c.send(p.SessionID, "Runtime.runIfWaitingForDebugger", nil)
			case <-c.ended:
				return
			}
		}
	}()
}

// await waits for contexts by their names.
func (r *tableRound) await(names ...string) {
	r.t.Helper()
	began := time.Now()
	defer func() {
		if took := time.Since(began); took > attachTimeout {
			r.t.Logf("%v took %v", names, took.Round(time.Millisecond))
		}
	}()
	var all []tableContext
	for _, name := range names {
		if r.absent[name] == "" {
			all = append(all, contextNamed(name))
		}
	}
	if err := r.site.await(all...); err != nil {
		r.t.Error(err)
		if r.late++; r.late > 2 {
			r.t.Fatal("too much does not come: the rest is not waited for")
		}
	}
}

func (r *tableRound) lack(why string, names ...string) {
	for _, name := range names {
		r.absent[name] = why
	}
}

// visit navigates a tab.
func (r *tableRound) visit(p Page, url string) {
	r.t.Helper()
	call(r.t, r.b, p.Session, "Page.navigate", map[string]string{"url": url})
}

// tab opens a blank tab on the controller's session, and waits until it has its overrides.
func (r *tableRound) tab() Page {
	r.t.Helper()
	target := field(r.t, call(r.t, r.b, "", "Target.createTarget", map[string]any{"url": BlankPage}), "targetId")
	var p Page
	testnet.Eventually(r.t, "the controller is attached to the tab", func() bool {
		var ok bool
		p, ok = r.b.mux.controller.page(target)
		return ok
	})
	r.b.mux.controller.awaitOverrides(r.t.Context(), target)
	return p
}

// followers returns the number of clients that stay connected.
func (r *tableRound) followers() int {
	if r.second {
		return 1
	}
	return 0
}

// closeTab closes a tab, and waits until those that share its process have their locale again. Documents before that may differ, as
// documented.
// documented.
func (r *tableRound) closeTab(p Page) {
	r.t.Helper()
	call(r.t, r.b, "", "Target.closeTarget", map[string]string{"targetId": p.Target})
	ctl := r.b.mux.controller
	testnet.Eventually(r.t, "the others have their locale again", func() bool {
		_, open := ctl.page(p.Target)
		ctl.mu.Lock()
		defer ctl.mu.Unlock()
		return !open && !ctl.reapplying.again && !ctl.reapplying.busy
	})
}

// page is the main page with its frames, workers and worklets.
func (r *tableRound) page() {
	if r.scheme == "http" {
		r.lack("service workers, worklets and fetchLater are for secure contexts", "worker-service", "worklet-audio", "worklet-paint",
			"request-later")
		r.lack("the round is over http", "page-http", "critical")
	}
	r.visit(r.main, r.url("a.test", "page", "frames,workers,worklets,requests"))
	if err := r.site.await(contextNamed("page")); err != nil {
		r.t.Fatal(err) // nothing will work
	}
	r.await("page", "iframe-same", "iframe-cross", "iframe-nested", "iframe-srcdoc", "iframe-blank", "iframe-sandbox", "iframe-data",
		"worker-cross", "worker", "worker-nested", "worker-module", "worker-blob", "worker-shared", "worker-service", "worklet-audio",
		"worklet-paint",
		"request-events", "request-video", "request-font", "request-prefetch", "request-icon", "request-later", "request-redirect",
		"request-report")
	if r.scheme == "https" {
		p := r.tab()
		r.visit(p, "http://a.test/page?ctx=page-http")
		r.await("page-http")
		r.visit(p, "https://c.test/page?ctx=critical")
		r.await("critical")
		r.closeTab(p)
	}
}

// popups are the tabs and windows that a page opens.
func (r *tableRound) popups() {
	for _, x := range []struct{ name, script string }{
		{"popup", fmt.Sprintf(`window.open(%q)`, r.url("a.test", "popup", ""))},
		{"popup-blank", `{const w = window.open(''); w.document.open(); w.document.write('<script>' + inline() + 'probe(' + ` +
			`as('popup-blank') + ')<' + '/script>'); w.document.close()}`},
		{"popup-cross", fmt.Sprintf(`window.open(%q)`, r.url("b.test", "popup-cross", ""))},
		{"popup-window", fmt.Sprintf(`window.open(%q, 'w', 'popup,width=400,height=300')`, r.url("a.test", "popup-window", ""))},
		{"popup-noopener", fmt.Sprintf(`window.open(%q, '_blank', 'noopener')`, r.url("b.test", "popup-noopener", ""))},
		{"popup-redirect", fmt.Sprintf(
			`window.open(%q, '_blank', 'noopener')`,
			r.scheme+"://a.test/redirect?ctx=popup-redirect&to="+url.QueryEscape(r.url("b.test", "popup-redirect", "")))},
		{"popup-form", fmt.Sprintf(`{const f = document.createElement('form'); f.method = 'post'; f.action = %q; f.target = '_blank'; `+
			`f.rel = 'noopener';
			f.append(Object.assign(document.createElement('input'), {name: 'a', value: 'b'}));
			document.documentElement.append(f); f.submit()}`, r.url("a.test", "popup-form", ""))},
		{"link-blank", link(r.url("a.test", "link-blank", ""), "")},
		{"link-opener", link(r.url("b.test", "link-opener", ""), "opener")},
	} {
		call(r.t, r.b, "", "Target.activateTarget", map[string]string{"targetId": r.main.Target})
		call(r.t, r.b, r.main.Session, "Runtime.evaluate", map[string]any{"expression": x.script + "; 1", "userGesture": true})
		r.await(x.name)
	}
	for _, p := range r.b.mux.controller.openPages() {
		if p.Target != r.main.Target {
			r.closeTab(p)
		}
	}
}

func link(url, rel string) string {
	return fmt.Sprintf(`{const a = document.createElement('a'); a.href = %q; a.target = '_blank'; a.rel = %q; `+
		`document.documentElement.append(a); a.click()}`, url, rel)
}

// prerender is a page that is fetched, and may run, before it is visited. Chromium 156 only fetches it while a client is attached to the
// page through another target than its tab (Preload.prerenderStatusUpdated: PrerenderingDisabledByDevTools).
func (r *tableRound) prerender() {
	if r.scheme == "http" {
		r.lack("nothing is fetched ahead over http", "prerender")
		return
	}
	p := r.tab()
	r.visit(p, r.url("a.test", "away", "prerender"))
	if err := r.site.awaitFirst("prerender"); err != nil {
		r.t.Error(err)
	}
	call(r.t, r.b, p.Session, "Runtime.evaluate",
		map[string]any{"expression": fmt.Sprintf("location.href = %q", r.url("a.test", "prerender", "ahead")), "userGesture": true})
	r.await("prerender")
	r.closeTab(p)
}

// back is a page that is left and shown again as it was.
func (r *tableRound) back() {
	p := r.tab()
	r.visit(p, r.url("a.test", "away", "back"))
	loaded := func(path string) {
		testnet.Eventually(r.t, "the tab shows "+path, func() bool {
			ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
			defer cancel()
			got, _ := tryEvaluate(ctx, r.b, p, `location.search + document.readyState`)
			return strings.Contains(got, path+"complete") || strings.Contains(got, path+"&do=backcomplete")
		})
	}
	loaded("ctx=away")
	r.visit(p, r.url("a.test", "elsewhere", ""))
	loaded("ctx=elsewhere")
	call(r.t, r.b, p.Session, "Runtime.evaluate", map[string]any{"expression": "history.back()"})
	r.await("bfcache")
	r.closeTab(p)
}

// crash is a page that is loaded again after its process died.
func (r *tableRound) crash() {
	p := r.tab()
	r.visit(p, r.url("a.test", "crashed", ""))
	r.await("crashed")
	c := dial(r.t, r.gateway+"/") // a client sends the command, since it gets no answer, and leaves
	session := field(r.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": p.Target, "flatten": true}), "sessionId")
	c.send(session, "Page.crash", nil)
	c.event("Inspector.targetCrashed")
	c.socket.CloseNow()
	testnet.Eventually(r.t, "the client has gone", func() bool { return r.b.Clients() == r.followers() })
	r.site.forget("crashed")
	call(r.t, r.b, p.Session, "Page.reload", nil)
	r.await("crashed")
	r.closeTab(p)
}

// restart stops the browser on a page and starts it again, so that the page is loading before DevTools is read.
func (r *tableRound) restart() {
	r.visit(r.main, r.url("a.test", "restored", ""))
	r.await("restored")
	r.b.Stop(r.t.Context(), false)
	if err := r.b.Close(); err != nil {
		r.t.Error(err)
	}
	r.site.forget("restored")
	r.follows = false // a restored tab sends the languages of the start
	change := r.change
	r.change = func(s *Spec) {
		if change != nil {
			change(s)
		}
		spoil, watch := r.spoil, lateDevTools(r.t, s)
		r.spoil = func(b *Browser) {
			if spoil != nil {
				spoil(b)
			}
			watch(b)
		}
	}
	r.start()
	r.await("restored")
}

// inside are Chrome's own documents, which DevTools asks for what they see.
func (r *tableRound) inside() {
	p := r.tab()
	r.visit(p, r.scheme+"://a.test/nothing?ctx=error")
	testnet.Eventually(r.t, "the error page", func() bool { return evaluate(r.t, r.b, p, "location.protocol") == `"chrome-error:"` })
	r.collect("error", p.Session)
	r.visit(p, r.scheme+"://a.test/doc.pdf?ctx=pdf")
	r.collect("pdf", p.Session)
	var viewer string
	const built = "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/"
	testnet.Eventually(r.t, "the PDF viewer", func() bool {
		viewer = r.sessionAt(built)
		return viewer != ""
	})
	r.collect("pdf-viewer", viewer)
	r.closeTab(p)
}

// collect asks a document for what it sees.
func (r *tableRound) collect(ctx, session string) {
	r.t.Helper()
	raw := call(r.t, r.b, session, "Runtime.evaluate",
		map[string]any{"expression": "(() => {" + probeSource() + "; return collect()})()", "returnByValue": true})
	var got struct {
		Result struct{ Value map[string]any }
	}
	if err := json.Unmarshal(raw, &got); err != nil || got.Result.Value == nil {
		r.t.Errorf("%s: %s", ctx, raw)
		return
	}
	r.site.told(ctx, got.Result.Value)
}

// sessionAt returns the controller's session on the target whose address begins so.
func (r *tableRound) sessionAt(prefix string) string {
	var all struct{ TargetInfos []TargetInfo }
	filter := []map[string]any{{}}
	if err := json.Unmarshal(call(r.t, r.b, "", "Target.getTargets", map[string]any{"filter": filter}), &all); err != nil {
		r.t.Fatal(err)
	}
	r.b.mux.mu.Lock()
	defer r.b.mux.mu.Unlock()
	for _, target := range all.TargetInfos {
		for _, s := range r.b.mux.sessions {
			if s.target == target.TargetID && s.client == nil && strings.HasPrefix(target.URL, prefix) {
				return s.id
			}
		}
	}
	return ""
}
