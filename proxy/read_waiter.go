package proxy

import (
	"net"
	"syscall"
)

// readWaiter waits until a connection has bytes to read, without holding a buffer or a pipe. So an idle tunnel costs two descriptors and
// no memory beyond its connections. io.Copy would hold two pipes, four more descriptors, while it waits.
type readWaiter struct {
	raw      syscall.RawConn // nil when there is nothing to poll: a read has to block
	ready    func(fd uintptr) bool
	minBytes int // fewer bytes do not end the wait before it began; 0 means any
	polls    int // calls of poll in one wait
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

// wait returns at least how many bytes can be read; 0 means that this is unknown and a read tells. The error io.EOF is the end of
// the stream.
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
