package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// messageLimit is the largest message of a client, in bytes. Chrome closes its end of the pipe at 100 MiB.
const messageLimit = 100<<20 - 4096

// flushTimeout is how long a client that has ended may take to read its remaining messages.
const flushTimeout = 5 * time.Second

// browserSocket serves /devtools/browser/{id}, and "/".
func (g *gateway) browserSocket(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); id != "" && id != g.id {
		http.Error(w, "No such browser id: "+id, http.StatusNotFound)
		return
	}
	g.serve(w, r, func(ctx context.Context, m *mux) (*client, error) { return m.attachClient(ctx) })
}

// pageSocket serves /devtools/page/{id}.
func (g *gateway) pageSocket(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	g.serve(w, r, func(ctx context.Context, m *mux) (*client, error) {
		c, err := m.attachPageClient(ctx, id)
		if _, refused := errors.AsType[*ProtocolError](err); refused {
			return nil, &httpError{http.StatusNotFound, "No such target id: " + id}
		}
		return c, err
	})
}

// serve connects a socket to a new client of the multiplexer until either ends.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request, attach func(context.Context, *mux) (*client, error)) {
	if !IsUpgrade(w, r, "this is a WebSocket: connect a DevTools client to it, or see /json/version") {
		return
	}
	m, err := g.b.running()
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), queryTimeout)
	c, err := attach(ctx, m)
	cancel()
	if err != nil {
		writeError(w, err)
		return
	}
	defer c.close()
	files := r.Header.Get(FilesHeader) != ""
	c.guard, c.ownFolders = g.guard().forClient(files), files && !m.downloads.ownFolderOnly
	limited := &frameLimiter{ResponseWriter: w, limit: messageLimit}
	socket, err := AcceptSocket(limited, r, "warren.cdp", messageLimit)
	if err != nil {
		return // it is answered
	}
	limited.conn.traffic = &g.traffic
	g.clients.Add(1)
	defer g.clients.Add(-1)
	g.pump(r.Context(), socket, limited.conn, c)
}

// IsUpgrade reports whether a request asks for a WebSocket (RFC 6455). It answers any other one with 426 and hint.
func IsUpgrade(w http.ResponseWriter, r *http.Request, hint string) bool {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return true
	}
	w.Header().Set("Upgrade", "websocket")
	http.Error(w, hint, http.StatusUpgradeRequired)
	return false
}

// AcceptSocket upgrades a request to a WebSocket whose messages may have limit bytes. SameOrigin must have checked the request. It offers a
// subprotocol because web pages send their ticket as another one, and fail unless one of theirs is accepted. It answers failed requests.
func AcceptSocket(w http.ResponseWriter, r *http.Request, subprotocol string, limit int64) (*websocket.Conn, error) {
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // SameOrigin has checked the Origin against the address that the client used
		CompressionMode:    websocket.CompressionDisabled,
		Subprotocols:       []string{subprotocol},
	})
	if err == nil {
		socket.SetReadLimit(limit)
	}
	return socket, err
}

// pump moves messages in both directions until the client or the socket ends. Then it closes the socket with the reason.
func (g *gateway) pump(ctx context.Context, socket *websocket.Conn, conn *limitedConn, c *client) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })() // interrupts a blocked send
	c.outlet.Store(conn)
	c.out.signal() // messages may have arrived before
	read := make(chan struct{})
	go func() { defer close(read); g.receiveFrom(ctx, socket, c) }()
	stop := make(chan struct{})
	defer close(stop)
	go func() { limitFlush(c, cancel, stop) }()

	var why error
	for why == nil {
		why = deliverTo(ctx, conn, c)
	}
	c.close()
	code, reason := g.closeReason(why)
	if code == 0 {
		_ = socket.CloseNow()
	} else {
		_ = socket.Close(code, reason)
	}
	cancel()
	<-read
}

// deliverTo waits for a signal and writes all queued messages. It fails with the reason why the client ended, with the socket's error, or
// with ctx's.
func deliverTo(ctx context.Context, conn *limitedConn, c *client) error {
	ended := c.out.await(ctx)
	if err := conn.send(c.out); err != nil {
		return err
	}
	if errors.Is(ended, errQueueClosed) {
		return c.reason()
	}
	return ended
}

// receiveFrom passes the client's messages to the multiplexer.
func (g *gateway) receiveFrom(ctx context.Context, socket *websocket.Conn, c *client) {
	defer c.close()
	for {
		_, msg, err := socket.Read(ctx)
		if errors.Is(err, errFrameTooLarge) {
			_ = socket.Close(websocket.StatusMessageTooBig, err.Error())
		}
		if err == nil {
			g.traffic.received(len(msg))
		}
		if err != nil || c.submit(ctx, msg) != nil {
			return
		}
	}
}

// limitFlush interrupts the last writes to a client that has ended: at once if it has stopped reading, else after flushTimeout.
func limitFlush(c *client, cancel func(), stop <-chan struct{}) {
	select {
	case <-stop:
		return
	case <-c.done:
	}
	if errors.Is(c.reason(), errStalled) || errors.Is(c.reason(), errTooSlow) {
		cancel()
		return
	}
	select {
	case <-stop:
	case <-time.After(flushTimeout):
		cancel()
	}
}

// closeReason returns the status and reason for closing the socket; 0: it is cut without a close frame.
func (g *gateway) closeReason(why error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(why, errPipeEnded):
		select {
		case <-g.b.done:
			return websocket.StatusGoingAway, fmt.Sprintf("the browser %v", g.b.Exit())
		case <-time.After(time.Second):
			return websocket.StatusGoingAway, "the browser has gone"
		}
	case errors.Is(why, errSessionGone):
		return websocket.StatusNormalClosure, "the page has gone"
	case errors.Is(why, errClosedByClient):
		return websocket.StatusNormalClosure, ""
	}
	return 0, ""
}
