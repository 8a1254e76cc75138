package api

import (
	linked "container/list"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"warren/problem"
)

// Limits failed authentication by client address. A generated key of 256 bits cannot be guessed, but WARREN_API_KEY may be weaker,
// and attempts should be visible. Tickets and capabilities are not counted: they always have 256 bits. From the 20th wrong key of an
// address within a minute the answer is 429, and the log has one line. A valid key still works from that address, so that its other
// users are not locked out.

const (
	authFailureLimit    = 20
	authFailureWindow   = time.Minute
	maxFailureAddresses = 10_000 // addresses that are stored; the least recently active one is dropped
)

// authFailures stores the last wrong keys of each address.
type authFailures struct {
	mu        sync.Mutex
	byAddress map[netip.Prefix]*linked.Element
	order     *linked.List // of *addressFailures, least recently active first
}

// addressFailures is a ring of the times of one address's last wrong keys.
type addressFailures struct {
	address netip.Prefix
	at      [authFailureLimit - 1]time.Time
	next    int
	limited bool // the last one was answered with 429
}

func newAuthFailures() *authFailures {
	return &authFailures{byAddress: map[netip.Prefix]*linked.Element{}, order: linked.New()}
}

// addressPrefix returns what counts as one address. For IPv6 it is the /64: providers assign whole networks to one customer.
func addressPrefix(ip string) netip.Prefix {
	a, _ := netip.ParseAddr(ip) // what is no address has the zero prefix
	p, _ := a.WithZone("").Prefix(min(a.BitLen(), 64))
	return p
}

// record stores a wrong key. left is the time until wrong keys are answered with 401 again; 0 means that this one is. first reports
// whether this is the first one over the limit.
func (g *authFailures) record(place netip.Prefix, now time.Time) (left time.Duration, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.entry(place)
	oldest := p.at[p.next] // len(p.at) failures ago
	p.at[p.next] = now
	p.next = (p.next + 1) % len(p.at)
	if oldest.IsZero() || now.Sub(oldest) >= authFailureWindow {
		p.limited = false
		return 0, false
	}
	first, p.limited = !p.limited, true
	return authFailureWindow - now.Sub(p.at[p.next]), first
}

// entry returns the failures of an address and marks it as most recently active. The caller holds g.mu.
func (g *authFailures) entry(place netip.Prefix) *addressFailures {
	if known := g.byAddress[place]; known != nil {
		g.order.MoveToBack(known)
		return known.Value.(*addressFailures)
	}
	if len(g.byAddress) >= maxFailureAddresses {
		delete(g.byAddress, g.order.Remove(g.order.Front()).(*addressFailures).address)
	}
	p := &addressFailures{address: place}
	g.byAddress[place] = g.order.PushBack(p)
	return p
}

// rejectKey returns the answer to a request with a wrong key.
func (s *API) rejectKey(r *http.Request) *problem.Error {
	ip := s.clientIP(r)
	left, first := s.authFailures.record(addressPrefix(ip), time.Now())
	if first {
		s.log.Warn("many wrong keys come from an address", "address", ip, "request", requestID(r.Context()))
	}
	if left <= 0 {
		return unauthorized()
	}
	return tooManyWrongKeys(left)
}

func tooManyWrongKeys(left time.Duration) *problem.Error {
	return problem.New(problem.TooMany, "rate_limited",
		fmt.Sprintf("Too many wrong keys came from this address: %d within a minute. A valid key still works.", authFailureLimit)).
		After(left.Truncate(time.Second) + time.Second)
}
