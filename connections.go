package main

import (
	linked "container/list"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// This file bounds the connections that the server holds, so that whoever opens thousands takes no descriptor away from the database, the runs
// and those who work. At the bound a new connection takes the place of one that does nothing: of one that never sent a request first, then of one that
// waits for its next. While all are at work it waits. One whose peer takes nothing of an answer for a time is ended, or it would be at work for ever.

// maxConnections is how many connections the server holds: half of the descriptors it may have. 0: the system tells no limit.
func maxConnections() int { return openFiles() / 2 }

// settled is how long a connection may take to send its first request before others go before it.
const settled = time.Second

// unread is how long an answer waits for its peer to take some of it, in pieces of writePiece bytes.
const (
	unread     = time.Minute
	writePiece = 64 << 10
)

// gate is a listener that keeps the bound. Its connState must be the server's ConnState.
type gate struct {
	net.Listener
	most   int
	unread time.Duration
	log    *slog.Logger

	change chan struct{} // one waits in it when there may be room
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	open  int
	fresh *linked.List // of *guest, oldest first: no request yet
	idle  *linked.List // of *guest, longest idle first
	told  time.Time    // when the log was last told
}

// guest is a connection of a gate.
type guest struct {
	*net.TCPConn
	gate  *gate
	since time.Time
	in    *linked.List    // fresh, idle or nil: at work
	place *linked.Element // in it
	once  sync.Once
	gone  bool // it is closed
	holds int  // descriptors that it counts for

	writing      sync.Mutex // guards what follows, and the order of its deadlines
	timed, taken bool       // its handler has set a time for writing; it is no longer the server's
}

// newGate bounds l. Without a bound, or where l has other connections than TCP, it is l itself.
func newGate(l net.Listener, most int, log *slog.Logger) (net.Listener, func(net.Conn, http.ConnState)) {
	if most <= 0 {
		return l, nil
	}
	g := &gate{Listener: l, most: most, unread: unread, log: log, change: make(chan struct{}, 1), closed: make(chan struct{}), fresh: linked.New(), idle: linked.New()}
	return g, g.connState
}

// Accept is net.Listener's. It waits until there is room.
func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	tcp, ok := c.(*net.TCPConn)
	if err != nil || !ok {
		return c, err
	}
	for {
		in, victim := g.admit(tcp)
		switch {
		case in != nil:
			return in, nil
		case victim != nil:
			victim.Close() //nolint:errcheck // it may have gone by itself
			continue
		}
		select {
		case <-g.change:
		case <-g.closed:
			tcp.Close() //nolint:errcheck // nobody serves it
			return nil, net.ErrClosed
		}
	}
}

// Close is net.Listener's.
func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Listener.Close()
}

// admit takes a connection in when there is room, else it names one to close; neither when all are at work.
func (g *gate) admit(c *net.TCPConn) (in, victim *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.open < g.most {
		g.open++
		in = &guest{TCPConn: c, gate: g, since: now, holds: 1}
		in.move(g.fresh)
		return in, nil
	}
	if now.Sub(g.told) > time.Minute {
		g.told = now
		g.log.Warn("as many connections are open as this server holds; idle ones are closed for new ones", "connections", g.open, "idle", g.idle.Len()+g.fresh.Len())
	}
	first := func(l *linked.List) *guest {
		if l.Len() == 0 {
			return nil
		}
		return l.Front().Value.(*guest)
	}
	victim = first(g.fresh)
	if other := first(g.idle); victim == nil || now.Sub(victim.since) < settled && other != nil {
		victim = other
	}
	if victim != nil {
		victim.move(nil)
	}
	return nil, victim
}

// move puts a connection at the end of a list; g.mu is held.
func (c *guest) move(to *linked.List) {
	if c.in != nil {
		c.in.Remove(c.place)
	}
	if c.in = to; to != nil {
		c.place = to.PushBack(c)
	}
}

// connState is http.Server's ConnState.
func (g *gate) connState(conn net.Conn, state http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c, ok := conn.(*guest)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateHijacked: // it goes to a run's process, over a line which is a descriptor too
		if !c.gone {
			c.holds++
			g.open++
		}
		c.release()
		fallthrough
	case http.StateActive:
		c.move(nil)
	case http.StateIdle:
		c.SetWriteDeadline(time.Time{}) //nolint:errcheck // that of the last answer, if it had one
		if !c.gone {
			c.move(g.idle)
		}
		g.tell()
	}
}

// Write is net.Conn's. It fails when the peer takes nothing for a time, unless its handler has set one.
func (c *guest) Write(b []byte) (n int, err error) {
	for {
		c.expect()
		piece := b[n:min(n+writePiece, len(b))]
		wrote, err := c.TCPConn.Write(piece)
		if n += wrote; err != nil || n == len(b) {
			return n, err
		}
	}
}

// ReadFrom is io.ReaderFrom's, by which files are sent. It fails as Write does.
func (c *guest) ReadFrom(r io.Reader) (n int64, err error) {
	whole, bounded := r.(*io.LimitedReader)
	if !bounded {
		whole = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	for whole.N > 0 {
		c.expect()
		piece := &io.LimitedReader{R: whole.R, N: min(whole.N, writePiece)} // of a file alone: so the system sends it
		sent, err := c.TCPConn.ReadFrom(piece)
		n, whole.N = n+sent, whole.N-sent
		if err != nil || piece.N > 0 {
			return n, err
		}
	}
	return n, nil
}

// expect sets the time by which the peer must have taken the next piece.
func (c *guest) expect() {
	c.writing.Lock() // or it would undo a time that is set just now
	defer c.writing.Unlock()
	if !c.timed && !c.taken {
		c.TCPConn.SetWriteDeadline(time.Now().Add(c.gate.unread)) //nolint:errcheck // the write says what is wrong
	}
}

// release takes the time off a connection that is no longer the server's.
func (c *guest) release() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.taken = true
	c.TCPConn.SetWriteDeadline(time.Time{}) //nolint:errcheck // it may have gone
}

// SetWriteDeadline is net.Conn's: a handler that sets one has no other.
func (c *guest) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.timed = !t.IsZero()
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline is net.Conn's.
func (c *guest) SetDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.timed = !t.IsZero()
	return c.TCPConn.SetDeadline(t)
}

// Close is net.Conn's, and makes room.
func (c *guest) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(func() {
		c.gate.mu.Lock()
		defer c.gate.mu.Unlock()
		c.move(nil)
		c.gone = true
		c.gate.open -= c.holds
		c.gate.tell()
	})
	return err
}

func (g *gate) tell() {
	select {
	case g.change <- struct{}{}:
	default:
	}
}
