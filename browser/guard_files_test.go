//go:build !windows

package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// takingPage takes files by an input and by drops, and keeps their contents in got.
const takingPage = `<title>taking</title><input type=file multiple><script>
	got = ""
	const take = files => Promise.all([...files].map(f => f.text().catch(String))).then(all => got += all.join() + ".")
	document.querySelector("input").onchange = e => take(e.target.files)
	document.ondragenter = document.ondragover = e => e.preventDefault()
	document.ondrop = e => { e.preventDefault(); take(e.dataTransfer.files) }
</script>`

// shareWays are the ways in which a client gives files to the page of a session.
func shareWays(c *tester, session, target string, paths []string) map[string]message {
	c.t.Helper()
	var input struct{ Result struct{ ObjectID string } }
	if err := json.Unmarshal(c.call(session, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}),
		&input); err != nil {
		c.t.Fatal(err)
	}
	set := map[string]any{"objectId": input.Result.ObjectID, "files": paths}
	var node struct{ Node struct{ BackendNodeID int } }
	if err := json.Unmarshal(c.call(session, "DOM.describeNode", map[string]any{"objectId": input.Result.ObjectID}), &node); err != nil {
		c.t.Fatal(err)
	}
	within := field(c.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": target}), "sessionId")
	wrapped, err := json.Marshal(
		map[string]any{"id": 1, "method": "DOM.setFileInputFiles",
			"params": map[string]any{"backendNodeId": node.Node.BackendNodeID, "files": paths}})
	if err != nil {
		c.t.Fatal(err)
	}
	drag := func(kind string) map[string]any {
		return map[string]any{
			"type": kind, "x": 5, "y": 5, "data": map[string]any{"items": []any{}, "files": paths, "dragOperationsMask": 1}}
	}
	out := map[string]message{
		"Page.handleFileChooser": c.try(session, "Page.handleFileChooser", map[string]any{"action": "accept", "files": paths}),
		"Target.sendMessageToTarget": c.try(
			"", "Target.sendMessageToTarget", map[string]any{"sessionId": within, "message": string(wrapped)}),
	}
	// the same files again are no change
	c.call(session, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input").value = ""`})
	c.call("", "Target.detachFromTarget", map[string]any{"sessionId": within})
	out["DOM.setFileInputFiles"] = c.try(session, "DOM.setFileInputFiles", set)
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		out["Input.dispatchDragEvent "+kind] = c.try(session, "Input.dispatchDragEvent", drag(kind))
	}
	return out
}

// filesToShare are a client's own file, one of this machine, and a protected one, in many spellings.
func filesToShare(t *testing.T, b *Browser, data, secret string) (own string, machine, closed []string) {
	t.Helper()
	elsewhere := t.TempDir()
	put := func(path, text string) string {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, to string) string {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	uploads := filepath.Join(b.spec.FilesDir, "uploads")
	own = put(filepath.Join(uploads, "own.txt"), "mine")
	out := put(filepath.Join(elsewhere, "out.txt"), "canary-machine")
	beyond := link(filepath.Join(uploads, "link"), out)
	inward := link(filepath.Join(elsewhere, "inward"), secret)
	other := put(filepath.Join(b.spec.TempDir+"-other", "theirs"), "canary-other")
	another := put(filepath.Join(filepath.Dir(b.spec.TempDir), "all", "other", "theirs"), "canary-other")
	machine = []string{out, elsewhere, beyond, uploads + "/../uploads/link", elsewhere + "/./x/../out.txt",
		strings.Repeat("../", 30) + out[1:]}
	closed = []string{secret, data, filepath.Dir(data), inward, uploads + "/../../../secret.key", "/proc/self/root" + secret,
		"/proc/self/root" + out, other, filepath.Dir(other), another, filepath.Dir(filepath.Dir(another)),
		filepath.Dir(b.spec.TempDir), uploads + "\x00/x", "/"}
	return own, machine, closed
}

// TestClientsShareOwnFiles: a client that may not use files of this machine can give pages only those of the run's own folder, and an error
// tells it how. A client that may can give others too, but no protected ones and none of other runs.
func TestClientsShareOwnFiles(t *testing.T) {
	b, data, secret := startGuarded(t)
	own, machine, closed := filesToShare(t, b, data, secret)
	for _, files := range []bool{false, true} {
		c := dial(t, serveGatewayTo(t, b, files)+"/")
		c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true}) // tells why a page crashed, if it does
		target, session := c.openTab("data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(takingPage)))
		c.becomes(session, "document.title", `"taking"`)
		for method, m := range shareWays(c, session, target, []string{own}) {
			if m.Error != nil && (m.Error.Message == needsFilesScope || m.Error.Message == isProtected) {
				t.Errorf("files %t, %s of the run's own file: %v", files, method, m.Error)
			}
		}
		c.becomes(session, "got", `"mine.mine.mine."`) // wrapped, chosen and dropped
		// Chrome would open it as a page, in contrast to the one above.
		for _, path := range []string{"/" + own, filepath.Dir(own) + "/./own.txt"} {
			for method, m := range shareWays(c, session, target, []string{path}) {
				if want := map[bool]string{true: isProtected, false: needsFilesScope}[files]; m.Error == nil || m.Error.Message != want {
					t.Errorf("files %t, %s of %q: %s %v", files, method, path, m.Result, m.Error)
				}
			}
		}
		for _, path := range closed {
			for method, m := range shareWays(c, session, target, []string{own, path}) {
				if want := map[bool]string{true: isProtected, false: needsFilesScope}[files]; m.Error == nil || m.Error.Message != want {
					t.Errorf("files %t, %s of %q: %s %v", files, method, path, m.Result, m.Error)
				}
			}
		}
		for _, path := range machine {
			for method, m := range shareWays(c, session, target, []string{path}) {
				want := ""
				switch {
				case !files:
					want = needsFilesScope
				case strings.Contains(path, "../"):
					want = hasDotDot
				}
				refused := m.Error != nil && (m.Error.Message == needsFilesScope || m.Error.Message == hasDotDot)
				if refused != (want != "") || refused && m.Error.Message != want {
					t.Errorf("files %t, %s of %q: %s %v", files, method, path, m.Result, m.Error)
				}
			}
		}
		if m := c.try("", "Tracing.start",
			map[string]any{"perfettoConfig": "", "traceConfig": map[string]any{}}); (m.Error != nil &&
			m.Error.Message == needsFilesScope) == files {
			t.Errorf("files %t, a trace whose configuration may name a file: %v", files, m.Error)
		}
		c.reachesByScript(session, "file://"+machine[0])
		c.call(session, "Runtime.evaluate", map[string]any{"expression": "new Promise(r => setTimeout(r))", "awaitPromise": true})
		got := c.value(session, "got")
		if strings.Contains(got, "canary-machine") != files || strings.Contains(got, "canary-secret") ||
			strings.Contains(got, "canary-other") {
			t.Errorf("files %t: the page has %s", files, got)
		}
	}
}

// reachesByScript checks that no script can read an address, not even in a privileged world.
func (c *tester) reachesByScript(session, address string) {
	c.t.Helper()
	var tree struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	if err := json.Unmarshal(c.call(session, "Page.getFrameTree", nil), &tree); err != nil {
		c.t.Fatal(err)
	}
	var world struct{ ExecutionContextID int }
	if err := json.Unmarshal(c.call(
		session, "Page.createIsolatedWorld", map[string]any{"frameId": tree.FrameTree.Frame.ID, "grantUniveralAccess": true}),
		&world); err != nil {
		c.t.Fatal(err)
	}
	for _, script := range []string{
		`fetch(%q).then(r => r.text(), String)`,
		`new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = () => done(x.responseText); x.open("GET", %q); x.send() })`,
	} {
		m := c.try(session, "Runtime.evaluate",
			map[string]any{"contextId": world.ExecutionContextID, "expression": fmt.Sprintf(script, address), "awaitPromise": true,
				"returnByValue": true})
		if strings.Contains(string(m.Result), "canary") {
			c.t.Errorf("a script read %s: %s", address, m.Result)
		}
	}
}

// TestNoAddressIsDropped: Chrome opens an address that is dropped on a page without a drop handler.
func TestNoAddressIsDropped(t *testing.T) {
	c, _, secret := guarded(t)
	_, session := c.openTab("http://a.test/form")
	c.becomes(session, "document.title", `"form"`)
	for text, refused := range map[string]bool{
		"file://" + secret: true, "# a note\r\nhttp://a.test/x\r\nFILE://" + secret: true, "chrome://version": true,
		"# a note\r\nhttp://a.test/dropped": false} {
		m := c.try(session, "Input.dispatchDragEvent", map[string]any{"type": "dragEnter", "x": 1, "y": 1, "data": map[string]any{
			"items": []any{map[string]any{"mimeType": "text/plain", "data": "file:"},
				map[string]any{"mimeType": "TEXT/uri-list", "data": text}}, "dragOperationsMask": 1}})
		if (m.Error != nil && m.Error.Message == notOpened) != refused {
			t.Errorf("dropping %q: %s %v", text, m.Result, m.Error)
		}
	}
}

// TestPathsOfTheProtocol: every path or file in the protocol's commands is known here. The guard checks it, or it is none of this machine.
func TestPathsOfTheProtocol(t *testing.T) {
	known := map[string]string{
		"browser.SetDownloadBehaviorParams.downloadPath": "looked at, as Page.setDownloadBehavior's is, which cdproto has no more",
		"dom.SetFileInputFilesParams.files":              "looked at",
		"extensions.LoadUnpackedParams.path":             "looked at",
		"input.DragData.files":                           "looked at",
		"pwa.LaunchFilesInAppParams.files":               "refused, as all of PWA",
		"tracing.StartParams.perfettoConfig":             "looked at: bytes that may name a file",

		"cachestorage.RequestEntriesParams.pathFilter":          "a part of an address",
		"dom.PushNodeByPathToFrontendParams.path":               "a node's place in its page",
		"filesystem.GetDirectoryParams.bucketFileSystemLocator": "in the storage of a site",
		"filesystem.BucketFileSystemLocator.pathComponents":     "the same; Chrome refuses one that leads out of it",
		"network.CookieParam.path":                              "of a cookie",
		"network.DeleteCookiesParams.path":                      "of a cookie",
		"network.SetCookieParams.path":                          "of a cookie",
		"page.EnableParams.enableFileChooserOpenedEvent":        "yes or no",
	}
	told := map[string]string{ // only in results
		"audits.AffectedCookie": "", "extensions.ExtensionInfo": "", "filesystem.Directory": "", "har.Cookie": "", "har.Param": "",
		"indexeddb.ObjectStore":      "",
		"indexeddb.ObjectStoreIndex": "", "media.PlayerErrorSourceLocation": "", "network.Cookie": "",
		"network.DeviceBoundSessionCookieCraving": "",
		"network.DeviceBoundSessionURLRule":       "", "page.ShareTarget": "", "page.WebAppManifest": "", "pwa.FileHandlerAccept": "",
	}
	for place := range sentAs(t, regexp.MustCompile(`(?i)path|file|folder|director|perfetto`), told) {
		if known[place] == "" && !strings.Contains(strings.ToLower(place), "profile") {
			t.Errorf("%s: does it name a file of the machine?", place)
		}
		delete(known, place)
	}
	for place := range known {
		t.Errorf("%s is nowhere in the protocol", place)
	}
}

// TestHostsOfTheProtocol: every host, port or proxy in the protocol's commands is known here. The guard refuses it, or Chrome connects to
// nothing because of it.
func TestHostsOfTheProtocol(t *testing.T) {
	known := map[string]string{
		"target.CreateBrowserContextParams.proxyServer":     "refused",
		"target.CreateBrowserContextParams.proxyBypassList": "refused",
		"target.RemoteLocation.host":                        "refused: Target.setRemoteLocations",
		"target.RemoteLocation.port":                        "the same",
		"target.SetRemoteLocationsParams.locations":         "the same",
		"tethering.BindParams.port":                         "refused, as all of Tethering",
		"tethering.UnbindParams.port":                       "the same",
	}
	told := map[string]string{ // only in results
		"har.Entry": "", "network.DeviceBoundSessionURLRule": "", "network.DirectUDPMessage": "", "network.DirectUDPSocketOptions": "",
		"network.ResourceTiming": "", "network.Response": "", "network.SecurityDetails": "",
	}
	for place := range sentAs(t, regexp.MustCompile(`^(host.*|port|locations|proxy.*|remote.*|server.*)$`), told) {
		if known[place] == "" {
			t.Errorf("%s: does Chrome connect to it, beside the relay?", place)
		}
		delete(known, place)
	}
	for place := range known {
		t.Errorf("%s is nowhere in the protocol", place)
	}
}

// sentAs returns the matching members of the protocol's structures, except those that occur only in results.
func sentAs(t *testing.T, name *regexp.Regexp, told map[string]string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for structure, members := range cdprotoStructs(t) {
		_, kind, _ := strings.Cut(structure, ".")
		if _, is := told[structure]; is || strings.HasPrefix(kind, "Event") || strings.HasSuffix(kind, "Result") ||
			strings.HasSuffix(kind, "Returns") {
			continue
		}
		for _, m := range members {
			if name.MatchString(m.Name) {
				found[structure+"."+m.Name] = true
			}
		}
	}
	return found
}

// cdprotoStructs returns the members of every structure of cdproto, by package and name.
func cdprotoStructs(t *testing.T) map[string][]protocolParameter {
	t.Helper()
	all := map[string][]protocolParameter{}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/chromedp/cdproto").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*", "*.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					all[f.Name.Name+"."+spec.Name.Name] = parameters(s)
				}
			}
			return true
		})
	}
	return all
}
