package live

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"warren/browser"
)

// request is one message of a viewer. Its type says which members count; docs/live.md.
type request struct {
	Type      string          `json:"type"`
	N         int64           `json:"n"`
	Kind      string          `json:"kind"`
	X         float64         `json:"x"`
	Y         float64         `json:"y"`
	DX        float64         `json:"dx"`
	DY        float64         `json:"dy"`
	Button    string          `json:"button"`
	Buttons   int             `json:"buttons"`
	Clicks    int             `json:"clicks"`
	Modifiers int             `json:"modifiers"`
	Points    []touchPoint    `json:"points"`
	Key       string          `json:"key"`
	Code      string          `json:"code"`
	KeyCode   int             `json:"keyCode"`
	Text      string          `json:"text"`
	Location  int             `json:"location"`
	Repeat    bool            `json:"repeat"`
	Start     int             `json:"start"`
	End       int             `json:"end"`
	Cut       bool            `json:"cut"`
	Do        string          `json:"do"`
	Tab       string          `json:"tab"`
	URL       string          `json:"url"`
	ID        string          `json:"id"`
	Accept    bool            `json:"accept"`
	Indexes   *[]int          `json:"indexes"`
	Cancel    bool            `json:"cancel"`
	To        string          `json:"to"`
	Name      string          `json:"name"`
	Width     int             `json:"width"`
	Height    int             `json:"height"`
	Seq       int64           `json:"seq"`
	T         json.RawMessage `json:"t"`
}

type touchPoint struct {
	ID    int     `json:"id"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Force float64 `json:"force,omitempty"`
}

// maxCoordinate is further than any page reaches, in CSS pixels.
const maxCoordinate = 1e6

// check refuses numbers out of range, since they go to Chrome as they are.
func (q *request) check() *refusal {
	for _, n := range []float64{q.X, q.Y, q.DX, q.DY} {
		if math.Abs(n) > maxCoordinate {
			return &refusal{"bad_message", "A position lies too far off."}
		}
	}
	for _, p := range q.Points {
		if math.Abs(p.X) > maxCoordinate || math.Abs(p.Y) > maxCoordinate || p.Force < 0 || p.Force > 1 {
			return &refusal{"bad_message", "A point lies too far off."}
		}
	}
	if len(q.Points) > 16 || !within(q.Modifiers, 15) || !within(q.Buttons, 31) || !within(q.Clicks, 10) || !within(q.Location, 3) {
		return &refusal{"bad_message", "modifiers are 0 to 15, buttons 0 to 31, clicks 0 to 10, location 0 to 3, and points at most 16."}
	}
	return nil
}

// within reports whether n is 0 to most.
func within(n, most int) bool { return n >= 0 && n <= most }

// receive handles one text message of a viewer.
func (v *viewer) receive(msg []byte) {
	var q request
	if !utf8.Valid(msg) || json.Unmarshal(msg, &q) != nil || q.Type == "" {
		v.sendError("", &refusal{"bad_message", "A message is one JSON object with a type."})
		return
	}
	r := q.check()
	if r == nil {
		r = v.handle(&q)
	}
	if r != nil {
		v.sendError(q.Type, r)
	}
}

// handle carries out a request. Those that control the browser are for the viewer that has the controls.
func (v *viewer) handle(q *request) *refusal {
	l := v.live
	switch q.Type {
	case "size", "ack", "ping", "name", "control":
		l.mu.Lock()
		defer l.mu.Unlock()
		return v.handleOwn(q)
	case "mouse", "touch", "key", "text", "compose", "copy", "tab", "go", "dialog", "options", "chooser", "window", "passkey":
	default:
		return unknownWord("type", q.Type)
	}
	l.mu.Lock()
	holds, session := l.holder == v, l.session
	l.mu.Unlock()
	switch {
	case !holds && v.readonly:
		return watchOnly()
	case !holds:
		return notInControl()
	case q.Type != "tab" && session == "":
		return &refusal{"no_tab", "There is no tab to work. Open one."}
	}
	switch q.Type {
	case "mouse":
		return v.mouse(session, q)
	case "touch":
		return v.touch(session, q)
	case "key":
		return v.key(session, q)
	case "text":
		v.input(session, q.N, "Input.insertText", map[string]string{"text": q.Text}, nil)
	case "compose":
		params := map[string]any{"text": q.Text, "selectionStart": q.Start, "selectionEnd": q.End}
		v.input(session, q.N, "Input.imeSetComposition", params, nil)
	case "copy":
		go v.copy(session, q)
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		return v.handlePage(q)
	}
	return nil
}

// handleOwn handles what a viewer says about itself. l.mu is held.
func (v *viewer) handleOwn(q *request) *refusal {
	l := v.live
	switch q.Type {
	case "size":
		if q.Width < 1 || q.Height < 1 {
			return &refusal{"bad_message", "width and height are 1 or more."}
		}
		v.width, v.height = min(q.Width, maxWidth), min(q.Height, maxHeight)
		l.capture.resizeSoon(l)
	case "ack":
		v.acknowledge(q.Seq)
	case "ping":
		if len(q.T) > 100 {
			return &refusal{"bad_message", "t is too long."}
		}
		v.send(struct {
			Type string          `json:"type"`
			T    json.RawMessage `json:"t"`
		}{"pong", q.T})
	case "name":
		v.rename(strings.TrimSpace(truncate(q.Name, maxName)))
	case "control":
		return l.control(v, q.Do, q.To)
	}
	return nil
}

// handlePage handles what the holder asks of tabs, prompts and the address bar. l.mu is held.
func (v *viewer) handlePage(q *request) *refusal {
	l := v.live
	switch q.Type {
	case "tab":
		return l.changeTab(q.Do, q.Tab, q.URL)
	case "go":
		return l.navigate(q.Do, q.URL)
	case "dialog":
		return l.answerDialog(q.ID, q.Accept, q.Text)
	case "options":
		return l.chooseOption(q.ID, q.Indexes)
	case "chooser":
		return l.cancelChooser(q.ID)
	case "window":
		return v.window(q)
	case "passkey":
		return l.allowPasskey()
	}
	return nil
}

// input sends an input command to Chrome, and records under the viewer's number n when Chrome has carried it out. done, which may be nil,
// is called when Chrome has answered or will not answer.
func (v *viewer) input(session string, n int64, method string, params any, done func()) {
	asked := time.Now()
	v.feed.Send(session, method, params, func(a browser.Answer) {
		if a.Err == nil && n > 0 {
			v.live.mu.Lock()
			v.inputs = append(v.inputs, handledInput{n, asked, time.Now()})
			v.inputs = v.inputs[max(0, len(v.inputs)-keptInputs):]
			v.live.mu.Unlock()
		}
		if done != nil {
			done()
		}
	})
}

// keptInputs is how many inputs a viewer may have between an input and the frame that shows it.
const keptInputs = 100

// gesture bounds the mouse moves, or wheel turns, that wait for a slow page: one is under way, and one waits. A newer move replaces the
// waiting one; wheel turns add up. View.mu guards it.
type gesture struct {
	busy bool
	next *request
}

// mouseType returns the event type of Input.dispatchMouseEvent (CDP), "" for an unknown kind.
func mouseType(kind string) string {
	switch kind {
	case "move":
		return "mouseMoved"
	case "down":
		return "mousePressed"
	case "up":
		return "mouseReleased"
	case "wheel":
		return "mouseWheel"
	}
	return ""
}

func (v *viewer) mouse(session string, q *request) *refusal {
	if mouseType(q.Kind) == "" {
		return unknownWord("kind", q.Kind)
	}
	switch q.Button {
	case "":
		q.Button = "none"
	case "none", "left", "middle", "right", "back", "forward":
	default:
		return unknownWord("button", q.Button)
	}
	if v.dragMouse(session, q) {
		return nil
	}
	switch q.Kind {
	case "move":
		v.gesture(session, &v.moves, q)
		v.live.queryCursor(session, q.X, q.Y)
	case "wheel":
		v.gesture(session, &v.wheels, q)
	default:
		v.live.mu.Lock()
		v.moves.next = nil // this request has the newest position
		v.live.mu.Unlock()
		if q.Kind == "down" && q.Button == "left" && v.live.openOptions(session, q.X, q.Y) {
			return nil
		}
		v.sendMouse(session, q, nil)
	}
	return nil
}

func (v *viewer) sendMouse(session string, q *request, done func()) {
	p := map[string]any{"type": mouseType(q.Kind), "x": q.X, "y": q.Y, "button": q.Button, "buttons": q.Buttons,
		"clickCount": q.Clicks, "modifiers": q.Modifiers, "pointerType": "mouse"}
	if q.Kind == "wheel" {
		p["deltaX"], p["deltaY"] = q.DX, q.DY
	}
	v.input(session, q.N, "Input.dispatchMouseEvent", p, done)
}

// gesture sends a move or a turn, or keeps it until Chrome has carried out the previous one.
func (v *viewer) gesture(session string, g *gesture, q *request) {
	l := v.live
	l.mu.Lock()
	if g.busy {
		if g.next != nil {
			q.DX, q.DY = q.DX+g.next.DX, q.DY+g.next.DY
		}
		g.next = q
		l.mu.Unlock()
		return
	}
	g.busy = true
	l.mu.Unlock()
	v.sendMouse(session, q, func() {
		l.mu.Lock()
		next := g.next
		g.busy, g.next = false, nil
		l.mu.Unlock()
		if next != nil {
			v.gesture(session, g, next)
		}
	})
}

// dropInput drops a viewer's unfinished input, since somebody else gets the controls. l.mu is held.
func (v *viewer) dropInput() {
	v.moves.next, v.wheels.next = nil, nil
	if v.dropUpload() {
		v.sendError("chooser",
			&refusal{"upload_failed", "The page did not get the files: the controls changed hands before they were there."})
	}
}

func (v *viewer) touch(session string, q *request) *refusal {
	kind := map[string]string{"start": "touchStart", "move": "touchMove", "end": "touchEnd", "cancel": "touchCancel"}[q.Kind]
	switch {
	case kind == "":
		return unknownWord("kind", q.Kind)
	case q.Kind == "cancel":
		q.Points = nil
	case q.Kind == "end" && len(q.Points) > 0:
		return nil // Input.dispatchTouchEvent lifts all fingers at once: the end of the last one does
	case q.Kind != "end" && len(q.Points) == 0:
		return &refusal{"bad_message", "A touch that begins or moves has points."}
	}
	if q.Points == nil {
		q.Points = []touchPoint{}
	}
	params := map[string]any{"type": kind, "touchPoints": q.Points, "modifiers": q.Modifiers}
	v.input(session, q.N, "Input.dispatchTouchEvent", params, nil)
	return nil
}

func (v *viewer) key(session string, q *request) *refusal {
	if q.Kind != "down" && q.Kind != "up" {
		return unknownWord("kind", q.Kind)
	}
	if len(q.Key) > 40 || len(q.Code) > 40 || len(q.Text) > 40 || !within(q.KeyCode, 255) {
		return &refusal{"bad_message", "A key's names are at most 40 bytes long, and its code is 0 to 255."}
	}
	if q.Key == "Enter" && q.Text == "" && q.Modifiers&^8 == 0 {
		q.Text = "\r" // as the event of a real key has it
	}
	p := map[string]any{"type": "keyUp", "modifiers": q.Modifiers, "key": q.Key, "code": q.Code, "location": q.Location,
		"windowsVirtualKeyCode": q.KeyCode, "nativeVirtualKeyCode": q.KeyCode, "isKeypad": q.Location == 3}
	if q.Kind == "down" {
		p["type"] = "rawKeyDown"
		p["autoRepeat"] = q.Repeat
		if q.Text != "" {
			p["type"], p["text"], p["unmodifiedText"] = "keyDown", q.Text, q.Text
		}
		if commands := editCommands(q); commands != nil {
			p["commands"] = commands
		}
	}
	v.input(session, q.N, "Input.dispatchKeyEvent", p, nil)
	return nil
}

// editCommands returns the editing commands of a shortcut on macOS, where Chrome leaves shortcuts to the system's menus.
func editCommands(q *request) []string {
	if runtime.GOOS != "darwin" || q.Modifiers&(2|4) == 0 {
		return nil
	}
	name := map[string]string{"a": "selectAll", "z": "undo", "c": "copy", "x": "cut"}[strings.ToLower(q.Key)]
	if name == "" {
		return nil
	}
	return []string{name}
}

// copyTimeout bounds the query of a page's selection.
const copyTimeout = 2 * time.Second

// copy tells the viewer the page's selected text, "" for none, and sends the page the shortcut.
func (v *viewer) copy(session string, q *request) {
	var selected string
	if v.live.evaluate(session, copyTimeout, selectionScript, &selected) == nil {
		v.send(map[string]string{"type": "copied", "text": selected})
	}
	key := request{N: q.N, Kind: "down", Key: "c", Code: "KeyC", KeyCode: 67, Modifiers: 2}
	if q.Cut {
		key.Key, key.Code, key.KeyCode = "x", "KeyX", 88
	}
	if runtime.GOOS == "darwin" {
		key.Modifiers = 4
	}
	v.key(session, &key)
	key.Kind, key.N = "up", 0
	v.key(session, &key)
}
