package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Concurrent checks with one key share one probe.
func TestSharedCheck(t *testing.T) {
	before := goleak.IgnoreCurrent()
	gate, started := make(chan struct{}), make(chan struct{}, 100)
	s := serve(t, func(c net.Conn) {
		started <- struct{}{}
		<-gate
		site(200, "", "203.0.113.9")(c)
	})
	through := serve(t, network{"ip.test:80": s.addr()}.connect(nil))
	p := *upstream(HTTP, through, "", "")
	g := &CheckGroup[Result]{Checker: &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: time.Minute}}
	impatient, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	results := make(chan Result, 100)
	left := make(chan error, 1)
	go func() { _, err := g.Do(impatient, "id", p, asItIs); left <- err }() // this one starts the probe, and leaves
	<-started
	for range 50 {
		wg.Go(func() { r, _ := g.Do(t.Context(), "id", p, asItIs); results <- r })
	}
	until(t, "all have joined", func() bool { return g.waiting("id") == 51 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: got %v", err)
	}
	close(gate)
	for range 50 {
		if r := <-results; !r.OK {
			t.Errorf("a caller that stayed: got %v", r.Err)
		}
	}
	wg.Wait()
	if s.count() != 1 {
		t.Errorf("51 simultaneous checks of one key: got %d probes, want 1", s.count())
	}
	for range 2 { // one after the other, and with other keys, nothing is shared
		g.Do(t.Context(), "id", p, asItIs)
		for _, key := range []string{"one", "two"} {
			wg.Go(func() { g.Do(t.Context(), key, p, asItIs) })
		}
		wg.Wait()
	}
	if s.count() != 7 {
		t.Errorf("got %d probes, want 7", s.count())
	}
	if len(g.flights) > 0 {
		t.Error("a flight is left")
	}
	s.close()
	through.close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// asItIs returns the Result unchanged.
func asItIs(_ context.Context, r Result) (Result, error) { return r, nil }

// waiting returns how many callers wait for a key's probe.
func (g *CheckGroup[T]) waiting(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.flights[key]; f != nil {
		return f.waiters
	}
	return 0
}

// When the last caller leaves, the probe ends, and the next caller starts another.
func TestLastCallerLeaves(t *testing.T) {
	ended := make(chan struct{}, 10)
	s := serve(t, func(c net.Conn) { io.Copy(io.Discard, c); ended <- struct{}{} })
	g := &CheckGroup[Result]{Checker: &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: time.Hour}}
	for i := range 2 {
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := g.Do(ctx, "id", *upstream(SOCKS5, s, "", ""), asItIs); done <- err }()
		until(t, "the probe is under way", func() bool { return s.count() == i+1 })
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a check that nobody answered: %v", err)
		}
		<-ended
	}
}

// finish is called once per probe, for all callers that share it, and not at all when the last one has left.
func TestCheckIsFinishedOnce(t *testing.T) {
	gate := make(chan struct{})
	s := serve(t, func(c net.Conn) { <-gate; c.Close() })
	g := &CheckGroup[string]{Checker: &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, Timeout: time.Minute}}
	p := *upstream(SOCKS5, s, "", "")
	var finished atomic.Int32
	finish := func(_ context.Context, r Result) (string, error) {
		return fmt.Sprint(r.Err.Code, " ", finished.Add(1)), io.ErrUnexpectedEOF
	}
	outcomes := make(chan string, 10)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { outcome, err := g.Do(t.Context(), "id", p, finish); outcomes <- fmt.Sprint(outcome, " ", err) })
	}
	until(t, "all have joined", func() bool { return g.waiting("id") == 10 })
	close(gate)
	wg.Wait()
	for range 10 {
		if got := <-outcomes; got != "connection_closed 1 unexpected EOF" {
			t.Errorf("a caller got %v, want the one outcome", got)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	mute := serve(t, play())
	ended := make(chan struct{})
	go func() { g.Do(ctx, "id", *upstream(SOCKS5, mute, "", ""), finish); close(ended) }()
	until(t, "the probe is under way", func() bool { return mute.count() == 1 })
	leave()
	<-ended
	mute.close() // waits until the probe has hung up
	if n := finished.Load(); n != 1 {
		t.Errorf("finish was called %d times, want once: not for a probe that was cancelled", n)
	}
}
