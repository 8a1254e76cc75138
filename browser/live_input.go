package browser

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// wish is one message of a viewer. Which members count depends on Type; docs/live.md.
type wish struct {
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

// far is further than any page reaches, in CSS pixels.
const far = 1e6

// fault says what is wrong with a message's numbers, which go to Chrome as they are.
func (w *wish) fault() *denial {
	for _, n := range []float64{w.X, w.Y, w.DX, w.DY} {
		if math.Abs(n) > far {
			return &denial{"bad_message", "A position lies too far off."}
		}
	}
	for _, p := range w.Points {
		if math.Abs(p.X) > far || math.Abs(p.Y) > far || p.Force < 0 || p.Force > 1 {
			return &denial{"bad_message", "A point lies too far off."}
		}
	}
	if w.Modifiers < 0 || w.Modifiers > 15 || w.Buttons < 0 || w.Buttons > 31 || w.Clicks < 0 || w.Clicks > 10 || len(w.Points) > 16 || w.Location < 0 || w.Location > 3 {
		return &denial{"bad_message", "modifiers are 0 to 15, buttons 0 to 31, clicks 0 to 10, location 0 to 3, and points at most 16."}
	}
	return nil
}

// receive carries out one message of a viewer.
func (v *viewer) receive(msg []byte) {
	var w wish
	if !utf8.Valid(msg) || json.Unmarshal(msg, &w) != nil || w.Type == "" {
		v.refuse("", &denial{"bad_message", "A message is one JSON object with a type."})
		return
	}
	r := w.fault()
	if r == nil {
		r = v.carryOut(&w)
	}
	if r != nil {
		v.refuse(w.Type, r)
	}
}

// carryOut sends what works the browser on to it, if the viewer holds the controls.
func (v *viewer) carryOut(w *wish) *denial {
	l := v.live
	switch w.Type {
	case "size", "ack", "ping", "name", "control":
		l.mu.Lock()
		defer l.mu.Unlock()
		return v.ofItself(w)
	case "mouse", "touch", "key", "text", "compose", "copy", "tab", "go", "dialog", "options", "chooser":
	default:
		return unknownWord("type", w.Type)
	}
	l.mu.Lock()
	held, session := l.holder == v, l.session
	l.mu.Unlock()
	if !held {
		if v.readonly {
			return &denial{"readonly", "This link is for watching only."}
		}
		return notInControl()
	}
	if w.Type != "tab" && session == "" {
		return &denial{"no_tab", "There is no tab to work. Open one."}
	}
	switch w.Type {
	case "mouse":
		return v.mouse(session, w)
	case "touch":
		return v.touch(session, w)
	case "key":
		return v.key(session, w)
	case "text":
		v.input(session, w.N, "Input.insertText", map[string]string{"text": w.Text}, nil)
	case "compose":
		v.input(session, w.N, "Input.imeSetComposition", map[string]any{"text": w.Text, "selectionStart": w.Start, "selectionEnd": w.End}, nil)
	case "copy":
		go v.copy(session, w)
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		return v.ofPage(w)
	}
	return nil
}

// ofItself is what a viewer says of itself. l.mu is held.
func (v *viewer) ofItself(w *wish) *denial {
	l := v.live
	switch w.Type {
	case "size":
		if w.Width < 1 || w.Height < 1 {
			return &denial{"bad_message", "width and height are 1 or more."}
		}
		v.width, v.height = min(w.Width, maxWidth), min(w.Height, maxHeight)
		l.cast.wishSoon(l)
	case "ack":
		v.drew(w.Seq)
	case "ping":
		if len(w.T) > 100 {
			return &denial{"bad_message", "t is too long."}
		}
		v.tell(struct {
			Type string          `json:"type"`
			T    json.RawMessage `json:"t"`
		}{"pong", w.T})
	case "name":
		v.rename(strings.TrimSpace(cut(w.Name, maxName)))
	case "control":
		return l.control(v, w.Do, w.To)
	}
	return nil
}

// ofPage is what a viewer asks of the page, beside input. l.mu is held.
func (v *viewer) ofPage(w *wish) *denial {
	l := v.live
	switch w.Type {
	case "tab":
		return l.changeTab(w.Do, w.Tab, w.URL)
	case "go":
		return l.goTo(w.Do, w.URL)
	case "dialog":
		return l.answerDialog(w.ID, w.Accept, w.Text)
	case "options":
		return l.choose(w.ID, w.Indexes)
	case "chooser":
		return l.cancelChooser(w.ID)
	}
	return nil
}

// input gives Chrome an input of the viewer's and notes when it was carried out. done, which may be nil, is called then, or when it will not be.
func (v *viewer) input(session string, n int64, method string, params any, done func()) {
	asked := time.Now()
	v.live.b.mux.send(session, method, params, func(a answer) {
		if a.err() == nil && n > 0 {
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

// keptInputs is how many inputs are remembered for the frame that shows what they did.
const keptInputs = 100

// gesture keeps a mouse's moves or a wheel's turns from queueing up before a page that is slow: while one is under way only the last waits, and turns
// add up. live.mu guards it.
type gesture struct {
	busy bool
	next *wish
}

// mouseTypes are the words of Input.dispatchMouseEvent.
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

func (v *viewer) mouse(session string, w *wish) *denial {
	if mouseType(w.Kind) == "" {
		return unknownWord("kind", w.Kind)
	}
	switch w.Button {
	case "":
		w.Button = "none"
	case "none", "left", "middle", "right", "back", "forward":
	default:
		return unknownWord("button", w.Button)
	}
	if v.dragMouse(session, w) {
		return nil
	}
	switch w.Kind {
	case "move":
		v.gesture(session, &v.moves, w)
		v.live.lookUnder(v, session, w.X, w.Y)
	case "wheel":
		v.gesture(session, &v.wheels, w)
	default:
		v.live.mu.Lock()
		v.moves.next = nil // this one says where the mouse is
		v.live.mu.Unlock()
		if w.Kind == "down" && w.Button == "left" && v.live.openOptions(session, w.X, w.Y) {
			return nil
		}
		v.sendMouse(session, w, nil)
	}
	return nil
}

func (v *viewer) sendMouse(session string, w *wish, done func()) {
	p := map[string]any{"type": mouseType(w.Kind), "x": w.X, "y": w.Y, "button": w.Button, "buttons": w.Buttons, "clickCount": w.Clicks, "modifiers": w.Modifiers, "pointerType": "mouse"}
	if w.Kind == "wheel" {
		p["deltaX"], p["deltaY"] = w.DX, w.DY
	}
	v.input(session, w.N, "Input.dispatchMouseEvent", p, done)
}

// gesture sends a move or a turn, or keeps it until the one before is carried out.
func (v *viewer) gesture(session string, g *gesture, w *wish) {
	l := v.live
	l.mu.Lock()
	if g.busy {
		if g.next != nil {
			w.DX, w.DY = w.DX+g.next.DX, w.DY+g.next.DY
		}
		g.next = w
		l.mu.Unlock()
		return
	}
	g.busy = true
	l.mu.Unlock()
	v.sendMouse(session, w, func() {
		l.mu.Lock()
		next := g.next
		g.busy, g.next = false, nil
		l.mu.Unlock()
		if next != nil {
			v.gesture(session, g, next)
		}
	})
}

// letGo forgets what waits of a viewer's input: the controls are somebody else's. l.mu is held.
func (v *viewer) letGo() {
	v.moves.next, v.wheels.next = nil, nil
	if v.dropUpload() {
		v.refuse("chooser", &denial{"upload_failed", "The page did not get the files: the controls changed hands before they were there."})
	}
}

func (v *viewer) touch(session string, w *wish) *denial {
	kind := map[string]string{"start": "touchStart", "move": "touchMove", "end": "touchEnd", "cancel": "touchCancel"}[w.Kind]
	switch {
	case kind == "":
		return unknownWord("kind", w.Kind)
	case w.Kind == "cancel":
		w.Points = nil
	case w.Kind == "end" && len(w.Points) > 0:
		return nil // Input.dispatchTouchEvent lifts all fingers or none: the last takes the others with it
	case w.Kind != "end" && len(w.Points) == 0:
		return &denial{"bad_message", "A touch that begins or moves has points."}
	}
	if w.Points == nil {
		w.Points = []touchPoint{}
	}
	v.input(session, w.N, "Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": w.Points, "modifiers": w.Modifiers}, nil)
	return nil
}

func (v *viewer) key(session string, w *wish) *denial {
	if w.Kind != "down" && w.Kind != "up" {
		return unknownWord("kind", w.Kind)
	}
	if len(w.Key) > 40 || len(w.Code) > 40 || len(w.Text) > 40 || w.KeyCode < 0 || w.KeyCode > 255 {
		return &denial{"bad_message", "A key's names are at most 40 bytes long, and its code is 0 to 255."}
	}
	if w.Key == "Enter" && w.Text == "" && w.Modifiers&^8 == 0 {
		w.Text = "\r" // as a real key's event has it
	}
	p := map[string]any{"type": "keyUp", "modifiers": w.Modifiers, "key": w.Key, "code": w.Code, "location": w.Location,
		"windowsVirtualKeyCode": w.KeyCode, "nativeVirtualKeyCode": w.KeyCode, "isKeypad": w.Location == 3}
	if w.Kind == "down" {
		p["type"] = "rawKeyDown"
		p["autoRepeat"] = w.Repeat
		if w.Text != "" {
			p["type"], p["text"], p["unmodifiedText"] = "keyDown", w.Text, w.Text
		}
		if commands := editCommands(w); commands != nil {
			p["commands"] = commands
		}
	}
	v.input(session, w.N, "Input.dispatchKeyEvent", p, nil)
	return nil
}

// editCommands are what a shortcut does where Chrome leaves that to the system's menus: on macOS.
func editCommands(w *wish) []string {
	if runtime.GOOS != "darwin" || w.Modifiers&(2|4) == 0 {
		return nil
	}
	name := map[string]string{"a": "selectAll", "z": "undo", "c": "copy", "x": "cut"}[strings.ToLower(w.Key)]
	if name == "" {
		return nil
	}
	return []string{name}
}

// copyTimeout is how long a page may take to tell what is selected.
const copyTimeout = 2 * time.Second

// copy tells the viewer what is selected in the page, and gives the page the keys.
func (v *viewer) copy(session string, w *wish) {
	ctx, cancel := context.WithTimeout(context.Background(), copyTimeout)
	defer cancel()
	var selected string
	if err := v.live.evaluate(ctx, session, selectedScript, &selected); err == nil && selected != "" {
		v.tell(map[string]string{"type": "copied", "text": selected})
	}
	key := wish{N: w.N, Kind: "down", Key: "c", Code: "KeyC", KeyCode: 67, Modifiers: 2}
	if w.Cut {
		key.Key, key.Code, key.KeyCode = "x", "KeyX", 88
	}
	if runtime.GOOS == "darwin" {
		key.Modifiers = 4
	}
	v.key(session, &key)
	key.Kind, key.N = "up", 0
	v.key(session, &key)
}
