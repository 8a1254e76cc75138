package browser

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHeaded: in its namespace a browser reaches, by their paths, the X server, the session bus and the sound server.
func TestHeaded(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.Headless = false
	bus, sound := greeting(t, "bus"), greeting(t, "sound")
	s.ExtraEnv = []string{"DISPLAY=" + display(t, "1111x777x24"), "DBUS_SESSION_BUS_ADDRESS=unix:path=" + bus.path, "PULSE_SERVER=unix:" + sound.path,
		"WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := b.mux.owner.openPages()[0]
	var screen string
	if err := b.mux.owner.evaluate(t.Context(), page, `screen.width + "x" + screen.height + " " + document.visibilityState`, &screen); err != nil || screen != "1111x777 visible" {
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

// display starts an X server of its own and returns its name. It listens on sockets with a path, and not over TCP.
func display(t *testing.T, size string) string {
	t.Helper()
	program, err := exec.LookPath("Xvfb")
	if err != nil {
		t.Skipf("needs Xvfb: %v", err)
	}
	tell, told, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer tell.Close()
	cmd := exec.Command(program, "-displayfd", "3", "-screen", "0", size, "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{told}
	err = cmd.Start()
	told.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) //nolint:errcheck // it is ended
	number, err := bufio.NewReader(tell).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb did not start: %v", err)
	}
	return ":" + strings.TrimSpace(number)
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
			n, _ := io.ReadAtLeast(c, b, 1) // a visitor that goes says nothing
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
