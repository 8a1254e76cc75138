package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a line may keep its caller waiting. Every request that is logged waits for it once, if nobody reads.
const patience = time.Second

// errStuck is the error of a line that is left out.
var errStuck = errors.New("standard error takes no lines")

// steady writes lines to a stream that may take none for long, such as a pipe whose reader hangs. Its callers go on then. The lines of
// meanwhile are left out and counted: the first one afterwards says how many.
type steady struct {
	to      io.Writer
	patient time.Duration // patience, unless a test has less

	mu      sync.Mutex
	writing chan struct{} // closed at the end of a write that was not waited for; nil: there is none
	leftOut int
}

// Write writes one line, in a goroutine that may outlast the call.
func (s *steady) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing != nil {
		select {
		case <-s.writing:
			s.writing = nil
		default:
			s.leftOut++
			return 0, errStuck
		}
	}
	text := bytes.Clone(line)
	if s.leftOut > 0 {
		text = fmt.Appendf(nil, "warren: standard error took no lines for a while, so that the log lacks %d\n%s", s.leftOut, line)
		s.leftOut = 0
	}
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		_, err = s.to.Write(text)
	}()
	timer := time.NewTimer(s.patient)
	defer timer.Stop()
	select {
	case <-done:
		return len(line), err
	case <-timer.C:
		s.writing = done
		return len(line), nil
	}
}
