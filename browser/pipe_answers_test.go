package browser

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestAwaitAnswers: await returns when all is handled that the pipe held before, while one goroutine writes and another reads; at the
// pipe's end; and with its context.
func TestAwaitAnswers(t *testing.T) {
	t.Parallel()
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeChild()
	var mu sync.Mutex
	handled := -1
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			msg, err := p.read()
			if err != nil {
				p.answers.end()
				return
			}
			mu.Lock()
			fmt.Sscan(string(msg), &handled)
			mu.Unlock()
			p.answers.handle(p.in.Buffered())
		}
	}()
	for i := range 20000 {
		if _, err := fmt.Fprintf(p.childW, "%d\x00", i); err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 {
			continue
		}
		p.answers.await(t.Context())
		mu.Lock()
		now := handled
		mu.Unlock()
		if now < i && runtime.GOOS == "linux" { // elsewhere what lies in the pipe does not count
			t.Fatalf("after message %d, %d was the last one handled", i, now)
		}
	}
	if t.Context().Err() != nil {
		t.Fatal("await hung")
	}
	if runtime.GOOS == "linux" {
		io.WriteString(p.childW, "half of one")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		p.answers.await(ctx)
		if cancel(); ctx.Err() == nil {
			t.Error("half a message was taken for handled")
		}
	}
	p.close()
	<-read
	p.answers.await(t.Context())
}
