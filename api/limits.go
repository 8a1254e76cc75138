package api

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"warren/problem"
)

// Limits the time of request bodies and the long-lived requests of each key: event streams, CDP clients, live views, file transfers, and
// operations that wait for more than the database. Without it one key could use up the server's connections.

// slowOperations returns the operations that wait for a browser, a proxy or a reader. They end with the caller's key.
func slowOperations() []string {
	return []string{
		"POST /profiles/{id}/start", "POST /profiles/{id}/stop", "POST /profiles/{id}/restart", "POST /profiles/{id}/failback",
		"POST /profiles/batch", "POST /profiles/batch-create", "POST /profiles/{id}/leak-test",
		"GET /profiles/{id}/screenshot", "GET /profiles/{id}/pdf",
		"GET /profiles/{id}/explain", "GET /profiles/{id}/traffic",
		"POST /proxies/{id}/check", "POST /proxies/check", "POST /proxies/check-all", "POST /proxies/{id}/rotate",
		"POST /proxies/import", "GET /server", "DELETE /browsers/installation", "GET /proxies/export", "GET /proxies/{id}/traffic",
		"GET /profiles/{id}/export", "GET /profiles/export", importRoute, addExtensionRoute,
		"GET /profiles/{id}/cookies", "PUT /profiles/{id}/cookies", "DELETE /profiles/{id}/cookies", "POST /profiles/{id}/clear",
		"GET /profiles/{id}/storage-state", "PUT /profiles/{id}/storage-state",
		"POST /webhooks/{id}/test",
	}
}

// quota counts what is open, by key id. The addresses of a run count for the key that they were created for.
type quota struct {
	max     int // 0: no limit
	message string

	mu   sync.Mutex
	open map[string]int
}

// newKeyQuota gives each key a quarter of the server's connections.
func newKeyQuota(connections int) *quota {
	most := (connections + 3) / 4
	return &quota{max: most, open: map[string]int{}, message: fmt.Sprintf("This key has %d open connections for events, "+
		"clients, live views, files and slow operations, a quarter of the server's limit. Close some, or raise the server's limit of "+
		"descriptors (ulimit -n).", most)}
}

// maxUploads is how many uploads a profile may have at a time. The files quota is checked only every uploadStep bytes of each.
const maxUploads = 16

// newUploadQuota counts uploads by profile id.
func newUploadQuota() *quota {
	return &quota{max: maxUploads, open: map[string]int{}, message: fmt.Sprintf("%d uploads to this profile are "+
		"running, which is the limit. Wait for one to finish.", maxUploads)}
}

// acquire counts one more for a key. The error is 429 too_many_connections at the limit. The caller must call release.
func (s *quota) acquire(keyID string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.max > 0 && s.open[keyID] >= s.max {
		return nil, problem.New(problem.TooMany, "too_many_connections", s.message).After(10 * time.Second)
	}
	s.open[keyID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[keyID]--; s.open[keyID] == 0 {
			delete(s.open, keyID)
		}
	}, nil
}

// bodyTime is how long a client may take to send a request body. drainTime is the rest of that when the request is refused: net/http
// reads the rest of the body before it answers.
const (
	bodyTime  = 30 * time.Second
	drainTime = time.Second
)

// timedBody is a request body with a read deadline. Reading it to the end removes the deadline, because the answer may take longer.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
	step time.Duration // above 0: the deadline is for each read instead of the whole body
	done bool
}

// limitBodyTime sets the read deadline for the body of r, if it has one. http.Server.ReadTimeout is no alternative: it would end
// long answers too.
func limitBodyTime(w http.ResponseWriter, r *http.Request) *timedBody {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	b := &timedBody{ReadCloser: r.Body, conn: http.NewResponseController(w)}
	b.conn.SetReadDeadline(time.Now().Add(bodyTime)) //nolint:errcheck // fails only in tests, which have no connection
	r.Body = b
	return b
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.step > 0 && !b.done {
		b.conn.SetReadDeadline(time.Now().Add(b.step)) //nolint:errcheck // as above
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.done {
		b.done = true
		b.conn.SetReadDeadline(time.Time{}) //nolint:errcheck // as above
	}
	return n, err
}

// shortenDeadline sets the deadline of a body that nobody will read.
func (b *timedBody) shortenDeadline() {
	if b != nil && !b.done {
		b.conn.SetReadDeadline(time.Now().Add(drainTime)) //nolint:errcheck // as above
	}
}
