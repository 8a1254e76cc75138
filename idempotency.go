package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// idempotency gives the first answer again to a request that comes twice with the same Idempotency-Key, for 24 hours.
// Answers are sealed at rest: a start's holds a capability. What is kept has bounds, so that no key fills the disk: maxKept answers a
// key, maxAnswer bytes each, and of the target its hash alone. Who may not do the operation is refused before it comes here.
type idempotency struct {
	store *store.Store
	log   *slog.Logger

	mu       sync.Mutex
	underway map[string]int // how many requests hold each row
}

const (
	maxKept   = 1000     // answers that are kept of one API key: the oldest give way
	maxAnswer = 64 << 10 // bytes of an answer that is kept
)

func newIdempotency(st *store.Store, log *slog.Logger) *idempotency {
	return &idempotency{store: st, log: log, underway: map[string]int{}}
}

// covers says whether the operation creates or starts.
func (i *idempotency) covers(pattern string) bool {
	switch pattern {
	case "POST " + apiPrefix + "/profiles", "POST " + apiPrefix + "/proxies", "POST " + apiPrefix + "/proxies/import", "POST " + apiPrefix + "/keys",
		"POST " + apiPrefix + "/profiles/{id}/start", "POST " + apiPrefix + "/profiles/{id}/restart", "POST " + apiPrefix + "/profiles/{id}/restore", "POST " + apiPrefix + "/profiles/{id}/capabilities":
		return true
	}
	return false
}

// row names the row that an answer is kept in, and that it is sealed for.
func row(p store.GetIdempotencyParams) string {
	return store.IdempotencyRow(p.KeyID, p.IdemKey, p.Target)
}

func (i *idempotency) serve(w http.ResponseWriter, r *http.Request, key string, next http.Handler) error {
	if len(key) > 200 {
		return problem.NotValid(problem.Fault{Location: "header.Idempotency-Key", Message: "must have at most 200 characters"})
	}
	limit := bodyLimit(r.URL.Path)
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return problem.New(problem.Malformed, "malformed_json", "The body broke off.").Because(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if int64(len(body)) > limit {
		next.ServeHTTP(w, r) // refuses it, and nothing is kept
		return nil
	}
	ctx := context.WithoutCancel(r.Context()) // a client that goes away finds the true answer when it asks again
	place := store.GetIdempotencyParams{KeyID: callerOf(ctx).KeyID, IdemKey: key, Target: store.IdempotencyTarget(r.Method, r.URL.RequestURI())}
	alone := i.enter(place)
	defer i.leave(place)
	first, err := i.claim(ctx, place, sha256.Sum256(body), alone, strings.HasSuffix(r.URL.Path, "/keys"))
	if err != nil {
		return err
	}
	if first != nil && first.Status != 0 {
		return i.replay(w, *first, place)
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	defer func() { i.keep(ctx, place, rec) }()
	r = r.WithContext(ctx)
	w = rec
	if first != nil {
		w, r = made(rec, r, first.Object)
	} else {
		requestOf(ctx).place = &place
	}
	next.ServeHTTP(w, r)
	rec.done = true
	return nil
}

// claim returns nil when the key is the caller's now, or the first request's row: with its answer, or, status 0, with the object that
// it made before the server was killed. alone: nobody else works on it now. shownOnce: what the request makes is in the first answer alone.
func (i *idempotency) claim(ctx context.Context, p store.GetIdempotencyParams, hash [32]byte, alone, shownOnce bool) (*store.Idempotency, error) {
	var first *store.Idempotency
	err := i.store.Write(ctx, func(q *store.Queries) error {
		n, err := q.BeginIdempotency(ctx, store.BeginIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target, BodyHash: hash[:], CreatedAt: now()})
		if err == nil && n == 1 {
			_, err = q.TrimIdempotency(ctx, store.TrimIdempotencyParams{KeyID: p.KeyID, Keep: maxKept})
			return err
		}
		if err != nil {
			return err
		}
		have, err := q.GetIdempotency(ctx, p)
		first = &have
		return err
	})
	switch {
	case err != nil || first == nil:
	case !bytes.Equal(first.BodyHash, hash[:]):
		err = idempotencyConflict()
	case first.Status == 0 && !alone:
		err = problem.New(problem.Conflict, "idempotency_conflict", "The first request with this Idempotency-Key is still under way. Ask again when it is done.").After(time.Second)
	case first.Status == 0 && first.Object == "":
		err = problem.New(problem.Conflict, "idempotency_conflict", "What became of the first request with this Idempotency-Key was not kept. Look whether it was done, and take a new key.")
	case first.Status == 0 && shownOnce:
		err = problem.New(problem.Conflict, "idempotency_conflict", "The first request with this Idempotency-Key made the key "+first.Object+" and broke off before it was shown. Revoke it, and take a new Idempotency-Key.")
	}
	return first, err
}

func idempotencyConflict() *problem.Error {
	return problem.New(problem.Conflict, "idempotency_conflict", "This Idempotency-Key came with another body before. Take a new key for a new request.")
}

// enter says whether nobody else works on a row. leave must follow.
func (i *idempotency) enter(p store.GetIdempotencyParams) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.underway[row(p)]++
	return i.underway[row(p)] == 1
}

func (i *idempotency) leave(p store.GetIdempotencyParams) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.underway[row(p)]--; i.underway[row(p)] == 0 {
		delete(i.underway, row(p))
	}
}

// noteMade keeps, in the transaction that makes an object, which one the request's Idempotency-Key stands for.
func noteMade(ctx context.Context, q *store.Queries, id string) error {
	p := requestOf(ctx).place
	if p == nil {
		return nil
	}
	_, err := q.NoteIdempotency(ctx, store.NoteIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target, Object: id})
	return err
}

// made turns a request to make an object into one to read it, answered as the making would have been.
func made(w http.ResponseWriter, r *http.Request, id string) (http.ResponseWriter, *http.Request) {
	r = r.Clone(r.Context())
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	r.URL = &url.URL{Path: r.URL.Path + "/" + id}
	return &madeWriter{ResponseWriter: w, location: r.URL.Path}, r
}

// madeWriter answers 201 where 200 is said.
type madeWriter struct {
	http.ResponseWriter
	location string
	begun    bool
}

func (m *madeWriter) Write(b []byte) (int, error) {
	if !m.begun {
		m.WriteHeader(http.StatusOK)
	}
	return m.ResponseWriter.Write(b)
}

func (m *madeWriter) WriteHeader(status int) {
	m.begun = true
	if status == http.StatusOK {
		status = http.StatusCreated
		m.Header().Set("Location", m.location)
	}
	m.ResponseWriter.WriteHeader(status)
}

func (i *idempotency) replay(w http.ResponseWriter, first store.Idempotency, p store.GetIdempotencyParams) error {
	answer, err := i.store.Unseal("idempotency", "answer", row(p), first.Answer)
	if err != nil {
		return err
	}
	var headers map[string]string
	if err := json.Unmarshal([]byte(first.Headers), &headers); err != nil {
		return err
	}
	for k, v := range headers {
		w.Header().Set(k, v)
	}
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(int(first.Status))
	w.Write(answer) //nolint:errcheck // the client may be gone
	return nil
}

// isKept says whether an answer stands. One that may be another next time does not, nor one that refused the request for what it was:
// nothing was done, and the same request is refused in the same way again.
func isKept(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests, statusCancelled:
		return false
	}
	return status < 500
}

// keep stores an answer that stands. Any other frees the key; so does one that is too large, unless an object was made: then that is read
// for who asks again.
func (i *idempotency) keep(ctx context.Context, p store.GetIdempotencyParams, rec *recorder) {
	err := i.store.Write(ctx, func(q *store.Queries) error {
		if !rec.done || !isKept(rec.status) || rec.cut {
			_, err := q.DeleteIdempotency(ctx, store.DeleteIdempotencyParams(p))
			return err
		}
		headers := map[string]string{}
		for _, k := range []string{"Content-Type", "Location", "Etag"} {
			if v := rec.Header().Get(k); v != "" {
				headers[k] = v
			}
		}
		text, err := json.Marshal(headers)
		if err != nil {
			return err
		}
		answer, err := i.store.Seal("idempotency", "answer", row(p), rec.body.Bytes())
		if err != nil {
			return err
		}
		_, err = q.FinishIdempotency(ctx, store.FinishIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
			Status: int64(rec.status), Headers: string(text), Answer: answer})
		return err
	})
	if err != nil && !errors.Is(err, store.ErrClosed) {
		i.log.Error("an answer for its Idempotency-Key was not kept", "cause", err)
	}
}

// purge forgets what is older than 24 hours.
func (i *idempotency) purge(ctx context.Context) error {
	return i.store.Write(ctx, func(q *store.Queries) error {
		_, err := q.PurgeIdempotency(ctx, time.Now().Add(-24*time.Hour).UnixMilli())
		return err
	})
}

// recorder keeps a copy of an answer on its way, unless it is larger than what is kept.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	cut    bool // it is larger
	done   bool
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.cut = r.cut || r.body.Len()+len(b) > maxAnswer; !r.cut {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
