package browser

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// errFrameTooLarge ends a connection that announces more than it may send.
var errFrameTooLarge = errors.New("a frame announces a message that is too large")

// frameLimiter hands out a WebSocket's connection so that it ends where a frame begins that is larger than limit. The library counts what has
// come: it would take in all that its own limit allows, for a message that it cannot be.
type frameLimiter struct {
	http.ResponseWriter
	limit uint64       // bytes
	conn  *limitedConn // once it was handed out
}

// Hijack is http.Hijacker's.
func (w *frameLimiter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // it is there
	c := &limitedConn{Conn: conn, in: io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), limit: w.limit}
	rw.Reader.Reset(c)
	rw.Writer.Reset(c) // nothing waits in it
	if system, ok := conn.(syscall.Conn); ok {
		c.raw, _ = system.SyscallConn() // nil at an error
	}
	w.conn = c
	return c, rw, nil
}

// limitedConn follows the frames that come (RFC 6455, 5.2).
type limitedConn struct {
	net.Conn
	in       io.Reader
	limit    uint64
	head     [10]byte // of the frame that begins
	have     int      // of head
	left     uint64   // of the frame, behind head
	over     bool
	reported bool // the reader was

	raw     syscall.RawConn // to write without waiting; nil where that cannot be
	writing sync.Mutex
	held    []byte // frames that are to be written before anything else
}

// together is how many bytes of messages go to a client in one write.
const together = 64 << 10

// portion is how much of a large message goes to a client in one write, so that one sees whether it reads.
const portion = 256 << 10

// Write is net.Conn's.
func (c *limitedConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// flush writes what is held. The lock is.
func (c *limitedConn) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	return err
}

// send writes the messages that wait in q, those that fit together in one write.
func (c *limitedConn) send(q *queue) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for {
		c.gather(q)
		if len(c.held) > 0 {
			if err := c.flush(); err != nil {
				return err
			}
			continue
		}
		large := q.popUncounted()
		if large == nil {
			return nil
		}
		c.held = appendHead(c.held, len(large))
		if err := c.flush(); err != nil {
			return err
		}
		for rest := large; len(rest) > 0; {
			n, err := c.Conn.Write(rest[:min(len(rest), portion)])
			if err != nil {
				return err
			}
			rest = rest[n:]
			q.noteWritten(n)
		}
		q.uncount(len(large))
	}
}

// trySend writes what waits in q as far as the socket takes it at once, and reports whether that was all. Who else is writing has the rest to write.
func (c *limitedConn) trySend(q *queue) bool {
	if c.raw == nil || !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	if c.gather(q); len(c.held) > 0 {
		n := writeSome(c.raw, c.held)
		c.held = c.held[:copy(c.held, c.held[n:])]
	}
	return len(c.held) == 0 && q.isEmpty()
}

// gather takes messages out of q that fit together with what is held, and makes frames of them.
func (c *limitedConn) gather(q *queue) {
	for {
		msg, _ := q.popBelow(together - len(c.held))
		if msg == nil {
			return
		}
		c.held = append(appendHead(c.held, len(msg)), msg...)
	}
}

// appendHead appends what comes before a message of text in one frame (RFC 6455, 5.2).
func appendHead(b []byte, size int) []byte {
	const finalText = 0x81
	switch {
	case size < 126:
		return append(b, finalText, byte(size))
	case size <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, finalText, 126), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(b, finalText, 127), uint64(size)) //nolint:gosec // a length
}

func (c *limitedConn) Read(p []byte) (int, error) {
	switch {
	case c.over && c.reported: // what comes is taken in and dropped: to cut off who is sending would take our last word from them
		_, err := io.Copy(io.Discard, c.in)
		return 0, errors.Join(errFrameTooLarge, err)
	case c.over:
		c.reported = true
		return 0, errFrameTooLarge
	}
	n, err := c.in.Read(p)
	c.follow(p[:n])
	return n, err
}

// follow notes how far the frames are, and whether one is too large: what came with its beginning is read still, and nothing after.
func (c *limitedConn) follow(b []byte) {
	for len(b) > 0 && !c.over {
		if c.left > 0 {
			n := min(c.left, uint64(len(b)))
			c.left -= n
			b = b[n:]
			continue
		}
		c.head[c.have] = b[0]
		c.have++
		b = b[1:]
		size, known := frameSize(c.head[:c.have])
		if !known {
			continue
		}
		if c.over = size > c.limit; !c.over && c.head[1]&0x80 != 0 {
			size += 4 // the mask
		}
		c.left, c.have = size, 0
	}
}

// frameSize is how long a frame's payload is, as soon as its beginning tells.
func frameSize(head []byte) (size uint64, known bool) {
	if len(head) < 2 {
		return 0, false
	}
	switch size := head[1] & 0x7f; {
	case size < 126:
		return uint64(size), true
	case size == 126 && len(head) == 4:
		return uint64(binary.BigEndian.Uint16(head[2:])), true
	case size == 127 && len(head) == 10:
		return binary.BigEndian.Uint64(head[2:]), true
	}
	return 0, false
}
