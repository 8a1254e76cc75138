package testnet

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Link is a TCP connection's way to a server, as a network between two machines is: it takes time, and may fall silent. Its methods are
// safe for concurrent use.
type Link struct {
	trips atomic.Int64

	mu      sync.Mutex
	woken   *sync.Cond
	target  string
	delay   time.Duration
	silent  bool
	closed  bool
	open    map[net.Conn]struct{}
	loses   []byte        // what is sent to the server, and not answered; nil: nothing
	skip    int           // how often that passes before
	lost    chan struct{} // closed when an answer to it was lost
	relays  sync.WaitGroup
	address string
}

// NewLink makes a way to a "host:port", at a loopback address of its own, until the test ends.
func NewLink(t testing.TB, target string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{target: target, open: map[net.Conn]struct{}{}, address: listener.Addr().String()}
	l.woken = sync.NewCond(&l.mu)
	l.relays.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			l.relays.Go(func() { l.relay(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.set(func() { l.closed = true })
		l.Cut()
		l.relays.Wait()
	})
	return l
}

// LinkTo makes a way to the server of a URL, such as a database's.
func LinkTo(t testing.TB, address string) *Link {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return NewLink(t, u.Host)
}

// Address returns the "host:port" at which the way begins.
func (l *Link) Address() string { return l.address }

// Through returns a URL with the way's address in place of the server's.
func (l *Link) Through(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.address
	return u.String()
}

// Delay has each direction take so long.
func (l *Link) Delay(d time.Duration) { l.set(func() { l.delay = d }) }

// Silence holds everything back, as a network does that has lost its way: also new connections get no answer. false lets it through.
func (l *Link) Silence(silent bool) { l.set(func() { l.silent = silent }) }

// To leads new connections to another server, and ends the others.
func (l *Link) To(target string) {
	l.set(func() { l.target = target })
	l.Cut()
}

// Cut ends all connections.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.Close()
	}
}

// LoseAnswer has the server get what a client sends with a text in it, and loses the answer with the connection. skip is how often that
// text passes before. The channel is closed then.
func (l *Link) LoseAnswer(text string, skip int) (lost <-chan struct{}) {
	done := make(chan struct{})
	l.set(func() { l.loses, l.skip, l.lost = []byte(text), skip, done })
	return done
}

// LoseNothing ends a LoseAnswer whose text has not come.
func (l *Link) LoseNothing() { l.set(func() { l.loses = nil }) }

// isToLose reports whether the answer to data is to be lost.
func (l *Link) isToLose(data []byte) (lost chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loses == nil || !bytes.Contains(data, l.loses) {
		return nil
	}
	if l.skip--; l.skip >= 0 {
		return nil
	}
	l.loses = nil
	return l.lost
}

// Trips counts the round trips so far: how often something went to the server after something that came from it.
func (l *Link) Trips() int { return int(l.trips.Load()) }

func (l *Link) set(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	l.woken.Broadcast()
}

// pass waits until what was read at a time may go on. false: the way is no more.
func (l *Link) pass(read time.Time) bool {
	l.mu.Lock()
	for l.silent && !l.closed {
		l.woken.Wait()
	}
	closed, due := l.closed, read.Add(l.delay)
	l.mu.Unlock()
	<-time.After(time.Until(due))
	return !closed
}

// keep has Cut end a connection.
func (l *Link) keep(c net.Conn) (forget func()) {
	l.set(func() { l.open[c] = struct{}{} })
	return func() {
		c.Close()
		l.set(func() { delete(l.open, c) })
	}
}

func (l *Link) relay(client net.Conn) {
	defer l.keep(client)()
	if !l.pass(time.Now()) {
		return
	}
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer l.keep(server)()
	var asked atomic.Bool // what went last, went to the server
	var loses atomic.Pointer[chan struct{}]
	var both sync.WaitGroup
	both.Go(func() {
		l.carry(server, client, func(data []byte) (passes bool) {
			if !asked.Swap(true) {
				l.trips.Add(1)
			}
			if lost := l.isToLose(data); lost != nil {
				loses.Store(&lost)
			}
			return true
		})
	})
	both.Go(func() {
		l.carry(client, server, func([]byte) (passes bool) {
			asked.Store(false)
			lost := loses.Load()
			if lost != nil {
				close(*lost)
			}
			return lost == nil
		})
	})
	both.Wait()
}

// parcel is what was read at once.
type parcel struct {
	data []byte
	at   time.Time
}

// carry carries one direction until its end, which ends the other. note is called with what was read. If it returns false, that is the end.
func (l *Link) carry(to, from net.Conn, note func([]byte) (passes bool)) {
	parcels := make(chan parcel, 1000)
	var writer sync.WaitGroup
	writer.Go(func() {
		defer to.Close()
		for p := range parcels {
			if !l.pass(p.at) {
				break
			}
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		from.Close()
		for range parcels {
		}
	})
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if n > 0 && !note(buffer[:n]) {
			break
		}
		if n > 0 {
			parcels <- parcel{buffer[:n], time.Now()}
		}
		if err != nil {
			break
		}
	}
	close(parcels)
	writer.Wait()
}
