package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// pipe is Chrome's DevTools connection (--remote-debugging-pipe): JSON messages, each with a NUL behind it, one file for each direction.
// It is also the lifeline: Chrome closes itself, cookies flushed, as soon as our ends are closed, also when the kernel closes them because we died.
type pipe struct {
	childR, childW *os.File // Chrome's ends: it reads commands from childR and writes to childW
	r, w           *os.File // ours
	in             *bufio.Reader
	writing        chan struct{}   // holds a token while somebody writes
	raw            syscall.RawConn // w, to write without waiting
	rest           []byte          // of a message that Chrome has the beginning of; whose the token is
}

// pipeBuffer is the reader's buffer: one read of a full pipe.
const pipeBuffer = 64 << 10

func newPipe() (*pipe, error) {
	p := &pipe{writing: make(chan struct{}, 1)}
	var err error
	if p.childR, p.w, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("make the command pipe: %w", err)
	}
	if p.r, p.childW, err = os.Pipe(); err != nil {
		p.closeChild()
		p.close()
		return nil, fmt.Errorf("make the answer pipe: %w", err)
	}
	p.in = bufio.NewReaderSize(p.r, pipeBuffer)
	if p.raw, err = p.w.SyscallConn(); err != nil {
		p.closeChild()
		p.close()
		return nil, fmt.Errorf("make the command pipe: %w", err)
	}
	return p, nil
}

// give hands Chrome's ends to cmd. closeChild must follow the start.
func (p *pipe) give(cmd *exec.Cmd) error { return givePipe(cmd, p) }

// more reports whether the next message has come already.
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

// pump writes what q holds to Chrome until q or the pipe ends.
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

// write writes what q holds now. Small messages that wait together go out in one write. The token is held.
func (p *pipe) write(q *queue, together *[]byte) error {
	if len(p.rest) > 0 {
		if _, err := p.w.Write(p.rest); err != nil {
			return err
		}
		p.rest = nil
	}
	for {
		*together = (*together)[:0]
		for msg, _ := q.popBelow(pipeBuffer); msg != nil; msg, _ = q.popBelow(pipeBuffer - len(*together)) {
			*together = append(*together, msg...)
		}
		now := *together
		if len(now) == 0 { // there is none, or it is large
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

// writeNow writes a message from the caller's own goroutine when nothing else is on its way and Chrome's end takes it at once: that wakes nobody. It
// reports whether the message is on its way. What the pipe takes only in part is left to pump: a caller that waited for Chrome here would not hear of
// its own end.
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

// closeAll closes what is there. An error of a pipe's close tells nothing that could be acted upon.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = io.Closer(f).Close()
		}
	}
}
