package shim

import (
	"bytes"
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

// This file hands clients' connections over to the run's process: the server has looked at the request, and need not stand between the two for as long as
// a socket is open. It keeps its own end of the connection and a line to the run's process, and cuts both when what let the client in is over.

// handedOver is a connection that the server has handed over: first come the bytes that the server has read and rewritten.
type handedOver struct {
	net.Conn
	first *bytes.Reader
	line  net.Conn // to the server: when it breaks the connection ends, and the other way round
	once  sync.Once
}

// Read is net.Conn's.
func (c *handedOver) Read(p []byte) (int, error) {
	if c.first.Len() > 0 {
		return c.first.Read(p)
	}
	return c.Conn.Read(p)
}

// SyscallConn is syscall.Conn's.
func (c *handedOver) SyscallConn() (syscall.RawConn, error) {
	system, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return system.SyscallConn()
}

// Close is net.Conn's.
func (c *handedOver) Close() (err error) {
	c.once.Do(func() {
		err = c.Conn.Close()
		c.line.Close() //nolint:errcheck // the server sees it either way
	})
	return err
}

// guard ends the connection when the server lets go of it, or is gone.
func (c *handedOver) guard() {
	io.Copy(io.Discard, c.line) //nolint:errcheck // its end is what is waited for
	c.Close()                   //nolint:errcheck // it may have ended by itself
}

// takeIn serves the connections that are handed over until l is closed. Each gets one request answered: the next one on it would come to a run's process
// without anybody having looked at it.
func (p *process) takeIn(l net.Listener) {
	mux := http.NewServeMux()
	p.handleClients(mux)
	serveTaken(l, mux, p.errorLog())
}

func serveTaken(l net.Listener, next http.Handler, errorLog *log.Logger) {
	taken := &handedListener{Listener: l, ready: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{ReadHeaderTimeout: handTime, ErrorLog: errorLog, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id")) // as on every answer of the server's
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})}
	s.SetKeepAlivesEnabled(false)
	go taken.accept()
	s.Serve(taken) //nolint:errcheck // ends with the listener
}

// handedListener is a net.Listener of connections that come over another.
type handedListener struct {
	net.Listener
	ready  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept is net.Listener's.
func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// accept takes connections in until the listener is closed.
func (l *handedListener) accept() {
	defer l.once.Do(func() { close(l.closed) })
	for {
		line, err := l.Listener.Accept()
		if err != nil {
			return
		}
		go func() {
			c, err := receiveConn(line)
			if err != nil {
				line.Close() //nolint:errcheck // the server sees it
				return
			}
			go c.guard()
			select {
			case l.ready <- c:
			case <-l.closed:
				c.Close() //nolint:errcheck // nobody serves it
			}
		}()
	}
}

// handOver gives an upgrade's connection to the run's process and returns when it has ended. It says false, with nothing done, where that cannot be: over
// TLS, on a system that hands no connections over, and to the process of an older version.
func (c *Client) handOver(w http.ResponseWriter, r *http.Request, rewrite func(*httputil.ProxyRequest)) bool {
	if r.TLS != nil || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || r.ContentLength != 0 { // nobody would read a body
		return false
	}
	line, err := dialTake(r.Context(), takePath(c.dir, c.name))
	if err != nil {
		return false
	}
	defer line.Close()
	request, err := rewritten(w, r, rewrite)
	if err != nil {
		return false
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return false
	}
	defer conn.Close()
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // it is there
	if sendConn(line, conn, append(request, early...)) != nil {
		return true // the client sees its connection end
	}
	stop := cutWith(r.Context(), conn, line)
	defer stop()
	io.Copy(io.Discard, line) //nolint:errcheck // its end is what is waited for
	return true
}

// rewritten is the request as the run's process gets it.
func rewritten(w http.ResponseWriter, r *http.Request, rewrite func(*httputil.ProxyRequest)) ([]byte, error) {
	out := r.Clone(r.Context())
	for _, names := range r.Header["Connection"] { // they are for this connection's ends alone (RFC 9110, 7.6.1)
		for name := range strings.SplitSeq(names, ",") {
			out.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding"} {
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
