package main

import (
	linked "container/list"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"warren/problem"
)

// This file counts wrong keys. A key of 256 bits needs no help; one of somebody's own making (WARREN_API_KEY) may be worse, and whoever tries
// many should be seen. Tickets and capabilities are not counted: they have 256 bits in any case, and a page or a client that comes late with one
// guesses nothing. From the guessLimit-th wrong one of an address within guessWindow on the answer is 429, and the log has a line. A
// good key is let in from that address all the same: whoever sits behind one address with somebody who guesses is not shut out.

const (
	guessLimit  = 20
	guessWindow = time.Minute
	guessPlaces = 10_000 // addresses that are remembered; beyond that the one that was silent longest is forgotten
)

// guesses are the last wrong keys, by address.
type guesses struct {
	mu     sync.Mutex
	places map[netip.Prefix]*linked.Element
	order  *linked.List // of *guesser, silent for longest first
}

// guesser is one address: when its last wrong keys came, in a ring.
type guesser struct {
	place netip.Prefix
	at    [guessLimit - 1]time.Time
	next  int
	over  bool // the last one was too many
}

func newGuesses() *guesses {
	return &guesses{places: map[netip.Prefix]*linked.Element{}, order: linked.New()}
}

// guessPlace is what counts as one address: IPv6 hands out whole networks of 64 bits to one customer.
func guessPlace(ip string) netip.Prefix {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return netip.Prefix{}
	}
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// wrong notes a wrong key. left is how long it takes until one is answered with 401 again; 0: this one is. first says that the one before
// was, and this is not.
func (g *guesses) wrong(place netip.Prefix, now time.Time) (left time.Duration, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.at(place)
	oldest := p.at[p.next] // that many before this one
	p.at[p.next] = now
	p.next = (p.next + 1) % len(p.at)
	if oldest.IsZero() || now.Sub(oldest) >= guessWindow {
		p.over = false
		return 0, false
	}
	first, p.over = !p.over, true
	return guessWindow - now.Sub(p.at[p.next]), first
}

// at gives what is remembered of an address, as the one that spoke last; g.mu is held.
func (g *guesses) at(place netip.Prefix) *guesser {
	if known := g.places[place]; known != nil {
		g.order.MoveToBack(known)
		return known.Value.(*guesser)
	}
	if len(g.places) >= guessPlaces {
		delete(g.places, g.order.Remove(g.order.Front()).(*guesser).place)
	}
	p := &guesser{place: place}
	g.places[place] = g.order.PushBack(p)
	return p
}

// guessed answers a request whose key is wrong.
func (s *server) guessed(r *http.Request) *problem.Error {
	ip := s.clientIP(r)
	left, first := s.guesses.wrong(guessPlace(ip), time.Now())
	if first {
		s.log.Warn("many wrong keys come from an address", "address", ip, "request", requestID(r.Context()))
	}
	if left <= 0 {
		return unauthorized()
	}
	return tooManyGuesses(left)
}

func tooManyGuesses(left time.Duration) *problem.Error {
	return problem.New(problem.TooMany, "rate_limited", fmt.Sprintf("Too many wrong keys came from this address: %d within a minute. A good key is let in at any time.", guessLimit)).
		After(left.Truncate(time.Second) + time.Second)
}
