package web

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Tests the live view in a real Chromium. The test is the server, and speaks the protocol of docs/live.md.

// TestLiveView runs the parts of the live view's tests in tabs of one browser.
func TestLiveView(t *testing.T) {
	t.Parallel()
	d := drive(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *liveEnd, *driveTab)
	}{
		{"keys", liveKeys}, {"input methods", liveIME}, {"no trap", liveNoTrap}, {"mouse", liveMouse}, {"touch", liveTouch},
		{"acks", liveAcks}, {"latency", liveLatency}, {"reconnects", liveReconnects}, {"who watches", liveWatches},
		{"sizes", liveSizes}, {"two fingers", liveFingers}, {"clipboard", liveClipboard},
		{"hostile texts", liveHostile}, {"files", liveFiles},
		{"files let go", liveFilesLetGo}, {"options", liveOptions}, {"addresses", liveAddresses},
	} {
		t.Run(part.name, func(t *testing.T) {
			e := newLiveEnd(t)
			p := d.open(t, e.server.URL+"/live#"+testCapability, 1000, 800, 2, "")
			defer p.close()
			waitFor(t, "the socket", func() bool { return e.times() == 1 })
			e.greet(p)
			part.run(t, e, p)
			p.wantQuiet()
		})
	}
	t.Run("with a key", func(t *testing.T) { liveWithKey(t, d) })
	t.Run("log in", func(t *testing.T) { logsIn(t, d) })
	t.Run("tile", func(t *testing.T) { liveTile(t, d) })
	d.t = t
}

// brief formats a key or text message in one line.
func brief(m map[string]any) string {
	switch m["type"] {
	case "key":
		return fmt.Sprintf("%s %s %v %q %v", m["kind"], m["key"], m["keyCode"], m["text"], m["modifiers"])
	case "copy":
		return fmt.Sprintf("copy %v", m["cut"])
	case "compose":
		return fmt.Sprintf("compose %q %v %v", m["text"], m["start"], m["end"])
	}
	return fmt.Sprintf("%s %q", m["type"], m["text"])
}

func (e *liveEnd) wantTyped(what string, want ...string) {
	e.t.Helper()
	var got []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got = nil
		for _, m := range e.of("key", "text", "compose", "copy") {
			got = append(got, brief(m))
		}
		if len(got) >= len(want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		e.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
	e.forget()
}

func focusPage(p *driveTab) {
	p.eval("document.querySelector('.typing').focus()", nil)
}

func liveKeys(t *testing.T, e *liveEnd, p *driveTab) {
	focusPage(p)
	p.key("a", "KeyA", 65, 0, "a")
	e.wantTyped("a letter", `down a 65 "a" 0`, `up a 65 "" 0`)
	p.key("é", "Digit2", 50, 0, "é")
	e.wantTyped("a letter of another layout", `down é 50 "é" 0`, `up é 50 "" 0`)
	p.key("Enter", "Enter", 13, 0, "\r")
	e.wantTyped("enter", `down Enter 13 "\r" 0`, `up Enter 13 "" 0`)
	p.key("l", "KeyL", 76, 2, "")
	e.wantTyped("ctrl and a letter types none", `down l 76 "" 2`, `up l 76 "" 2`)
	p.key("f", "KeyF", 70, 1, "")
	e.wantTyped("alt and a letter types none", `down f 70 "" 1`, `up f 70 "" 1`)
	p.key("c", "KeyC", 67, 2, "")
	p.key("x", "KeyX", 88, 2, "")
	e.wantTyped("copy and cut", "copy false", "copy true")
	p.key("с", "KeyC", 67, 2, "")
	e.wantTyped("copy with Cyrillic letters", "copy false")
	p.key("Dead", "BracketLeft", 219, 0, "")
	p.key("ê", "KeyE", 69, 0, "ê")
	e.wantTyped("a dead key", `text "ê"`)
	p.key("Dead", "BracketLeft", 219, 0, "")
	p.key("Backspace", "Backspace", 8, 0, "")
	e.wantTyped("a dead key taken back", `down Backspace 8 "" 0`, `up Backspace 8 "" 0`)
	// CDP has no AltGr: these events are as Windows and Linux send them.
	p.eval(`(() => { const field = document.querySelector('.typing');
		const send = (type, init) => field.dispatchEvent(new KeyboardEvent(type, { bubbles: true, cancelable: true, ...init }));
		send('keydown', { key: 'Control', code: 'ControlLeft', keyCode: 17, ctrlKey: true });
		send('keydown', { key: 'AltGraph', code: 'AltRight', keyCode: 18, modifierAltGraph: true });
		send('keydown', { key: '@', code: 'KeyQ', keyCode: 81, ctrlKey: true, altKey: true, modifierAltGraph: true });
		send('keyup', { key: '@', code: 'KeyQ', keyCode: 81, ctrlKey: true, altKey: true, modifierAltGraph: true });
		send('keyup', { key: 'AltGraph', code: 'AltRight', keyCode: 18 }); })()`, nil)
	e.wantTyped("AltGr", `down Control 17 "" 2`, `up Control 17 "" 0`, `down @ 81 "@" 0`, `up @ 81 "" 0`)
	p.eval(`(() => { const data = new DataTransfer(); data.setData('text/plain', 'pasted “text”');
		document.querySelector('.typing').dispatchEvent(
			new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); })()`, nil)
	e.wantTyped("a paste", `text "pasted “text”"`)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "Shift", "code": "ShiftLeft",
		"windowsVirtualKeyCode": 16, "modifiers": 8})
	p.eval("document.querySelector('.typing').blur()", nil)
	e.wantTyped("a key that is held when the focus goes", `down Shift 16 "" 8`, `up Shift 16 "" 0`)
}

func liveIME(t *testing.T, e *liveEnd, p *driveTab) {
	focusPage(p)
	p.do("Input.imeSetComposition", map[string]any{"text": "に", "selectionStart": 1, "selectionEnd": 1})
	p.do("Input.imeSetComposition", map[string]any{"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
	p.do("Input.insertText", map[string]any{"text": "日本"})
	got := func() (list []string) {
		for _, m := range e.of("key", "text", "compose") {
			list = append(list, brief(m))
		}
		return list
	}
	waitFor(t, "the composed text", func() bool { return slices.Contains(got(), `text "日本"`) })
	if g := got(); g[0] != `compose "に" 1 1` || g[1] != `compose "にほん" 3 3` || g[len(g)-1] != `text "日本"` {
		t.Errorf("an input method: got %q", g)
	}
	e.forget()
	p.do("Input.insertText", map[string]any{"text": "🙂"})
	e.wantTyped("a picker", `text "🙂"`)
	var left string
	p.eval("document.querySelector('.typing').value", &left)
	if left != "" {
		t.Errorf("the field still holds %q", left)
	}
	// A phone's keyboard deletes without a key.
	p.eval(`document.querySelector('.typing').dispatchEvent(new InputEvent('input', `+
		`{ inputType: 'deleteContentBackward', bubbles: true }))`, nil)
	e.wantTyped("a phone's backspace", `down Backspace 8 "" 0`, `up Backspace 8 "" 0`)
}

// liveNoTrap: every key goes to the page, also Tab, but three Escapes in a row return the keyboard.
func liveNoTrap(t *testing.T, e *liveEnd, p *driveTab) {
	focusPage(p)
	p.key("Tab", "Tab", 9, 0, "")
	p.key("F5", "F5", 116, 0, "")
	p.key("Escape", "Escape", 27, 0, "")
	p.key("Escape", "Escape", 27, 0, "")
	p.key("b", "KeyB", 66, 0, "b")
	p.key("Escape", "Escape", 27, 0, "")
	p.key("Escape", "Escape", 27, 0, "")
	e.wantTyped("keys that a browser acts on", `down Tab 9 "" 0`, `up Tab 9 "" 0`, `down F5 116 "" 0`, `up F5 116 "" 0`,
		`down Escape 27 "" 0`, `up Escape 27 "" 0`, `down Escape 27 "" 0`, `up Escape 27 "" 0`,
		`down b 66 "b" 0`, `up b 66 "" 0`, `down Escape 27 "" 0`, `up Escape 27 "" 0`,
		`down Escape 27 "" 0`, `up Escape 27 "" 0`)
	p.until("document.activeElement.classList.contains('typing')")
	p.key("Escape", "Escape", 27, 0, "")
	p.until("document.activeElement.getAttribute('aria-label') === 'Address'")
	p.key("Tab", "Tab", 9, 0, "")
	p.until("document.activeElement.getAttribute('aria-label') !== 'Address'")
	if len(e.of("key")) != 0 {
		t.Errorf("keys went to the page after the keyboard was given back: %v", e.of("key"))
	}
	var words string
	p.eval("document.querySelector('.live-hint').textContent + document.querySelector('.typing').getAttribute('aria-label')", &words)
	if strings.Count(words, "Esc three times") != 2 {
		t.Errorf("the way out is not told: %q", words)
	}
}

// box returns the position of the picture on the screen.
func box(p *driveTab) (left, top, width, height float64) {
	var at []float64
	p.eval("(({ left, top, width, height }) => [left, top, width, height])(document.querySelector('canvas').getBoundingClientRect())", &at)
	return at[0], at[1], at[2], at[3]
}

func liveMouse(t *testing.T, e *liveEnd, p *driveTab) {
	left, top, width, height := box(p)
	if math.Abs(width/height-1280.0/720) > 0.01 || math.Abs(width-1000) > 1 {
		t.Fatalf("the picture is %v×%v in a window 1000 wide", width, height)
	}
	var stage []float64
	p.eval("(({ top, height }) => [top, height])(document.querySelector('.stage').getBoundingClientRect())", &stage)
	if above, below := top-stage[0], stage[0]+stage[1]-top-height; above < 10 || math.Abs(above-below) > 1 {
		t.Fatalf("the picture has %v above and %v below: it is not in the middle", above, below)
	}
	waitFor(t, fmt.Sprintf("the size of a room of 1000×%v at two pixels each", stage[1]), func() bool {
		list := e.of("size")
		return len(list) > 0 && list[len(list)-1]["width"] == 2000.0 && math.Abs(list[len(list)-1]["height"].(float64)-2*stage[1]) <= 2
	})
	e.forget()
	x, y := math.Round(left+width/4), math.Round(top+height/2)
	p.mouse("mouseMoved", x, y, nil)
	p.mouse("mousePressed", x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 2, "modifiers": 8})
	// Outside of the picture and of the stage.
	p.mouse("mouseMoved", left+width+40, stage[0]-20, map[string]any{"button": "left", "buttons": 1})
	p.mouse("mouseReleased", left+width+40, stage[0]-20, map[string]any{"button": "left", "clickCount": 1})
	p.mouse("mouseWheel", x, y, map[string]any{"deltaX": 0, "deltaY": 120})
	p.mouse("mousePressed", x, y, map[string]any{"button": "right", "buttons": 2, "clickCount": 1})
	p.mouse("mouseReleased", x, y, map[string]any{"button": "right", "clickCount": 1})
	waitFor(t, "the right button", func() bool {
		list := e.of("mouse")
		return len(list) > 0 && list[len(list)-1]["kind"] == "up" && list[len(list)-1]["button"] == "right"
	})
	var got []string
	n := 0.0
	for _, m := range e.of("mouse") {
		place := fmt.Sprintf("at %v,%v", m["x"], m["y"])
		if math.Abs(m["x"].(float64)-320) < 1.5 && math.Abs(m["y"].(float64)-360) < 1.5 { // a mouse has whole screen pixels
			place = "there"
		}
		got = append(got, fmt.Sprintf("%s %s %v %s clicks %v mod %v down %v", m["kind"], m["button"], m["buttons"], place, m["clicks"],
			m["modifiers"], m["dy"].(float64) > 0))
		if m["n"].(float64) <= n {
			t.Errorf("n is %v after %v", m["n"], n)
		}
		n = m["n"].(float64)
	}
	want := []string{"move none 0 there clicks 0 mod 0 down false", "down left 1 there clicks 2 mod 8 down false",
		"move none 1 at 1280,0 clicks 0 mod 0 down false", "up left 0 at 1280,0 clicks 2 mod 0 down false",
		"wheel none 0 there clicks 0 mod 0 down true", "down right 2 there clicks 1 mod 0 down false",
		"up right 0 there clicks 1 mod 0 down false"}
	if !slices.Equal(got, want) {
		t.Errorf("the mouse:\n got %q\nwant %q", got, want)
	}
	p.until("document.activeElement.classList.contains('typing')")
	// Many moves within one animation frame are one message, and a button does not overtake them.
	e.forget()
	p.eval(fmt.Sprintf(`(() => { const canvas = document.querySelector('canvas');
		for (let i = 0; i < 50; i++) canvas.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: %v + i, clientY: %v }));
		canvas.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true,
			clientX: %v, clientY: %v, button: 0, buttons: 1, detail: 1 })); })()`, left, y, x, y), nil)
	waitFor(t, "the button", func() bool { list := e.of("mouse"); return len(list) > 0 && list[len(list)-1]["kind"] == "down" })
	if list := e.of("mouse"); len(list) != 2 || math.Abs(list[0]["x"].(float64)-49*1280/width) > 0.01 {
		t.Errorf("fifty moves and a button are %v", list)
	}
}

func liveTouch(t *testing.T, e *liveEnd, p *driveTab) {
	p.do("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true, "maxTouchPoints": 2})
	p.until("matchMedia('(pointer: coarse)').matches")
	p.click("More")
	p.click("Give two fingers to the page")
	p.eval("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))", nil) // buttons have grown
	left, top, width, height := box(p)
	e.forget()
	at := func(x, y float64, id int) map[string]any {
		return map[string]any{"x": left + x*width, "y": top + y*height, "id": id}
	}
	touch := func(kind string, points ...map[string]any) {
		p.do("Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": append([]map[string]any{}, points...)})
	}
	touch("touchStart", at(.5, .5, 0))
	touch("touchStart", at(.5, .5, 0), at(.25, .25, 1))
	touch("touchEnd", at(.5, .5, 0))
	touch("touchEnd")
	waitFor(t, "the end", func() bool { list := e.of("touch"); return len(list) > 0 && list[len(list)-1]["kind"] == "end" })
	var got []string
	for _, m := range e.of("touch") {
		line := m["kind"].(string)
		for _, point := range m["points"].([]any) {
			point := point.(map[string]any)
			line += fmt.Sprintf(" %.0f,%.0f", point["x"], point["y"])
		}
		got = append(got, line)
	}
	if want := []string{"start 640,360", "start 640,360 320,180", "move 320,180", "end"}; !slices.Equal(got, want) {
		t.Errorf("touch:\n got %q\nwant %q", got, want)
	}
	if len(e.of("mouse")) != 0 {
		t.Errorf("a touch came as a mouse too: %v", e.of("mouse"))
	}
	p.until("!document.activeElement.classList.contains('typing')") // a phone's keyboard appears on request only
}

// liveAcks: each frame is acknowledged once it is on the canvas, also one that is no picture.
func liveAcks(t *testing.T, e *liveEnd, p *driveTab) {
	waitFor(t, "the first ack", func() bool { return len(e.of("ack")) == 1 })
	e.forget()
	e.frame(2, 0, color.RGBA{255, 0, 0, 255})
	waitFor(t, "the ack", func() bool { return len(e.of("ack")) > 0 })
	var pixel []int
	p.eval("[...document.querySelector('canvas').getContext('2d').getImageData(600, 300, 1, 1).data]", &pixel)
	if pixel[0] < 250 || pixel[2] > 5 {
		t.Errorf("the frame was acknowledged and the canvas shows %v", pixel)
	}
	e.frame(3, 0, nil)
	waitFor(t, "the second ack", func() bool { return len(e.of("ack")) > 1 })
	e.say(`{"type":"nothing that the page knows"}`, `{"type":"__proto__"}`, `no JSON`, `null`)
	e.frame(4, 0, color.RGBA{0, 255, 0, 255})
	waitFor(t, "the third ack", func() bool { return len(e.of("ack")) > 2 })
	var seqs []any
	for _, m := range e.of("ack") {
		seqs = append(seqs, m["seq"])
	}
	if fmt.Sprint(seqs) != "[2 3 4]" {
		t.Errorf("acknowledged %v", seqs)
	}
	// While the page is hidden, the next picture can wait.
	p.eval(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })`, nil)
	e.frame(5, 0, color.RGBA{0, 0, 0, 255})
	p.until("document.querySelector('canvas').getContext('2d').getImageData(600, 300, 1, 1).data[1] < 5")
	if list := e.of("ack"); len(list) != 3 {
		t.Errorf("a picture that nobody sees was acknowledged: %v", list)
	}
	p.eval(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`, nil)
	waitFor(t, "the held ack", func() bool { return len(e.of("ack")) == 4 })
}

func liveReconnects(t *testing.T, e *liveEnd, p *driveTab) {
	e.say(`{"type":"bye","reason":"The server restarts."}`)
	e.conn.Close(websocket.StatusGoingAway, "") //nolint:errcheck // the page may not answer the close
	p.until("document.querySelector('.stage.is-away') && document.body.innerText.includes('The connection is lost')")
	p.until("document.body.innerText.includes('The server restarts.') || !document.querySelector('.over')")
	waitFor(t, "the second socket", func() bool { return e.times() == 2 })
	e.greet(p)
	p.until("!document.querySelector('.stage.is-away')")
	// While the server is away the delay grows. The network's return ends it at once.
	e.mu.Lock()
	e.refuse = http.StatusServiceUnavailable
	e.mu.Unlock()
	p.eval("(() => { const real = setTimeout; window.setTimeout = (work, ms, ...rest) => (ms > 3000 ? 1e9 : "+
		"real(work, ms, ...rest)); })()", nil) // the third delay does not end by itself
	e.conn.CloseNow() //nolint:errcheck // the connection is meant to break
	p.until("document.querySelector('.stage.is-away')")
	tries := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		n := 0
		for _, a := range e.asked {
			if strings.HasSuffix(a, "warren.live") {
				n++
			}
		}
		return n
	}
	waitFor(t, "the fourth try", func() bool { return tries() >= 4 })
	e.mu.Lock()
	e.refuse = 0
	e.mu.Unlock()
	waitFor(t, "the third socket", func() bool {
		p.eval("dispatchEvent(new Event('online'))", nil)
		return e.times() == 3
	})
	e.greet(p)
	// A revoked link is not retried.
	e.conn.Close(websocket.StatusPolicyViolation, "The link was taken back.") //nolint:errcheck // as above
	p.until("document.body.innerText.includes('This link is over') && document.body.innerText.includes('The link was taken back.')")
	before := tries()
	p.eval("dispatchEvent(new Event('online')), new Promise((go) => setTimeout(go, 300))", nil)
	if tries() != before {
		t.Error("a link that is over was tried again")
	}
	e.mu.Lock()
	e.refuse = http.StatusNotFound
	e.mu.Unlock()
	p.do("Page.reload", nil)
	p.until("document.body.innerText.includes('This link is over') && document.body.innerText.includes('The run has ended.')")
	var address string
	p.eval("location.href", &address)
	if strings.Contains(address, testCapability) {
		t.Errorf("the capability stands in the address bar: %s", address)
	}
}

// liveWatches: a viewer without control sends no input, and can ask for control or take it.
func liveWatches(t *testing.T, e *liveEnd, p *driveTab) {
	left, top, width, height := box(p)
	e.say(watching)
	p.until("document.querySelector('.live-driver').innerText === 'Ann drives · you watch'")
	e.forget()
	p.mouse("mousePressed", left+width/2, top+height/2, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	p.mouse("mouseReleased", left+width/2, top+height/2, map[string]any{"button": "left", "clickCount": 1})
	p.mouse("mouseWheel", left+width/2, top+height/2, map[string]any{"deltaX": 0, "deltaY": 10})
	p.key("a", "KeyA", 65, 0, "a")
	p.click("Ask")
	waitFor(t, "the question", func() bool { return len(e.of("control")) > 0 })
	p.click("Take the controls")
	waitFor(t, "the grip", func() bool { return len(e.of("control")) > 1 })
	if got := fmt.Sprint(e.of("control")[0]["do"], e.of("control")[1]["do"]); got != "asktake" && got != "ask take" {
		t.Errorf("the controls: %s", got)
	}
	if list := e.of("mouse", "key", "text", "tab", "go"); len(list) != 0 {
		t.Errorf("a watcher sent %v", list)
	}
	e.say(strings.Replace(controls, `"asking":[]`, `"asking":["v2"]`, 1),
		`{"type":"script","active":true,"clients":1,"x":640,"y":360,"kind":"move"}`)
	p.until("document.body.innerText.includes('asks for the controls') && document.body.innerText.includes('A script drives this tab') " +
		"&& document.querySelector('.script-pointer')")
	p.click("Give")
	waitFor(t, "the gift", func() bool { list := e.of("control"); return list[len(list)-1]["to"] == "v2" })
	e.say(strings.Replace(hello, `"readonly":false`, `"readonly":true`, 1), watching)
	p.until("document.querySelector('.live-driver').innerText === 'Ann drives · you watch. This link only shows'")
	var buttons []string
	p.eval("[...document.querySelectorAll('.live button')].map((it) => it.getAttribute('aria-label') || it.textContent)", &buttons)
	for _, b := range buttons {
		if b != "Save" && b != "Full screen" && !strings.HasPrefix(b, "Who is here") {
			t.Errorf("a link that only shows has a button %q", b)
		}
	}
}

// liveHostile: names of pages, files and viewers are text, whatever they contain.
func liveHostile(t *testing.T, e *liveEnd, p *driveTab) {
	quoted := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for i, hostile := range payloads {
		q := quoted(hostile)
		e.say(`{"type":"tabs","active":"T1","tabs":[{"id":"T1","title":`+q+`,"url":`+q+`,"crashed":true}]}`,
			`{"type":"page","tab":"T1","url":`+q+`,"title":`+q+`}`, `{"type":"cursor","cursor":`+q+`}`,
			`{"type":"error","code":`+q+`,"message":`+q+`}`,
			`{"type":"control","holder":"v2","you":true,"viewers":[{"id":"v1","name":`+q+`},{"id":"v2","name":`+q+`}],"asking":["v2"]}`,
			`{"type":"download","id":`+q+`,"name":`+q+`,"state":"done","received":1,"total":1,"url":`+q+`}`,
			`{"type":"copied","text":`+q+`}`)
		p.until("document.querySelector('.live-tab-name').innerText.includes(" + q +
			".slice(0, 8)) && [...document.querySelectorAll('.transfer-name')].some((it) => it.textContent === " + q + ")")
		for _, kind := range []string{"alert", "prompt"} {
			e.say(fmt.Sprintf(`{"type":"dialog","id":"d%d%s","tab":"T1","kind":%q,"message":%s,"text":%s,"url":%s}`,
				i, kind, kind, q, q, q))
			p.until("document.querySelector('dialog[open] .asked-text')?.textContent === " + q)
			e.say(fmt.Sprintf(`{"type":"dialogClosed","id":"d%d%s"}`, i, kind))
		}
		e.say(fmt.Sprintf(`{"type":"options","id":"o%d","x":1,"y":1,"width":9,"height":9,"multiple":false,"selected":0,`+
			`"options":[{"text":%s,"value":%s,"disabled":false,"group":%s}]}`, i, q, q, q))
		p.until("document.querySelector('.options [role=option]')?.textContent === " + q)
		e.say(fmt.Sprintf(`{"type":"optionsClosed","id":"o%d"}`, i))
	}
	var hits int
	p.eval("performance.getEntriesByType('resource').filter((it) => it.name.includes('/hit')).length", &hits)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.asked {
		if strings.Contains(a, "/hit") || hits > 0 {
			t.Errorf("a name was run or loaded: %s", a)
		}
	}
}

func liveOptions(t *testing.T, e *liveEnd, p *driveTab) {
	list := `{"type":"options","id":"%s","x":100,"y":50,"width":200,"height":20,"multiple":%v,"selected":%s,` +
		`"options":[{"text":"Ash","value":"a"},{"text":"Beech","value":"b","disabled":true},` +
		`{"text":"Birch","value":"i"},{"text":"Cedar","value":"c"}]}`
	answer := func(id string, keys ...string) string {
		e.forget()
		p.until("document.activeElement.getAttribute('role') === 'listbox'")
		for _, key := range keys {
			p.key(key, key, 0, 0, "")
		}
		waitFor(t, "the choice", func() bool { return len(e.of("options")) > 0 })
		out, _ := json.Marshal(e.of("options")[0]["indexes"])
		e.say(fmt.Sprintf(`{"type":"optionsClosed","id":%q}`, id))
		p.until("!document.querySelector('.options')")
		return string(out)
	}
	for i, c := range []struct {
		multiple bool
		selected string
		keys     []string
		want     string
	}{
		{false, "0", []string{"ArrowDown", "Enter"}, "[2]"}, {false, "0", []string{"b", "Enter"}, "[2]"},
		{false, "0", []string{"End", "Enter"}, "[3]"},
		{false, "[3]", []string{"Home", "Enter"}, "[0]"}, {false, "0", []string{"ArrowDown", "Escape"}, "null"},
		{true, "[0]", []string{"End", " ", "Enter"}, "[0,3]"},
	} {
		id := fmt.Sprint("o", i)
		e.say(fmt.Sprintf(list, id, c.multiple, c.selected))
		if got := answer(id, c.keys...); got != c.want {
			t.Errorf("%v: chose %s, want %s", c.keys, got, c.want)
		}
	}
	if len(e.of("key")) != 0 {
		t.Errorf("keys of the list went to the page: %v", e.of("key"))
	}
}

func liveAddresses(t *testing.T, e *liveEnd, p *driveTab) {
	for typed, want := range map[string]string{"one.example": "https://one.example/", "localhost:8080/a": "http://localhost:8080/a",
		"127.0.0.1": "http://127.0.0.1/", "[::1]:80": "http://[::1]/", "http://two.example": "http://two.example/",
		"about:blank": "about:blank", "one.example:8443": "https://one.example:8443/", "javascript:alert(1)": "",
		"file:///etc/passwd": "", "chrome://settings": "", "two words": "", "data:text/html,x": "", "view-source:http://one.example": ""} {
		e.forget()
		p.eval(fmt.Sprintf(`(() => { const field = document.querySelector('.live-address input'); field.focus(); field.value = %q;
			field.dispatchEvent(new Event('input', { bubbles: true })); field.form.requestSubmit(); })()`, typed), nil)
		if want == "" {
			p.until("document.querySelector('#address-fault').textContent.startsWith('Only http')")
			if len(e.of("go")) != 0 {
				t.Errorf("%q went to %v", typed, e.of("go"))
			}
			continue
		}
		waitFor(t, "the way to "+typed, func() bool { return len(e.of("go")) > 0 })
		if got := e.of("go")[0]["url"]; got != want {
			t.Errorf("%q went to %q, want %q", typed, got, want)
		}
	}
	p.click("Back")
	waitFor(t, "the way back", func() bool { list := e.of("go"); return len(list) > 0 && list[len(list)-1]["do"] == "back" })
	p.click("Open a tab")
	waitFor(t, "the tab", func() bool { return len(e.of("tab")) == 1 })
	p.click("Close One")
	waitFor(t, "its end", func() bool {
		list := e.of("tab")
		return len(list) == 2 && list[1]["do"] == "close" && list[1]["tab"] == "T1"
	})
}

// liveWithKey: a logged-in person connects with a ticket, a new one for each socket, and never with the key itself.
func liveWithKey(t *testing.T, d *driven) {
	e := newLiveEnd(t)
	p := d.open(t, e.server.URL+"/#/live?profile=p1", 1000, 800, 1, "sessionStorage.setItem('warren.key', 'k')")
	defer p.close()
	waitFor(t, "the socket", func() bool { return e.times() == 1 })
	e.greet(p)
	p.until("document.querySelector('h1').textContent === 'Live view of Shop' && document.title === 'Shop — Warren'")
	p.until("document.querySelector('.live-driver').innerText === 'You drive'")
	p.until("document.querySelector('.live-speed').innerText === 'idle'")
	e.mu.Lock()
	asked := slices.Clone(e.asked)
	e.mu.Unlock()
	ticket := slices.Index(asked, "POST /api/v1/tickets")
	if socket := slices.Index(asked, "GET /api/v1/profiles/p1/live warren.live, warren.ticket.t1cket"); ticket < 0 || socket < ticket {
		t.Errorf("asked for %q", asked)
	}
	// The page does not keep retrying a profile that does not run: it can be started.
	e.mu.Lock()
	e.refuse = http.StatusConflict
	e.mu.Unlock()
	e.conn.CloseNow() //nolint:errcheck // the connection is meant to break
	p.until("document.body.innerText.includes('The browser is not running') && document.body.innerText.includes('Start it')")
	e.mu.Lock()
	e.refuse = 0
	e.mu.Unlock()
	p.click("Start it")
	waitFor(t, "the second socket", func() bool { return e.times() == 2 })
	p.wantQuiet()
}
