package api

import (
	"crypto/tls"
	"net"
	"time"
)

// Answers TLS beside plain HTTP on one port. Other servers of the database always speak TLS, and clients of a server without a
// certificate do not.

// tlsHandshake is the first byte of a connection with TLS (RFC 8446, 5.1). No request begins with it.
const tlsHandshake = 0x16

// eitherListener is a net.Listener that answers TLS and plain HTTP. It waits for the first byte of each connection by itself, so that a
// slow client holds up no other. A plain connection stays the *limitedConn that it is, and one with TLS is a *tls.Conn.
type eitherListener struct {
	*limitListener
	tls     *tls.Config
	patient time.Duration // how long the first byte may take
	ready   chan net.Conn
	failed  chan error // of Accept
}

func newEitherListener(l *limitListener, cfg *tls.Config, patient time.Duration) *eitherListener {
	e := &eitherListener{limitListener: l, tls: cfg, patient: patient, ready: make(chan net.Conn), failed: make(chan error)}
	go e.acceptAll()
	return e
}

// Accept implements net.Listener.
func (e *eitherListener) Accept() (net.Conn, error) {
	select {
	case c := <-e.ready:
		return c, nil
	case err := <-e.failed:
		return nil, err
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// acceptAll accepts connections until the listener is closed. Accept returns its errors.
func (e *eitherListener) acceptAll() {
	for {
		c, err := e.limitListener.Accept()
		if err == nil {
			go e.look(c)
			continue
		}
		select {
		case e.failed <- err:
		case <-e.closed:
			return
		}
	}
}

// look reads the first byte of a connection, and passes the connection to Accept as what it is.
func (e *eitherListener) look(c net.Conn) {
	if limited, ok := c.(*limitedConn); ok {
		first := make([]byte, 1)
		limited.SetReadDeadline(time.Now().Add(e.patient)) //nolint:errcheck // the read reports the error
		if _, err := limited.Read(first); err != nil {
			c.Close() //nolint:errcheck // nobody has sent anything
			return
		}
		limited.SetReadDeadline(time.Time{}) //nolint:errcheck // the next read reports the error
		limited.early = first
		if first[0] == tlsHandshake {
			c = tls.Server(limited, e.tls)
		}
	}
	select {
	case e.ready <- c:
	case <-e.closed:
		c.Close() //nolint:errcheck // it is not served
	}
}
