package live

import (
	"os"
	"path/filepath"
	"testing"

	"warren/browser"
	"warren/testnet"
)

// TestLiveViewAtAWindow: the view works the same for a browser with windows, and pages have the declared identity, even in a tab that the
// viewer opens.
func TestLiveViewAtAWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("has no goroutines that TestLiveView and TestViewers have not: the race detector's run leaves it out, make test has it")
	}
	found, err := browser.Find(t.Context(), "")
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	r, address := liveBrowser(t, func(s *browser.Spec) {
		s.Headless, s.Product, s.Version, s.Identity = false, found.Product, found.Version,
			browser.Identity{OS: "win", Languages: []string{"de-DE", "de"}}
		s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	})
	w := watch(t, r, address)
	w.hears("hello", map[string]any{"headless": false})
	w.sees(600, 300, red)
	w.click(100, 100)
	w.sees(600, 300, green)
	w.click(100, 160)
	list := w.hears("options", nil)
	w.send(map[string]any{"type": "options", "id": list["id"], "indexes": []int{1}})
	w.logs("list:two")
	w.click(100, 220)
	chooser := w.hears("chooser", nil)
	w.piece(map[string]any{"chooser": chooser["id"], "file": 0, "files": 1, "name": "a.txt", "size": 1, "last": true}, "x")
	w.logs("files:a.txt=x#1")
	w.send(map[string]any{"type": "tab", "do": "open", "url": "http://a.test/opened"})
	w.hears("page", map[string]any{"url": "http://a.test/opened", "title": "/opened", "newest": true})
	if got := w.page("navigator.platform + navigator.languages"); got != "Win32de-DE,de" {
		t.Errorf("a tab of the viewer's is told %s", got)
	}
}

// TestViewersDownloadAtAWindow: in a browser with windows, downloads of a viewer that may not use files of this machine stay in the run's
// own folder.
func TestViewersDownloadAtAWindow(t *testing.T) {
	home, files := t.TempDir(), filepath.Join(t.TempDir(), "files")
	r, address := liveBrowser(t, func(s *browser.Spec) {
		s.Headless, s.FilesDir = false, files
		s.ExtraEnv = []string{
			"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=",
			"XDG_SESSION_TYPE=x11"}
	})
	w := watch(t, r, address)
	w.hears("hello", map[string]any{"headless": false})
	w.send(map[string]any{"type": "tab", "do": "open", "url": "http://a.test/download"})
	var one browser.Download
	testnet.Eventually(t, "the download is complete", func() bool {
		for _, one = range r.browser.Downloads() {
			return one.State == browser.DownloadComplete
		}
		return false
	})
	if text, err := os.ReadFile(filepath.Join(files, "downloads", one.File)); err != nil || string(text) != "what was downloaded" {
		t.Errorf("the run's own folder has %q, %v", text, err)
	}
	if left, err := os.ReadDir(filepath.Join(home, "Downloads")); len(left) > 0 {
		t.Errorf("the person's own folder has %v, %v", left, err)
	}
}
