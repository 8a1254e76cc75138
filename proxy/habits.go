package proxy

import (
	"sync"
	"time"
)

// Habits remembers which SOCKS5 servers take a whole handshake in one write, so that each is found out once. Dialers
// that share one learn from each other. The zero value is ready for use, and safe for concurrent use. It holds some
// thousands of servers; the ones that were learnt first go first.
type Habits struct {
	mu         sync.Mutex
	young, old map[login]habit // two generations: when young is full it becomes old, and the old one goes
}

// login is one user at one server. The password is left out: it changes no habit.
type login struct {
	host string
	port int
	user string
}

type habit struct {
	way   way
	since time.Time
}

// way is how a server is asked.
type way int

const (
	unknown way = iota
	atOnce      // the whole handshake in one write
	inTurn      // each message after the answer to the one before
)

const (
	habitsPerGeneration = 8192
	inTurnAge           = time.Hour // after that it is tried again: servers are replaced, and a stall has other causes too
)

func loginOf(p *Proxy) login { return login{p.Host, p.Port, p.Username} }

// way tells how the server of p is best asked.
func (h *Habits) way(p *Proxy) way {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := loginOf(p)
	known, ok := h.young[k]
	if !ok {
		known = h.old[k]
	}
	if known.way == inTurn && time.Since(known.since) > inTurnAge {
		return unknown
	}
	return known.way
}

// learn keeps what a dial has shown.
func (h *Habits) learn(p *Proxy, w way) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.young == nil {
		h.young = map[login]habit{}
	}
	h.young[loginOf(p)] = habit{w, time.Now()}
	if len(h.young) >= habitsPerGeneration {
		h.young, h.old = nil, h.young
	}
}
