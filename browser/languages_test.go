//go:build linux

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"warren/testnet"
)

// languageSite serves pages whose contexts tell their languages at any time, and those of their requests.
func languageSite(t *testing.T, p *profile, s *Spec) {
	t.Helper()
	found := installed(t)
	s.Product, s.Version, s.TrustSPKI = found.Product, found.Version, newTableSite(t, p.site, "https").spki
	accepts := func(r *http.Request) string { return r.Header.Get("Accept-Language") }
	serve := func(path, kind, text string) {
		p.site.Mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "no-store")
			fmt.Fprint(w, strings.ReplaceAll(text, "$ACCEPT", accepts(r)))
		})
	}
	serve("/asked", "text/plain", "$ACCEPT")
	serve("/shows", "text/html", `<!doctype html><script>self.first = "$ACCEPT"</script>`)
	serve("/frames", "text/html", `<!doctype html><script>self.first = "$ACCEPT"</script><iframe src="/shows"></iframe><iframe `+
		`src="https://b.test/shows"></iframe><script>
		new Worker('/worker.js'); new SharedWorker('/plain.js'); navigator.serviceWorker.register('/plain.js?service')</script>`)
	serve("/plain.js", "text/javascript", `self.first = "$ACCEPT"`)
	serve("/worker.js", "text/javascript", `self.first = "$ACCEPT"; new Worker('/plain.js?nested')`)
	p.site.Mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
			c.Write(r.Context(), websocket.MessageText, []byte(accepts(r)))
			c.Close(websocket.StatusNormalClosure, "")
		}
	})
}

// askLanguages returns what a context shows and sends.
const askLanguages = `Promise.all([fetch('/asked').then(r => r.text()), new Promise((done, lost) => {
	const s = new WebSocket('wss://' + location.host + '/socket'); s.onmessage = e => done(e.data); s.onerror = lost
})]).then(sent => [navigator.language, navigator.languages, Intl.DateTimeFormat().resolvedOptions().locale,
	(1234.5).toLocaleString(), ...sent].join('|'))`

// speak returns the result of askLanguages for these languages.
func speak(number string, languages ...string) string {
	accept := acceptLanguage(languages)
	return strings.Join([]string{languages[0], strings.Join(languages, ","), languages[0], number, accept, accept}, "|")
}

// contextsOf asks every target of a site, and the frame within its main page.
func contextsOf(t *testing.T, b *Browser) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	all := map[string]string{}
	ask := func(name, session, expression string) {
		var r struct {
			Result struct{ Value, Description string }
		}
		if err := b.mux.call(ctx, session, "Runtime.evaluate",
			map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r); err != nil {
			t.Logf("%s: %v", name, err)
			return
		}
		if all[name] = r.Result.Value; r.Result.Description != "" {
			all[name] = r.Result.Description
		}
	}
	for _, s := range b.mux.controllerSessions("") {
		var r struct{ Result struct{ Value string } }
		where := map[string]any{"expression": "self.first === undefined ? '' : location.host + location.pathname + location.search"}
		if err := b.mux.call(ctx, s.id, "Runtime.evaluate", where, &r); err != nil || r.Result.Value == "" {
			continue
		}
		name := s.kind + " " + r.Result.Value
		ask(name, s.id, askLanguages)
		if s.kind == "page" && strings.Contains(name, "/frames") {
			ask(name+" frame", s.id, `frames[0].eval(`+fmt.Sprintf("%q", askLanguages)+`)`)
		}
	}
	return all
}

// everywhere waits until all open contexts show and send the wanted languages.
func everywhere(t *testing.T, b *Browser, number string, languages []string, contexts ...string) {
	t.Helper()
	var last map[string]string
	want := speak(number, languages...)
	// In a client's context Chrome derives a list from the first language for what no CDP override reaches: WebSockets of these workers.
	isKnown := func(name string) bool { return strings.Contains(name, "_worker c.test/") }
	slices.Sort(contexts)
	defer func() {
		if t.Failed() {
			for name, got := range last {
				t.Logf("%s: %s", name, got)
			}
		}
	}()
	testnet.Eventually(t, "every context says "+want, func() bool {
		last = contextsOf(t, b)
		for name, got := range last {
			if got != want && !(isKnown(name) && strings.HasPrefix(got, want[:strings.LastIndex(want, "|")+1]+languages[0]+",")) {
				return false
			}
		}
		return slices.Equal(slices.Sorted(maps.Keys(last)), contexts)
	})
}

// takes changes the identity of a running browser. If the settings page is not there within settingsTimeout, as on a busy machine, the
// languages stay. Then it tries again, as a profile's next change does.
func takes(t *testing.T, b *Browser, id Identity) (told []string) {
	t.Helper()
	testnet.Eventually(t, "the browser takes what it is told", func() bool {
		var err error
		told, err = b.SetIdentity(t.Context(), id)
		if _, kept := errors.AsType[*LanguagesError](err); kept && errors.Is(err, context.DeadlineExceeded) {
			t.Log(err)
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	})
	return told
}

// TestLanguagesFollow: a running browser adopts other languages in all open and later contexts. It may have started without any, and a
// client may be attached to everything.
func TestLanguagesFollow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("is about what pages are told, not about our goroutines: the race detector's run leaves it out, make test has it")
	}
	german, japanese := []string{"de-DE", "de"}, []string{"ja-JP", "ja", "en"}
	for _, x := range []struct {
		name      string
		headed    bool
		languages []string
	}{{"as declared", false, german}, {"the machine's", false, nil}, {"as declared, with windows", true, german},
		{"the machine's, with windows", true, nil}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p := newProfile(t)
			s := p.spec()
			languageSite(t, p, &s)
			s.Identity.Languages = x.languages
			if x.headed {
				s.Headless, s.ExtraEnv = false, []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
			}
			b := p.startSpec(s)
			follow(dial(t, serveGateway(t, b)+"/"))
			own := b.mux.controller.openPages()[0]
			call(t, b, own.Session, "Page.navigate", map[string]string{"url": "https://a.test/frames"})
			c := dial(t, serveGateway(t, b)+"/")
			private := field(t, c.call("", "Target.createBrowserContext", nil), "browserContextId")
			c.call("", "Target.createTarget",
				map[string]any{"url": "https://c.test/frames", "browserContextId": private, "background": true})
			contexts := []string{"service_worker a.test/plain.js?service", "service_worker c.test/plain.js?service"}
			for _, host := range []string{"a.test", "c.test"} {
				contexts = append(
					contexts, "page "+host+"/frames", "page "+host+"/frames frame", "worker "+host+"/worker.js",
					"worker "+host+"/plain.js?nested", "shared_worker "+host+"/plain.js")
			}
			contexts = append(contexts, "iframe b.test/shows") // of both
			if x.languages != nil {
				everywhere(t, b, "1.234,5", german, contexts...)
			} else {
				testnet.Eventually(t, "everything is there", func() bool { return len(contextsOf(t, b)) == len(contexts) })
			}
			evaluate(t, b, own, `document.addEventListener('visibilitychange', () => { document.body.dataset.hid = `+
				`document.visibilityState })`)
			id := s.Identity
			id.Languages = japanese
			if told := takes(t, b, id); !slices.Equal(told, japanese) {
				t.Fatalf("the pages have %v", told)
			}
			everywhere(t, b, "1,234.5", japanese, contexts...)
			if got := evaluate(t, b, own, `document.visibilityState + document.body.dataset.hid`); x.headed && got != `"visibleundefined"` {
				t.Errorf("the tab in front is or was another: %s", got)
			}
			// What opens now has them from its first request.
			call(t, b, own.Session, "Runtime.evaluate", map[string]any{"expression": `open('https://b.test/shows?popup', '_blank', ` +
				`'noopener'); navigator.serviceWorker.register('/plain.js?later', {scope: '/x'}); 1`, "userGesture": true})
			everywhere(t, b, "1,234.5", japanese, append(contexts, "page b.test/shows?popup", "service_worker a.test/plain.js?later")...)
			for _, s := range b.mux.controllerSessions("") {
				var r struct{ Result struct{ Value string } }
				if err := b.mux.call(
					t.Context(), s.id, "Runtime.evaluate",
					map[string]any{"expression": `location.search.match(/popup|later/) ? self.first : ''`}, &r); err == nil &&
					r.Result.Value != "" && r.Result.Value != acceptLanguage(japanese) {
					t.Errorf("%s was asked for with %s", s.kind, r.Result.Value)
				}
			}
			if got := c.shown(); slices.ContainsFunc(got, func(url string) bool { return strings.HasPrefix(url, "chrome://settings") }) {
				t.Errorf("there are the tabs %v", got)
			}
		})
	}
}

// TestOwnLanguagesComeBack: without declared languages the user's own choice is back, even after a browser that crashed.
func TestOwnLanguagesComeBack(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("is about files and several starts in a row, not about our goroutines: the race detector's run leaves it out, make " +
			"test-long has it")
	}
	p := newProfile(t)
	run := func(languages, then []string) string {
		t.Helper()
		s := p.spec()
		s.Identity.Languages = languages
		b := p.startSpec(s)
		got := strings.Join(b.Languages(), ",")
		if then != nil {
			takes(t, b, Identity{Languages: then})
			page := b.mux.controller.openPages()[0]
			testnet.Eventually(t, "the page has them", func() bool {
				return evaluate(t, b, page, `navigator.languages.join()`) == fmt.Sprintf("%q", strings.Join(then, ","))
			})
		}
		b.Stop(t.Context(), false)
		b.Close()
		return got
	}
	machine := run(nil, nil)
	for _, own := range []string{machine, "eo,fr"} {
		file := filepath.Join(p.dir, "Default", "Preferences")
		if err := mergeInto(file, []preference{{selectedLanguages, own, false}}); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			languages, then []string
			want            string
		}{
			{nil, nil, own}, {[]string{"de-DE", "de"}, nil, "de-DE,de"}, {[]string{"ja"}, nil, "ja"}, {nil, nil, own},
			{[]string{"de"}, []string{"ja"}, "de"}, {nil, []string{"ja"}, own}, {[]string{"de"}, nil, "de"}, {nil, nil, own},
		} {
			if got := run(x.languages, x.then); got != x.want {
				t.Errorf("with the user's own %q, told %q and then %q, pages have %q", own, x.languages, x.then, got)
			}
		}
	}
}

// TestSettingsPageIsHidden: clients neither see nor hold the settings page, and have no session on it, whatever they are attached to.
func TestSettingsPageIsHidden(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": []map[string]any{{}}})
	c.call("", "Target.setAutoAttach", waiting()) // and never resumes a target
	drain(c)
	for range 3 {
		session, leave, err := b.openSettings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call(t, b, session, "Page.navigate", map[string]string{"url": settingsURL})
		target := b.mux.session(session).target
		m := c.try("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})
		if m.Error == nil {
			if m := c.try(field(t, m.Result, "sessionId"), "Runtime.evaluate",
				map[string]any{"expression": "document.URL"}); m.Error == nil {
				t.Errorf("a client has looked into the settings: %s", m.Result)
			}
		}
		wrapped := c.send("", "Target.attachToTarget", map[string]any{"targetId": target})
		if m := c.try("", "Target.sendMessageToTarget",
			map[string]any{"targetId": target,
				"message": `{"id":1,"method":"Runtime.evaluate","params":{"expression":"1"}}`}); m.Error == nil {
			t.Error("a client has sent the settings a message")
		}
		c.wait(wrapped, "a session of the old kind")
		if status, body := ask(t, "GET", url+"/json/list", nil); status != 200 || strings.Contains(body, target) {
			t.Errorf("the list has the private page: %s", body)
		}
		leave()
		if _, open := b.mux.controller.page(target); open || b.mux.hasSettingsPage() {
			t.Error("the page is still there")
		}
		marked := field(t, c.call("", "Target.createTarget", map[string]any{"url": BlankPage}), "targetId") // at the end of the list
		for marker := ""; marker != marked; {
			m := c.event("Target.targetCreated")
			var info struct{ TargetInfo TargetInfo }
			if err := json.Unmarshal(m.Params, &info); err != nil {
				t.Fatal(err)
			}
			if marker = info.TargetInfo.TargetID; marker == target {
				t.Errorf("a client was told of %s", m.Params)
			}
		}
	}
	// A client that is attached before Chrome has answered with the page's id.
	target, _ := c.openTab(BlankPage)
	for _, off := range b.mux.detachFromSettings(target) {
		testnet.AwaitClosed(t, "the client is off the page", off, testnet.Patience)
	}
	if b.mux.hasClient(target) {
		t.Error("a client is still on the page")
	}
}

// TestStopAmidLanguages: a browser that is stopped during a change of languages has no settings page at the next start, and its own
// languages.
func TestStopAmidLanguages(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	own := b.Languages()
	ended := make(chan error, 1)
	go func() {
		_, err := b.SetIdentity(t.Context(), Identity{Languages: []string{"ja"}})
		ended <- err
	}()
	testnet.Eventually(t, "the settings are open", func() bool { return b.mux.hasSettingsPage() || len(ended) > 0 })
	if m := b.Stop(t.Context(), false); m != MethodClose {
		t.Errorf("the stop took %q", m)
	}
	t.Logf("the change: %v", <-ended)
	b.Close()
	b = p.start()
	if got := urls(t, b); !slices.Equal(got, []string{BlankPage}) {
		t.Errorf("the tabs show %v", got)
	}
	if got := b.Languages(); !slices.Equal(got, own) {
		t.Errorf("pages have %v", got)
	}
}

// TestSettingsThatWereLeft: a browser that crashed with its settings page open does not have it open at the next start, even if no other
// page is.
func TestSettingsThatWereLeft(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		p := newProfile(t)
		b := p.start()
		b.mux.controller.closeBlocked.Store(false) // as if the browser had crashed before the controller could close them
		first := b.mux.controller.openPages()[0]
		if alone {
			call(t, b, first.Session, "Page.navigate", map[string]string{"url": settingsURL})
		} else {
			call(t, b, first.Session, "Page.navigate", map[string]string{"url": "http://a.test/mine"})
			testnet.Eventually(t, "the tab is there to be restored", // the answer comes before it is
				func() bool {
					return evaluate(t, b, first, "location.pathname + document.readyState") == `"/minecomplete"`
				})
			call(t, b, "", "Target.createTarget", map[string]any{"url": settingsURL, "background": true})
		}
		testnet.Eventually(t, "the settings are there", func() bool { return slices.Contains(urls(t, b), settingsURL) })
		b.Stop(t.Context(), false)
		b.Close()
		want := []string{"http://a.test/mine"}
		if alone {
			want = []string{BlankPage}
		}
		b = p.start()
		var got []string
		testnet.Eventually(t, fmt.Sprintf("the tabs are %v", want), func() bool {
			now := urls(t, b)
			if !slices.Equal(now, got) {
				t.Logf("the tabs are %v", now)
			}
			got = now
			return slices.Equal(got, want)
		})
	}
}

// TestLanguagesThatAreNotTaken: if the settings page fails, pages keep their languages, the rest of the identity changes, and the next
// change succeeds.
func TestLanguagesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	s := p.spec()
	s.Identity.Languages = []string{"de"}
	b := p.startSpec(s)
	page := b.mux.controller.openPages()[0]
	sees := func(want string) {
		t.Helper()
		testnet.Eventually(t, "the page sees "+want, func() bool {
			return evaluate(t, b, page, `navigator.languages + Intl.DateTimeFormat().resolvedOptions().locale + `+
				`Intl.DateTimeFormat().resolvedOptions().timeZone`) == fmt.Sprintf("%q", want)
		})
	}
	id := Identity{Languages: []string{"ja", "en"}, Timezone: "Asia/Tokyo"}
	b.settings.Lock() // as if the last page never opened
	told, err := b.SetIdentity(t.Context(), id)
	if _, kept := errors.AsType[*LanguagesError](err); !kept || !slices.Equal(told, s.Identity.Languages) {
		t.Errorf("the pages have %v, %v", told, err)
	}
	sees("dedeAsia/Tokyo")
	b.settings.Unlock()
	if told = takes(t, b, id); !slices.Equal(told, id.Languages) {
		t.Errorf("the pages have %v", told)
	}
	sees("ja,enjaAsia/Tokyo")
	if _, err := b.SetIdentity(t.Context(), Identity{Languages: []string{"no tag"}}); err == nil || len(b.emulation.languages()) != 2 {
		t.Errorf("what is no language was taken: %v", err)
	}
	if told, err := b.SetIdentity(t.Context(), Identity{}); err != nil || !slices.Equal(told, id.Languages) {
		t.Errorf("without languages the pages have %v, %v", told, err)
	}
}

// TestClientsOwnAgentStays: a page for which a client has set a user agent keeps it when the profile's languages change.
func TestClientsOwnAgentStays(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	s := p.spec()
	languageSite(t, p, &s)
	s.Identity.Languages = []string{"de"}
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	_, session := c.openTab("https://a.test/shows")
	c.becomes(session, `String(self.first)`, `"de"`)
	c.call(session, "Emulation.setUserAgentOverride", map[string]any{"userAgent": "mine", "acceptLanguage": "eo"})
	takes(t, b, Identity{Languages: []string{"ja"}})
	if got := c.value(session, `[navigator.languages, navigator.userAgent].join('|')`); got != `"eo|mine"` {
		t.Errorf("the page is %s", got) // its requests have the controller's languages, as before the change
	}
	c.socket.CloseNow()
	testnet.Eventually(t, "the page is the profile's when the client has gone", func() bool {
		page := b.mux.controller.openPages()[1]
		return evaluate(t, b, page, `navigator.languages.join()`) == `"ja"`
	})
}
