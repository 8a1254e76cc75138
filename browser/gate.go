package browser

import (
	"net"
	"sync"
	"time"
)

// gate is a listener that lets nobody in before it is opened. Who comes earlier waits.
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

// Accept waits until the gate is open. It fails with net.ErrClosed when it will not be.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case <-g.opened:
		return g.Listener.Accept()
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// dropWait is how long drop waits for one more who came before.
const dropWait = 20 * time.Millisecond

// dropWaiting turns away who waits now. The gate is still closed.
func (g *gate) dropWaiting() {
	l, ok := g.Listener.(*net.TCPListener)
	if !ok {
		return
	}
	for range 1000 { // a page that comes back at once is not waited for for ever
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
