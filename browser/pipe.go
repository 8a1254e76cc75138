package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
)

// pipe is Chrome's DevTools connection (--remote-debugging-pipe): JSON messages that end with a NUL, one pipe for each direction. It is
// also the lifeline: when our ends are closed, Chrome flushes its cookies and exits. The kernel closes them when this process dies.
type pipe struct {
	childR, childW *os.File        // Chrome's ends: it reads commands from childR and writes to childW
	r, w           *os.File        // our ends
	answers        *answers        // what Chrome writes
	in             *bufio.Reader   // of answers
	writing        chan struct{}   // holds a token during a write
	raw            syscall.RawConn // of w, for writes that do not block
	rest           []byte          // the unwritten rest of a message; belongs to the holder of the token
	wake           func()          // called before each write, with the token: a frozen browser reads nothing
}

// pipeBuffer is the size of the reader's buffer: a full pipe.
const pipeBuffer = 64 << 10

func newPipe() (*pipe, error) {
	p := &pipe{writing: make(chan struct{}, 1), wake: func() {}}
	var err error
	if p.childR, p.w, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("make the command pipe: %w", err)
	}
	if p.r, p.childW, err = os.Pipe(); err != nil {
		p.closeChild()
		p.close()
		return nil, fmt.Errorf("make the answer pipe: %w", err)
	}
	if p.answers, err = newAnswers(p.r); err == nil {
		p.raw, err = p.w.SyscallConn()
	}
	if err != nil {
		p.closeChild()
		p.close()
		return nil, fmt.Errorf("make the command pipe: %w", err)
	}
	p.in = bufio.NewReaderSize(p.answers, pipeBuffer)
	return p, nil
}

// more reports whether the next message has been received completely.
func (p *pipe) more() bool {
	there, _ := p.in.Peek(p.in.Buffered())
	return bytes.IndexByte(there, 0) >= 0
}

// read returns the next message without its NUL. The caller owns the memory.
func (p *pipe) read() ([]byte, error) {
	msg, err := p.in.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	return msg[:len(msg)-1], nil
}

// pump writes the messages of q to Chrome until q or the pipe ends.
func (p *pipe) pump(q *queue) error {
	var together []byte
	for {
		ended := q.await(context.Background())
		p.writing <- struct{}{}
		err := p.write(q, &together)
		<-p.writing
		if err != nil || ended != nil {
			return err
		}
	}
}

// write writes the messages that q holds now. Small messages are combined into one write. The caller holds the token.
func (p *pipe) write(q *queue, batch *[]byte) error {
	if len(p.rest) > 0 || !q.isEmpty() {
		p.wake()
	}
	if len(p.rest) > 0 {
		if _, err := p.w.Write(p.rest); err != nil {
			return err
		}
		p.rest = nil
	}
	for {
		*batch = (*batch)[:0]
		for msg, _ := q.popBelow(pipeBuffer); msg != nil; msg, _ = q.popBelow(pipeBuffer - len(*batch)) {
			*batch = append(*batch, msg...)
		}
		now := *batch
		if len(now) == 0 { // q is empty, or the next message is large
			now, _ = q.pop()
		}
		if len(now) == 0 {
			return nil
		}
		if _, err := p.w.Write(now); err != nil {
			return err
		}
	}
}

// writeNow writes a message directly if nothing else waits and Chrome's end takes it without blocking, which saves waking pump. It reports
// whether the message was accepted. A rest is left to pump, since a caller that blocked here would not notice the end of its own
// connection.
func (p *pipe) writeNow(q *queue, msg []byte) bool {
	select {
	case p.writing <- struct{}{}:
	default:
		return false
	}
	defer func() { <-p.writing }()
	if len(p.rest) > 0 || !q.isEmpty() {
		return false
	}
	p.wake()
	n := writeSome(p.raw, msg)
	if n == 0 {
		return false
	}
	if n < len(msg) {
		p.rest = msg[n:]
		q.signal()
	}
	return true
}

func (p *pipe) closeChild() { closeAll(p.childR, p.childW) }
func (p *pipe) close()      { closeAll(p.r, p.w) }

// closeAll closes files. Nothing can be done about an error of closing a pipe.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = io.Closer(f).Close()
		}
	}
}
