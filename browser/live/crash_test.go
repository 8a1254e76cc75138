//go:build !windows

package live

import (
	"os"
	"strconv"
	"testing"

	"warren/testnet"
)

// crashRounds is how often TestCrashOfAShownTab crashes a tab. WARREN_CRASHES sets another number.
func crashRounds(t *testing.T) int {
	t.Helper()
	given := os.Getenv("WARREN_CRASHES")
	if given == "" {
		return 12
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCrashOfAShownTab: after a reload a crashed tab is shown and controlled as before. It may crash before it is shown, before its
// renderer has noticed that, or later, even with a document that never completes. The window's size changes meanwhile, as it does when
// Chrome hides a bar: Chrome then drops the first frame.
func TestCrashOfAShownTab(t *testing.T) {
	r, address := liveBrowser(t)
	w := watch(t, r, address)
	w.hears("page", map[string]any{"url": "http://a.test/live", "title": "Live"})
	first := w.hears("tabs", nil)["active"]
	session := w.session()
	w.send(map[string]any{"type": "tab", "do": "open", "url": "http://a.test/second"})
	second := w.hears("page", map[string]any{"url": "http://a.test/second", "title": "/second", "newest": true})["tab"]
	w.until("a frame of the second tab", func() bool { return w.meta.Tab == second }) // so that red frames are new
	for round := range crashRounds(t) {
		when := []string{"before it is shown", "as it is shown", "while it is shown", "while it is shown, endless"}[round%4]
		t.Logf("round %d: %s", round, when)
		if round%4 < 2 {
			// Its renderer notices nothing meanwhile.
			busy := "setTimeout(() => { for (const end = Date.now() + 3000; Date.now() < end;); })"
			r.command(session, "Runtime.evaluate", map[string]any{"expression": busy}, nil)
		}
		crash := func() {
			r.crash(session)
			w.until("the crash in the list", func() bool { return w.crashed(first) })
		}
		if when == "before it is shown" {
			crash()
		}
		w.size(second, 850+50*(round/4%2))
		w.forget()
		w.send(map[string]any{"type": "tab", "do": "show", "tab": first})
		w.hears("tabs", map[string]any{"active": first, "newest": true})
		if round%4 >= 2 {
			w.arrive(map[bool]string{false: "http://a.test/live", true: "http://a.test/endless"}[round%4 == 3])
		}
		if when != "before it is shown" {
			crash()
		}
		w.send(map[string]any{"type": "go", "do": "reload"})
		w.until("the page in the list again", func() bool { return !w.crashed(first) })
		w.sees(600, 300, red)
		w.ready()
		w.forget()
		w.click(100, 220)
		chooser := w.hears("chooser", nil)
		w.send(map[string]any{"type": "chooser", "id": chooser["id"], "cancel": true})
		w.click(100, 100)
		w.sees(600, 300, green)
		w.send(map[string]any{"type": "tab", "do": "show", "tab": second})
		w.hears("tabs", map[string]any{"active": second, "newest": true})
		w.until("a frame of the second tab", func() bool { return w.meta.Tab == second })
	}
}

// ready waits until the page that is shown can be used: it may be seen before it has all its elements.
func (w *watcher) ready() {
	w.t.Helper()
	testnet.Eventually(w.t, "the page is ready", func() bool { return w.page("document.body?.dataset.ready") == "yes" })
}

// arrive navigates the tab that is shown and changes the page there, so that its frames differ from those of a new one.
func (w *watcher) arrive(address string) {
	w.t.Helper()
	w.send(map[string]any{"type": "go", "do": "to", "url": address})
	w.hears("page", map[string]any{"url": address, "newest": true})
	w.sees(600, 300, red)
	w.ready()
	w.click(100, 100)
	w.sees(600, 300, green)
}

// size changes the height of a tab's window.
func (w *watcher) size(tab any, height int) {
	w.t.Helper()
	var of struct {
		ID int `json:"windowId"`
	}
	w.r.command("", "Browser.getWindowForTarget", map[string]any{"targetId": tab}, &of)
	bounds := map[string]any{"width": 1440, "height": height}
	w.r.command("", "Browser.setWindowBounds", map[string]any{"windowId": of.ID, "bounds": bounds}, nil)
}
