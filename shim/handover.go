package shim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"syscall"
)

// Hands a client's connection over from the server to the run's process. The server has checked the request and need
// not copy bytes for as long as the socket is open. It keeps its end of the connection and a control connection to
// the run's process. It closes both when the client's permission ends.

// handedOver is a connection that the server has handed over. The bytes that the server has read and rewritten come
// first.
type handedOver struct {
	net.Conn
	prefix  *bytes.Reader
	control net.Conn // to the server; when one of the two ends, the other is closed
	once    sync.Once
}

// Read implements net.Conn.
func (c *handedOver) Read(p []byte) (int, error) {
	if c.prefix.Len() > 0 {
		return c.prefix.Read(p)
	}
	return c.Conn.Read(p)
}

// SyscallConn implements syscall.Conn.
func (c *handedOver) SyscallConn() (syscall.RawConn, error) {
	system, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return system.SyscallConn()
}

// Close implements net.Conn.
func (c *handedOver) Close() (err error) {
	c.once.Do(func() {
		err = c.Conn.Close()
		c.control.Close() //nolint:errcheck // the server sees the end either way
	})
	return err
}

// guard closes the connection when the server closes its control connection, or has died.
func (c *handedOver) guard() {
	io.Copy(io.Discard, c.control) //nolint:errcheck // only its end matters
	c.Close()                      //nolint:errcheck // the connection may have ended by itself
}

// serveHandovers serves the connections that are handed over until l is closed. Each connection serves one request: a
// second one would reach the run's process unchecked.
func (p *process) serveHandovers(l net.Listener) {
	mux := http.NewServeMux()
	p.handleClients(mux)
	serveHandedOver(l, p.awake(mux), p.errorLog())
}

func serveHandedOver(l net.Listener, next http.Handler, errorLog *log.Logger) {
	taken := &handoverListener{Listener: l, ready: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{ReadHeaderTimeout: handoverTimeout, ErrorLog: errorLog,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id")) // as on every answer of the server
			w.Header().Set("X-Content-Type-Options", "nosniff")
			next.ServeHTTP(w, r)
		})}
	s.SetKeepAlivesEnabled(false)
	go taken.accept()
	s.Serve(taken) //nolint:errcheck // ends with the listener
}

// handoverListener is a net.Listener for the connections that another listener's connections carry.
type handoverListener struct {
	net.Listener
	ready  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *handoverListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// accept receives connections until the listener is closed.
func (l *handoverListener) accept() {
	defer l.once.Do(func() { close(l.closed) })
	for {
		line, err := l.Listener.Accept()
		if err != nil {
			return
		}
		go func() {
			c, err := receiveConn(line)
			if err != nil {
				line.Close() //nolint:errcheck // the server sees the end
				return
			}
			go c.guard()
			select {
			case l.ready <- c:
			case <-l.closed:
				c.Close() //nolint:errcheck // the listener is closed
			}
		}()
	}
}

// handOver passes the connection of a WebSocket upgrade to the run's process and returns when the connection has
// ended. It returns false, with nothing done, where that is impossible: over TLS, on Windows, and for the process of
// an older version.
func (c *Client) handOver(w http.ResponseWriter, r *http.Request, rewrite func(*httputil.ProxyRequest)) bool {
	if r.TLS != nil || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || r.ContentLength != 0 { // a body would not be read
		return false
	}
	line, err := dialHandover(r.Context(), handoverPath(c.dir, c.name))
	if err != nil {
		return false
	}
	defer line.Close()
	request, err := rewriteRequest(w, r, rewrite)
	if err != nil {
		return false
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // these bytes are buffered
	held, err := holdConn(conn)
	if err != nil {
		return true // the client sees its connection end
	}
	defer held.close()
	if sendConn(line, conn, append(request, early...)) != nil {
		return true // the same
	}
	closeDescriptor(conn)
	stop := context.AfterFunc(r.Context(), func() {
		held.shutdown()
		line.Close() //nolint:errcheck // it may have ended
	})
	defer stop()
	io.Copy(io.Discard, line) //nolint:errcheck // only its end matters
	return true
}

// closeDescriptor closes the descriptor of a connection that has another one. A server that counts its connections goes
// on counting this one until Close.
func closeDescriptor(conn net.Conn) {
	if counted, ok := conn.(interface{ CloseDescriptor() error }); ok {
		counted.CloseDescriptor() //nolint:errcheck // Close follows
		return
	}
	conn.Close() //nolint:errcheck // the run's process has the connection
}

// rewriteRequest returns the request as the run's process gets it.
func rewriteRequest(w http.ResponseWriter, r *http.Request, rewrite func(*httputil.ProxyRequest)) ([]byte, error) {
	out := r.Clone(r.Context())
	for _, names := range r.Header["Connection"] { // hop-by-hop headers (RFC 9110, 7.6.1)
		for name := range strings.SplitSeq(names, ",") {
			out.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
		"Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding"} {
		out.Header.Del(name)
	}
	out.Body, out.ContentLength = nil, 0
	rewrite(&httputil.ProxyRequest{In: r, Out: out})
	out.Header.Set("Connection", "Upgrade")
	out.Header.Set("Upgrade", "websocket")
	out.Header.Set("X-Request-Id", w.Header().Get("X-Request-Id"))
	var text bytes.Buffer
	err := out.Write(&text)
	return text.Bytes(), err
}
