package browser

import (
	"net"
	"sync"
	"time"
)

// gate is a listener that accepts nothing before it is opened. Earlier connections wait.
type gate struct {
	net.Listener
	opened, closed chan struct{}
	open, shut     func()
}

func newGate(l net.Listener) *gate {
	g := &gate{Listener: l, opened: make(chan struct{}), closed: make(chan struct{})}
	g.open, g.shut = sync.OnceFunc(func() { close(g.opened) }), sync.OnceFunc(func() { close(g.closed) })
	return g
}

// Accept waits until the gate is open. It fails with net.ErrClosed if the gate was closed instead.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case <-g.opened:
		return g.Listener.Accept()
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// dropWait is how long dropWaiting waits for another connection.
const dropWait = 20 * time.Millisecond

// dropWaiting closes the connections that wait now. The gate must not be open.
func (g *gate) dropWaiting() {
	l, ok := g.Listener.(*net.TCPListener)
	if !ok {
		return
	}
	for range 1000 { // bounded, since a page may reconnect at once
		if l.SetDeadline(time.Now().Add(dropWait)) != nil {
			return
		}
		c, err := l.Accept()
		if err != nil {
			break
		}
		c.Close()
	}
	_ = l.SetDeadline(time.Time{})
}

func (g *gate) Close() error {
	g.shut()
	return g.Listener.Close()
}
