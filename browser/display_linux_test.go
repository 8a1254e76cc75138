package browser

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// TestHeaded: in its namespace a browser reaches, by their paths, the X server, the session bus and the sound server, also where it sees little of the
// machine's files and may write none.
func TestHeaded(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.Headless, s.ReadOnly, s.Protected = false, true, []string{t.TempDir()}
	bus, sound := greeting(t, "bus"), greeting(t, "sound")
	s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus.path, "PULSE_SERVER=unix:" + sound.path,
		"WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := b.mux.owner.openPages()[0]
	var screen string
	if err := b.mux.owner.evaluate(t.Context(), page, `screen.width + "x" + screen.height + " " + document.visibilityState`, &screen); err != nil || screen != "1280x800 visible" {
		t.Errorf("the page is on a screen of %q, %v", screen, err)
	}
	if got := bus.first(t); !strings.HasPrefix(got, "\x00AUTH") {
		t.Errorf("the session bus was greeted with %q", got)
	}
	play := map[string]any{"expression": `(() => { const a = new AudioContext(), o = a.createOscillator(); o.connect(a.destination); o.start() })()`, "userGesture": true}
	if err := b.mux.call(t.Context(), page.session, "Runtime.evaluate", play, nil); err != nil {
		t.Fatal(err)
	}
	sound.first(t) // whatever it says: it was reached
	if m := b.Stop(t.Context(), false); m != MethodClose {
		t.Errorf("the stop took %q", m)
	}
}

// TestLiveViewAtAWindow: what a person sees and does is the same where the browser has a window, and pages are told what the profile says, also in a tab
// that the viewer opens.
func TestLiveViewAtAWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("has no goroutines that TestLiveView and TestViewers have not: the race detector's run leaves it out, make test has it")
	}
	found := installed(t)
	b, address := liveBrowser(t, func(s *Spec) {
		s.Headless, s.Product, s.Version, s.Identity = false, found.Product, found.Version, Identity{OS: "win", Languages: []string{"de-DE", "de"}}
		s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	})
	w := watch(t, b, address)
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

// TestViewersDownloadAtAWindow: what a viewer has a browser with windows download, who may not use files of the machine, stays in the run's own folder.
func TestViewersDownloadAtAWindow(t *testing.T) {
	l := startLoading(t, func(s *Spec) {
		s.Headless, s.ExtraEnv = false, append(s.ExtraEnv, "DISPLAY="+testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11")
	})
	w := watch(t, l.b, serveLive(t, l.b))
	w.hears("hello", map[string]any{"headless": false})
	w.send(map[string]any{"type": "tab", "do": "open", "url": "http://a.test/get?name=seen.txt&text=seen"})
	l.holds(l.listed("seen.txt", DownloadComplete), "seen")
	l.leavesTheMachine(filepath.Join(l.home, "Downloads"))
}

// server is a unix socket that notes what its first visitor says first.
type server struct {
	path string
	said chan string
}

func greeting(t *testing.T, name string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "wb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{filepath.Join(dir, name), make(chan string, 1)}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 64)
			n, _ := io.ReadAtLeast(c, b, 5) // D-Bus says a NUL, and then AUTH; a visitor that goes says nothing
			select {
			case s.said <- string(b[:n]):
			default:
			}
			c.Close()
		}
	}()
	return s
}

func (s *server) first(t *testing.T) string {
	t.Helper()
	select {
	case text := <-s.said:
		return text
	case <-time.After(patient):
		t.Fatalf("nobody came to %s", s.path)
		return ""
	}
}
