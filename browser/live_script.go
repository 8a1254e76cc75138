package browser

import (
	"encoding/json"
	"strings"
	"time"
)

// This file shows viewers that a DevTools client works the tab too.

// scriptState is what viewers are told of it.
type scriptState struct {
	Type    string  `json:"type"`
	Active  bool    `json:"active"`
	Clients int     `json:"clients"`
	Kind    string  `json:"kind,omitempty"`
	X       float64 `json:"x,omitempty"`
	Y       float64 `json:"y,omitempty"`

	last, told time.Time
}

const (
	scriptPeriod = 50 * time.Millisecond // how often viewers hear of a client's mouse
	scriptQuiet  = 2 * time.Second       // without input, until it counts as over
)

// scripted is called with each command of clients that is input, while somebody watches.
func (l *live) scripted(target, method string, params []byte) {
	if !l.busy.Load() || !strings.HasPrefix(method, "Input.") {
		return
	}
	var p struct {
		Type string  `json:"type"`
		X    float64 `json:"x"`
		Y    float64 `json:"y"`
	}
	if method == "Input.dispatchMouseEvent" {
		_ = json.Unmarshal(params, &p) // what Chrome does not understand either shows nothing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if target != l.active {
		return
	}
	now := time.Now()
	s := &l.script
	begins := !s.Active
	s.Type, s.Active, s.Clients, s.last = "script", true, l.b.Clients(), now
	s.Kind, s.X, s.Y = p.Type, p.X, p.Y
	if begins {
		time.AfterFunc(scriptQuiet, l.quiet)
	}
	if begins || p.Type == "mousePressed" || now.Sub(s.told) >= scriptPeriod {
		s.told = now
		l.tellAll(*s)
	}
}

// quiet tells that the client's input is over, when it is.
func (l *live) quiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.script.Active {
		return
	}
	if left := scriptQuiet - time.Since(l.script.last); left > 0 {
		time.AfterFunc(left, l.quiet)
		return
	}
	l.script = scriptState{Type: "script", Clients: l.b.Clients()}
	l.tellAll(l.script)
}
