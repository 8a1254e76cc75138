//go:build !windows

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warren/testnet"
)

// guarded starts a run with a protected folder that holds a secret, and connects a client that may use files of this machine.
func guarded(t *testing.T) (c *tester, data, secret string) {
	t.Helper()
	b, data, secret := startGuarded(t)
	return dial(t, serveGateway(t, b)+"/"), data, secret
}

// startGuarded starts such a run. Its own folder for clients' files lies in the protected folder, and another run's temporary folder beside
// its own.
func startGuarded(t *testing.T) (b *Browser, data, secret string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	secret = filepath.Join(data, "secret.key")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("canary-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProfile(t)
	p.site.Mux.HandleFunc("/form", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>form</title><input type=file multiple>`)
	})
	s := p.spec()
	s.Protected, s.FilesDir, s.Siblings = []string{data}, filepath.Join(data, "profile", "files"),
		[]string{s.TempDir, filepath.Dir(s.TempDir) + "/all/"}
	for _, dir := range []string{filepath.Join(s.FilesDir, "uploads"), s.TempDir + "-other", filepath.Dir(s.TempDir) + "/all/other"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b = p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, data, secret
}

// TestClientsOpenNoFiles: no client can make a browser show a file, however the address is spelled. Other addresses open as usual.
func TestClientsOpenNoFiles(t *testing.T) {
	c, _, secret := guarded(t)
	_, session := c.openTab("http://a.test/form")
	c.becomes(session, "document.title", `"form"`)
	for _, address := range []string{
		"file://" + secret, "FILE://" + secret, "file:" + secret, " \t\n\x00\x1ffile://" + secret, "fi\nle://" + secret,
		"f\til\re://" + secret + " ",
		"view-source:file://" + secret, "View-Source:VIEW-source: file://" + secret, "filesystem:file:///temporary/x", "chrome://version",
		"about:version",
		"chrome-untrusted://x", "devtools://devtools/bundled/inspector.html", "externalfile:x", `\\localhost\x`, "//localhost/x", "C:\\x",
		secret,
	} {
		for method, params := range map[string]map[string]any{
			"Page.navigate":               {"url": address},
			"Target.createTarget":         {"url": address},
			"Network.loadNetworkResource": {"url": address, "options": map[string]any{"disableCache": true, "includeCredentials": false}},
			"Fetch.continueRequest":       {"requestId": "x", "url": address},
		} {
			if m := c.try(session, method, params); m.Error == nil || m.Error.Code != codeServer ||
				!strings.HasPrefix(m.Error.Message, "Cannot navigate to invalid URL") {
				t.Errorf("%s %q: %s %v", method, address, m.Result, m.Error)
			}
		}
	}
	twice := `{"id":9000,"sessionId":"` + session + `","method":"Page.navigate","params":{"url":"%s","u\u0072l":"%s"}}`
	for _, raw := range []string{
		fmt.Sprintf(twice, "http://a.test/", "file://"+secret), fmt.Sprintf(twice, "file://"+secret, "http://a.test/")} {
		c.write(raw)
		if m := c.answer(9000); m.Error == nil {
			t.Errorf("%s: %s", raw, m.Result)
		}
	}
	for _, method := range []string{"Target.exposeDevToolsProtocol", "Target.openDevTools", "Browser.executeBrowserCommand"} {
		if m := c.try("", method, map[string]any{"targetId": "x", "commandId": "openTabSearch"}); m.Error == nil ||
			m.Error.Message != notOffered {
			t.Errorf("%s: %s %v", method, m.Result, m.Error)
		}
	}
	if m := c.try("", "Page.startScreenRecording", map[string]any{"captureArea": "browserWindow"}); m.Error == nil ||
		m.Error.Message != notOffered {
		t.Errorf("a film of the window: %s %v", m.Result, m.Error)
	}
	for method, why := range map[string]string{
		"Target.setRemoteLocations": notDialed, "Cast.startDesktopMirroring": notDialed, "PWA.install": notInstalled,
		"PWA.launch": notInstalled, "PWA.launchFilesInApp": notInstalled} {
		params := map[string]any{
			"locations": []map[string]any{{"host": "127.0.0.1", "port": 9222}}, "manifestId": "http://a.test/", "files": []string{}}
		if m := c.try("", method, params); m.Error == nil || m.Error.Message != why {
			t.Errorf("%s: %s %v", method, m.Result, m.Error)
		}
	}
	if got := c.shown(); slices.ContainsFunc(
		got, func(u string) bool { return !strings.HasPrefix(u, "http://a.test/") && u != BlankPage }) {
		t.Errorf("the tabs show %v", got)
	}
	for _, address := range []string{
		"http://a.test/next", "about:blank", "data:text/html,x", "view-source:http://a.test/next", "HTTP://a.test/other", "about:blank?x#y",
		""} {
		if m := c.try("", "Target.createTarget", map[string]any{"url": address}); m.Error != nil {
			t.Errorf("%q: %v", address, m.Error)
		}
	}
}

// TestClientsWrapNothing: a command within another one is checked like any other.
func TestClientsWrapNothing(t *testing.T) {
	c, _, secret := guarded(t)
	target := field(t, c.call("", "Target.createTarget", map[string]any{"url": "http://a.test/form"}), "targetId")
	session := field(t, c.call("", "Target.attachToTarget", map[string]any{"targetId": target}), "sessionId")
	within := func(method string, params any) string {
		raw, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	navigate := within("Page.navigate", map[string]any{"url": "file://" + secret})
	for _, message := range []string{
		navigate,
		within("Target.sendMessageToTarget", map[string]any{"sessionId": "x", "message": navigate}),
		`/* */` + navigate,
		strings.Replace(navigate, `"id"`, `"method":"Page.enable","id"`, 1),
	} {
		if m := c.try("", "Target.sendMessageToTarget", map[string]any{"sessionId": session, "message": message}); m.Error == nil ||
			m.Error.Code != codeServer {
			t.Errorf("%s: %s %v", message, m.Result, m.Error)
		}
	}
	c.call("", "Target.sendMessageToTarget",
		map[string]any{"sessionId": session, "message": within("Page.navigate", map[string]any{"url": "http://a.test/wrapped"})})
	testnet.Eventually(t, "the wrapped command that is allowed", func() bool { return slices.Contains(c.shown(), "http://a.test/wrapped") })
	if slices.ContainsFunc(c.shown(), func(u string) bool { return strings.HasPrefix(u, "file:") }) {
		t.Errorf("the tabs show %v", c.shown())
	}
}

// TestPagesOpenNoFiles: a page's own scripts cannot read files; Chrome itself prevents it.
func TestPagesOpenNoFiles(t *testing.T) {
	c, _, secret := guarded(t)
	for _, from := range []string{"http://a.test/form", "about:blank", "data:text/html,x"} {
		_, session := c.openTab(from)
		for _, script := range []string{
			`location = %q; 1`, `window.open(%q); 1`, `fetch(%q).then(r => r.text(), () => 1)`,
			`document.body.append(Object.assign(document.createElement("iframe"), {src: %q})); 1`} {
			script = fmt.Sprintf(script, "file://"+secret)
			if got := c.value(session, script); strings.Contains(got, "canary") {
				t.Errorf("%s at %s gave %s", script, from, got)
			}
		}
	}
	c.call("", "Browser.getVersion", nil)
	if slices.ContainsFunc(c.shown(), func(u string) bool { return strings.HasPrefix(u, "file:") }) {
		t.Errorf("the tabs show %v", c.shown())
	}
}

// TestClientsUpload: a user's files can be given to pages, protected ones cannot, by any path.
func TestClientsUpload(t *testing.T) {
	c, data, secret := guarded(t)
	mine := filepath.Join(t.TempDir(), "upload.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, folder := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "folder")
	for name, to := range map[string]string{link: secret, folder: data} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	_, session := c.openTab("http://a.test/form")
	c.becomes(session, "document.title", `"form"`)
	var input struct{ Result struct{ ObjectID string } }
	if err := json.Unmarshal(c.call(session, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}),
		&input); err != nil {
		t.Fatal(err)
	}
	give := func(files ...string) message {
		return c.try(session, "DOM.setFileInputFiles", map[string]any{"objectId": input.Result.ObjectID, "files": files})
	}
	const content = `Promise.all([...document.querySelector("input").files].map(f => f.text())).then(all => all.join())`
	if m := give(mine); m.Error != nil || c.value(session, content) != `"mine"` {
		t.Errorf("a file of the user's: %v, the page has %s", m.Error, c.value(session, content))
	}
	for _, path := range []string{
		secret, data, filepath.Dir(data), data + "/./x/../secret.key", link, folder + "/secret.key", "/proc/self/root" + secret,
		"/dev/fd/../root" + secret,
		strings.Repeat("../", 30) + secret[1:], "/proc/self/cwd/../.." + secret,
	} {
		for _, files := range [][]string{{path}, {mine, path}} {
			if m := give(files...); m.Error == nil || m.Error.Message != isProtected {
				t.Errorf("%s: %s %v", path, m.Result, m.Error)
			}
		}
		drag := map[string]any{
			"type": "dragEnter", "x": 1, "y": 1, "data": map[string]any{"items": []any{}, "files": []string{path}, "dragOperationsMask": 1}}
		if m := c.try(session, "Input.dispatchDragEvent", drag); m.Error == nil || m.Error.Message != isProtected {
			t.Errorf("dragging %s: %s %v", path, m.Result, m.Error)
		}
	}
	if got := c.value(session, content); got != `"mine"` {
		t.Errorf("the page has %s", got)
	}
	for _, path := range []string{data, filepath.Join(data, "new"), folder, folder + "/new/deeper"} {
		for _, method := range []string{"Browser.setDownloadBehavior", "Page.setDownloadBehavior"} {
			if m := c.try(session, method, map[string]any{"behavior": "allow", "downloadPath": path}); m.Error == nil ||
				m.Error.Message != isProtected {
				t.Errorf("%s to %s: %s %v", method, path, m.Result, m.Error)
			}
		}
	}
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": filepath.Dir(mine)})
}

// shown returns the addresses of the tabs.
func (c *tester) shown() (urls []string) {
	c.t.Helper()
	var got struct{ TargetInfos []TargetInfo }
	if err := json.Unmarshal(c.call("", "Target.getTargets", nil), &got); err != nil {
		c.t.Fatal(err)
	}
	for _, info := range got.TargetInfos {
		if info.Type == "page" {
			urls = append(urls, info.URL)
		}
	}
	return urls
}

// answer waits for the answer to a raw command.
func (c *tester) answer(id int) message {
	c.t.Helper()
	for {
		if m := c.wait(c.events, "the answer"); m.ID == id {
			return m
		}
	}
}
