package testnet

import (
	"bufio"
	"crypto/tls"
	_ "embed"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// connListener is a listener for connections that other listeners have accepted.
type connListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (h *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *connListener) Close() error   { h.once.Do(func() { close(h.closed) }); return nil }
func (h *connListener) Addr() net.Addr { return &net.TCPAddr{} }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// answer serves a connection: TLS and web sites are served, other protocols are recorded and discarded.
func (w *World) answer(c net.Conn) {
	in := bufio.NewReader(c)
	c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // a failed connection is closed
	first, err := in.Peek(1)
	if err != nil {
		c.Close()
		return
	}
	switch b := first[0]; {
	case b == 0x16: // a TLS handshake
		config := w.tls.Clone()
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			w.annotate(c.RemoteAddr(), "TLS "+hello.ServerName)
			return nil, nil
		}
		secure := tls.Server(peeked{c, in}, config)
		if secure.Handshake() != nil {
			c.Close()
			return
		}
		w.serveWeb(secure)
	case b >= 'A' && b <= 'Z':
		w.serveWeb(peeked{c, in})
	default:
		kind := "bytes"
		if b == 0 || b == 1 {
			kind = "STUN"
		}
		w.annotate(c.RemoteAddr(), kind+" over TCP")
		io.Copy(io.Discard, in) //nolint:errcheck // the connection ends either way
		c.Close()
	}
}

// serveWeb passes a connection to the web server, and returns when the server has closed it.
func (w *World) serveWeb(c net.Conn) {
	c.SetReadDeadline(time.Time{}) //nolint:errcheck // as above
	done := make(chan struct{})
	select {
	case w.conns.conns <- &closeNotifier{Conn: c, done: done}:
		<-done
	case <-w.conns.closed:
		c.Close()
	}
}

// peeked is a connection whose first bytes are buffered.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// closeNotifier is a connection whose close can be awaited.
type closeNotifier struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

func (c *closeNotifier) Close() error {
	c.once.Do(func() { close(c.done) })
	return c.Conn.Close()
}

//go:embed page.html
var page string

// ServeHTTP serves every site of the world. /leak is a page that tries every way out; /redirect redirects; other
// paths answer with a word.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	w.mu.Lock()
	w.visits = append(w.visits, Visit{time.Now(), r.Method, r.Host, r.URL.RequestURI(), string(body)})
	w.notify()
	w.mu.Unlock()
	w.annotate(&netAddr{r.RemoteAddr}, fmt.Sprintf("%s %s%s", r.Method, r.Host, r.URL.Path))
	rw.Header().Set("Access-Control-Allow-Origin", "*")
	rw.Header().Set("Access-Control-Allow-Private-Network", "true")
	rw.Header().Set("Cache-Control", "no-store")
	rw.Header().Set("Alt-Svc", `h3=":443"; ma=86400`)
	switch r.URL.Path {
	case "/leak":
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(rw, page) //nolint:errcheck // the visitor may be gone
	case "/redirect":
		http.Redirect(rw, r, r.FormValue("to"), http.StatusFound)
	case "/events":
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, "data: hello\n\n") //nolint:errcheck // as above
	case "/ws":
		if c, err := websocket.Accept(rw, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
			c.Write(r.Context(), websocket.MessageText, []byte("hello")) //nolint:errcheck // as above
			c.Close(websocket.StatusNormalClosure, "")                   //nolint:errcheck // as above
		}
	case "/sw.js":
		rw.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(rw, "fetch('https://worker-%s/').catch(()=>{})", r.URL.RawQuery)
	case "/favicon.ico":
		http.NotFound(rw, r)
	case "/ip":
		io.WriteString(rw, `{"ip":"198.51.100.1"}`) //nolint:errcheck // as above
	default:
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<!doctype html><title>world</title>here") //nolint:errcheck // as above
	}
}

type netAddr struct{ text string }

func (a *netAddr) Network() string { return "tcp" }
func (a *netAddr) String() string  { return a.text }

// Visits returns the requests that ok selects.
func (w *World) Visits(ok func(Visit) bool) (out []Visit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.visits {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}

// AwaitVisit waits for a request whose path has this prefix.
func (w *World) AwaitVisit(path string, limit time.Duration) (v Visit, ok bool) {
	ok = w.Await(limit, func() bool {
		found := w.Visits(func(v Visit) bool { return strings.HasPrefix(v.Path, path) })
		if len(found) > 0 {
			v = found[0]
		}
		return len(found) > 0
	})
	return v, ok
}

// stun answers a binding request with the sender's address (RFC 8489, 6 and 14.2).
func stun(from netip.AddrPort, in []byte) []byte {
	if !isSTUN(in) || in[0] != 0 || in[1] != 1 {
		return nil
	}
	addr := from.Addr().Unmap()
	family, size := byte(1), 8
	if addr.Is6() {
		family, size = 2, 20
	}
	out := append([]byte{1, 1, 0, byte(size + 4)}, in[4:20]...)
	out = append(out, 0, 0x20, 0, byte(size), 0, family, byte(from.Port()>>8)^in[4], byte(from.Port())^in[5])
	for i, b := range addr.AsSlice() {
		out = append(out, b^in[4+i])
	}
	return out
}

func isSTUN(b []byte) bool {
	return len(b) >= 20 && slices.Equal(b[4:8], []byte{0x21, 0x12, 0xa4, 0x42})
}
