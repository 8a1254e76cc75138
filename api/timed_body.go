package api

import (
	"io"
	"net/http"
	"time"
)

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
