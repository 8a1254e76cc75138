//go:build !windows

package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"warren/testnet"
)

// bytesNow returns how many bytes wait.
func (b *backlog) bytesNow() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// bound sets the limits of a test.
func (b *backlog) bound(each, all int, stuck time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.perClient, b.total, b.stall = each, all, stuck
}

// newSpeaker returns a running multiplexer with n clients. say sends one of them a message of size bytes as Chrome would, and returns when
// it has been read, except for what a pipe holds.
func newSpeaker(t *testing.T, n int) (m *mux, clients []*client, say func(to, size int)) {
	t.Helper()
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	m = newMux(p, slog.New(slog.NewTextHandler(io.Discard, nil)))
	for i := range n {
		c := newClient(m)
		c.root = fmt.Sprint("root", i)
		c.base = c.root
		m.clients[c] = struct{}{}
		m.sessions[c.root] = &session{id: c.root, kind: "browser", client: c}
		clients = append(clients, c)
	}
	over, read := make(chan struct{}), make(chan struct{})
	go func() { defer close(over); m.run() }()
	go func() { defer close(read); _, _ = io.Copy(io.Discard, p.childR) }()
	t.Cleanup(func() {
		p.childW.Close()
		<-over
		<-read
		p.childR.Close()
	})
	return m, clients, func(to, size int) {
		msg := fmt.Appendf(nil, `{"method":"Network.requestWillBeSent","sessionId":"root%d","params":{"x":"%s"}}`+"\x00", to,
			bytes.Repeat([]byte("x"), size))
		if _, err := p.childW.Write(msg); err != nil {
			t.Error(err)
		}
	}
}

// TestReadersAreNotCutOff: a client that reads may have more bytes waiting than one that does not. A client is disconnected once it has not
// read for the whole timeout, and not earlier.
func TestReadersAreNotCutOff(t *testing.T) {
	const size, count = 40 << 20, 4
	m, clients, say := newSpeaker(t, 2)
	m.backlog.bound(clientLimit, clientsLimit, time.Hour)
	for range count {
		say(0, size)
		say(1, size)
	}
	m.endStalled()
	for range count {
		if msg, err := clients[0].next(t.Context()); err != nil || len(msg) < size {
			t.Fatalf("%d bytes, %v", len(msg), err)
		}
	}
	if why := clients[1].reason(); why != nil {
		t.Errorf("cut off before its time: %v", why)
	}
	m.backlog.bound(clientLimit, clientsLimit, 0)
	m.endStalled()
	if why := clients[1].reason(); !errors.Is(why, errStalled) {
		t.Errorf("who does not read ended with %v", why)
	}
	if why := clients[0].reason(); why != nil {
		t.Errorf("who has read all ended with %v", why)
	}
	if got := m.backlog.bytesNow(); got != 0 {
		t.Errorf("%d bytes wait for nobody", got)
	}
}

// TestMemoryOfSlowClients: if several clients do not read, at most the common limit and one message wait, although none has reached its own
// limit. They are disconnected, and a client that reads gets all of its messages.
func TestMemoryOfSlowClients(t *testing.T) {
	const size, all, rounds = 4 << 20, 16 << 20, 8
	m, clients, say := newSpeaker(t, 4)
	m.backlog.bound(clientLimit, all, time.Hour)
	got := make(chan error, 1)
	go func() {
		for range rounds {
			if _, err := clients[3].next(t.Context()); err != nil {
				got <- err
				return
			}
		}
		got <- nil
	}()
	most, said := 0, make(chan struct{})
	go func() {
		defer close(said)
		for range rounds {
			for to := range clients {
				say(to, size)
				most = max(most, m.backlog.bytesNow())
			}
		}
	}()
	testnet.Eventually(t, "more waits than may for all", func() bool { return m.backlog.full() != nil })
	m.backlog.bound(clientLimit, all, 3*time.Second)
	m.endStalled() // checks again by itself
	for _, c := range clients[:3] {
		testnet.AwaitClosed(t, "the end of a client that does not read", c.done, testnet.Patience)
		if why := c.reason(); !errors.Is(why, errStalled) {
			t.Errorf("it ended with %v", why)
		}
	}
	testnet.AwaitClosed(t, "all is said", said, testnet.Patience)
	if err := <-got; err != nil {
		t.Errorf("who reads: %v", err)
	}
	if bound := all + size + size/2; most > bound || most <= size {
		t.Errorf("at most %d bytes waited, want more than one message and %d at most", most, bound)
	}
}
