package browser

import (
	"slices"
	"time"
)

// This file says who of the viewers works the browser.

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

// controlChanged tells everyone who is there and who holds the controls. l.mu is held.
func (l *live) controlChanged() {
	message := controlMessage{Type: "control", Viewers: []viewerEntry{}, Asking: []string{}}
	for _, v := range l.viewers {
		message.Viewers = append(message.Viewers, viewerEntry{v.id, v.name, v.readonly})
	}
	for _, v := range l.asking {
		message.Asking = append(message.Asking, v.id)
	}
	if l.holder != nil {
		message.Holder = &l.holder.id
	}
	for _, v := range l.viewers {
		message.You = v == l.holder
		v.tell(message)
	}
}

// rename takes a viewer's name. Others hear of it at once, or when the pause after the one before is over: then of the last. l.mu is held.
func (v *viewer) rename(name string) {
	if v.name = name; name == v.known || v.naming {
		return
	}
	l := v.live
	v.known, v.naming = name, true
	l.controlChanged()
	time.AfterFunc(namePause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if v.naming = false; slices.Contains(l.viewers, v) {
			v.rename(v.name)
		}
	})
}

// hold gives the controls to a viewer, nil for nobody. What the one before had begun is let go. l.mu is held.
func (l *live) hold(v *viewer) {
	if l.holder != nil && l.holder != v {
		l.holder.letGo()
	}
	l.holder = v
	l.asking = slices.DeleteFunc(l.asking, func(o *viewer) bool { return o == v })
	l.intercept()
	if v == nil {
		l.dismiss()
	}
}

// control is a viewer's wish about the controls. l.mu is held.
func (l *live) control(v *viewer, do, to string) *denial {
	if v.readonly {
		return &denial{"readonly", "This link is for watching only."}
	}
	switch do {
	case "ask":
		switch {
		case l.holder == nil:
			l.hold(v)
		case l.holder != v && !slices.Contains(l.asking, v):
			l.asking = append(l.asking, v)
		}
	case "unask":
		l.asking = slices.DeleteFunc(l.asking, func(o *viewer) bool { return o == v })
	case "take":
		l.hold(v)
	case "leave", "give":
		if l.holder != v {
			return notInControl()
		}
		if do == "leave" {
			l.hold(nil)
			break
		}
		i := slices.IndexFunc(l.viewers, func(o *viewer) bool { return o.id == to && !o.readonly })
		if i < 0 {
			return &denial{"no_such_viewer", "There is no such viewer any more, or it may only watch."}
		}
		l.hold(l.viewers[i])
	default:
		return unknownWord("do", do)
	}
	l.controlChanged()
	return nil
}

func notInControl() *denial {
	return &denial{"not_in_control", "Somebody else works this browser. Ask for the controls, or take them."}
}
