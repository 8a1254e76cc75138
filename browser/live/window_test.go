//go:build !windows

package live

import (
	"testing"

	"warren/browser"
	"warren/testnet"
)

// seenScreen is what a page sees of its screen, seenWindow of its window.
const seenScreen = `[screen.width, screen.height, screen.availWidth, screen.availHeight, screen.colorDepth, devicePixelRatio, screenX,
	screenY, screen.orientation.type].join()`

const seenWindow = `[innerWidth, innerHeight, outerWidth, outerHeight].join()`

// TestWindow: who has the controls gives the browser's window another size and takes it back. Pages see the window change as they do when
// a person drags its edge: the screen stays the identity's, and the window never exceeds it. When the last person leaves, it is restored.
// A tile is not a person: it is not counted, and others do not hear of it.
func TestWindow(t *testing.T) {
	r, address := liveBrowser(t, func(s *browser.Spec) {
		s.Identity.Screen = &browser.Screen{Width: 1200, Height: 800, DeviceScaleFactor: 2}
	})
	w, other := watch(t, r, address), watch(t, r, address+"/watch/")
	me := w.hears("hello", nil)["viewer"] // either may come first
	w.sees(600, 300, red)
	other.sees(600, 300, red)
	screen, window := w.page(seenScreen), w.page(seenWindow)
	fit := func(v *watcher, width, height int) {
		v.send(map[string]any{"type": "window", "do": "fit", "width": width, "height": height})
	}
	becomes := func(expression, want string) {
		t.Helper()
		testnet.Eventually(t, expression+" becomes "+want, func() bool { return w.page(expression) == want })
	}
	fit(other, 900, 500)
	other.hears("error", map[string]any{"code": "readonly", "about": "window"})
	fit(w, 0, 500)
	w.hears("error", map[string]any{"code": "bad_message", "about": "window"})
	fit(w, 900, 500)
	becomes("[innerWidth, innerHeight].join()", "900,500")
	w.until("a frame of the new size", func() bool { return w.meta.Width == 900 && w.meta.Height == 500 })
	w.hears("window", map[string]any{"resized": true})
	other.hears("window", map[string]any{"resized": true})
	for _, c := range []struct {
		width, height int
		outer         string
	}{{3000, 2000, "1200,800"}, {20, 20, "500,300"}} {
		fit(w, c.width, c.height)
		becomes("[outerWidth, outerHeight].join()", c.outer)
		if got := w.page(seenScreen); got != screen {
			t.Errorf("pages see the screen %s, before %s", got, screen)
		}
	}
	w.send(map[string]any{"type": "window", "do": "restore"})
	becomes(seenWindow, window)
	w.hears("window", map[string]any{"resized": false, "newest": true})

	// A tile stays, which is nobody. It may not even ask.
	fit(w, 900, 500)
	becomes("innerWidth", "900")
	other.socket.CloseNow()
	testnet.Eventually(t, "the other has left", func() bool { return r.view.Viewers() == 1 })
	tile := watch(t, r, address+"?tile=1")
	tile.hears("window", map[string]any{"resized": true})
	tile.hears("hello", map[string]any{"readonly": true})
	if list := tile.hears("control", map[string]any{"holder": me})["viewers"].([]any); len(list) != 1 {
		t.Errorf("with a tile the viewers are %v", list)
	}
	fit(tile, 700, 500)
	tile.hears("error", map[string]any{"code": "readonly", "about": "window"})
	w.click(100, 100)
	tile.sees(400, 300, green)
	w.socket.CloseNow()
	testnet.Eventually(t, "nobody watches", func() bool { return r.view.Viewers() == 0 })
	tile.hears("window", map[string]any{"resized": false, "newest": true})
	w = tile
	becomes(seenWindow, window)
}
