//go:build linux

package browser

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// These tests cover situations in which an identity was once lost, and targets that come and go in masses.

// elsewhere returns an identity that differs from this machine's in everything.
func elsewhere() Identity {
	return Identity{OS: "win", Version: "124", Timezone: "America/New_York", Languages: []string{"de-DE", "de", "en-US", "en"},
		Geolocation: &Geolocation{Latitude: 52.5, Longitude: 13.4, Accuracy: 50}, Screen: &Screen{1920, 1080, 2}}
}

// declaredFirst is what the first line of a page or worker must see.
const declaredFirst = "Win32|de-DE,de,en-US,en|de-DE|America/New_York|Chrome/124.0.0.0"

// firstLine collects it.
const firstLine = `self.first = [navigator.platform, navigator.languages, Intl.DateTimeFormat().resolvedOptions().locale, ` +
	`Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent.match(/Chrome\/\S+/)].join('|');`

// told is a site whose pages and workers report what their first line saw.
type told struct {
	mu    sync.Mutex
	first map[string]string // by the number in their address
}

// declaredProfile returns a profile with that site, and the spec of a run with that identity.
func declaredProfile(t *testing.T) (*profile, Spec, *told) {
	t.Helper()
	if testing.Short() && t.Name() != "TestMassOfTargets" {
		t.Skip("is about what pages are told, not about our goroutines: the race detector's run leaves it out, make test has it")
	}
	p := newProfile(t)
	found := installed(t)
	s := p.spec()
	s.Identity, s.Product, s.Version, s.TrustSPKI = elsewhere(), found.Product, found.Version, newTableSite(t, p.site, "https").spki
	all := &told{first: map[string]string{}}
	p.site.Mux.HandleFunc("/first", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>%s fetch('/tell?n=%s&v=' + encodeURIComponent(first))</script>`, firstLine, r.URL.Query().Get("n"))
	})
	p.site.Mux.HandleFunc("/first.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, `%s fetch('/tell?n=%s&v=' + encodeURIComponent(first)).then(() => self.postMessage && postMessage(first))`,
			firstLine, r.URL.Query().Get("n"))
	})
	p.site.Mux.HandleFunc("/tell", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // a restored page reports again
		all.mu.Lock()
		defer all.mu.Unlock()
		all.first[r.URL.Query().Get("n")] = r.URL.Query().Get("v")
	})
	return p, s, all
}

// has reports whether the target with a number has reported.
func (a *told) has(n string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, has := a.first[n]
	return has
}

// await waits until n targets have reported, and checks what they saw. It counts those that differ only in having the browser's own locale.
func (a *told) await(t *testing.T, n int) (unlocalised int) {
	t.Helper()
	for k := 1; k <= n; k++ { // one by one, since many at once take longer
		testnet.Eventually(t, fmt.Sprintf("%d of %d ran", k, n), func() bool {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.first) >= k
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, first := range a.first {
		switch first {
		case declaredFirst:
		case strings.Replace(declaredFirst, "|de-DE|", "|en-US|", 1):
			unlocalised++
		default:
			t.Errorf("the first line of %s saw %s", n, first)
		}
	}
	return unlocalised
}

// startSpec starts a run. Its clients may take their time to attach to what they have opened.
func (p *profile) startSpec(s Spec) *Browser {
	p.t.Helper()
	b := p.open(s)
	if err := b.Start(p.t.Context()); err != nil {
		p.t.Fatalf("Start: %v", err)
	}
	b.mux.controller.attachWait = attachTimeout
	return b
}

// numbered waits for the page with a number and returns it.
func numbered(t *testing.T, b *Browser, n string) (found Page) {
	t.Helper()
	testnet.Eventually(t, "a page has the number "+n, func() bool {
		for _, p := range b.mux.controller.openPages() {
			var first string
			if b.mux.controller.evaluate(t.Context(), p, `location.search`, &first) == nil && first == "?n="+n {
				found = p
			}
		}
		return found.Session != ""
	})
	return found
}

const askPosition = `new Promise(done => navigator.geolocation.getCurrentPosition(p => done(p.coords.latitude), e => done(e.message), ` +
	`{maximumAge: 0}))`

// TestPositionOutlivesFrames: a page keeps its position when a frame of another site that had it too goes away.
func TestPositionOutlivesFrames(t *testing.T) {
	p, s, _ := declaredProfile(t)
	p.site.Mux.HandleFunc("/framed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<iframe allow="geolocation" src="https://b.test/inner"></iframe><script>onmessage = e => window.inner = `+
			`e.data</script>`)
	})
	p.site.Mux.HandleFunc("/inner", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>%s.then(v => parent.postMessage(v, '*'))</script>`, askPosition)
	})
	c := dial(t, serveGateway(t, p.startSpec(s))+"/")
	_, session := c.openTab("https://a.test/framed")
	c.becomes(session, `window.inner`, `52.5`)
	if got := c.value(session, askPosition); got != `52.5` {
		t.Errorf("the page is at %s", got)
	}
	c.value(session, `document.querySelector('iframe').remove()`)
	if got := c.value(session, askPosition); got != `52.5` {
		t.Errorf("after its frame has gone the page is at %s", got)
	}
}

// TestClientsKeepThePlatform: a client that attaches, and one that leaves, do not change navigator.platform, on the same site and on
// another.
func TestClientsKeepThePlatform(t *testing.T) {
	p, s, _ := declaredProfile(t)
	url := serveGateway(t, p.startSpec(s))
	c := dial(t, url+"/")
	target, session := c.openTab("https://a.test/first?n=0")
	visit := func(address string) {
		t.Helper()
		c.call(session, "Page.navigate", map[string]any{"url": address})
		c.becomes(session, `location.href`, strconv.Quote(address))
		c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
	}
	visit("https://a.test/first?n=1")
	second := dial(t, url+"/")
	attached := field(t, second.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}), "sessionId")
	if got := second.value(attached, `navigator.platform`); got != `"Win32"` {
		t.Errorf("while a client attaches the platform is %s", got)
	}
	visit("https://a.test/first?n=2")
	visit("https://b.test/first?n=3")
	second.socket.CloseNow()
	visit("https://b.test/first?n=4")
	visit("https://a.test/first?n=5")
}

// notice is a log that signals a certain message.
type notice struct {
	what string
	once sync.Once
	yes  chan struct{}
}

func (s *notice) Write(b []byte) (int, error) {
	if strings.Contains(string(b), s.what) {
		s.once.Do(func() { close(s.yes) })
	}
	return len(b), nil
}

// TestDocumentsWaitForSessions: a document request waits while a client's session on the page has no user agent yet, since the document
// would show the host's platform. The page's renderer hangs, so that the session stays without.
func TestDocumentsWaitForSessions(t *testing.T) {
	p, s, told := declaredProfile(t)
	waits, asked := &notice{what: "a document waits", yes: make(chan struct{})}, make(chan struct{})
	s.Logger = slog.New(slog.NewTextHandler(waits, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.site.Mux.HandleFunc("/asked", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		http.Redirect(w, r, "/first?n=asked", http.StatusSeeOther)
	})
	b := p.startSpec(s)
	b.mux.controller.attaching.limit = testnet.Patience
	c, main := dial(t, serveGateway(t, b)+"/"), b.mux.controller.openPages()[0]
	hung := renderers(t, b)
	goOn := func() {
		for _, pid := range hung {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(goOn)
	for _, pid := range hung {
		testnet.Pause(t, pid)
	}
	c.call("", "Target.attachToTarget", map[string]any{"targetId": main.Target, "flatten": true})
	b.mux.send(main.Session, "Page.navigate", map[string]any{"url": "https://a.test/asked"}, nil)
	select {
	case <-waits.yes:
	case <-asked:
		t.Error("the document was asked for before the client's session was there")
	case <-time.After(testnet.Patience):
		t.Fatal("nothing happens")
	}
	goOn()
	told.await(t, 1)
}

// TestPageKeepsThePlatformOfItsClient: a page keeps its platform when its client, or one of the client's sessions, leaves, before its next
// document too.
func TestPageKeepsThePlatformOfItsClient(t *testing.T) {
	p, s, _ := declaredProfile(t)
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	left := func(n string) (Page, string) {
		_, session := c.openTab("https://a.test/first?n=" + n)
		c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
		return numbered(t, b, n), session
	}
	stays := func(what string, was Page) {
		testnet.Eventually(t, what, func() bool { return !b.mux.hasClient(was.Target) })
		testnet.Eventually(t, "the page is what it was: "+what,
			func() bool { return evaluate(t, b, was, `navigator.platform`) == `"Win32"` })
	}
	first, session := left("detached")
	c.call("", "Target.detachFromTarget", map[string]any{"sessionId": session})
	stays("the session has gone", first)
	second, _ := left("left")
	c.socket.CloseNow()
	stays("the client has gone", second)
}

// TestLocaleOutlivesItsPage: locale and time zone apply to a whole renderer process and end with the page that set them. Other pages of the
// process get them again. The zone changes while the browser runs, so that it does not come from the environment.
func TestLocaleOutlivesItsPage(t *testing.T) {
	p, s, _ := declaredProfile(t)
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	target, session := c.openTab("https://a.test/first?n=opener")
	c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
	c.send(session, "Runtime.evaluate", map[string]any{"expression": `window.open('/first?n=popup')`, "userGesture": true})
	popup := numbered(t, b, "popup")
	id := elsewhere()
	id.Timezone, id.Geolocation = "Asia/Tokyo", &Geolocation{Off: true}
	takes(t, b, id)
	see := func(expression string) (got string) {
		_, _ = fmt.Sscanf(evaluate(t, b, popup, expression), "%q", &got)
		return got
	}
	const place = `Intl.DateTimeFormat().resolvedOptions().locale + Intl.DateTimeFormat().resolvedOptions().timeZone`
	if got := see(place); got != "de-DEAsia/Tokyo" {
		t.Errorf("the pop-up has %s", got)
	}
	if err := b.mux.call(t.Context(), popup.Session, "Runtime.evaluate",
		map[string]any{"expression": askPosition + `.then(v => { window.position = v })`, "awaitPromise": true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := see(`position`); !strings.Contains(got, "denied") {
		t.Errorf("a position that is off is %s", got)
	}
	c.call("", "Target.closeTarget", map[string]any{"targetId": target})
	c.event("Target.targetDestroyed")
	testnet.Eventually(t, "the pop-up has them without its opener", func() bool { return see(place) == "de-DEAsia/Tokyo" })
}

// TestServiceWorkerIsAttachedOnce: the controller has one session on a service worker, however many pages it has.
func TestServiceWorkerIsAttachedOnce(t *testing.T) {
	p, s, seen := declaredProfile(t)
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	for n := range 7 {
		_, session := c.openTab(fmt.Sprintf("https://a.test/first?n=%d", n))
		c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
		c.value(session, `navigator.serviceWorker.register('/first.js?n=worker').then(() => navigator.serviceWorker.ready).then(() => 1)`)
	}
	if seen.await(t, 8) > 0 {
		t.Error("the locale was lost")
	}
	sessions := 0
	for _, s := range b.mux.controllerSessions("") {
		if s.kind == "service_worker" {
			sessions++
		}
	}
	if sessions != 1 {
		t.Errorf("the controller has %d sessions on the service worker of seven pages", sessions)
	}
}

// TestCrashedPageGetsOverrides: a page whose renderer died has its overrides when it is loaded again.
func TestCrashedPageGetsOverrides(t *testing.T) {
	p, s, _ := declaredProfile(t)
	c := dial(t, serveGateway(t, p.startSpec(s))+"/")
	_, session := c.openTab("https://a.test/first?n=0")
	c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
	c.send(session, "Page.crash", nil)
	c.event("Inspector.targetCrashed")
	c.call(session, "Page.reload", nil)
	c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
	if got := c.value(session, askPosition); got != `52.5` {
		t.Errorf("after the crash the page is at %s", got)
	}
}

// TestOrphanIsClosed: a page that the controller's session has left is closed.
func TestOrphanIsClosed(t *testing.T) {
	p, s, _ := declaredProfile(t)
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	target, session := c.openTab("https://a.test/first?n=0")
	c.becomes(session, `window.first`, strconv.Quote(declaredFirst))
	owned, _ := b.mux.controller.page(target)
	b.mux.send("", "Target.detachFromTarget", map[string]string{"sessionId": owned.Session}, nil)
	c.event("Target.detachedFromTarget") // the client's own session: the page was closed
	if _, there := b.mux.controller.page(target); there {
		t.Error("the page is still there")
	}
}

// TestHungRenderer: while renderers hang from their start the browser takes commands, and no other page waits. When they continue their
// pages have the overrides.
func TestHungRenderer(t *testing.T) {
	p, s, seen := declaredProfile(t)
	b := p.startSpec(s)
	url := serveGateway(t, b)
	hung := renderers(t, b)
	for _, pid := range hung {
		testnet.Pause(t, pid)
	}
	goOn := func() {
		for _, pid := range hung {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(goOn)
	c := dial(t, url+"/")
	c.call("", "Target.setAutoAttach", waiting())
	drain(c)
	for n := range 3 { // at least the first one gets a spare renderer, and hangs
		c.send("", "Target.createTarget", map[string]any{"url": fmt.Sprintf("https://a.test/first?n=%d", n)})
		var page struct{ SessionID string }
		if err := json.Unmarshal(c.event("Target.attachedToTarget").Params, &page); err != nil {
			t.Fatal(err)
		}
		c.send(page.SessionID, "Runtime.runIfWaitingForDebugger", nil)
	}
	other := dial(t, url+"/")
	other.call("", "Browser.getVersion", nil)
	goOn()
	if seen.await(t, 3) > 0 {
		t.Error("the locale was lost")
	}
}

// renderers returns the browser's renderer processes, spare ones included.
func renderers(t *testing.T, b *Browser) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if pid, err := strconv.Atoi(e.Name()); err == nil && strings.Contains(string(line), "--type=renderer") && ofGroup(pid, b.PID()) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Fatal("the browser has no renderer")
	}
	return pids
}

func ofGroup(pid, group int) bool {
	is, err := syscall.Getpgid(pid)
	return err == nil && is == group
}

// TestMassOfTargets: targets in masses all run, and have the identity from their first line. They are tabs that are opened all at once, and
// tabs, pop-ups and workers that two clients open and close at random. WARREN_TABLE=1 takes 200 and 1,000.
func TestMassOfTargets(t *testing.T) {
	tabs, openings := 20, 40
	switch {
	case testing.Short(): // the race detector's run
		tabs, openings = 5, 10
	case os.Getenv("WARREN_TABLE") != "":
		tabs, openings = 200, 1000
	}
	p, s, seen := declaredProfile(t)
	b := p.startSpec(s)
	url := serveGateway(t, b)
	c, watching := dial(t, url+"/"), dial(t, url+"/")
	follow(c)
	follow(watching)
	began := time.Now()
	var made []<-chan message
	for n := range tabs {
		made = append(made, c.send("", "Target.createTarget", map[string]any{"url": fmt.Sprintf("https://a.test/first?n=tab%d", n)}))
	}
	var targets []string
	for _, answer := range made {
		targets = append(targets, field(t, c.wait(answer, "a tab").Result, "targetId"))
	}
	if seen.await(t, tabs) > 0 {
		t.Error("the locale was lost")
	}
	t.Logf("%d tabs at once: %v", tabs, time.Since(began).Round(time.Millisecond))
	for _, target := range targets[1:] {
		c.send("", "Target.closeTarget", map[string]any{"targetId": target})
	}
	p.openAtRandom(b, seen, numbered(t, b, "tab0"), openings)
	// When the page that set a process' locale goes, the others have the browser's own until they get it again.
	lost := seen.await(t, tabs+openings)
	t.Logf("and %d at random: %v; %d began without their locale, since the page that held it had just gone", openings,
		time.Since(began).Round(time.Millisecond), lost)
	if waits := b.mux.waiting(); waits != 0 {
		t.Errorf("%d sessions are still held", waits)
	}
}

// openAtRandom makes a page open pop-ups, tabs without an opener, and workers, and closes some of them after their report.
func (p *profile) openAtRandom(b *Browser, seen *told, from Page, openings int) {
	ways := []string{
		`window.open('/first?n=%[1]d')`,
		`window.open('https://b.test/first?n=%[1]d')`,
		`window.open('/first?n=%[1]d', '_blank', 'noopener')`,
		`new Worker('/first.js?n=%[1]d').onmessage = e => e.target.terminate()`,
		`new Worker('/first.js?n=%[1]d')`,
		`document.body.appendChild(document.createElement('iframe')).src = 'https://b.test/first?n=%[1]d'`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range openings {
		script := fmt.Sprintf(ways[random.IntN(len(ways))]+`; 0`, n)
		params := map[string]any{"expression": script, "userGesture": true}
		if err := b.mux.call(p.t.Context(), from.Session, "Runtime.evaluate", params, nil); err != nil {
			p.t.Fatal(err)
		}
		if n%10 == 9 { // not more than a page can bear
			p.closeOthers(b, seen, from)
		}
	}
}

// closeOthers closes the tabs that have reported.
func (p *profile) closeOthers(b *Browser, seen *told, but Page) {
	for _, other := range b.mux.controller.openPages() {
		var query string
		if other.Target != but.Target && b.mux.controller.evaluate(p.t.Context(), other, `location.search`, &query) == nil &&
			seen.has(strings.TrimPrefix(query, "?n=")) {
			b.mux.send("", "Target.closeTarget", map[string]string{"targetId": other.Target}, nil)
		}
	}
}

// waiting counts the sessions whose resume is held.
func (m *mux) waiting() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.isHeld {
			n++
		}
	}
	return n
}

// TestWorkersInALoop: a page that opens and closes workers endlessly leaves nothing behind.
func TestWorkersInALoop(t *testing.T) {
	p, s, _ := declaredProfile(t)
	b := p.startSpec(s)
	c := dial(t, serveGateway(t, b)+"/")
	follow(c)
	c.send("", "Target.createTarget", map[string]any{"url": "https://a.test/first?n=loop"})
	from := numbered(t, b, "loop")
	var firsts []string
	const loop = `(async () => { const all = new Set(); for (let i = 0; i < 40; i++) { const w = new Worker('/first.js?n=w');
		all.add(await new Promise((done, failed) => { w.onmessage = e => done(e.data); w.onerror = failed }));
		w.terminate() } return [...all] })()`
	var answer struct {
		Result struct{ Value json.RawMessage }
	}
	if err := b.mux.call(t.Context(), from.Session, "Runtime.evaluate",
		map[string]any{"expression": loop, "awaitPromise": true, "returnByValue": true}, &answer); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer.Result.Value, &firsts); err != nil || len(firsts) != 1 || firsts[0] != declaredFirst {
		t.Errorf("the workers' first lines saw %s", answer.Result.Value)
	}
	testnet.Eventually(t, "the controller has left all workers", func() bool {
		for _, s := range b.mux.controllerSessions("") {
			if s.kind == "worker" {
				return false
			}
		}
		return true
	})
}

// TestWindowsOfChromesOwn: pop-up windows of Chrome's own interface, which are targets too, are not waited for.
func TestWindowsOfChromesOwn(t *testing.T) {
	p, s, _ := declaredProfile(t)
	s.Headless, s.ExtraEnv = false, []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.startSpec(s)
	targets, err := b.mux.targets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		t.Logf("%s %s", target.Type, target.URL)
		if target.Type == "browser_ui" && len(b.mux.controllerSessions(target.TargetID)) > 0 {
			t.Errorf("the controller is attached to %s", target.URL)
		}
	}
}
