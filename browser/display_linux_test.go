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

// TestHeaded: in its namespace a browser reaches the X server, the session bus and the sound server by their paths. It sees little of this
// machine's files and may write none.
func TestHeaded(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.Headless, s.ReadOnly, s.Protected = false, true, []string{t.TempDir()}
	bus, sound := greeting(t, "bus"), greeting(t, "sound")
	s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus.path,
		"PULSE_SERVER=unix:" + sound.path,
		"WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := b.mux.controller.openPages()[0]
	var screen string
	if err := b.mux.controller.evaluate(
		t.Context(), page, `screen.width + "x" + screen.height + " " + document.visibilityState`, &screen); err != nil ||
		screen != "1280x800 visible" {
		t.Errorf("the page is on a screen of %q, %v", screen, err)
	}
	if got := bus.first(t); !strings.HasPrefix(got, "\x00AUTH") {
		t.Errorf("the session bus was greeted with %q", got)
	}
	play := map[string]any{"expression": `(() => { const a = new AudioContext(), o = a.createOscillator(); o.connect(a.destination); ` +
		`o.start() })()`, "userGesture": true}
	if err := b.mux.call(t.Context(), page.Session, "Runtime.evaluate", play, nil); err != nil {
		t.Fatal(err)
	}
	sound.first(t) // any message shows that it was reached
	if m := b.Stop(t.Context(), false); m != MethodClose {
		t.Errorf("the stop took %q", m)
	}
}

// server is a unix socket that records the first bytes of its first visitor.
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
			n, _ := io.ReadAtLeast(c, b, 5) // D-Bus sends a NUL and then AUTH; a visitor that leaves sends nothing
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
	case <-time.After(testnet.Patience):
		t.Fatalf("nobody came to %s", s.path)
		return ""
	}
}
