package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestPipeKeepsOrder: each sender's messages reach Chrome whole and in order, whether they are written directly or queued.
func TestPipeKeepsOrder(t *testing.T) {
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeChild()
	const senders, each = 4, 2000
	message := func(sender, i int) []byte {
		return fmt.Appendf(nil, "%d %d %s\x00", sender, i, bytes.Repeat([]byte("x"), i*7919%5000))
	}
	q := newQueue(1 << 20)
	if !p.writeNow(q, message(0, 0)) {
		if runtime.GOOS != "windows" { // every write may block there
			t.Fatal("nothing is on its way, and yet the message has to wait")
		}
		if _, err := p.w.Write(message(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	p.writing <- struct{}{} // as if a write were under way
	if p.writeNow(q, message(0, 1)) {
		t.Fatal("a message overtook one on its way")
	}
	<-p.writing
	if err := q.enqueue(message(0, 1)); err != nil || p.writeNow(q, message(0, 2)) {
		t.Fatalf("a message overtook one that waits, %v", err)
	}
	pumped := make(chan error, 1)
	go func() { pumped <- p.pump(q) }()
	var sending sync.WaitGroup
	sending.Go(func() { // as the controller does
		for i := 2; i < each; i++ {
			_ = q.enqueue(message(0, i))
		}
	})
	for sender := 1; sender < senders; sender++ {
		sending.Go(func() {
			for i := range each {
				if msg := message(sender, i); !p.writeNow(q, msg) && q.enqueueWait(t.Context(), msg) != nil {
					return // the reader misses it
				}
			}
		})
	}
	in, next := bufio.NewReader(p.childR), make([]int, senders)
	for range senders * each {
		msg, err := in.ReadBytes(0)
		if err != nil {
			t.Fatal(err)
		}
		var sender, i int
		if _, err := fmt.Sscanf(string(msg), "%d %d", &sender, &i); err != nil || i != next[sender] ||
			!bytes.Equal(msg, message(sender, i)) {
			t.Fatalf("sender %d: message %d of %d bytes, want %d; %v", sender, i, len(msg), next[sender], err)
		}
		next[sender]++
	}
	sending.Wait()
	if q.close(); <-pumped != nil {
		t.Error("the pump ended with an error")
	}
	p.close()
}

// TestPipeHoldsNobody: while Chrome does not read, no sender of a message of any size is blocked. The pump writes the rest, and later
// senders wait until their context ends. Then Chrome gets everything, whole and in order.
func TestPipeHoldsNobody(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there nothing is written without waiting, and all goes by the queue")
	}
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.closeChild()
	const size = 1 << 20 // more than a pipe holds
	messages := [][]byte{append(bytes.Repeat([]byte("a"), size), 0), append(bytes.Repeat([]byte("b"), size), 0)}
	q := newQueue(size / 2)
	pumped := make(chan error, 1)
	go func() { pumped <- p.pump(q) }()
	wrote := make(chan bool, 1)
	go func() { wrote <- p.writeNow(q, messages[0]) }()
	select {
	case now := <-wrote:
		if !now {
			t.Fatal("nothing is on its way, and yet the message has to wait")
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("a sender is held by a browser that does not read")
	}
	if p.writeNow(q, messages[1]) {
		t.Fatal("a message overtook the rest of another")
	}
	if err := q.enqueue(messages[1]); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- q.enqueueWait(ctx, []byte("of one who left")) }()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	in := bufio.NewReader(p.childR)
	for i, want := range messages {
		if got, err := in.ReadBytes(0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("message %d: %d bytes, %v", i, len(got), err)
		}
	}
	if q.close(); <-pumped != nil {
		t.Error("the pump ended with an error")
	}
	p.close()
}
