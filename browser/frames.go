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

// errFrameTooLarge ends a connection whose client announces a message that is too large.
var errFrameTooLarge = errors.New("a frame announces a message that is too large")

// frameLimiter hijacks a WebSocket's connection, and ends it at the header of a frame larger than limit. The library would first receive as
// much of the message as its own limit allows.
type frameLimiter struct {
	http.ResponseWriter
	limit uint64       // bytes
	conn  *limitedConn // after Hijack
}

// Hijack satisfies http.Hijacker.
func (w *frameLimiter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // it is buffered
	c := &limitedConn{Conn: conn, in: io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), limit: w.limit}
	rw.Reader.Reset(c)
	rw.Writer.Reset(c) // its buffer is empty
	if system, ok := conn.(syscall.Conn); ok {
		c.raw, _ = system.SyscallConn() // nil after an error
	}
	w.conn = c
	return c, rw, nil
}

// limitedConn is a connection that parses the frames it receives (RFC 6455, 5.2).
type limitedConn struct {
	net.Conn
	in       io.Reader
	limit    uint64
	head     [10]byte // header of the current frame
	have     int      // bytes of head
	left     uint64   // bytes of the frame after head
	over     bool
	reported bool // the reader has got errFrameTooLarge

	raw     syscall.RawConn // for writes that do not block; nil: impossible
	writing sync.Mutex
	held    []byte // frames to be written first

	traffic *clientTraffic // counts what is sent; nil: nothing does
}

// together is how many bytes of messages are combined into one write.
const together = 64 << 10

// portion is how many bytes of a large message are written at once, to notice whether the client reads.
const portion = 256 << 10

// Write satisfies net.Conn.
func (c *limitedConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// flush writes held. The caller holds the lock.
func (c *limitedConn) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	return err
}

// send writes the messages of q, and combines small ones.
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
		c.traffic.sent(len(large))
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

// trySend writes the messages of q without blocking, and reports whether that was all. Another writer takes over the rest.
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

// gather adds frames of small messages of q to held.
func (c *limitedConn) gather(q *queue) {
	for {
		msg, _ := q.popBelow(together - len(c.held))
		if msg == nil {
			return
		}
		c.traffic.sent(len(msg))
		c.held = append(appendHead(c.held, len(msg)), msg...)
	}
}

// appendHead appends the header of a text message in one frame (RFC 6455, 5.2).
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
	case c.over && c.reported: // drain and drop: a disconnected sender would not get the close frame
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

// follow parses received bytes, and notes when a frame is too large. Its first bytes are still returned, the rest is not.
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

// frameSize returns the length of a frame's payload once its header is complete.
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
