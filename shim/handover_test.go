//go:build unix

package shim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestHandOver: the run's process gets a client's connection with the request as the server has rewritten it. It
// answers one request on the connection and no other. The connection ends when its permission ends, when the process
// closes it, and when the client does.
func TestHandOver(t *testing.T) {
	dir, err := os.MkdirTemp("", "ws") // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := listenHandover(dir, "run")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	asked := make(chan *http.Request, 10)
	go func() {
		defer close(served)
		serveHandedOver(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r
			if r.URL.Path == "/live/refuse" {
				http.Error(w, "no", http.StatusNotFound)
				return
			}
			echo(t, w)
		}), log.New(io.Discard, "", 0))
	}()
	defer func() { l.Close(); <-served }()

	c := newClient(dir, "run", "")
	life, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "the-id")
		over := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }
		c.Live(Rights{Readonly: true}, "/way", over).ServeHTTP(w, r.WithContext(life))
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	const upgrade = "Connection: Upgrade, X-Warren-Readonly, X-Warren-Profile\r\nUpgrade: websocket\r\n" +
		"X-Warren-Readonly: 0\r\nX-Warren-Profile: x\r\nAuthorization: Bearer k\r\nCookie: c\r\n" +
		"X-Forwarded-For: 1.2.3.4\r\nSec-Websocket-Protocol: warren.live, warren.ticket.secret\r\n\r\n"

	first := dialRaw(t, address, "GET /way HTTP/1.1\r\nHost: h\r\n"+upgrade+"early\n")
	r := <-asked
	if got := r.Header; r.URL.Path != "/live/" || got.Get("X-Warren-Readonly") != "1" ||
		got.Get("X-Warren-Profile")+got.Get("Authorization")+got.Get("Cookie")+got.Get("X-Forwarded-For") != "" ||
		strings.Contains(got.Get("Sec-Websocket-Protocol"), "ticket") || got.Get("X-Request-Id") != "the-id" ||
		got.Get("Upgrade") != "websocket" {
		t.Errorf("the run got %s %v", r.URL, got)
	}
	first.wants(t, "HTTP/1.1 101", "heard early")
	fmt.Fprint(first, "late\n")
	first.wants(t, "heard late")
	second := dialRaw(t, address, "GET /way/more HTTP/1.1\r\nHost: h\r\n"+upgrade)
	if r := <-asked; r.URL.Path != "/live/more" {
		t.Errorf("the run got %s", r.URL)
	}
	second.wants(t, "HTTP/1.1 101")
	fmt.Fprint(second, "bye\n")
	second.ends(t)

	// A refused upgrade's connection serves nothing more.
	third := dialRaw(t, address, "GET /way/refuse HTTP/1.1\r\nHost: h\r\n"+upgrade+"GET /stop HTTP/1.1\r\nHost: h\r\n\r\n")
	third.wants(t, "HTTP/1.1 404", "X-Request-Id: the-id")
	third.ends(t)
	<-asked
	select {
	case r := <-asked:
		t.Errorf("the run got %s on a connection that had its answer", r.URL)
	default:
	}

	end() // the first client's permission ends
	first.ends(t)
}

// rawConn is a client that writes HTTP by hand.
type rawConn struct {
	net.Conn
	in *bufio.Reader
}

func dialRaw(t *testing.T, address, request string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(conn, request)
	return &rawConn{conn, bufio.NewReader(conn)}
}

// wants reads until lines with these prefixes have come, in this order.
func (c *rawConn) wants(t *testing.T, lines ...string) {
	t.Helper()
	for _, want := range lines {
		for {
			line, err := c.in.ReadString('\n')
			if err != nil {
				t.Fatalf("waiting for %q: %v", want, err)
			}
			if strings.HasPrefix(line, want) {
				break
			}
		}
	}
}

func (c *rawConn) ends(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c.in); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Fatalf("the connection does not end: %v", err)
	}
}

// echo answers an upgrade, and then each line with what it received.
func echo(t *testing.T, w http.ResponseWriter) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	for err == nil {
		rw.Flush()
		var line string
		if line, err = rw.ReadString('\n'); err == nil && line == "bye\n" {
			return
		}
		fmt.Fprintf(rw, "heard %s", line)
	}
}
