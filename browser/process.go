package browser

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// Exit says how the browser's main process ended.
type Exit struct {
	Code   int       // exit code, -1 after a signal
	Signal string    // name of the signal, "" for none
	Lines  []string  // the last lines of output, at most 20 and 4 KiB
	At     time.Time // when the exit was noticed
}

// String completes "the browser …".
func (e Exit) String() string {
	if e.Signal != "" {
		return "was ended by a signal (" + e.Signal + ")"
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

// process is Chrome's main process and its process group. One goroutine supervises it.
type process struct {
	cmd          *exec.Cmd // the command to run
	child        *exec.Cmd // the command that was started; in a namespace it is not cmd
	group        *group
	output       *tail
	groupTimeout time.Duration

	exited    chan struct{} // closed when the main process has exited and exit is set
	exit      Exit
	groupGone chan struct{} // closed when every process of the group has exited
}

// startProcess starts cmd in its isolation, as a process group of its own.
func startProcess(cmd *exec.Cmd, iso isolator, leave time.Duration) (*process, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the output pipe: %w", err)
	}
	defer in.Close()
	cmd.Stdout, cmd.Stderr = in, in
	prepareGroup(cmd)
	child, err := iso.start(cmd)
	if err != nil {
		out.Close()
		return nil, err
	}
	p := &process{cmd: cmd, child: child, group: newGroup(child.Process), groupTimeout: leave, exited: make(chan struct{}),
		groupGone: make(chan struct{}), output: &tail{src: out, done: make(chan struct{})}}
	go p.output.read()
	go p.supervise()
	return p, nil
}

func (p *process) pid() int { return p.child.Process.Pid }

// outputGrace is how long the output of an exited process is still read.
const outputGrace = 100 * time.Millisecond

// supervise waits for the main process and then for the rest of its group, which it kills after groupTimeout.
func (p *process) supervise() {
	_ = p.child.Wait() // ProcessState has the same information
	at := time.Now()
	select {
	case <-p.output.done:
	case <-time.After(outputGrace):
	}
	p.exit = exitOf(p.child.ProcessState)
	p.exit.At, p.exit.Lines = at, p.output.lines()
	close(p.exited)
	if !p.group.await(p.groupTimeout) {
		p.group.kill()
		p.group.await(p.groupTimeout)
	}
	p.group.close()
	p.output.close()
	close(p.groupGone)
}

// kill kills the whole group. The main process may have exited already.
func (p *process) kill() {
	if !isClosed(p.groupGone) {
		p.group.kill()
	}
}

func exitOf(s *os.ProcessState) Exit {
	e := Exit{Code: s.ExitCode()}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		e.Signal = w.Signal().String()
	}
	return e
}

const (
	tailLines = 20
	tailBytes = 4 << 10
	lineBytes = 512
)

// tail reads all output of a process, so that the process never blocks, and keeps the last lines.
type tail struct {
	src  *os.File
	done chan struct{} // closed at the end of the output

	mu   sync.Mutex
	kept []string
}

func (t *tail) read() {
	defer close(t.done)
	in := bufio.NewReaderSize(t.src, lineBytes)
	for {
		line, more, err := in.ReadLine()
		if len(line) > 0 {
			t.keep(line)
		}
		for more && err == nil { // cut what exceeds the buffer
			_, more, err = in.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

// keep stores a line without control characters and drops the oldest lines beyond the limits.
func (t *tail) keep(line []byte) {
	clean := strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, string(bytes.ToValidUTF8(line, nil)))
	if strings.TrimSpace(clean) == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, clean)
	size := 0
	for i := len(t.kept) - 1; i >= 0; i-- {
		size += len(t.kept[i]) + 1
		if size > tailBytes || len(t.kept)-i > tailLines {
			t.kept = slices.Clone(t.kept[i+1:])
			return
		}
	}
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}

// close ends the reading, even if a process outside of the group holds the other end.
func (t *tail) close() {
	_ = io.Closer(t.src).Close()
	<-t.done
}
