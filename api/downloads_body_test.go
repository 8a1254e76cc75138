package api

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"warren/problem"
)

// TestStalledUpload: a body that stalls is told as such. net/http ends the request's context then, but the key is as good as before.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	said := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := limitBodyTime(w, r)
		b.step = time.Millisecond
		_, err := io.Copy(io.Discard, keyedBody{r.Body, r.Context()})
		if r.Context().Err() == nil {
			err = errors.Join(err, errors.New("the request's context goes on, so that this test says nothing"))
		}
		said <- uploadProblem(r, err)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	if err := <-said; !problem.HasCode(err, "request_timeout") {
		t.Errorf("the caller hears: %v", err)
	}
}
