package api

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

// idempotency replays the first answer to requests with the same Idempotency-Key, for 24 hours. Answers are sealed at rest, because
// that of a start holds a capability. Limits keep a key from filling the disk: maxSavedAnswers per API key, maxSavedAnswer bytes
// each, and only a hash of the target. Scopes are checked before.
//
// A row has the server of its request. Where several share the database, the same request is refused at the others while that one does it.
type idempotency struct {
	store *store.Store
	nodes servers
	log   *slog.Logger

	ending chan struct{} // closed by close
	close  func()

	mu       sync.Mutex
	underway map[string]int // how many requests use each row
	waiting  int            // what keepTrying has
}

// servers are those of a database.
type servers interface {
	Owner() string // this one; "": there are no others
	Lives(ctx context.Context, id string) (bool, error)
}

const (
	maxSavedAnswers = 1000     // answers stored for one API key; the oldest are deleted
	maxSavedAnswer  = 64 << 10 // size limit of a stored answer, in bytes
)

func newIdempotency(st *store.Store, nodes servers, log *slog.Logger) *idempotency {
	ending := make(chan struct{})
	return &idempotency{store: st, nodes: nodes, log: log, ending: ending, close: sync.OnceFunc(func() { close(ending) }),
		underway: map[string]int{}}
}

// covers reports whether the operation takes an Idempotency-Key: it creates something or starts a browser.
func (i *idempotency) covers(pattern string) bool {
	switch strings.Replace(pattern, " "+Prefix, " ", 1) {
	case "POST /profiles", "POST /profiles/batch", "POST /profiles/batch-create", "POST /proxies", "POST /proxies/import", "POST /keys",
		"POST /templates", "POST /schedules", "POST /webhooks",
		"POST /profiles/{id}/start", "POST /profiles/{id}/restart", "POST /profiles/{id}/restore", "POST /profiles/{id}/capabilities",
		"POST /profiles/{id}/clone", importRoute, addExtensionRoute:
		return true
	}
	return false
}

// importRoute is the operation that reads its own body, which may be larger than memory, and calls once by itself.
const importRoute = "POST /profiles/import"

// addExtensionRoute is another one.
const addExtensionRoute = "POST /extensions"

// readsItsBody reports whether a pattern is of such an operation.
func readsItsBody(pattern string) bool {
	pattern = strings.Replace(pattern, " "+Prefix, " ", 1)
	return pattern == importRoute || pattern == addExtensionRoute
}

// idempotencyRow returns the name of an answer's row. The answer is sealed for it.
func idempotencyRow(p store.GetIdempotencyParams) string {
	return store.IdempotencyRow(p.KeyID, p.IdemKey, p.Target)
}

// serve answers a request with an Idempotency-Key: by replaying the first answer, else by next.
func (i *idempotency) serve(w http.ResponseWriter, r *http.Request, key string, next http.Handler) error {
	if err := checkIdempotencyKey(key); err != nil {
		return err
	}
	limit := bodyLimit(r.URL.Path)
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return problem.New(problem.Malformed, "malformed_json", "The body ended early.").Because(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if int64(len(body)) > limit {
		next.ServeHTTP(w, r) // it refuses the body; nothing is stored
		return nil
	}
	return i.once(w, r, key, sha256.Sum256(body), next)
}

// checkIdempotencyKey returns why a key is refused, before the body is read.
func checkIdempotencyKey(key string) error {
	if len(key) > 200 {
		return problem.NotValid(problem.Fault{Location: "header.Idempotency-Key", Message: "Shorten the key to at most 200 characters."})
	}
	return nil
}

// once is serve for a request whose body was read: hash is its SHA-256.
func (i *idempotency) once(w http.ResponseWriter, r *http.Request, key string, hash [32]byte, next http.Handler) error {
	ctx := context.WithoutCancel(r.Context()) // a client that disconnects can ask again for the answer
	place := store.GetIdempotencyParams{KeyID: callerOf(ctx).KeyID, IdemKey: key,
		Target: store.IdempotencyTarget(r.Method, r.URL.RequestURI())}
	i.begin(place)
	later := false // the answer is saved later, and the row is in use until then
	defer func() {
		if !later {
			i.end(place)
		}
	}()
	first, err := i.claim(ctx, place, hash, shownOnce(r.URL.Path))
	if err != nil {
		return err
	}
	if first != nil && first.Status != 0 {
		return i.replay(w, *first, place)
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	node := i.nodes.Owner()
	if first != nil {
		node = first.NodeID
	}
	defer func() { later = i.save(ctx, place, node, rec) }()
	r = r.WithContext(ctx)
	switch {
	case first == nil:
		requestOf(ctx).idempotencyKey = &place
	case strings.HasSuffix(r.URL.Path, "/batch-create"), strings.HasSuffix(r.URL.Path, "/clone"),
		strings.HasSuffix(r.URL.Path, "/profiles/import"), strings.HasSuffix(r.URL.Path, "/extensions"): // its operation reads it
		requestOf(ctx).made = first.Object
	default:
		r = asRead(r, first.Object)
		rec.location = r.URL.Path
	}
	next.ServeHTTP(rec, r)
	rec.done = true
	return nil
}

// claim reserves the row for this request. It returns nil if that is new, else the row of the first request. Status 0 means that the
// server was killed before the first request had its answer. Object is then what it created. once names what only the first answer
// shows; "": nothing.
func (i *idempotency) claim(
	ctx context.Context, p store.GetIdempotencyParams, hash [32]byte, once string,
) (first *store.Idempotency, err error) {
	for {
		if first, err = i.reserve(ctx, p, hash); err != nil || first == nil {
			return nil, err
		}
		if first.Status == 0 && bytes.Equal(first.BodyHash, hash[:]) {
			if first, err = i.readAgain(ctx, p, first); err != nil {
				return nil, err
			}
		}
		if first != nil {
			return first, refusalOf(first, hash, once)
		}
	}
}

// readAgain returns the row of a first request that had no answer when it was read. nil: the row was freed, so that this request may
// reserve it. The error is idempotency_conflict while others use the row. If none does, all have saved their answers or freed it.
func (i *idempotency) readAgain(ctx context.Context, p store.GetIdempotencyParams, first *store.Idempotency) (*store.Idempotency, error) {
	if !i.isAlone(p) {
		return nil, stillRunning()
	}
	elsewhere := false
	if first.NodeID != i.nodes.Owner() {
		var err error
		if elsewhere, err = i.nodes.Lives(ctx, first.NodeID); err != nil {
			return nil, err
		}
	}
	row, err := i.store.Read().GetIdempotency(ctx, p)
	if errors.Is(err, store.ErrNoRow) || err == nil && row.CreatedAt != first.CreatedAt {
		return nil, nil
	}
	if err == nil && elsewhere && row.Status == 0 {
		return nil, stillRunning()
	}
	return &row, err
}

func stillRunning() *problem.Error {
	return keyConflict("The first request with this Idempotency-Key is still running. Ask again when it is done.").After(time.Second)
}

// reserve makes the row of this request. If there is one, it returns that. With an error there is none, or forget removes it.
func (i *idempotency) reserve(ctx context.Context, p store.GetIdempotencyParams, hash [32]byte) (first *store.Idempotency, err error) {
	at := now()
	err = i.store.Write(ctx, func(q *store.Queries) error {
		first = nil
		n, err := q.BeginIdempotency(ctx, store.BeginIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
			BodyHash: hash[:], CreatedAt: at, NodeID: i.nodes.Owner()})
		if err != nil {
			return err
		}
		if n == 1 {
			_, err = q.TrimIdempotency(ctx, store.TrimIdempotencyParams{KeyID: p.KeyID, Keep: maxSavedAnswers})
			return err
		}
		have, err := q.GetIdempotency(ctx, p)
		first = &have
		return err
	})
	if errors.Is(err, store.ErrUnknown) {
		i.forget(p, at)
	}
	return first, err
}

// refusalOf returns why a request cannot have the answer of the first one; nil: it can. No other request uses the row.
func refusalOf(first *store.Idempotency, hash [32]byte, once string) error {
	switch {
	case !bytes.Equal(first.BodyHash, hash[:]):
		return idempotencyConflict()
	case first.Status == 0 && first.Object == "":
		return keyConflict("The result of the first request with this Idempotency-Key is unknown. " +
			"Check whether it was done, and use a new key.")
	case first.Status == 0 && once == "key":
		return keyConflict("The first request with this Idempotency-Key created the key " + first.Object +
			", and failed before the key was shown. Revoke it, and use a new Idempotency-Key.")
	case first.Status == 0 && once != "":
		return keyConflict("The first request with this Idempotency-Key created the webhook " + first.Object +
			", and failed before its secret was shown. Rotate the secret, or delete it and use a new Idempotency-Key.")
	}
	return nil
}

// shownOnce returns what an operation creates with a secret that only its first answer shows; "": nothing.
func shownOnce(path string) string {
	switch {
	case strings.HasSuffix(path, "/keys"):
		return "key"
	case strings.HasSuffix(path, "/webhooks"):
		return "webhook"
	}
	return ""
}

func idempotencyConflict() *problem.Error {
	return keyConflict("This Idempotency-Key was used with another body. Use a new key for a new request.")
}

func keyConflict(message string) *problem.Error {
	return problem.New(problem.Conflict, "idempotency_conflict", message)
}

// begin notes that a request uses the row. end must follow.
func (i *idempotency) begin(p store.GetIdempotencyParams) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.underway[idempotencyRow(p)]++
}

// isAlone reports whether only one request uses the row.
func (i *idempotency) isAlone(p store.GetIdempotencyParams) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.underway[idempotencyRow(p)] == 1
}

func (i *idempotency) end(p store.GetIdempotencyParams) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.underway[idempotencyRow(p)]--; i.underway[idempotencyRow(p)] == 0 {
		delete(i.underway, idempotencyRow(p))
	}
}

// recordCreated stores the id of the object that a request with an Idempotency-Key creates. q is the transaction that creates the
// object.
func recordCreated(ctx context.Context, q *store.Queries, id string) error {
	p := requestOf(ctx).idempotencyKey
	if p == nil {
		return nil
	}
	return store.ErrorOf(q.NoteIdempotency(ctx, store.NoteIdempotencyParams{KeyID: p.KeyID, IdemKey: p.IdemKey, Target: p.Target,
		Object: id}))
}

// asRead turns a request that created an object into one that reads it.
func asRead(r *http.Request, id string) *http.Request {
	r = r.Clone(r.Context())
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	r.URL = &url.URL{Path: r.URL.Path + "/" + id}
	return r
}

func (i *idempotency) replay(w http.ResponseWriter, first store.Idempotency, p store.GetIdempotencyParams) error {
	answer, err := i.store.Unseal("idempotency", "answer", idempotencyRow(p), first.Answer)
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
	w.Write(answer) //nolint:errcheck // the client may have disconnected
	return nil
}

// isSaved reports whether an answer of this status is stored. Refusals are not: nothing was done, and the same request gets the same
// refusal. Answers that depend on the moment are not stored either.
func isSaved(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests, statusCancelled:
		return false
	}
	return status < 500
}

// purge deletes answers older than 24 hours.
func (i *idempotency) purge(ctx context.Context) error {
	before := time.Now().Add(-24 * time.Hour).UnixMilli()
	return i.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.PurgeIdempotency(ctx, before)) })
}

// recorder copies an answer of at most maxSavedAnswer bytes while it is sent. Every operation sets a status before it writes.
type recorder struct {
	http.ResponseWriter
	location string // not empty: an answer 200 becomes 201 with this Location
	status   int
	body     bytes.Buffer
	tooLarge bool // the answer is larger
	done     bool
}

func (r *recorder) WriteHeader(status int) {
	if status == http.StatusOK && r.location != "" {
		status = http.StatusCreated
		r.Header().Set("Location", r.location)
	}
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.tooLarge = r.tooLarge || r.body.Len()+len(b) > maxSavedAnswer; !r.tooLarge {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
