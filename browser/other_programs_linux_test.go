package browser

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"warren/testnet"
)

// TestNoOtherPrograms: a page cannot start a program of the machine by an address that Chrome passes on without a question. The program
// would run beside the proxy.
func TestNoOtherPrograms(t *testing.T) {
	for _, windows := range []bool{false, true} {
		p := newProfile(t)
		bin, told := t.TempDir(), filepath.Join(t.TempDir(), "told")
		for _, name := range []string{"xdg-email", "xdg-open"} {
			testnet.WriteProgram(t, filepath.Join(bin, name), "#!/bin/sh\necho \"$0 $*\" >> "+told+"\n")
		}
		s := p.spec()
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		if windows {
			s.Headless = false
			s.ExtraEnv = append(s.ExtraEnv, "DISPLAY="+testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11")
		}
		b := p.open(s)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := dial(t, serveGateway(t, b)+"/")
		for _, address := range []string{"mailto:a@b.test?subject=x", "news:x.y", "other:x"} {
			_, session := c.openTab("http://a.test/one")
			c.becomes(session, "location.href + document.readyState", `"http://a.test/onecomplete"`)
			script := "new Promise((told) => { const a = document.createElement('a'); a.href = " + strconv.Quote(
				address) + "; document.body.append(a); a.click(); requestIdleCallback(() => told(1)) })"
			c.call(session, "Runtime.evaluate", map[string]any{"expression": script, "userGesture": true, "awaitPromise": true})
			c.becomes(session, "location.href", `"http://a.test/one"`) // a link to one costs nobody the page
		}
		b.Stop(t.Context(), false)
		if text, err := os.ReadFile(told); err == nil {
			t.Errorf("with windows %v programs were started: %s", windows, text)
		}
	}
}
