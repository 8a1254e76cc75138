package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/coder/websocket"
)

// TestLimitedConn: frames of every size pass whole, however they are split, until one announces too much.
func TestLimitedConn(t *testing.T) {
	frame := func(head []byte, masked bool, payload int) []byte {
		if masked {
			head[1] |= 0x80
			head = append(head, 1, 2, 3, 4)
		}
		return append(head, bytes.Repeat([]byte{0xff}, payload)...)
	}
	good := bytes.Join([][]byte{
		frame([]byte{0x81, 0}, true, 0), frame([]byte{0x89, 5}, false, 5), frame([]byte{0x01, 126, 1, 0}, true, 256),
		frame([]byte{0x80, 127, 0, 0, 0, 0, 0, 1, 0, 0}, true, 1<<16), frame([]byte{0x82, 125}, true, 125)}, nil)
	for name, in := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader} {
		for _, head := range [][]byte{
			nil, {0x81, 127, 0, 0, 0, 0, 0, 1, 0, 1}, {0x01, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0},
			{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
			sent := bytes.Join([][]byte{good, head}, nil)
			all := io.Reader(bytes.NewReader(sent))
			if head != nil {
				all = io.MultiReader(all, strings.NewReader("more"))
			}
			var side net.Conn
			c := &limitedConn{Conn: side, in: in(all), limit: 1 << 16}
			got, err := io.ReadAll(c)
			if rest, err := c.Read(make([]byte, 100)); head != nil && (rest > 0 || !errors.Is(err, errFrameTooLarge)) {
				t.Errorf("%s, then % x: then %d bytes more, %v", name, head, rest, err)
			}
			if !bytes.Equal(got, sent) || errors.Is(err, errFrameTooLarge) != (head != nil) || head == nil && err != nil {
				t.Errorf("%s, then % x: %d bytes of %d, %v", name, head, len(got), len(sent), err)
			}
		}
	}
}

// TestFlush: messages to a client arrive whole and in order, even if its socket is full for a while and it pings in between. A message
// that the socket takes at once wakes nobody.
func TestFlush(t *testing.T) {
	const count, filling = 700, 600
	message := func(i int) []byte { // small ones fill the socket; then some that are sent alone
		limit := together / 2
		if i > filling {
			limit = 2 * together
		}
		return fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", i*i*7919%limit))
	}
	full, ended := make(chan struct{}), make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limited := &frameLimiter{ResponseWriter: w, limit: messageLimit}
		socket, err := websocket.Accept(limited, r, nil)
		if err != nil {
			ended <- err
			return
		}
		m := newMux(nil, slog.New(slog.DiscardHandler))
		c := newClient(m)
		c.outlet.Store(limited.conn)
		c.send([]byte("first"))
		m.flush()
		if woken := len(c.out.ready); runtime.GOOS != "windows" && woken != 0 {
			t.Error("a message that the socket took woke somebody")
		}
		go func() {
			for i := range count {
				c.send(message(i))
				if i%3 == 0 {
					m.flush()
				}
			}
			m.flush()
			close(full)
		}()
		(&gateway{}).pump(r.Context(), socket, limited.conn, c)
		ended <- nil
	}))
	defer s.Close()
	socket, _, err := websocket.Dial(t.Context(), s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	socket.SetReadLimit(-1)
	<-full // everything is sent, more than sockets hold, and nothing has been read
	go func() {
		for range 20 {
			if socket.Ping(t.Context()) != nil {
				return // answered or over: both end it
			}
		}
	}()
	for i := -1; i < count; i++ {
		want := []byte("first")
		if i >= 0 {
			want = message(i)
		}
		if _, got, err := socket.Read(t.Context()); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("message %d: %d bytes of %d, %.40q, %v", i, len(got), len(want), got, err)
		}
	}
	if err := socket.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
