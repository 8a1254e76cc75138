package api

import (
	"context"
	"net/http"
	"strings"

	"warren/store"
)

// request is the state of one request. It travels in the request's context.
type request struct {
	id             string
	base           string // the client's address of this server: scheme://host and a reverse proxy's path prefix
	caller         *caller
	idempotencyKey *store.GetIdempotencyParams // the row of the answer, with an Idempotency-Key
	http           *http.Request               // as received
	accept         string                      // the Accept header as received
	queryFaults    faults                      // faults of the query string
	api            *API                        // for refusable
	refusable      storedChecker               // the request, if the database may show more faults of it
	answer         answerWriter
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
func requestIDFrom(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == "" {
		return id
	}
	return store.NewID()
}
