package main

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/shim"
)

// This file lets web pages open sockets: a WebSocket of a page cannot carry a key, so the page asks for a ticket with its key and
// shows that. A ticket is 256 random bits, good once, for one path, for ticketTime.

const ticketTime = 30 * time.Second

// maxTickets is how many unused tickets a key may have.
const maxTickets = 100

// tickets are those that were not used yet, by their SHA-256.
type tickets struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]ticket
}

type ticket struct {
	caller *caller
	path   string
	until  time.Time
}

func newTickets() *tickets { return &tickets{byHash: map[[sha256.Size]byte]ticket{}} }

// add keeps a ticket; false when the key has too many.
func (ts *tickets) add(secret string, t ticket) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	mine := 0
	for hash, other := range ts.byHash {
		if time.Now().After(other.until) {
			delete(ts.byHash, hash)
		} else if other.caller.KeyID == t.caller.KeyID {
			mine++
		}
	}
	if mine >= maxTickets {
		return false
	}
	ts.byHash[sha256.Sum256([]byte(secret))] = t
	return true
}

// take gives the caller whose ticket it is. It is used then, also where it is not good for the path.
func (ts *tickets) take(secret, path string) *caller {
	hash := sha256.Sum256([]byte(secret))
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, ok := ts.byHash[hash]
	delete(ts.byHash, hash)
	if !ok || t.path != path || time.Now().After(t.until) {
		return nil
	}
	return t.caller
}

// authenticate finds who sends a request: by the key, or at an upgrade without one by a ticket. The key may have ended since the
// ticket was given out: withKey asks.
func (s *server) authenticate(r *http.Request) (*caller, error) {
	offered := tokens(r.Header["Sec-Websocket-Protocol"], func(p string) bool { return strings.HasPrefix(p, shim.TicketProtocol) })
	if len(offered) != 1 || len(r.Header["Authorization"]) > 0 || !isUpgrade(r) {
		return s.keys.authenticate(r)
	}
	c := s.tickets.take(strings.TrimPrefix(offered[0], shim.TicketProtocol), r.URL.Path)
	if c == nil {
		return nil, unauthorized()
	}
	return c, nil
}

// isUpgrade says whether the request opens a WebSocket (RFC 6455, 4.1).
func isUpgrade(r *http.Request) bool {
	is := func(want string) func(string) bool {
		return func(s string) bool { return strings.EqualFold(s, want) }
	}
	return r.Method == http.MethodGet && len(tokens(r.Header["Upgrade"], is("websocket"))) > 0 && len(tokens(r.Header["Connection"], is("upgrade"))) > 0
}

// tokens are those of a header's comma-separated values that are wanted.
func tokens(values []string, wanted func(string) bool) (out []string) {
	for t := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if t = strings.TrimSpace(t); wanted(t) {
			out = append(out, t)
		}
	}
	return out
}

// ticketInput is what a ticket is for.
type ticketInput struct {
	Path string `json:"path" doc:"The path of the socket, without a query: that of a profile's live view or CDP gateway." example:"/api/v1/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/live"`
}

// Resolve takes the paths of sockets alone.
func (in *ticketInput) Resolve(huma.Context) []error {
	var f faults
	rest, ok := strings.CutPrefix(in.Path, apiPrefix+"/profiles/")
	_, rest, _ = strings.Cut(rest, "/")
	socket, _, _ := strings.Cut(rest, "/")
	if !ok || len(in.Path) > 300 || !isClean(in.Path) || strings.ContainsAny(in.Path, "?#%") || socket != "cdp" && socket != "live" {
		f.add("body.path", "must be the path of a socket, "+apiPrefix+"/profiles/ID/live or …/cdp and what lies below it, without a query and of at most 300 bytes", nil)
	}
	return f.errors()
}

type ticketJSON struct {
	Ticket    string    `json:"ticket" doc:"256 bits, this once."`
	ExpiresAt time.Time `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func tooManyTickets() *problem.Error {
	return problem.New(problem.TooMany, "rate_limited", "This key has 100 tickets that were not used. Use them, or wait until they expire.").After(30 * time.Second)
}

func (s *server) createTicket(ctx context.Context, in *struct{ Body ticketInput }) (*struct{ Body ticketJSON }, error) {
	secret, until := newCapability(), time.Now().Add(ticketTime)
	if !s.tickets.add(secret, ticket{callerOf(ctx), in.Body.Path, until}) {
		return nil, tooManyTickets()
	}
	return &struct{ Body ticketJSON }{ticketJSON{secret, until.UTC()}}, nil
}
