package tests

import (
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ownBrowser starts a browser of a person's own, which no server runs, and returns a client of it.
func ownBrowser(t testing.TB, dir string) *cdpClient {
	t.Helper()
	args := []string{"--headless=new", "--no-first-run", "--remote-debugging-port=0", "--user-data-dir=" + dir, "about:blank"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(needBrowser(t), args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.Process.Signal(os.Interrupt) != nil { // lets it end its children; Windows has no such signal
			cmd.Process.Kill()
		}
		cmd.Wait()
		awaitGone(t, dir) // its crash handlers follow it
	})
	address := ""
	eventually(t, "the browser's port", enough, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		port, path, ok := strings.Cut(strings.TrimSpace(string(text)), "\n")
		address = "ws://127.0.0.1:" + port + path
		return err == nil && ok
	})
	return dialCDP(t, address, nil)
}

// until waits until an expression is true on a page.
func (c *cdpClient) until(session, expression string) {
	c.t.Helper()
	eventually(c.t, expression, enough, func() bool { return c.eval(session, "Boolean("+expression+")") == "true" })
}

// press presses a button of a page by its name.
func (c *cdpClient) press(session, name string) {
	c.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('button')].find((it) => !it.disabled && "+
		"(it.ariaLabel || it.innerText).trim() === %q)", name)
	c.until(session, find)
	c.call(session, "Runtime.evaluate", map[string]any{"expression": find + ".click()", "userGesture": true}, nil)
}

// A person sees in the live view whose browser it is, saves a screenshot and a download, uses the clipboard both ways, and stops it. The
// browser gets the size of the person's window and back, and pages see the same screen.
func TestLivePage(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	g.world.comesOut(func() string { return `"country":"DE","timezone":"Europe/Berlin"` })
	s := g.serve()
	proxy := s.addProxy(nil)
	s.do("POST", "/proxies/"+proxy+"/check", nil, 200, nil)
	id := s.profile(map[string]any{"name": "Shop", "proxyId": proxy})
	run := s.start(id, nil)
	s.saves(id, run, "report.txt", "what was saved")
	remote := dialCDP(t, run.WsEndpoint, nil)
	page := remote.open(s.world.url("/shop"))
	s.world.await(t, "/shop", 1)
	remote.until(page, "document.querySelector('p')")
	remote.eval(page, "document.body.innerHTML = '<input id=field>', document.querySelector('input').focus()")

	saved := filepath.Join(g.dir, "saved")
	c := ownBrowser(t, filepath.Join(g.dir, "own"))
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": saved}, nil)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		c.call("", "Browser.setPermission", map[string]any{"origin": s.base, "setting": "granted",
			"permission": map[string]any{"name": name}}, nil)
	}
	view := c.open("about:blank")
	c.call(view, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1000, "height": 700, "deviceScaleFactor": 1,
		"mobile": false}, nil)
	c.call(view, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	c.call(view, "Page.navigate", map[string]any{"url": s.base + "/#key=" + liveKey}, nil)
	c.until(view, "document.querySelector('main h1')")
	c.eval(view, fmt.Sprintf("location.hash = '#/live?profile=%s'", id))
	c.until(view, "document.querySelector('.typing')?.disabled === false && !document.querySelector('canvas').hidden")
	c.until(view, "document.querySelector('.live-exit')?.innerText.includes('127.0.0.2')")
	const words = "[document.title, document.querySelector('.live-name bdi').innerText, document.querySelector('.live-exit').innerText," +
		" document.querySelector('.live-driver').innerText].join('|')"
	if got := strings.Join(strings.Fields(c.eval(view, words)), " "); got != "Shop — Warren|Shop|DE 127.0.0.2|You drive" {
		t.Errorf("the bar says %q", got)
	}
	s.savesFrom(c, view, saved)

	// The clipboard, both ways.
	c.eval(view, "navigator.clipboard.writeText('to “there”')")
	c.press(view, "More")
	c.press(view, "Paste from this device")
	remote.until(page, "field.value === 'to “there”'")
	remote.eval(page, "field.value = 'from there', field.select()")
	c.press(view, "More")
	c.press(view, "Copy what is selected")
	eventually(t, "the clipboard has the selection", enough, func() bool {
		return c.eval(view, "navigator.clipboard.readText()") == "from there"
	})

	// The person's window and back.
	const screen = "[screen.width, screen.height, screen.availWidth, screen.availHeight, devicePixelRatio, screenX, screenY].join()"
	const window = "[innerWidth, innerHeight, outerWidth, outerHeight].join()"
	identity, before := remote.eval(page, screen), remote.eval(page, window)
	size := func(to string) {
		c.eval(view, fmt.Sprintf("{ const it = document.querySelector('.live-size'); it.value = %q; "+
			"it.dispatchEvent(new Event('change', { bubbles: true })) }", to))
	}
	size("window")
	const room = "document.querySelector('.stage-room').clientWidth + ',' + document.querySelector('.stage-room').clientHeight"
	eventually(t, "the browser fills the room", enough, func() bool { // which changes with what the view says meanwhile
		return remote.eval(page, "innerWidth + ',' + innerHeight") == c.eval(view, room)
	})
	if got := remote.eval(page, screen); got != identity {
		t.Errorf("in another window pages see the screen %s, before %s", got, identity)
	}
	c.until(view, "document.querySelector('.live-size').value === 'window'")
	size("fit")
	remote.until(page, fmt.Sprintf("%s === %q", window, before))

	c.press(view, "Stop")
	c.until(view, "document.body.innerText.includes('The browser is not running')")
	if p := s.get(id); p.Status != "stopped" {
		t.Errorf("after Stop the profile is %s", p.Status)
	}
}

// savesFrom saves a screenshot and a download from the live view.
func (s *liveServer) savesFrom(c *cdpClient, view, folder string) {
	s.t.Helper()
	find := func(pattern string) (name string) {
		s.t.Helper()
		eventually(s.t, "a file "+pattern, enough, func() bool {
			found, _ := filepath.Glob(filepath.Join(folder, pattern))
			if len(found) == 1 {
				name = found[0]
			}
			return name != ""
		})
		return name
	}
	c.press(view, "Screenshot")
	file, err := os.Open(find("Shop *.png"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil || picture.Bounds().Dx() < 500 {
		s.t.Errorf("the screenshot is no picture: %v", err)
	}
	c.press(view, "Downloads")
	c.until(view, "document.querySelector('.live-panel').innerText.includes('14 B')")
	c.press(view, "Save report.txt")
	if text, err := os.ReadFile(find("report.txt")); err != nil || string(text) != "what was saved" {
		s.t.Errorf("the download is %q: %v", text, err)
	}
	c.eval(view, "document.querySelector('.live-panel').hidePopover()")
}
