//go:build !windows

package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"warren/testnet"
)

// TestViewers: one viewer has the controls, the others watch. Controls are requested, given and taken. A link that only watches does
// nothing else, and a client's input is shown.
func TestViewers(t *testing.T) {
	r, address := liveBrowser(t)
	first, second := watch(t, r, address), (*watcher)(nil)
	first.hears("control", map[string]any{"you": true, "holder": "v1"})
	first.sees(600, 300, red)
	second = watch(t, r, address)
	second.hears("control", map[string]any{"you": false, "holder": "v1"})
	readonly := watch(t, r, address+"/watch/")
	readonly.hears("hello", map[string]any{"readonly": true})
	for _, w := range []*watcher{second, readonly} { // they get the current state without any change
		w.hears("page", map[string]any{"title": "Live"})
		w.sees(600, 300, red)
	}

	// A viewer without the controls controls nothing.
	second.click(100, 100)
	second.hears("error", map[string]any{"code": "not_in_control", "about": "mouse"})
	for _, m := range []map[string]any{
		{"type": "mouse", "kind": "down", "x": 100, "y": 100, "button": "left"}, {"type": "go", "do": "reload"},
		{"type": "key", "kind": "down", "key": "a"}, {"type": "tab", "do": "open"}, {"type": "copy"}, {"type": "control", "do": "take"},
		{"type": "control", "do": "ask"}, {"type": "passkey"}} {
		readonly.forget()
		readonly.send(m)
		readonly.hears("error", map[string]any{"code": "readonly", "about": m["type"]})
	}

	first.send(map[string]any{"type": "passkey"})
	first.hears("error", map[string]any{"code": "no_passkeys", "about": "passkey"})

	// Requested and given, taken, and left.
	second.send(map[string]any{"type": "name", "name": "Second"})
	second.send(map[string]any{"type": "control", "do": "ask"})
	first.hears("control", map[string]any{"you": true, "asking": "[v2]"})
	first.send(map[string]any{"type": "control", "do": "give", "to": "v3"})
	first.hears("error", map[string]any{"code": "no_such_viewer"})
	first.send(map[string]any{"type": "control", "do": "give", "to": "v2"})
	second.hears("control", map[string]any{"you": true, "asking": "[]"})
	second.click(100, 100)
	for _, w := range []*watcher{first, second, readonly} {
		w.sees(600, 300, green)
	}
	first.send(map[string]any{"type": "control", "do": "take"})
	first.hears("control", map[string]any{"you": true, "newest": true})
	second.hears("control", map[string]any{"you": false, "holder": "v1", "newest": true})
	second.send(map[string]any{"type": "control", "do": "ask"})
	first.hears("control", map[string]any{"asking": "[v2]", "newest": true})
	first.socket.CloseNow()
	second.hears("control", map[string]any{"you": true, "newest": true})

	// Without a holder a dialog is answered as without viewers, even an open one.
	second.click(100, 280)
	second.hears("dialog", nil)
	second.send(map[string]any{"type": "control", "do": "leave"})
	second.hears("dialogClosed", nil)
	second.logs("asked:null")

	// A client's input is shown, and its end.
	call := r.client()
	session, _ := call("", "Target.attachToTarget", map[string]any{"targetId": second.active(), "flatten": true})["sessionId"].(string)
	call(session, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": 77, "y": 55})
	readonly.hears("script", map[string]any{"active": true, "clients": 1, "x": 77, "y": 55})
	readonly.hears("script", map[string]any{"active": false})
}

func (w *watcher) active() string {
	w.r.view.mu.Lock()
	defer w.r.view.mu.Unlock()
	return w.r.view.active
}

// TestBadViewers: no message and no silence of a viewer harms others.
func TestBadViewers(t *testing.T) {
	r, address := liveBrowser(t)
	good := watch(t, r, address)
	good.sees(600, 300, red)

	// Garbage is answered, and changes nothing.
	bad := watch(t, r, address)
	for text, code := range map[string]string{
		"": "bad_message", "{": "bad_message", "[]": "bad_message", `{"type":"nonsense"}`: "bad_message",
		`{"type":"size","width":-1,"height":5}`: "bad_message", `{"type":"mouse","kind":"move","x":1e300}`: "bad_message",
		`{"type":"mouse","modifiers":99}`:          "bad_message",
		`{"type":"control","do":"give","to":"v1"}`: "not_in_control", `{"type":"control","do":"explode"}`: "bad_message",
		"\xff\xfe": "bad_message"} {
		bad.forget()
		if err := bad.socket.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		bad.hears("error", map[string]any{"code": code})
	}
	for _, msg := range []string{"", "\x00", "\xff\xff{}", "\x00\x02{}"} {
		bad.forget()
		if err := bad.socket.Write(t.Context(), websocket.MessageBinary, []byte(msg)); err != nil {
			t.Fatal(err)
		}
		bad.hears("error", map[string]any{"about": "chooser"})
	}
	if err := bad.socket.Write(
		t.Context(), websocket.MessageText, []byte(`{"type":"text","text":"`+strings.Repeat("x", 2*viewerMessage)+`"}`)); err != nil {
		t.Log(err) // it may have been closed already
	}
	testnet.AwaitClosed(t, "the end of who sent too much", bad.ended, testnet.Patience)
	if code := websocket.CloseStatus(bad.err); code != websocket.StatusMessageTooBig {
		t.Errorf("who sent too much ended with %v", bad.err)
	}

	// One viewer draws nothing and one does not even read; the others see everything.
	lazy := watchAs(t, &watcher{t: t, r: r, lazy: true}, address)
	lazy.until("a frame", func() bool { return lazy.frames == 1 })
	unread, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unread.CloseNow()
	before := good.frames
	good.page(`void setInterval(() => document.body.style.background = document.body.style.background == "blue" ? "red" : "blue", 50)`)
	good.until("frames", func() bool { return good.frames > before+20 })
	if lazy.frames != 1 {
		t.Errorf("who draws nothing got %d frames", lazy.frames)
	}

	// Viewers are told the browser's end.
	r.browser.Stop(context.Background(), false)
	good.hears("bye", map[string]any{"reason": "the browser exited with code 0"})
	testnet.AwaitClosed(t, "the viewer's end", good.ended, testnet.Patience)
	var closed websocket.CloseError
	if !errors.As(good.err, &closed) || closed.Code != websocket.StatusGoingAway {
		t.Errorf("the viewer ended with %v", good.err)
	}
	testnet.Eventually(t, "nobody is left", func() bool { return r.view.Viewers() == 0 })
}

// TestSlowLink: over a slow link pictures become smaller, and better again when it is fast.
func TestSlowLink(t *testing.T) {
	if testing.Short() {
		t.Skip("has no goroutines that TestLiveView and TestViewers have not: the race detector's run leaves it out, make test has it")
	}
	r, address := liveBrowser(t)
	r.view.capture.period = 200 * time.Millisecond
	slow := true
	w := &watcher{t: t, r: r}
	w.delay = func(bytes int) time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		if slow {
			return 20*time.Millisecond + time.Duration(bytes)*40*time.Microsecond // 25 kB/s
		}
		return 0
	}
	watchAs(t, w, address)
	w.sees(600, 300, red)
	w.page(`void setInterval(() => { document.body.style.background = "repeating-linear-gradient(" + Math.random() * 360 + "deg, red, ` +
		`blue 7px, lime 13px)" }, 30)`)
	level := func() int {
		r.view.mu.Lock()
		defer r.view.mu.Unlock()
		return r.view.capture.level
	}
	testnet.Eventually(t, "smaller pictures", func() bool { return level() == len(levels())-1 })
	small := len(w.picture)
	w.mu.Lock()
	slow = false
	w.mu.Unlock()
	testnet.Eventually(t, "better ones", func() bool { return level() == 0 })
	w.until("a better picture", func() bool { return len(w.picture) > 2*small })
}
