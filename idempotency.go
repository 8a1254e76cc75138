package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// idempotency gives the first answer again to a request that comes twice with the same Idempotency-Key, for 24 hours.
// Answers are sealed at rest: a start's holds a capability.
type idempotency struct {
	store *store.Store
	log   *slog.Logger
}

// covers says whether the operation creates or starts.
func (i *idempotency) covers(pattern string) bool {
	switch pattern {
	case "POST " + apiPrefix + "/profiles", "POST " + apiPrefix + "/proxies", "POST " + apiPrefix + "/keys",
		"POST " + apiPrefix + "/profiles/{id}/start", "POST " + apiPrefix + "/profiles/{id}/restore":
		return true
	}
	return false
}

// row names the row that an answer is kept in, and that it is sealed for.
func row(g store.GetIdempotencyParams) string { return g.KeyID + "\n" + g.IdemKey + "\n" + g.Target }

func (i *idempotency) serve(w http.ResponseWriter, r *http.Request, key string, next http.Handler) error {
	if len(key) > 200 {
		return invalid(fault{Location: "header.Idempotency-Key", Message: "must have at most 200 characters"})
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return problemFor(400, "malformed_json", "The body broke off.").because(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx := context.WithoutCancel(r.Context())
	place := store.GetIdempotencyParams{KeyID: callerOf(ctx).keyID, IdemKey: key, Target: r.Method + " " + r.URL.RequestURI()}
	first, err := i.claim(ctx, place, sha256.Sum256(body))
	if err != nil {
		return err
	}
	if first != nil {
		return i.replay(w, *first, place)
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	defer func() { i.keep(ctx, place, rec) }()
	next.ServeHTTP(rec, r)
	rec.done = true
	return nil
}

// claim returns nil when the key is the caller's now, or the first request's row when its answer is there.
func (i *idempotency) claim(ctx context.Context, p store.GetIdempotencyParams, hash [32]byte) (*store.Idempotency, error) {
	var first *store.Idempotency
	err := i.store.Write(ctx, func(q *store.Queries) error {
		n, err := q.BeginIdempotency(ctx, store.BeginIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target, BodyHash: hash[:], CreatedAt: now()})
		if err != nil || n == 1 {
			return err
		}
		have, err := q.GetIdempotency(ctx, p)
		first = &have
		return err
	})
	switch {
	case err != nil || first == nil:
		return nil, err
	case !bytes.Equal(first.BodyHash, hash[:]):
		return nil, idempotencyConflict()
	case first.Status == 0:
		return nil, conflict("idempotency_conflict", "The first request with this Idempotency-Key is still under way. Ask again when it is done.").header("Retry-After", "1")
	}
	return first, nil
}

func idempotencyConflict() *problem {
	return conflict("idempotency_conflict", "This Idempotency-Key came with another body before. Take a new key for a new request.")
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

// keep stores an answer that stands. One that may be different next time (5xx, 429) frees the key.
func (i *idempotency) keep(ctx context.Context, p store.GetIdempotencyParams, rec *recorder) {
	err := i.store.Write(ctx, func(q *store.Queries) error {
		if !rec.done || rec.status >= 500 || rec.status == http.StatusTooManyRequests {
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

// recorder keeps a copy of an answer on its way.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	done   bool
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
