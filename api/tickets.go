package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Issues tickets, which let web pages open WebSockets: a page cannot set a key on a WebSocket. A ticket is 256 random bits, valid
// once, for one path, within ticketTime. Where several servers share the database, it is there, so that each of them takes it.

const (
	// ticketTime is how long a ticket is valid.
	ticketTime = 30 * time.Second
	// linkTime is the same of a login link.
	linkTime = 10 * time.Minute
)

// maxTickets is how many unused tickets a key may have.
const maxTickets = 100

// tickets holds the unused tickets by their SHA-256: in memory, or in a shared database.
type tickets struct {
	keys   *keyring // has that database
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]ticket
}

type ticket struct {
	caller *caller
	path   string // empty: it is the code of a login link
	until  time.Time
}

// isOver asks the monotonic clock, which nobody sets, and the wall clock, which goes on while the machine sleeps.
func (t ticket) isOver() bool {
	now := time.Now()
	return now.After(t.until) || now.Round(0).After(t.until.Round(0))
}

func newTickets(k *keyring) *tickets {
	return &tickets{keys: k, byHash: map[[sha256.Size]byte]ticket{}}
}

// add stores a ticket. It returns false when the key has maxTickets.
func (ts *tickets) add(ctx context.Context, secret string, t ticket) (bool, error) {
	if ts.keys.store.Shared() {
		return ts.addShared(ctx, secret, t)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	mine := 0
	for hash, other := range ts.byHash {
		if other.isOver() {
			delete(ts.byHash, hash)
		} else if other.caller.KeyID == t.caller.KeyID {
			mine++
		}
	}
	if mine >= maxTickets {
		return false, nil
	}
	ts.byHash[sha256.Sum256([]byte(secret))] = t
	return true, nil
}

// addShared is add for a shared database, which has its own clock. Those that are over are deleted.
func (ts *tickets) addShared(ctx context.Context, secret string, t ticket) (added bool, err error) {
	hash := sha256.Sum256([]byte(secret))
	err = ts.keys.store.Write(ctx, func(q *store.Queries) error {
		added = false
		if err := store.ErrorOf(q.PurgeTickets(ctx)); err != nil {
			return err
		}
		mine, err := q.CountTickets(ctx, store.CountTicketsParams{Key: t.caller.mark, Path: t.path})
		if err != nil || mine >= maxTickets {
			return err
		}
		added = true
		return q.InsertTicket(ctx, store.InsertTicketParams{Hash: hash[:], Key: t.caller.mark, Path: t.path,
			Span: time.Until(t.until).Milliseconds()})
	})
	return added, err
}

// take returns a ticket and deletes it, even if it is not valid for the path. The zero ticket, without a caller, means that there is
// no valid one.
func (ts *tickets) take(ctx context.Context, secret, path string) (ticket, error) {
	if ts.keys.store.Shared() {
		return ts.takeShared(ctx, secret, path)
	}
	hash := sha256.Sum256([]byte(secret))
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, ok := ts.byHash[hash]
	delete(ts.byHash, hash)
	if !ok || t.path != path || t.isOver() {
		return ticket{}, nil
	}
	return t, nil
}

// takeShared is take for a shared database. The caller is as its key is now. What is left of the ticket's time is not known: for one that
// is put back, it begins anew.
func (ts *tickets) takeShared(ctx context.Context, secret, path string) (ticket, error) {
	hash := sha256.Sum256([]byte(secret))
	var row store.TakeTicketRow
	err := ts.keys.store.Write(ctx, func(q *store.Queries) (err error) {
		row, err = q.TakeTicket(ctx, hash[:])
		return err
	})
	if errors.Is(err, store.ErrNoRow) || err == nil && row.Path != path {
		return ticket{}, nil
	}
	if err != nil {
		return ticket{}, err
	}
	c, err := ts.keys.byMark(ctx, row.Key)
	if problem.Is(err, problem.Unauthorized) {
		return ticket{}, nil
	}
	life := ticketTime
	if path == "" {
		life = linkTime
	}
	return ticket{caller: c, path: path, until: time.Now().Add(life)}, err
}

// authenticate returns the caller of a request: by the key, or for a WebSocket upgrade without a key by a ticket. longLived checks
// whether the key of a ticket is still valid. Another server that passes a request on has taken the ticket, and names the key.
func (s *API) authenticate(r *http.Request, passed bool) (*caller, error) {
	if mark := r.Header.Get(headerCaller); passed && mark != "" && len(r.Header["Authorization"]) == 0 {
		return s.keys.byMark(r.Context(), mark)
	}
	offered := tokens(r.Header["Sec-Websocket-Protocol"], func(p string) bool { return strings.HasPrefix(p, runs.TicketProtocol) })
	if len(offered) != 1 || len(r.Header["Authorization"]) > 0 || !isUpgrade(r) {
		return s.keys.authenticate(r)
	}
	t, err := s.tickets.take(r.Context(), strings.TrimPrefix(offered[0], runs.TicketProtocol), r.URL.Path)
	if err == nil && t.caller == nil {
		err = unauthorized()
	}
	return t.caller, err
}

// isUpgrade reports whether the request opens a WebSocket (RFC 6455, 4.1).
func isUpgrade(r *http.Request) bool {
	names := func(header, want string) bool {
		return len(tokens(r.Header[header], func(s string) bool { return strings.EqualFold(s, want) })) > 0
	}
	return r.Method == http.MethodGet && names("Upgrade", "websocket") && names("Connection", "upgrade")
}

// tokens returns the wanted values of a comma-separated header.
func tokens(values []string, wanted func(string) bool) (out []string) {
	for t := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if t = strings.TrimSpace(t); wanted(t) {
			out = append(out, t)
		}
	}
	return out
}

// ticketInput names the path that a ticket is for.
type ticketInput struct {
	Path string `json:"path" doc:"The path of the WebSocket, without a query: a profile's live view or CDP gateway." example:"/api/v1/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/live"`
}

func (ticketInput) example() any {
	return map[string]any{"path": Prefix + "/profiles/" + exampleProfileID + "/live"}
}

func (ticketInput) problems() []*problem.Error { return []*problem.Error{tooManyTickets()} }

// Resolve implements huma.Resolver. It accepts only paths of sockets.
func (in *ticketInput) Resolve(huma.Context) []error {
	var f faults
	rest, ok := strings.CutPrefix(in.Path, Prefix+"/profiles/")
	_, rest, _ = strings.Cut(rest, "/")
	socket, _, _ := strings.Cut(rest, "/")
	ok = ok && len(in.Path) <= 300 && isClean(in.Path) && !strings.ContainsAny(in.Path, "?#%") && (socket == "cdp" || socket == "live")
	f.require(ok, "body.path", "Enter the path of a socket: "+Prefix+
		"/profiles/ID/live, …/cdp or one below it. It has no query, and at most 300 bytes.")
	return f.errors()
}

type ticketJSON struct {
	Ticket    string    `json:"ticket" doc:"256 bits. Only this answer has it."`
	ExpiresAt time.Time `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (ticketJSON) example() any {
	return ticketJSON{Ticket: "TICKET", ExpiresAt: exampleTime().Add(30 * time.Second)}
}

func tooManyTickets() *problem.Error {
	return problem.New(problem.TooMany, "rate_limited",
		"This key has 100 unused tickets. Use them, or wait until they expire.").After(30 * time.Second)
}

func (s *API) createTicket(ctx context.Context, in *struct{ Body ticketInput }) (*struct{ Body ticketJSON }, error) {
	secret, until := runs.NewCapability(), time.Now().Add(ticketTime)
	added, err := s.tickets.add(ctx, secret, ticket{callerOf(ctx), in.Body.Path, until})
	if err != nil {
		return nil, err
	}
	if !added {
		return nil, tooManyTickets()
	}
	return &struct{ Body ticketJSON }{ticketJSON{secret, until.UTC()}}, nil
}
