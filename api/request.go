package api

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/problem"
	"warren/store"
)

// request is the state of one request. It travels in the request's context.
type request struct {
	id             string
	base           string // the client's address of this server: scheme://host and a reverse proxy's path prefix
	caller         *caller
	idempotencyKey *store.GetIdempotencyParams // the row of the answer, with an Idempotency-Key
	made           string                      // what this request made the first time, if its answer is not stored
	http           *http.Request               // as received
	accept         string                      // the Accept header as received
	queryFaults    faults                      // faults of the query string
	api            *API                        // for refusable
	refusable      storedChecker               // the request, if the database may show more faults of it
	changed        func(workspace string)      // counts a changed profile in place of its event, in a job; nil: it is published
	answer         answerWriter
	route          string    // the pattern that the path fits; "": none
	begun          time.Time // when the request's header was read
	unchanged      bool      // the request asks what would be changed
	found          found
	audit          auditState
	code           string // of the problem that was answered
	remote         string // the client's address
	peer           string // the id of the server that has passed it on; "": none
	authorization  string // the header with the key; "": the request has a ticket, or a capability
	unusedProxy    bool   // a proxy that a profile gets may have no other (headerUnused)
}

// require notes the message unless ok.
func (f *faults) require(ok bool, location, message string) {
	if !ok {
		f.add(location, message, nil)
	}
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil {
		return &request{}
	}
	return r
}

func requestID(ctx context.Context) string { return requestOf(ctx).id }

func callerOf(ctx context.Context) *caller { return requestOf(ctx).caller }

// requestIDFrom returns X-Request-Id if it has at most 64 harmless characters, else a new id.
// A key in its place is none: answers and the log repeat the id.
func requestIDFrom(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 64 && !strings.HasPrefix(id, "wrn_") &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == "" {
		return id
	}
	return store.NewID()
}

// Completes a refusal. A request checks its form by itself, and its operation checks it against the database. A refusal of the form also
// names the faults that only the database shows, so that a client learns every fault at once.

// storedChecker is a request with faults that only the database or the server's settings show.
type storedChecker interface {
	// storedFaults returns these faults. It writes nothing. An error, such as an unknown profile, replaces the faults.
	storedFaults(ctx context.Context, s *API) (faults, error)
}

// publishChange publishes the event of a changed profile, or counts it.
func (s *API) publishChange(ctx context.Context, e events.Event) {
	if count := requestOf(ctx).changed; count != nil {
		count(e.Workspace)
		return
	}
	s.events.Publish(e)
}

// completable has the refusal of a request name its stored faults too. Resolve calls it.
func completable(ctx huma.Context, in storedChecker) { requestOf(ctx.Context()).refusable = in }

// moreFaults returns the faults of a refused request that errs lacks.
func (r *request) moreFaults(ctx context.Context, errs []error) (more []error) {
	if r.refusable == nil {
		return nil
	}
	f, err := r.refusable.storedFaults(ctx, r.api)
	if err != nil {
		return []error{fromError(err)}
	}
	for _, fault := range f.errors() {
		if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == fault.Error() }) {
			more = append(more, fault)
		}
	}
	return more
}

// profileRow returns a profile that the caller sees, from the trash when trashed is set. The error is a problem.NotFound when there
// is none.
func (s *API) profileRow(ctx context.Context, id string, trashed bool) (store.Profile, error) {
	row, err := s.store.Profile(ctx, callerOf(ctx).Sees, id, trashed)
	requestOf(ctx).found.inWorkspace(row.WorkspaceID)
	return row, orNotFound(err, "profile")
}

// orNotFound maps store.ErrNoRow to a 404 for the kind of object. Other errors stay as they are.
func orNotFound(err error, kind string) error {
	if errors.Is(err, store.ErrNoRow) {
		return problem.Missing(kind)
	}
	return err
}

// ProfilePath is the path parameter of operations on one profile.
type ProfilePath struct {
	ID string `path:"id" doc:"The profile's id."`
}

// isClean reports whether a path is in canonical form. CDP paths may end in a slash: Chrome's own addresses do, and clients send
// them.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || strings.Contains(p, "/cdp/") && p == clean+"/"
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }
