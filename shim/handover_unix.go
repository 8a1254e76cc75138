//go:build unix

package shim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// handoverTimeout bounds the handing over of a connection.
const handoverTimeout = 5 * time.Second

// maxPrefix bounds the bytes that come with a connection: a request's header, which the server's MaxHeaderBytes
// limits to less, and what the client sent early.
const maxPrefix = 128 << 10

// handoverPath is the socket over which a run's process receives connections.
func handoverPath(dir, name string) string { return filepath.Join(dir, name+".take") }

// listenHandover listens on that socket.
func listenHandover(dir, name string) (net.Listener, error) {
	return net.Listen("unix", handoverPath(dir, name))
}

func dialHandover(ctx context.Context, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handoverTimeout)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// sendConn sends a connection's descriptor (unix(7), SCM_RIGHTS). Four bytes of length and the bytes to read first
// follow.
func sendConn(control, conn net.Conn, prefix []byte) error {
	tcp, ok := conn.(syscall.Conn) // a TLS connection has no descriptor of its own
	if !ok || len(prefix) > maxPrefix {
		return errors.New("this connection cannot be handed over")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	control.SetWriteDeadline(time.Now().Add(handoverTimeout))                             //nolint:errcheck // then the write fails
	message := append(binary.BigEndian.AppendUint32(nil, uint32(len(prefix))), prefix...) //nolint:gosec // maxPrefix at most
	var n int
	controlled := raw.Control(func(fd uintptr) {
		n, _, err = control.(*net.UnixConn).WriteMsgUnix(message, unix.UnixRights(int(fd)), nil)
	})
	if err = errors.Join(controlled, err); err != nil {
		return err
	}
	_, err = control.Write(message[n:])
	return err
}

// receiveConn receives a connection and its first bytes.
func receiveConn(control net.Conn) (*handedOver, error) {
	control.SetReadDeadline(time.Now().Add(handoverTimeout)) //nolint:errcheck // then the read fails
	message, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := control.(*net.UnixConn).ReadMsgUnix(message, rights)
	if err != nil {
		return nil, err
	}
	conn, err := connFromRights(rights[:got])
	if err != nil {
		return nil, err
	}
	prefix, err := readPrefix(control, message[:n])
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	control.SetReadDeadline(time.Time{}) //nolint:errcheck // the deadline was set above
	return &handedOver{Conn: conn, prefix: bytes.NewReader(prefix), control: control}, nil
}

// readPrefix reads the bytes that come with a connection. there holds those that were received with the descriptor.
func readPrefix(line io.Reader, there []byte) ([]byte, error) {
	in := io.MultiReader(bytes.NewReader(there), line)
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxPrefix {
		return nil, errors.New("too much comes with a connection")
	}
	prefix := make([]byte, size)
	_, err := io.ReadFull(in, prefix)
	return prefix, err
}

// connFromRights returns the connection of the one descriptor that was received.
func connFromRights(rights []byte) (net.Conn, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no connection came"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(err, errors.New("no connection came"))
	}
	unix.CloseOnExec(fds[0])
	file := os.NewFile(uintptr(fds[0]), "handed over")
	defer file.Close() // net.FileConn duplicates the descriptor
	return net.FileConn(file)
}

// heldConn is a further descriptor of a connection that was handed over, to end it. This process' poller does not know
// it. A connection that is registered wakes the poller for each message between the client and the run (epoll(7)).
type heldConn struct {
	mu sync.Mutex
	fd int // -1: closed
}

// holdConn makes a further descriptor of a connection.
func holdConn(conn net.Conn) (*heldConn, error) {
	tcp, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("this connection has no descriptor")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	held := &heldConn{fd: -1}
	controlled := raw.Control(func(fd uintptr) { held.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return held, errors.Join(controlled, err)
}

// shutdown ends the connection for every process that has it (shutdown(2)).
func (h *heldConn) shutdown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd >= 0 {
		unix.Shutdown(h.fd, unix.SHUT_RDWR) //nolint:errcheck // the connection may have ended
	}
}

// close closes this descriptor. The connection goes on where it was handed to.
func (h *heldConn) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	unix.Close(h.fd) //nolint:errcheck // nothing was written to it
	h.fd = -1
}
