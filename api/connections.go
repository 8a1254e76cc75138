package api

import (
	linked "container/list"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits open connections, so that many clients cannot take all descriptors from the database and the runs. At the limit a new
// connection replaces an idle one: first one that never sent a request, then one between requests. If all are busy, it waits. A
// connection whose peer reads nothing of an answer for a minute is closed, else it would stay busy for ever.

// firstRequestTime is how long a new connection is spared if another one is idle.
const firstRequestTime = time.Second

// writePieceTime is how long an answer waits for its peer to read a piece of writePiece bytes.
const (
	writePieceTime = time.Minute
	writePiece     = 64 << 10
)

// limitListener is a net.Listener with a limit of open connections. Its connState must be http.Server.ConnState.
type limitListener struct {
	net.Listener
	max       int
	pieceTime time.Duration
	log       *slog.Logger

	freed     chan struct{} // has a token when a connection may be accepted
	closed    chan struct{}
	closeOnce sync.Once

	mu     sync.Mutex
	open   int
	unused *linked.List // of *limitedConn without a request yet, oldest first
	idle   *linked.List // of *limitedConn between requests, longest idle first
	warned time.Time    // time of the last warning
}

// limitedConn is a connection of a limitListener.
type limitedConn struct {
	*net.TCPConn
	listener    *limitListener
	since       time.Time
	list        *linked.List    // listener.unused, listener.idle, or nil while busy
	element     *linked.Element // in list
	closed      bool
	descriptors int    // descriptors in use, for the limit
	early       []byte // bytes that were read before Read

	writing               sync.Mutex // guards the fields below and the order of write deadlines
	ownDeadline, hijacked bool       // the handler has set a write deadline; the connection was hijacked
}

// newLimitListener returns a listener for at most limit connections; 0 is any number.
func newLimitListener(l net.Listener, limit int, log *slog.Logger) *limitListener {
	if limit <= 0 {
		limit = math.MaxInt
	}
	return &limitListener{Listener: l, max: limit, pieceTime: writePieceTime, log: log, freed: make(chan struct{}, 1),
		closed: make(chan struct{}), unused: linked.New(), idle: linked.New()}
}

// Accept implements net.Listener. It waits while all connections are busy.
func (g *limitListener) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	tcp, ok := c.(*net.TCPConn)
	if err != nil || !ok {
		return c, err
	}
	for {
		in, victim := g.register(tcp)
		switch {
		case in != nil:
			return in, nil
		case victim != nil:
			victim.Close() //nolint:errcheck // the peer may have closed it
			continue
		}
		select {
		case <-g.freed:
		case <-g.closed:
			tcp.Close() //nolint:errcheck // it is not served
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (g *limitListener) Close() error {
	g.closeOnce.Do(func() { close(g.closed) })
	return g.Listener.Close()
}

// closeUnused closes the connections on which no request has come. Browsers open some in advance.
func (g *limitListener) closeUnused() {
	g.mu.Lock()
	var all []*limitedConn
	for e := g.unused.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*limitedConn))
	}
	g.mu.Unlock()
	for _, c := range all {
		c.Close() //nolint:errcheck // the peer may have closed it
	}
}

// register counts a new connection if the limit allows it. Otherwise victim is an idle connection to close, or nil when all are
// busy.
func (g *limitListener) register(c *net.TCPConn) (in, victim *limitedConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.open < g.max {
		g.open++
		in = &limitedConn{TCPConn: c, listener: g, since: now, descriptors: 1}
		in.moveTo(g.unused)
		return in, nil
	}
	if now.Sub(g.warned) > time.Minute {
		g.warned = now
		g.log.Warn("connection limit reached; idle connections are closed for new ones",
			"connections", g.open, "idle", g.idle.Len()+g.unused.Len())
	}
	first := func(l *linked.List) *limitedConn {
		if l.Len() == 0 {
			return nil
		}
		return l.Front().Value.(*limitedConn)
	}
	victim = first(g.unused)
	if other := first(g.idle); victim == nil || now.Sub(victim.since) < firstRequestTime && other != nil {
		victim = other
	}
	if victim != nil {
		victim.moveTo(nil)
	}
	return nil, victim
}

// moveTo puts the connection at the end of a list, or in none. The caller holds the listener's mu.
func (c *limitedConn) moveTo(to *linked.List) {
	if c.list != nil {
		c.list.Remove(c.element)
	}
	if c.list = to; to != nil {
		c.element = to.PushBack(c)
	}
}

// connState implements http.Server.ConnState.
func (g *limitListener) connState(conn net.Conn, state http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateHijacked: // it is passed to a run's process through one more descriptor
		if !c.closed {
			c.descriptors++
			g.open++
		}
		c.clearDeadline()
		fallthrough
	case http.StateActive:
		c.moveTo(nil)
	case http.StateIdle:
		c.SetWriteDeadline(time.Time{}) //nolint:errcheck // clears the deadline of the last answer
		if !c.closed {
			c.moveTo(g.idle)
		}
		g.signal()
	}
}

// Read implements net.Conn.
func (c *limitedConn) Read(b []byte) (int, error) {
	if len(c.early) > 0 && len(b) > 0 {
		n := copy(b, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.TCPConn.Read(b)
}

// Write implements net.Conn. It fails if the peer reads nothing for writePieceTime, unless the handler set a deadline of its own.
func (c *limitedConn) Write(b []byte) (n int, err error) {
	for {
		c.armDeadline()
		piece := b[n:min(n+writePiece, len(b))]
		wrote, err := c.TCPConn.Write(piece)
		if n += wrote; err != nil || n == len(b) {
			return n, err
		}
	}
}

// ReadFrom implements io.ReaderFrom, which sends files. It fails as Write does.
func (c *limitedConn) ReadFrom(r io.Reader) (n int64, err error) {
	whole, bounded := r.(*io.LimitedReader)
	if !bounded {
		whole = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	for whole.N > 0 {
		c.armDeadline()
		piece := &io.LimitedReader{R: whole.R, N: min(whole.N, writePiece)} // a LimitedReader of a file: the kernel sends it
		sent, err := c.TCPConn.ReadFrom(piece)
		n, whole.N = n+sent, whole.N-sent
		if err != nil || piece.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// armDeadline sets the deadline of the next piece.
func (c *limitedConn) armDeadline() {
	c.writing.Lock() // else it could replace a deadline that is set just now
	defer c.writing.Unlock()
	if !c.ownDeadline && !c.hijacked {
		c.TCPConn.SetWriteDeadline(time.Now().Add(c.listener.pieceTime)) //nolint:errcheck // the write reports the error
	}
}

// clearDeadline removes the deadline of a hijacked connection.
func (c *limitedConn) clearDeadline() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.hijacked = true
	c.TCPConn.SetWriteDeadline(time.Time{}) //nolint:errcheck // the peer may have closed it
}

// SetWriteDeadline implements net.Conn. While a handler's deadline is set, armDeadline sets none.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ownDeadline = !t.IsZero()
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *limitedConn) SetDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ownDeadline = !t.IsZero()
	return c.TCPConn.SetDeadline(t)
}

// CloseDescriptor closes the connection's descriptor, and keeps its place until Close: another descriptor of the
// connection is held instead.
func (c *limitedConn) CloseDescriptor() error { return c.TCPConn.Close() }

// Close implements net.Conn. It frees the connection's place.
func (c *limitedConn) Close() error {
	err := c.TCPConn.Close()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.moveTo(nil)
		c.listener.open -= c.descriptors
		c.listener.signal()
	}
	return err
}

// signal wakes Accept. It never blocks.
func (g *limitListener) signal() {
	select {
	case g.freed <- struct{}{}:
	default:
	}
}
