package proxy

import (
	"sync"
	"time"

	"github.com/icholy/digest"
)

// Habits remembers which SOCKS5 servers take a whole handshake in one write, which HTTP proxies want a login by Digest, and which give no
// tunnels to plain web sites, so that each is found out once. Dialers that share one learn from each other. The zero value is ready for use, and safe for concurrent use. It holds some
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
	way       way
	since     time.Time // of way
	challenge *digest.Challenge
	proofs    int       // how many answers the challenge has had
	tunnels   bool      // it has given a tunnel to the port of plain web sites
	refusal   *Error    // how it last refused one, if it never gave one
	refused   time.Time // when
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
	known := h.of(loginOf(p))
	if known.way == inTurn && time.Since(known.since) > inTurnAge {
		return unknown
	}
	return known.way
}

// learn keeps what a dial has shown.
func (h *Habits) learn(p *Proxy, w way) {
	h.change(p, func(known *habit) { known.way, known.since = w, time.Now() })
}

// proof gives the next answer to the challenge that a proxy is known to have taken one to, or nil.
func (h *Habits) proof(p *Proxy) (next *proof) {
	h.mu.Lock()
	known := h.of(loginOf(p)).challenge
	h.mu.Unlock()
	if known == nil {
		return nil
	}
	h.change(p, func(known *habit) {
		known.proofs++
		next = &proof{known.challenge, known.proofs}
	})
	return next
}

// keepChallenge keeps one whose first answer a proxy has taken.
func (h *Habits) keepChallenge(p *Proxy, c *digest.Challenge) {
	h.change(p, func(known *habit) { known.challenge, known.proofs = c, 1 })
}

// learnTunnels keeps how an HTTP proxy refuses a tunnel to the port of plain web sites; nil: it gave one. One that has given one refuses targets, not tunnels.
func (h *Habits) learnTunnels(p *Proxy, refusal *Error) {
	h.change(p, func(known *habit) {
		if refusal == nil {
			known.tunnels, known.refusal = true, nil
		} else if !known.tunnels {
			known.refusal, known.refused = refusal, time.Now()
		}
	})
}

// refusal is how it will refuse a tunnel, or nil where it may give one.
func (h *Habits) refusal(p *Proxy) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.of(loginOf(p))
	if time.Since(known.refused) > inTurnAge {
		return nil
	}
	return known.refusal
}

// of is what is known; the mutex is held.
func (h *Habits) of(k login) habit {
	if known, ok := h.young[k]; ok {
		return known
	}
	return h.old[k]
}

func (h *Habits) change(p *Proxy, f func(*habit)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.young == nil {
		h.young = map[login]habit{}
	}
	known := h.of(loginOf(p))
	f(&known)
	h.young[loginOf(p)] = known
	if len(h.young) >= habitsPerGeneration {
		h.young, h.old = nil, h.young
	}
}
