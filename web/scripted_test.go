package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Uses the page like a person, in a real Chromium: a script beside the page fills in fields and presses buttons.

// scriptedSite is a server that adds the test's script to the page.
type scriptedSite struct {
	site   *Site
	script string
	answer func(method, path string) (status int, body any)

	events chan string // an event to send
	done   chan string // the page after the script, or the error after "failed: "

	mu   sync.Mutex
	sent []string // "PUT /api/v1/… {…}": requests that change something, in order
}

// stream is an answer with one JSON object per line.
type stream struct {
	total int
	lines []string
}

// versioned is an answer with its ETag.
type versioned struct {
	etag string
	body any
}

// tools are the functions for every such script: wait for an element, type, press.
const tools = `
const until = (find) => new Promise((found) => {
  const look = () => { const it = find(); if (it) { watch.disconnect(); found(it); } };
  const watch = new MutationObserver(look);
  watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  look();
});
const there = (selector) => until(() => document.querySelector(selector));
const named = (text, within = 'button') => until(() => [...document.querySelectorAll(within)]
  .find((it) => it.textContent.trim() === text && !it.disabled));
const set = (field, value) => {
  field.value = value;
  field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
};
const drawn = () => new Promise((done) => {
  const c = new MessageChannel();
  c.port1.onmessage = done;
  requestAnimationFrame(() => c.port2.postMessage(0));
});
const press = async (id, key) => {
  const row = await there('.row[data-id=' + id + ']');
  row.focus();
  await drawn();
  row.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
};
const pick = async (words) => {
  (await there('dialog [role=combobox]')).click();
  const line = await until(() => [...document.querySelectorAll('.finder-line')].find((it) => it.textContent.includes(words)));
  line.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true }));
};
const report = (text) => fetch('/hands-done', { method: 'POST', body: text });
`

func (h *scriptedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/enter":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>sessionStorage.setItem('warren.key', 'k'); location.replace(%q)</script>`, r.URL.Query().Get("to"))
	case path == "/hands.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, tools+"try {"+h.script+"\nreport(document.documentElement.outerHTML); }"+
			" catch (error) { report('failed: ' + error); }") //nolint:errcheck // the client may be gone
	case path == "/hands-done":
		dom, _ := io.ReadAll(r.Body)
		h.done <- string(dom)
	case strings.HasPrefix(path, "/source/"): // a module without the page around it
		http.StripPrefix("/source/", http.FileServer(http.Dir("static"))).ServeHTTP(w, r)
	case strings.HasPrefix(path, "/modules/"): // the same, of one that uses vendored ones
		serveModule(w, strings.TrimPrefix(path, "/modules/"))
	case path == "/" || path == "/docs":
		page := httptest.NewRecorder()
		found, _ := h.site.Lookup(path)
		r.Header.Del("Accept-Encoding") // to change the page below
		found.ServeHTTP(page, r)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", page.Header().Get("Content-Security-Policy"))
		const end = `<script type="module" src="/hands.js"></script></body>`
		io.WriteString(w, strings.Replace(page.Body.String(), "</body>", end, 1)) //nolint:errcheck // the client may be gone
	case path == "/api/v1/events":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
		for {
			select {
			case event := <-h.events:
				io.WriteString(w, event)              //nolint:errcheck // the client may be gone
				http.NewResponseController(w).Flush() //nolint:errcheck // as above
			case <-r.Context().Done():
				return
			}
		}
	case path == "/say": // the script sends an event
		event, _ := io.ReadAll(r.Body)
		h.events <- string(event)
	case strings.HasPrefix(path, "/api/") || path == "/version" || path == "/openapi.json":
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodGet {
			h.mu.Lock()
			sent := strings.TrimSpace(r.Method + " " + path + " " + string(body))
			if tag := r.Header.Get("If-Match"); tag != "" {
				sent += " if " + tag
			}
			h.sent = append(h.sent, sent)
			h.mu.Unlock()
		}
		status, answer := h.answer(r.Method, r.URL.RequestURI())
		if lines, ok := answer.(stream); ok {
			w.Header().Set("X-Total-Count", fmt.Sprint(lines.total))
			io.WriteString(w, strings.Join(lines.lines, "\n")+"\n") //nolint:errcheck // the client may be gone
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if tagged, ok := answer.(versioned); ok {
			w.Header().Set("ETag", tagged.etag)
			answer = tagged.body
		}
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(answer) //nolint:errcheck // the client may be gone
	default:
		if found, ok := h.site.Lookup(path); ok {
			found.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}
}

// use opens the page at a place and runs the script. It returns the page afterwards, and the requests that it sent.
func use(t *testing.T, place, script string, answer func(method, path string) (int, any)) (dom string, sent []string) {
	t.Helper()
	return useAt(t, "/#/"+place, script, answer)
}

// useAt is use for any address of the site.
func useAt(t *testing.T, address, script string, answer func(method, path string) (int, any)) (dom string, sent []string) {
	t.Helper()
	browser := findChromium(t)
	h := &scriptedSite{site: newSite(t), script: script, answer: answer, events: make(chan string, 1), done: make(chan string, 1)}
	server := httptest.NewServer(h)
	defer server.Close()
	defer server.CloseClientConnections()
	log := open(t, browser, server.URL+"/enter?to="+strings.ReplaceAll(address, "#", "%23"))
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case dom = <-h.done:
	case <-late.C:
		t.Fatalf("the script did not get to its end\n%.3000s\nsent: %q", log(), h.sent)
	}
	if strings.HasPrefix(dom, "failed: ") {
		t.Fatal(dom)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return dom, h.sent
}

// open shows a page in a browser that ends with the test. log ends it and returns its log.
func open(t *testing.T, browser, address string) (log func() string) {
	t.Helper()
	var errs strings.Builder
	cmd := exec.Command(browser, append(flags(t), address)...)
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log = sync.OnceValue(func() string {
		if cmd.Process.Signal(os.Interrupt) != nil { // the signal lets it close its children first
			cmd.Process.Kill() //nolint:errcheck // the process may have exited
		}
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() }) //nolint:errcheck // as above
		defer kill.Stop()
		cmd.Wait() //nolint:errcheck // the exit code does not matter
		return errs.String()
	})
	t.Cleanup(func() { log() })
	return log
}

// oneOfEach answers like a server with one profile, whose proxy was deleted, and one proxy with a password and users.
func oneOfEach(method, path string) (int, any) {
	profile := map[string]any{"id": "p1", "workspaceId": "default", "name": "Shop", "os": "linux", "browserVersion": "150",
		"tags": []string{}, "notes": "", "proxyId": nil, "proxyMissing": true, "status": "stopped", "startUrls": []string{},
		"timezone": "auto", "locale": "auto", "geolocation": "auto", "webrtc": "proxy_only"}
	proxy := map[string]any{"id": "x1", "workspaceId": "default", "name": "Berlin", "type": "socks5", "host": "de.example", "port": 1080,
		"username": "u", "hasPassword": true, "tags": []string{}, "notes": "", "status": "unknown", "profileCount": 12, "lastCheck": nil}
	list := func(total int, data ...any) any {
		return map[string]any{"data": append([]any{}, data...), "total": total}
	}
	switch {
	case strings.HasPrefix(path, "/api/v1/summary"):
		return 200, noCounts()
	case method == "DELETE":
		return 409, map[string]any{"status": 409, "code": "proxy_in_use", "title": "Conflict",
			"detail": "Profiles use this proxy: `profileIds` names them (1,000 at most).", "profileIds": []string{"a", "b"}}
	case method == "PUT" && path == "/api/v1/proxies/x1":
		return 422, map[string]any{"status": 422, "code": "validation_failed", "title": "Unprocessable Entity", "detail": "no",
			"errors": []any{map[string]any{"location": "body.password",
				"message": "Type the password again: the saved one does not go to another server. For none, send null."}}}
	case strings.HasPrefix(path, "/api/v1/profiles?") && strings.Contains(path, "proxyId=x1"):
		return 200, list(12, map[string]any{"id": "a", "name": "Ann’s shop"}, map[string]any{"id": "b", "name": "Bob’s shop"})
	case path == "/api/v1/profiles/p1":
		return 200, profile
	case path == "/api/v1/proxies/x1":
		return 200, proxy
	case strings.HasPrefix(path, "/api/v1/profiles"):
		return 200, list(1, profile)
	case strings.HasPrefix(path, "/api/v1/proxies"):
		return 200, list(1, proxy)
	}
	return 200, list(0)
}

func wantSent(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the page sent %q, want %q", got, want)
	}
}

// TestNoneIsAChoiceForAProfileThatLostItsProxy: "none" is sent when it is chosen, and not otherwise.
func TestNoneIsAChoiceForAProfileThatLostItsProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"none": {`await press('p1', 'e'); await there('dialog [role=combobox]'); await pick('No proxy'); await drawn();
			(await named('Save')).click(); await until(() => !document.querySelector('dialog'));`,
			`PUT /api/v1/profiles/p1 {"proxyId":null}`},
		"a proxy": {`await press('p1', 'e'); await there('dialog [role=combobox]'); await pick('Berlin'); await drawn();
			(await named('Save')).click(); await until(() => !document.querySelector('dialog'));`,
			`PUT /api/v1/profiles/p1 {"proxyId":"x1"}`},
		"only a name": {`await press('p1', 'e');
			const shown = (await there('dialog [role=combobox]')).value;
			if (shown !== 'Its proxy was deleted. Choose another, or none.') throw 'it looks chosen';
			set(await there('dialog input[name=name]'), 'Store'); await drawn(); (await named('Save')).click();
			await until(() => !document.querySelector('dialog'));`,
			`PUT /api/v1/profiles/p1 {"name":"Store"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, sent := use(t, "profiles", c.script, oneOfEach)
			wantSent(t, sent, c.want)
		})
	}
}

// TestAnotherServerNeedsThePasswordAgain: the form says so before a request, and again in plain words after a refusal.
func TestAnotherServerNeedsThePasswordAgain(t *testing.T) {
	t.Parallel()
	dom, sent := use(t, "proxies", `await press('x1', 'e'); const host = await there('dialog input[name=host]');
		if (document.body.textContent.includes('belongs to the old server')) throw 'it asks although nothing has changed';
		set(host, 'evil.example'); await until(() => document.body.textContent.includes('belongs to the old server'));
		(await named('Save')).click(); await there('.fault');`, oneOfEach)
	wantSent(t, sent, `PUT /api/v1/proxies/x1 {"host":"evil.example"}`)
	if !strings.Contains(dom, "Type the password again. The saved one is not sent to another server.") {
		t.Error("the refusal is not in plain words")
	}
	_, sent = use(t, "proxies", `await press('x1', 'e');
		set(await there('dialog select[name=type]'), 'socks4'); await until(() => !document.querySelector('dialog input[name=password]'));
		(await named('Save')).click(); await there('.problem');`, oneOfEach)
	wantSent(t, sent, `PUT /api/v1/proxies/x1 {"type":"socks4","password":null}`)
}

// TestWhoUsesAProxyIsNamed: the refusal to delete a proxy names the profiles that use it, not the API's members.
func TestWhoUsesAProxyIsNamed(t *testing.T) {
	t.Parallel()
	dom, sent := use(t, "proxies",
		`await press('x1', 'Delete'); (await named('Delete', 'dialog button')).click(); await there('.problem');`,
		oneOfEach)
	wantSent(t, sent, "DELETE /api/v1/proxies/x1")
	_, problem, _ := strings.Cut(dom, `class="problem"`)
	for _, want := range []string{"Ann’s shop", "Bob’s shop", "and 10 more", "Give these profiles another proxy first"} {
		if !strings.Contains(problem, want) {
			t.Errorf("the refusal does not say %q: %.1500s", want, problem)
		}
	}
	if strings.Contains(dom, "profileIds") {
		t.Error("the page speaks of profileIds")
	}
}

// TestListsOfProxies: a list is read while it is typed, an ambiguous line is asked about, and what was added is checked at once. A
// check of all says how many are alive, also if it broke off.
func TestListsOfProxies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var imports []string
	total := 2
	answer := func(method, path string) (int, any) {
		switch {
		case strings.HasPrefix(path, "/api/v1/proxies/import"):
			mu.Lock()
			imports = append(imports, path)
			mu.Unlock()
			if strings.Contains(path, "choice=") {
				return 200, map[string]any{"created": 2, "duplicate": 0, "invalid": 0, "ambiguous": 0, "results": []any{
					map[string]any{"line": 1, "result": "created", "id": "x1", "readings": []any{}},
					map[string]any{"line": 2, "result": "created", "id": "x2", "readings": []any{}}}}
			}
			return 200, map[string]any{"created": 1, "duplicate": 0, "invalid": 0, "ambiguous": 1, "results": []any{
				map[string]any{"line": 2, "result": "ambiguous", "reason": "This line can be read in more than one way.",
					"readings": []any{"socks5://a:***@b:1", "<b>socks5://b</b>"}}}}
		case path == "/api/v1/proxies/check-all":
			return 200, stream{total, []string{`{"id":"x1","ok":true}`, `{"id":"x2","ok":false}`}}
		}
		return oneOfEach(method, path)
	}
	dom, sent := use(t, "proxies", `await there('.row[data-id=x1]'); (await named('Add proxies')).click();
		set(await there('dialog textarea'), 'a:1\nb@1@c');
		await until(() => document.body.textContent.includes('1 ambiguous'));
		(await until(() => document.querySelectorAll('.box-readings button')[0])).click();
		(await named('Add 2 proxies', 'dialog button')).click();
		await until(() => !document.querySelector('dialog') && document.querySelector('.work'));`, answer)
	if last := sent[len(sent)-1]; !strings.HasPrefix(last, "POST /api/v1/proxies/check-all ") {
		t.Errorf("what was added is not checked at once: %q", sent)
	}
	mu.Lock()
	if first, last := imports[0], imports[len(imports)-1]; !strings.Contains(first, "dryRun=true") || strings.Contains(last,
		"dryRun=true") ||
		!strings.Contains(last, "choice=2%3A1") {
		t.Errorf("it asked %q", imports)
	}
	mu.Unlock()
	if strings.Contains(dom, "<b>socks5") {
		t.Error("a reading became markup")
	}
	_, sent = use(t, "proxies", `await there('.row[data-id=x1]'); (await named('Check all')).click();
		await until(() => document.querySelector('.work')?.textContent.includes('1 alive'));`, answer)
	wantSent(t, sent, "POST /api/v1/proxies/check-all {}")
	total = 3
	use(t, "proxies", `await there('.row[data-id=x1]'); (await named('Check all')).click();
		await until(() => document.body.textContent.includes('The answer ended after 2 of 3.'));`, answer)
}

// TestFieldsOfAProxy: a proxy is tested before it is saved, and a refusal stands beside its field alone.
func TestFieldsOfAProxy(t *testing.T) {
	t.Parallel()
	answer := func(method, path string) (int, any) {
		switch {
		case method == "POST" && path == "/api/v1/proxies":
			return 422, map[string]any{"status": 422, "code": "validation_failed", "title": "Unprocessable Entity", "detail": "no",
				"errors": []any{map[string]any{"location": "body.host", "message": "Enter a host name or an IP address."}}}
		case path == "/api/v1/proxies/check":
			return 200, map[string]any{"ok": false, "checkedAt": "2026-11-22T08:00:00.000Z",
				"error": map[string]any{"stage": "request", "code": "host_unreachable", "message": "the proxy has no way to the target"}}
		}
		return oneOfEach(method, path)
	}
	dom, sent := use(t, "proxies", `await there('.row[data-id=x1]'); (await named('Add proxies')).click();
		(await named('Enter fields instead')).click(); set(await there('dialog input[name=host]'), 'proxy.example');
		set(await there('dialog input[name=port]'), '1080'); await drawn(); (await named('Test connection')).click();
		await there('dialog .check-result'); (await named('Add proxy', 'dialog button')).click(); await there('.fault');`, answer)
	if len(sent) != 2 || !strings.HasPrefix(sent[0], "POST /api/v1/proxies/check ") || !strings.HasPrefix(sent[1],
		"POST /api/v1/proxies ") {
		t.Errorf("the page sent %q", sent)
	}
	if strings.Contains(dom, `class="problem"`) || !strings.Contains(dom, "Enter a host name or an IP address.") {
		t.Error("the refusal does not stand beside its field alone")
	}
	if strings.Contains(dom, "No route leads to its address") {
		t.Error("a proxy that gets no further is said to be out of reach itself")
	}
}
