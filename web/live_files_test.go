package web

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// liveFiles: files for a page's chooser are uploaded in chunks, and a download is offered as a link with the
// capability.
func liveFiles(t *testing.T, e *liveEnd, p *driveTab) {
	folder := t.TempDir()
	large := bytes.Repeat([]byte("warren "), 200_000) // 1.4 MB: two chunks
	for name, body := range map[string][]byte{"large.bin": large, "empty.txt": nil} {
		if err := os.WriteFile(filepath.Join(folder, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.say(`{"type":"chooser","id":"c1","tab":"T1","multiple":true}`)
	p.until("document.querySelector('dialog[open] input[type=file]')")
	var found struct{ Result struct{ ObjectID string } }
	p.d.call(p.session, "Runtime.evaluate", map[string]any{"expression": "document.querySelector('input[type=file]')"}, &found)
	p.do("DOM.setFileInputFiles", map[string]any{"objectId": found.Result.ObjectID,
		"files": []string{filepath.Join(folder, "large.bin"), filepath.Join(folder, "empty.txt")}})
	pieces := func() []string {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.Clone(e.pieces)
	}
	waitFor(t, "the pieces", func() bool { return len(pieces()) == 6 })
	got := pieces()
	for i, want := range []string{`{"chooser":"c1","file":0,"files":2,"name":"large.bin","size":1400000,"last":false}`,
		`{"chooser":"c1","file":0,"files":2,"name":"large.bin","size":1400000,"last":true}`,
		`{"chooser":"c1","file":1,"files":2,"name":"empty.txt","size":0,"last":true}`} {
		if got[2*i] != want {
			t.Errorf("piece %d says %s, want %s", i, got[2*i], want)
		}
	}
	if got[1]+got[3] != string(large) || got[5] != "" {
		t.Error("the pieces are not the files")
	}
	e.say(`{"type":"uploaded","chooser":"c1","name":"large.bin","received":1048576}`)
	p.until("document.querySelector('dialog progress').value === 1048576")
	p.click("Cancel")
	waitFor(t, "the refusal", func() bool { list := e.of("chooser"); return len(list) == 1 && list[0]["cancel"] == true })
	e.say(`{"type":"chooserClosed","id":"c1"}`,
		`{"type":"download","id":"d/1","name":"report.pdf","state":"done","received":9,"total":9,"url":"http://one.example/report.pdf"}`)
	p.until("!document.querySelector('dialog') && document.querySelector('.downloads a')")
	var link []string
	p.eval("(({ href, download }) => [href, download])(document.querySelector('.downloads a'))", &link)
	if link[0] != e.server.URL+"/live/"+testCapability+"/downloads/d%2F1" || link[1] != "report.pdf" {
		t.Errorf("the download is %q", link)
	}
	for i := range 100 { // after as many later ones the oldest is not offered any more
		e.say(fmt.Sprintf(`{"type":"download","id":"d/%d","name":"%d.pdf","state":"done","received":9,"total":9,`+
			`"url":"http://one.example/"}`, i+2, i+2))
	}
	p.until("document.querySelector('.downloads li:last-child bdi').textContent === '101.pdf'")
	p.until("document.querySelectorAll('.downloads li').length === 100 && document.querySelector('.downloads bdi').textContent === '2.pdf'")
}

// liveFilesLetGo: an upload ends when the viewer loses control, within a file. The next viewer in control would
// receive the rest as another file.
func liveFilesLetGo(t *testing.T, e *liveEnd, p *driveTab) {
	name := filepath.Join(t.TempDir(), "large.bin")
	if err := os.WriteFile(name, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p.eval(`(() => { const read = Blob.prototype.arrayBuffer; let n = 0;
		Blob.prototype.arrayBuffer = async function () {
			if (n++) await new Promise((go) => { window.goOn = go }); return read.call(this) } })()`, nil)
	e.say(`{"type":"chooser","id":"c1","tab":"T1","multiple":false}`)
	p.until("document.querySelector('dialog[open] input[type=file]')")
	var found struct{ Result struct{ ObjectID string } }
	p.d.call(p.session, "Runtime.evaluate", map[string]any{"expression": "document.querySelector('input[type=file]')"}, &found)
	p.do("DOM.setFileInputFiles", map[string]any{"objectId": found.Result.ObjectID, "files": []string{name}})
	p.until("window.goOn")
	e.say(`{"type":"control","holder":"v2","you":false,"viewers":[{"id":"v1"},{"id":"v2","name":"B"}],"asking":[]}`)
	p.until("document.querySelector('.live-driver').innerText.endsWith('you watch')")
	p.eval("goOn()", nil)
	p.click("Take the controls") // arrives after what the upload would have sent
	waitFor(t, "the wish for the controls", func() bool { return len(e.of("control")) == 1 })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.pieces) != 2 {
		t.Errorf("%d pieces came", len(e.pieces)/2)
	}
}
