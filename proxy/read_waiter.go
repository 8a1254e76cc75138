package proxy

import (
	"net"
	"syscall"
)

// waiter tells when a connection has bytes to read, without holding a buffer or a pipe meanwhile: an idle tunnel costs
// two descriptors and no memory beyond its connections. (io.Copy would hold two pipes, four more descriptors, for as
// long as it waits.)
type readWaiter struct {
	raw      syscall.RawConn // nil: nothing to ask, a read has to block
	ready    func(fd uintptr) bool
	minBytes int // when not 0: what is worth being told of without a wait
	polls    int // how often, in one wait
	n        int
	err      error
}

func newReadWaiter(c net.Conn) (*readWaiter, error) {
	w := &readWaiter{}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return w, nil
	}
	var err error
	w.raw, err = tcp.SyscallConn()
	w.ready = w.poll
	return w, err
}

// wait returns how many bytes can be read at least; 0 means that it is not known and that a read tells. io.EOF means
// that the other side has ended.
func (w *readWaiter) wait() (int, error) {
	if w.raw == nil {
		return 0, nil
	}
	w.n, w.polls, w.err = 0, 0, nil
	if err := w.raw.Read(w.ready); err != nil {
		return 0, err
	}
	return w.n, w.err
}
