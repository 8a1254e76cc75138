//go:build !windows

package live

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"warren/browser"
	"warren/testnet"
)

// TestLiveView: one viewer uses every kind of input.
func TestLiveView(t *testing.T) {
	r, address := liveBrowser(t)
	w := watch(t, r, address)
	w.hears("hello", map[string]any{"readonly": false, "headless": true})
	w.hears("control", map[string]any{"you": true})
	w.hears("page", map[string]any{"url": "http://a.test/live", "title": "Live"})
	w.sees(600, 300, red)

	// The mouse: the pixel changes, and the frame says that it shows the input.
	w.click(100, 100)
	w.logs("painted")
	w.sees(600, 300, green)
	w.until("a frame after the input", func() bool { return w.meta.Input == 1 })
	w.hears("cursor", map[string]any{"cursor": "pointer"})
	w.send(map[string]any{"type": "mouse", "kind": "move", "x": 100, "y": 40, "button": "none"})
	w.hears("cursor", map[string]any{"cursor": "text"})
	w.send(map[string]any{"type": "mouse", "kind": "wheel", "x": 600, "y": 300, "dy": 100})
	w.logs("wheel:1")

	// Keys, text of an input method, and a paste.
	w.click(100, 40)
	w.key("a", "KeyA", 65, "a")
	w.logs("input:a")
	w.send(map[string]any{"type": "compose", "text": "に", "start": 1, "end": 1})
	w.send(map[string]any{"type": "text", "text": "日本"})
	w.logs("composed:日本")
	w.logs("input:a日本")
	w.send(map[string]any{"type": "text", "text": "é"})
	w.logs("input:a日本é")
	w.send(map[string]any{"type": "copy"})
	w.hears("copied", map[string]any{"text": ""}) // nothing is selected
	w.send(map[string]any{"type": "key", "kind": "down", "key": "a", "code": "KeyA", "keyCode": 65, "modifiers": 2})
	w.logs("key:a+ctrl")
	w.send(map[string]any{"type": "copy"})
	w.hears("copied", map[string]any{"text": "a日本é"})
	w.send(map[string]any{"type": "copy", "cut": true})
	w.logs("input:")

	// A drop-down list, which no frame shows.
	w.click(100, 160)
	list := w.hears("options", nil)
	if n := len(list["options"].([]any)); n != 4 || list["x"] != 20.0 || list["width"] != 300.0 {
		t.Errorf("the list is %v", list)
	}
	w.send(map[string]any{"type": "options", "id": list["id"], "indexes": []int{3}})
	w.logs("list:4")
	w.hears("optionsClosed", map[string]any{"id": list["id"]})

	// A dialog.
	w.click(100, 280)
	dialog := w.hears("dialog", map[string]any{"kind": "prompt", "message": "Who?", "text": "nobody"})
	w.send(map[string]any{"type": "dialog", "id": dialog["id"], "accept": true, "text": "me"})
	w.logs("asked:me")
	w.hears("dialogClosed", map[string]any{"id": dialog["id"]})

	w.drags()

	// Touch, with one finger that stays.
	point := func(id int, x float64) map[string]any { return map[string]any{"id": id, "x": x, "y": 40} }
	w.send(map[string]any{"type": "touch", "kind": "start", "points": []any{point(0, 450)}})
	w.logs("touch:1")
	w.send(map[string]any{"type": "touch", "kind": "start", "points": []any{point(0, 450), point(1, 550)}})
	w.logs("touch:2")
	w.send(map[string]any{"type": "touch", "kind": "end", "points": []any{point(0, 450)}})
	w.send(map[string]any{"type": "touch", "kind": "end"})
	w.logs("untouch:0")

	w.worksFiles()
	w.worksTabs()
	if got := r.view.Viewers(); got != 1 {
		t.Errorf("%d viewers", got)
	}
	w.socket.CloseNow()
	testnet.Eventually(t, "nobody watches", func() bool { return r.view.Viewers() == 0 })
}

// drags drags an element within the page.
func (w *watcher) drags() {
	w.t.Helper()
	for _, at := range []struct {
		kind string
		y    float64
	}{{"move", 100}, {"down", 100}, {"move", 110}, {"move", 130}} {
		w.send(map[string]any{"type": "mouse", "kind": at.kind, "x": 450, "y": at.y, "button": "left", "buttons": 1, "clicks": 1})
	}
	w.logs("drag")
	w.send(map[string]any{"type": "mouse", "kind": "move", "x": 450, "y": 160, "button": "left", "buttons": 1})
	w.send(map[string]any{"type": "mouse", "kind": "up", "x": 450, "y": 160, "button": "left", "clicks": 1})
	w.logs("dropped:dragged")
}

// worksFiles gives files to the page and downloads one from it.
func (w *watcher) worksFiles() {
	w.t.Helper()
	w.click(100, 220)
	chooser := w.hears("chooser", map[string]any{"multiple": true})
	for i, text := range []string{"first", "second"} {
		w.piece(map[string]any{"chooser": chooser["id"], "file": i, "files": 2, "name": "../" + text + ".txt", "size": 2 * len(text)}, text)
		w.piece(map[string]any{
			"chooser": chooser["id"], "file": i, "files": 2, "name": "../" + text + ".txt", "size": 2 * len(text), "last": true}, text)
	}
	w.logs("files:_first.txt=firstfirst#10,_second.txt=secondsecond#12")
	w.hears("chooserClosed", map[string]any{"id": chooser["id"]})

	w.click(100, 340)
	done := w.hears("download", map[string]any{"state": "done", "name": "a report.txt"})
	base := w.base + "/downloads/" + done["id"].(string)
	if status, body := ask(w.t, base); status != 200 || body != "what was downloaded" {
		w.t.Errorf("the download: %d %q", status, body)
	}
	if status, _ := ask(w.t, strings.Replace(base, "/downloads/", "/watch/downloads/", 1)); status != http.StatusForbidden {
		w.t.Errorf("the download by a link to watch: %d", status)
	}
	if status, _ := ask(w.t, base+"x"); status != http.StatusNotFound {
		w.t.Errorf("a download that is not there: %d", status)
	}
}

// TestViewersUploadsHaveAQuota: viewers' uploads count towards the run's quota.
func TestViewersUploadsHaveAQuota(t *testing.T) {
	r, address := liveBrowser(t, func(s *browser.Spec) { s.FilesQuota = 5000 }) // the first counts 4096, and so would the second
	w := watch(t, r, address)
	w.sees(600, 300, red)
	w.click(100, 220)
	chooser := w.hears("chooser", nil)
	w.piece(map[string]any{"chooser": chooser["id"], "file": 0, "files": 2, "name": "fits.txt", "size": 10, "last": true}, "1234567890")
	w.hears("uploaded", map[string]any{"name": "fits.txt"})
	w.piece(map[string]any{"chooser": chooser["id"], "file": 1, "files": 2, "name": "more.txt", "size": 1, "last": true}, "x")
	w.hears("error", map[string]any{"code": "upload_failed"})
}

// piece sends a piece of a file.
func (w *watcher) piece(head map[string]any, data string) {
	w.t.Helper()
	text, err := json.Marshal(head)
	if err != nil {
		w.t.Fatal(err)
	}
	msg := append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)
	if err := w.socket.Write(w.t.Context(), websocket.MessageBinary, append(msg, data...)); err != nil {
		w.t.Fatal(err)
	}
}

// worksTabs follows a link into another tab, goes back and forward, and closes the tab.
func (w *watcher) worksTabs() {
	w.t.Helper()
	first := w.hears("tabs", nil)["active"]
	w.click(100, 400)
	page := w.hears("page", map[string]any{"url": "http://a.test/second", "title": "/second", "loading": false})
	second := page["tab"]
	w.hears("tabs", map[string]any{"active": second, "newest": true})
	w.until("a frame of the second tab", func() bool { return w.meta.Tab == second })

	w.forget()
	w.send(map[string]any{"type": "go", "do": "to", "url": "http://a.test/third"})
	w.hears("page", map[string]any{"url": "http://a.test/third", "canGoBack": true, "loading": false})
	w.send(map[string]any{"type": "go", "do": "back"})
	w.hears("page", map[string]any{"url": "http://a.test/second", "canGoBack": false, "canGoForward": true})
	w.send(map[string]any{"type": "go", "do": "forward"})
	w.hears("page", map[string]any{"url": "http://a.test/third", "canGoBack": true, "canGoForward": false, "newest": true})
	w.send(map[string]any{"type": "go", "do": "to", "url": "file:///etc/passwd"})
	w.hears("error", map[string]any{"code": "bad_address"})

	w.send(map[string]any{"type": "tab", "do": "show", "tab": first})
	w.hears("tabs", map[string]any{"active": first, "newest": true})
	w.sees(600, 300, green)
	w.send(map[string]any{"type": "tab", "do": "open", "url": "http://a.test/fourth"})
	fourth := w.hears("page", map[string]any{"url": "http://a.test/fourth", "title": "/fourth", "newest": true})["tab"]
	w.send(map[string]any{"type": "tab", "do": "close", "tab": fourth})
	testnet.Eventually(w.t, "two pages are open", func() bool { return w.r.tabs() == 2 })
	w.until("another tab is shown", func() bool { return w.shown() != "" && w.shown() != fourth })

	// A crashed page is shown as such, and returns.
	w.forget()
	w.send(map[string]any{"type": "tab", "do": "show", "tab": first})
	w.hears("tabs", map[string]any{"active": first, "newest": true})
	w.r.crash(w.session())
	w.until("the crash in the list", func() bool { return w.crashed(first) })
	w.send(map[string]any{"type": "go", "do": "reload"})
	w.until("the page in the list again", func() bool { return !w.crashed(first) })
	w.sees(600, 300, red)
	w.click(100, 100)
	w.logs("painted")
}

func (w *watcher) session() string {
	w.r.view.mu.Lock()
	defer w.r.view.mu.Unlock()
	return w.r.view.session
}

// tabs returns the number of tabs in the view's list.
func (r *stage) tabs() int {
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	return len(r.view.tabs)
}

// shown returns the tab in front by the newest list of tabs, "" for none. w.mu is held.
func (w *watcher) shown() any {
	for i := len(w.said) - 1; i >= 0; i-- {
		if w.said[i]["type"] == "tabs" {
			return w.said[i]["active"]
		}
	}
	return ""
}

// crashed returns what the newest list of tabs says of one. w.mu is held.
func (w *watcher) crashed(tab any) bool {
	for i := len(w.said) - 1; i >= 0; i-- {
		if w.said[i]["type"] != "tabs" {
			continue
		}
		for _, t := range w.said[i]["tabs"].([]any) {
			if t := t.(map[string]any); t["id"] == tab {
				return t["crashed"] == true
			}
		}
		return false
	}
	return false
}
