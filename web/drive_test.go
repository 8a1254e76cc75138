package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Drives a Chromium over CDP, for keys and mouse input that a script in the page cannot create.

const patience = 5 * time.Minute

// driven is a browser in which a test opens many tabs, one after another.
type driven struct {
	t    *testing.T
	conn *websocket.Conn

	mu    sync.Mutex
	next  int
	calls map[int]chan answered
	tabs  map[string]*driveTab
}

type answered struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// driveTab is a tab, with the errors on its console.
type driveTab struct {
	d               *driven
	target, session string
	mu              sync.Mutex
	complaints      []string
}

// drive starts a browser that ends with the test.
func drive(t *testing.T) *driven {
	t.Helper()
	args := append(flags(t), "--remote-debugging-port=0", "about:blank")
	folder := ""
	for _, arg := range args {
		if f, ok := strings.CutPrefix(arg, "--user-data-dir="); ok {
			folder = f
		}
	}
	cmd := exec.Command(findChromium(t), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &driven{t: t, calls: map[int]chan answered{}, tabs: map[string]*driveTab{}}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() //nolint:errcheck // the process is ended below
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // the process may have exited; the signal lets it close its children first
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill() //nolint:errcheck // as above
			<-ended
		}
	})
	var address string
	waitFor(t, "the browser's port", func() bool {
		text, err := os.ReadFile(filepath.Join(folder, "DevToolsActivePort"))
		port, path, ok := strings.Cut(strings.TrimSpace(string(text)), "\n")
		address = "ws://127.0.0.1:" + port + path
		return err == nil && ok
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	d.conn = conn
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the browser ends anyway
	go d.read()
	return d
}

// waitFor polls until so returns true.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come to be", what)
		}
	}
}

func (d *driven) read() {
	for {
		_, text, err := d.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m struct {
			answered
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		d.mu.Lock()
		waiting, tab := d.calls[m.ID], d.tabs[m.SessionID]
		delete(d.calls, m.ID)
		d.mu.Unlock()
		if waiting != nil {
			waiting <- m.answered
		}
		if tab != nil {
			tab.receive(m.Method, m.Params)
		}
	}
}

// receive records errors of the page: violations of its policy, and uncaught exceptions.
func (p *driveTab) receive(method string, params json.RawMessage) {
	if method != "Log.entryAdded" && method != "Runtime.exceptionThrown" {
		return
	}
	if text := string(params); strings.Contains(text, `"source":"network"`) || strings.Contains(text, `"source":"rendering"`) ||
		strings.Contains(text, `"source":"recommendation"`) {
		return // a test's own failed request, or advice about reading a canvas or about user names beside passwords
	}
	p.mu.Lock()
	p.complaints = append(p.complaints, string(params))
	p.mu.Unlock()
}

func (d *driven) call(session, method string, params, result any) {
	d.t.Helper()
	if err := d.ask(session, method, params, result); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
}

// ask sends a command, and returns the error that the browser answers.
func (d *driven) ask(session, method string, params, result any) error {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan answered, 1)
	d.mu.Lock()
	d.next++
	id := d.next
	d.calls[id] = done
	d.mu.Unlock()
	text, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if session == "" {
		text, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		err = d.conn.Write(ctx, websocket.MessageText, text)
	}
	if err != nil {
		return err
	}
	select {
	case a := <-done:
		if a.Error != nil {
			return errors.New(a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-ctx.Done():
		return errors.New("no answer")
	}
}

// open opens a page in its own tab, with a size in CSS pixels, and a script that runs before the page's.
func (d *driven) open(t *testing.T, address string, width, height int, ratio float64, before string) *driveTab {
	t.Helper()
	d.t = t
	p := &driveTab{d: d}
	var target struct{ TargetID string }
	d.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	d.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.target, p.session = target.TargetID, session.SessionID
	d.mu.Lock()
	d.tabs[p.session] = p
	d.mu.Unlock()
	p.do("Log.enable", nil)
	p.do("Runtime.enable", nil)
	p.do("Page.enable", nil)
	p.do("Page.bringToFront", nil)
	p.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true})
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": ratio, "mobile": false})
	if before != "" {
		p.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": before})
	}
	p.do("Page.navigate", map[string]any{"url": address})
	return p
}

func (p *driveTab) close() {
	p.d.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, nil)
}

func (p *driveTab) do(method string, params any) {
	p.d.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	p.d.call(p.session, method, params, nil)
}

// eval returns an expression's value in the page.
func (p *driveTab) eval(expression string, value any) {
	p.d.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	p.d.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		p.d.t.Fatalf("%s: %s", expression, out.ExceptionDetails.Exception.Description)
	}
	if value == nil {
		return
	}
	if len(out.Result.Value) == 0 {
		out.Result.Value = []byte("null")
	}
	if err := json.Unmarshal(out.Result.Value, value); err != nil {
		p.d.t.Fatalf("%s: %v", expression, err)
	}
}

// until waits until an expression is true in the page. A page that is still loading has no body, and one that goes away answers nothing.
func (p *driveTab) until(expression string) {
	p.d.t.Helper()
	params := map[string]any{"expression": "(() => { try { return Boolean(" + expression + "); } catch { return false; } })()",
		"returnByValue": true}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var out struct{ Result struct{ Value bool } }
		err := p.d.ask(p.session, "Runtime.evaluate", params, &out)
		if err != nil && !goesAway.MatchString(err.Error()) {
			p.d.t.Fatalf("%s: %v", expression, err)
		}
		if err == nil && out.Result.Value {
			return
		}
		if time.Now().After(end) {
			var text string
			p.eval("document.body.innerText", &text)
			p.d.t.Fatalf("never: %s\nthe page: %.800s", expression, text)
		}
	}
}

// goesAway is what Chrome answers when the page is replaced by the next one meanwhile.
var goesAway = regexp.MustCompile(`navigated or closed|context was destroyed|Cannot find (default execution )?context`)

// key presses a key like a keyboard. text is what it types, "" for none.
func (p *driveTab) key(key, code string, keyCode, modifiers int, text string) {
	p.d.t.Helper()
	down := map[string]any{"type": "rawKeyDown", "key": key, "code": code, "windowsVirtualKeyCode": keyCode, "modifiers": modifiers}
	if text != "" {
		down["type"], down["text"] = "keyDown", text
	}
	p.do("Input.dispatchKeyEvent", down)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": keyCode,
		"modifiers": modifiers})
}

func (p *driveTab) mouse(kind string, x, y float64, more map[string]any) {
	p.d.t.Helper()
	event := map[string]any{"type": kind, "x": x, "y": y}
	for name, value := range more {
		event[name] = value
	}
	p.do("Input.dispatchMouseEvent", event)
}

// click clicks a control of the page with this text or label.
func (p *driveTab) click(name string) {
	p.d.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('button, a, input')].find((it) => !it.disabled && "+
		"(it.getAttribute('aria-label') || it.textContent).trim() === %q)", name)
	p.until(find)
	p.eval(find+".click()", nil)
}

// wantQuiet fails the test if the browser reported errors of the page.
func (p *driveTab) wantQuiet() {
	p.d.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.complaints {
		p.d.t.Errorf("the browser complains: %.600s", c)
	}
}
