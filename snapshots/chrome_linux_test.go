package snapshots

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // Chrome's choice
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"warren/browser"
	"warren/testnet"
)

// TestMain lets the test's binary be the child that enters a namespace, as the server's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == browser.ChildArgument {
		fmt.Fprintln(os.Stderr, browser.EnterNamespace())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// profiles makes folders of profiles, and runs browsers with them that see one site.
type profiles struct {
	t    *testing.T
	path string // of the browser
	dir  string
	site *testnet.Site
	down atomic.Bool // whether the site answers nothing
}

// origin is where the site is. Names below localhost are secure without TLS, which service workers need.
const origin = "http://app.localhost"

// sitePage has a form that Chrome can fill, and a service worker that answers when the site does not.
const sitePage = `<!doctype html><title>site</title>
<form action=/login method=post><input id=user name=user autocomplete=username>
<input id=pass name=pass type=password autocomplete=current-password><button>in</button></form>`

const siteWorker = `self.onactivate = (e) => e.waitUntil(clients.claim());
self.onfetch = (e) => e.respondWith(fetch(e.request).catch(() => caches.match(e.request)));`

func newProfiles(t *testing.T) *profiles {
	t.Helper()
	found, err := browser.Find(t.Context(), "")
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	if missing := browser.CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
	p := &profiles{t: t, path: found.Path, dir: t.TempDir(), site: testnet.NewSite(t)}
	serve := func(path, kind, text string) {
		p.site.Mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if p.down.Load() {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	for _, path := range []string{"/one", "/two"} {
		serve(path, "text/html", sitePage)
	}
	serve("/worker.js", "text/javascript", siteWorker)
	return p
}

// folder is the folder of a profile of this name.
func (p *profiles) folder(name string) string { return filepath.Join(p.dir, name) }

// browserRun is a browser that runs, and a client of it.
type browserRun struct {
	p       *profiles
	browser *browser.Browser
	ws      *websocket.Conn
	last    int
}

// start runs a browser with the profile's folder.
func (p *profiles) start(name string) *browserRun {
	p.t.Helper()
	folder := p.folder(name)
	home := filepath.Join(folder, "home")
	must(p.t, os.MkdirAll(home, 0o700))
	temp, err := os.MkdirTemp("", "ws") // a short path: Chrome makes a unix socket below it
	must(p.t, err)
	p.t.Cleanup(func() { os.RemoveAll(temp) })
	b, err := browser.Open(browser.Spec{Path: p.path, UserDataDir: filepath.Join(folder, "chrome"), HomeDir: home,
		TempDir: filepath.Join(temp, "t"), Headless: true})
	must(p.t, err)
	p.t.Cleanup(func() { b.Close() }) //nolint:errcheck // it was stopped
	p.site.Serve(b.Listener())
	ctx, cancel := context.WithTimeout(p.t.Context(), testnet.Patience)
	defer cancel()
	must(p.t, b.Start(ctx))
	gateway := httptest.NewServer(b.Gateway())
	p.t.Cleanup(func() {
		gateway.CloseClientConnections()
		gateway.Close()
	})
	ws, _, err := websocket.Dial(ctx, strings.Replace(gateway.URL, "http", "ws", 1), nil)
	must(p.t, err)
	ws.SetReadLimit(64 << 20)
	return &browserRun{p: p, browser: b, ws: ws}
}

// stop closes the browser as the product does.
func (r *browserRun) stop() {
	r.p.t.Helper()
	r.ws.CloseNow() //nolint:errcheck // it is not needed any more
	if how := r.browser.Stop(r.p.t.Context(), false); how != browser.MethodClose {
		r.p.t.Errorf("the browser was stopped by %q", how)
	}
}

// call sends a command and decodes its result into out.
func (r *browserRun) call(session, method string, params, out any) {
	r.p.t.Helper()
	ctx, cancel := context.WithTimeout(r.p.t.Context(), testnet.Patience)
	defer cancel()
	r.last++
	message := map[string]any{"id": r.last, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	must(r.p.t, wsjson.Write(ctx, r.ws, message))
	for {
		var answer struct {
			ID            int
			Result, Error json.RawMessage
		}
		must(r.p.t, wsjson.Read(ctx, r.ws, &answer))
		if answer.ID != r.last {
			continue
		}
		if answer.Error != nil {
			r.p.t.Fatalf("%s: %s", method, answer.Error)
		}
		must(r.p.t, json.Unmarshal(answer.Result, out))
		return
	}
}

// tabs are the addresses of the open tabs, in order of their letters, and their targets.
func (r *browserRun) tabs() (urls []string, targets map[string]string) {
	r.p.t.Helper()
	var got struct {
		TargetInfos []struct{ TargetID, Type, URL string }
	}
	r.call("", "Target.getTargets", map[string]any{}, &got)
	targets = map[string]string{}
	for _, info := range got.TargetInfos {
		if info.Type == "page" {
			urls, targets[info.URL] = append(urls, info.URL), info.TargetID
		}
	}
	slices.Sort(urls)
	return urls, targets
}

// open opens addresses of the site in tabs, and returns a session on the first of them.
func (r *browserRun) open(paths ...string) (session string) {
	r.p.t.Helper()
	var urls []string
	for _, path := range paths {
		urls = append(urls, origin+path)
	}
	must(r.p.t, r.browser.OpenPages(r.p.t.Context(), urls))
	return r.tab(paths[0])
}

// tab waits until a tab shows a page of the site, and returns a session on it.
func (r *browserRun) tab(path string) (session string) {
	r.p.t.Helper()
	target := ""
	testnet.Eventually(r.p.t, "a tab shows "+path, func() bool {
		_, targets := r.tabs()
		target = targets[origin+path]
		return target != ""
	})
	var s struct{ SessionID string }
	r.call("", "Target.activateTarget", map[string]any{"targetId": target}, &struct{}{}) // else a restored tab is not loaded
	r.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, &s)
	testnet.Eventually(r.p.t, path+" is loaded", func() bool {
		return r.eval(s.SessionID, `location.pathname + document.readyState`) == path+"complete"
	})
	return s.SessionID
}

// eval returns the value of an expression on a page, or of its promise, as text.
func (r *browserRun) eval(session, expression string) string {
	r.p.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	r.call(session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		return "threw " + string(got.ExceptionDetails)
	}
	return fmt.Sprint(got.Result.Value)
}

// extensionFiles is an extension that counts the pages that it saw, and asks for the history. Its files are called as Chrome's caches
// are.
var extensionFiles = map[string]string{
	"Cache/LOG.js": `chrome.storage.local.get({seen: 0}).then(async (v) => {
		await chrome.storage.local.set({seen: v.seen + 1})
		document.documentElement.dataset.seen = v.seen + 1
		document.documentElement.dataset.history = await chrome.runtime.sendMessage("history").catch(String)
	})`,
	"LOCK/worker.js": `chrome.runtime.onMessage.addListener((message, sender, answer) => {
		chrome.history.search({text: "", startTime: 0}).then((all) => answer(all.map((i) => new URL(i.url).pathname).sort().join()))
		return true
	})`,
}

// seed gives a profile that no browser has opened an extension, as if it had been installed, and a permission, as if a person had
// granted it. On Linux Chrome takes both from its preferences.
func (p *profiles) seed(name string) {
	p.t.Helper()
	key := sha256.Sum256([]byte("extension"))
	sum := sha256.Sum256(key[:])
	id := strings.Map(func(c rune) rune { return 'a' + rune(strings.IndexRune("0123456789abcdef", c)) }, fmt.Sprintf("%x", sum[:16]))
	manifest := map[string]any{"manifest_version": 3, "name": "counter", "version": "1.0", "permissions": []string{"storage", "history"},
		"key": base64.StdEncoding.EncodeToString(key[:]), "background": map[string]any{"service_worker": "LOCK/worker.js"},
		"content_scripts": []any{map[string]any{"matches": []string{"http://*/*"}, "js": []string{"Cache/LOG.js"}}}}
	text, err := json.Marshal(manifest)
	must(p.t, err)
	profile := filepath.Join(p.folder(name), "chrome", "Default")
	program := filepath.Join(profile, "Extensions", id, "1.0_0")
	must(p.t, os.MkdirAll(program, 0o700))
	must(p.t, os.WriteFile(filepath.Join(program, "manifest.json"), text, 0o600))
	for path, text := range extensionFiles {
		must(p.t, os.MkdirAll(filepath.Dir(filepath.Join(program, path)), 0o700))
		must(p.t, os.WriteFile(filepath.Join(program, path), []byte(text), 0o600))
	}
	may := map[string]any{"api": []string{"storage", "history"}, "explicit_host": []string{}, "manifest_permissions": []string{},
		"scriptable_host": []string{"http://*/*"}}
	text, err = json.Marshal(map[string]any{
		"extensions": map[string]any{"settings": map[string]any{id: map[string]any{"active_permissions": may, "granted_permissions": may,
			"creation_flags": 1, "from_webstore": false, "location": 1, "manifest": manifest, "path": id + "/1.0_0", "state": 1}}},
		"profile": map[string]any{"content_settings": map[string]any{"exceptions": map[string]any{"notifications": map[string]any{
			origin + ":80,*": map[string]any{"setting": 1}}}}},
	})
	must(p.t, err)
	must(p.t, os.WriteFile(filepath.Join(profile, "Preferences"), text, 0o600))
}

// savePassword saves a password in a profile that no browser has open, as Chrome does on Linux without a key ring
// (components/os_crypt/sync/os_crypt_linux.cc).
func (p *profiles) savePassword(name, user, password string) {
	p.t.Helper()
	key, err := pbkdf2.Key(sha1.New, "peanuts", []byte("saltysalt"), 1, 16)
	must(p.t, err)
	block, err := aes.NewCipher(key)
	must(p.t, err)
	pad := aes.BlockSize - len(password)%aes.BlockSize
	sealed := append([]byte(password), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, bytes.Repeat([]byte{' '}, aes.BlockSize)).CryptBlocks(sealed, sealed)
	db, err := sql.Open("sqlite", filepath.Join(p.folder(name), "chrome", "Default", "Login Data")) // store registers the driver
	must(p.t, err)
	_, err = db.ExecContext(p.t.Context(), `INSERT INTO logins (origin_url, action_url, username_element, username_value, password_element,
		password_value, submit_element, signon_realm, date_created, blacklisted_by_user, scheme, password_type, times_used)
		VALUES (?, ?, 'user', ?, 'pass', ?, '', ?, 13440287574645121, 0, 0, 0, 1)`,
		origin+"/one", origin+"/login", user, append([]byte("v10"), sealed...), origin+"/")
	must(p.t, err)
	must(p.t, db.Close())
}
