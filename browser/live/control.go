package live

import (
	"encoding/json"
	"slices"
	"time"

	"warren/browser"
)

// controlMessage tells viewers who has the controls; docs/live.md.
type controlMessage struct {
	Type    string        `json:"type"`
	Holder  *string       `json:"holder"`
	You     bool          `json:"you"`
	Viewers []viewerEntry `json:"viewers"`
	Asking  []string      `json:"asking"`
}

type viewerEntry struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Readonly bool   `json:"readonly"`
}

// controlChanged tells every viewer who is connected and who has the controls. l.mu is held.
func (l *View) controlChanged() {
	message := controlMessage{Type: "control", Viewers: []viewerEntry{}, Asking: []string{}}
	for _, v := range l.viewers {
		if !v.tile {
			message.Viewers = append(message.Viewers, viewerEntry{v.id, v.name, v.readonly})
		}
	}
	for _, v := range l.requests {
		message.Asking = append(message.Asking, v.id)
	}
	if l.holder != nil {
		message.Holder = &l.holder.id
	}
	for _, v := range l.viewers {
		message.You = v == l.holder
		v.send(message)
	}
}

// rename sets a viewer's name. Others are told at most once per namePause, and then of the newest name. l.mu is held.
func (v *viewer) rename(name string) {
	if v.name = name; name == v.announced || v.renaming {
		return
	}
	l := v.live
	v.announced, v.renaming = name, true
	l.controlChanged()
	time.AfterFunc(namePause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if v.renaming = false; slices.Contains(l.viewers, v) {
			v.rename(v.name)
		}
	})
}

// giveControl gives the controls to a viewer, nil for nobody. The previous holder's unfinished input is dropped. l.mu is held.
func (l *View) giveControl(v *viewer) {
	if l.holder != nil && l.holder != v {
		l.holder.dropInput()
	}
	l.holder = v
	l.requests = slices.DeleteFunc(l.requests, func(o *viewer) bool { return o == v })
	l.feed.Show(l.active, v != nil)
	l.interceptChoosers()
	if v == nil {
		l.dismissPrompts()
	}
}

// control handles a viewer's request about the controls. l.mu is held.
func (l *View) control(v *viewer, do, to string) *refusal {
	if v.readonly {
		return watchOnly()
	}
	switch do {
	case "ask":
		switch {
		case l.holder == nil:
			l.giveControl(v)
		case l.holder != v && !slices.Contains(l.requests, v):
			l.requests = append(l.requests, v)
		}
	case "unask":
		l.requests = slices.DeleteFunc(l.requests, func(o *viewer) bool { return o == v })
	case "take":
		l.giveControl(v)
	case "leave", "give":
		if l.holder != v {
			return notInControl()
		}
		if do == "leave" {
			l.giveControl(nil)
			break
		}
		i := slices.IndexFunc(l.viewers, func(o *viewer) bool { return o.id == to && !o.readonly })
		if i < 0 {
			return &refusal{"no_such_viewer", "There is no such viewer any more, or it may only watch."}
		}
		l.giveControl(l.viewers[i])
	default:
		return unknownWord("do", do)
	}
	l.controlChanged()
	return nil
}

func watchOnly() *refusal { return &refusal{"readonly", "This link is for watching only."} }

func notInControl() *refusal {
	return &refusal{"not_in_control", "Somebody else works this browser. Ask for the controls, or take them."}
}

// clientMessage tells viewers that a DevTools client controls the tab too; docs/live.md.
type clientMessage struct {
	Type    string  `json:"type"`
	Active  bool    `json:"active"`
	Clients int     `json:"clients"`
	Kind    string  `json:"kind,omitempty"`
	X       float64 `json:"x,omitempty"`
	Y       float64 `json:"y,omitempty"`

	last, sent time.Time
}

const (
	clientPeriod = 50 * time.Millisecond // between two messages about a client's mouse
	clientIdle   = 2 * time.Second       // without input, until a client counts as inactive
)

// onClientInput tells viewers of a client's input on the tab that is shown.
func (l *View) onClientInput(in browser.ClientInput) {
	var p struct {
		Type string  `json:"type"`
		X    float64 `json:"x"`
		Y    float64 `json:"y"`
	}
	if in.Method == "Input.dispatchMouseEvent" {
		_ = json.Unmarshal(in.Params, &p) // Chrome refuses what cannot be decoded
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.Target != l.active {
		return
	}
	now := time.Now()
	c := &l.client
	begins := !c.Active
	c.Type, c.Active, c.Clients, c.last = "script", true, l.chrome.Clients(), now
	c.Kind, c.X, c.Y = p.Type, p.X, p.Y
	if begins {
		time.AfterFunc(clientIdle, l.clientIdle)
	}
	if begins || p.Type == "mousePressed" || now.Sub(c.sent) >= clientPeriod {
		c.sent = now
		l.broadcast(*c)
	}
}

// clientIdle tells viewers that the client's input is over, once it is.
func (l *View) clientIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.client.Active {
		return
	}
	if left := clientIdle - time.Since(l.client.last); left > 0 {
		time.AfterFunc(left, l.clientIdle)
		return
	}
	l.client = clientMessage{Type: "script", Clients: l.chrome.Clients()}
	l.broadcast(l.client)
}
