package live

import (
	"encoding/json"
	"time"

	"warren/browser"
)

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
