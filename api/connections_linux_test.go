package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStreamsOfKeys: each key has its own share, and one that has gone leaves its place.
func TestStreamsOfKeys(t *testing.T) {
	t.Parallel()
	s := newKeyQuota(5)
	if _, err := s.acquire("a"); err != nil {
		t.Fatal(err)
	}
	leave, err := s.acquire("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.acquire("a"); err == nil {
		t.Error("a third stream of five connections was let in")
	}
	if _, err := s.acquire("b"); err != nil {
		t.Errorf("another key: %v", err)
	}
	leave()
	if _, err := s.acquire("a"); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
}

// TestSocketsCountTwice: a connection that goes to a run's process takes two of the server's descriptors.
func TestSocketsCountTwice(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(inner, 4, slog.New(slog.DiscardHandler))
	counts := func(want int) {
		t.Helper()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open != want {
			t.Errorf("%d descriptors are counted, want %d", l.open, want)
		}
	}
	defer l.Close() //nolint:errcheck // nothing is left to do
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	counts(1)
	l.connState(c, http.StateHijacked)
	counts(2)
	c.(*limitedConn).CloseDescriptor() //nolint:errcheck // as above: another descriptor is held instead
	counts(2)
	c.Close() //nolint:errcheck // the test's own
	counts(0)
}

// TestAllConnectionsAtWork: where none is idle a new connection waits, and is answered when one has ended. What never sent a request goes
// before what waits for its next.
func TestAllConnectionsAtWork(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(inner, 3, slog.New(slog.DiscardHandler))
	atWork, done := make(chan struct{}), make(chan struct{})
	h := &http.Server{ConnState: l.connState, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			atWork <- struct{}{}
			<-done
		}
	})}
	go h.Serve(l)   //nolint:errcheck // ends with the listener
	defer h.Close() //nolint:errcheck // nothing is left to do
	send := func(path string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if path != "" {
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		}
		return c, bufio.NewReader(c)
	}
	answered := func(r *bufio.Reader) {
		t.Helper()
		res, err := http.ReadResponse(r, nil)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%v, %v", res, err)
		}
	}
	_, first := send("/work")
	<-atWork
	_, idle := send("/idle")
	answered(idle)
	send("")                   // waits for nothing yet
	_, second := send("/work") // takes the place of one of the two
	<-atWork
	_, third := send("/work") // and of the other
	<-atWork
	if _, err := idle.ReadByte(); err != io.EOF {
		t.Fatalf("the idle one is there still: %v", err)
	}
	waiting, fourth := send("/idle")
	waiting.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) //nolint:errcheck // a look, which cannot fail by load
	if _, err := fourth.Peek(1); !os.IsTimeout(err) {
		t.Fatalf("the fourth did not wait: %v", err)
	}
	waiting.SetReadDeadline(time.Time{}) //nolint:errcheck // as above
	done <- struct{}{}
	answered(fourth)
	close(done)
	for _, r := range []*bufio.Reader{first, second, third} {
		r.Peek(1) //nolint:errcheck // one of them may have had to go by now
	}
}

// TestUnreadAnswers: a connection whose peer takes nothing of its answer ends, be it written or sent from a file; one
// whose peer takes it gets all of it. A time that a handler has set itself holds.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	file := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/written", func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, size))
		ended <- err
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open(file)
		if err == nil {
			_, err = io.Copy(w, f)
			f.Close() //nolint:errcheck // it was read
		}
		ended <- err
	})
	mux.HandleFunc("/own", func(w http.ResponseWriter, _ *http.Request) {
		err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		if err == nil {
			_, err = w.Write(make([]byte, size))
		}
		ended <- err
	})
	serve := func(unread time.Duration) string {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := newLimitListener(inner, 100, slog.New(slog.DiscardHandler))
		l.pieceTime = unread
		h := &http.Server{Handler: mux, ConnState: l.connState}
		go h.Serve(l) //nolint:errcheck // it ends with the test
		t.Cleanup(func() { h.Close() })
		return l.Addr().String()
	}
	soon, never := serve(2*time.Second), serve(time.Hour)
	for _, x := range []struct {
		path, at string
		reads    bool
	}{{"/written", soon, false}, {"/file", soon, false}, {"/written", soon, true}, {"/file", soon, true}, {"/own", never, false}} {
		c, err := net.Dial("tcp", x.at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a.test\r\n\r\n", x.path)
		if !x.reads {
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s, which nobody reads: %v", x.path, err)
			}
			continue
		}
		n, err := io.Copy(io.Discard, io.LimitReader(c, size))
		if said := <-ended; n < size || err != nil || said != nil {
			t.Errorf("%s, which is read: %d bytes, %v, %v", x.path, n, err, said)
		}
	}
}
