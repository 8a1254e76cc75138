package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// pipe is Chrome's DevTools connection (--remote-debugging-pipe): JSON messages, each with a NUL behind it, one file for each direction.
// It is also the lifeline: Chrome closes itself, cookies flushed, as soon as our ends are closed, also when the kernel closes them because we died.
type pipe struct {
	childR, childW *os.File // Chrome's ends: it reads commands from childR and writes to childW
	r, w           *os.File // ours
	in             *bufio.Reader
}

// pipeBuffer is the reader's buffer: one read of a full pipe.
const pipeBuffer = 64 << 10

func newPipe() (*pipe, error) {
	p := new(pipe)
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
	return p, nil
}

// give hands Chrome's ends to cmd. closeChild must follow the start.
func (p *pipe) give(cmd *exec.Cmd) error { return givePipe(cmd, p) }

// read returns the next message without its NUL. The caller owns the memory.
func (p *pipe) read() ([]byte, error) {
	msg, err := p.in.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	return msg[:len(msg)-1], nil
}

// pump writes what q holds to Chrome until q or the pipe ends. Small messages that wait together go out in one write.
func (p *pipe) pump(q *queue) error {
	var together []byte
	for {
		msg, err := q.take(context.Background())
		if err != nil {
			return nil
		}
		for together = together[:0]; len(together)+len(msg) < pipeBuffer; {
			together = append(together, msg...)
			if msg, _ = q.pop(); msg == nil {
				break
			}
		}
		if _, err := p.w.Write(together); err != nil {
			return err
		}
		if msg == nil {
			continue
		}
		if _, err := p.w.Write(msg); err != nil { // it did not fit
			return err
		}
	}
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
