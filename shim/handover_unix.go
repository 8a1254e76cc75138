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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// handTime is how long the handing over of a connection may take.
const handTime = 5 * time.Second

// maxFirst is how many bytes may come with a connection: a request's head has less (http.Server's MaxHeaderBytes), and what came early behind it too.
const maxFirst = 128 << 10

// takePath is the socket over which a run's process takes connections.
func takePath(dir, name string) string { return filepath.Join(dir, name+".take") }

// listenTake opens it.
func listenTake(dir, name string) (net.Listener, error) {
	return net.Listen("unix", takePath(dir, name))
}

func dialTake(ctx context.Context, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handTime)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// sendConn sends a connection's descriptor (unix(7), SCM_RIGHTS), and after four bytes of length what is to be read from it first.
func sendConn(line, conn net.Conn, first []byte) error {
	tcp, ok := conn.(syscall.Conn) // over TLS it is none, and does not come here
	if !ok || len(first) > maxFirst {
		return errors.New("this connection cannot be handed over")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	line.SetWriteDeadline(time.Now().Add(handTime))                                     //nolint:errcheck // without a deadline the write says it
	message := append(binary.BigEndian.AppendUint32(nil, uint32(len(first))), first...) //nolint:gosec // maxFirst at most
	var n int
	controlled := raw.Control(func(fd uintptr) {
		n, _, err = line.(*net.UnixConn).WriteMsgUnix(message, unix.UnixRights(int(fd)), nil)
	})
	if err = errors.Join(controlled, err); err != nil {
		return err
	}
	_, err = line.Write(message[n:])
	return err
}

// receiveConn takes one.
func receiveConn(line net.Conn) (*handedOver, error) {
	line.SetReadDeadline(time.Now().Add(handTime)) //nolint:errcheck // without a deadline the read says it
	message, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := line.(*net.UnixConn).ReadMsgUnix(message, rights)
	if err != nil {
		return nil, err
	}
	conn, err := connOf(rights[:got])
	if err != nil {
		return nil, err
	}
	first, err := readFirst(line, message[:n])
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	line.SetReadDeadline(time.Time{}) //nolint:errcheck // it had one
	return &handedOver{Conn: conn, first: bytes.NewReader(first), line: line}, nil
}

// readFirst gives the bytes that come with a connection; some are there already.
func readFirst(line io.Reader, there []byte) ([]byte, error) {
	in := io.MultiReader(bytes.NewReader(there), line)
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFirst {
		return nil, errors.New("too much comes with a connection")
	}
	first := make([]byte, size)
	_, err := io.ReadFull(in, first)
	return first, err
}

// connOf makes a connection of the one descriptor that came.
func connOf(rights []byte) (net.Conn, error) {
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
	defer file.Close() // net.FileConn has its own
	return net.FileConn(file)
}

// cutWith ends a connection that was handed over, at both ends, when ctx does (shutdown(2) is felt by who holds it).
func cutWith(ctx context.Context, conn, line net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		if tcp, ok := conn.(interface {
			CloseRead() error
			CloseWrite() error
		}); ok { // as the server holds it
			tcp.CloseRead()  //nolint:errcheck // it may have ended
			tcp.CloseWrite() //nolint:errcheck // as above
		}
		line.Close() //nolint:errcheck // as above
	})
}
