package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// board is a bus in memory.
type board struct {
	mu      sync.Mutex
	rows    []Row
	known   map[string]bool // ids
	removed int64           // the highest seq that was removed
	down    bool
	silent  bool // it answers, but tells nobody of new events
	follow  []chan struct{}
}

var errDown = errors.New("the bus is down")

func (b *board) set(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn()
}

// Append implements Bus.
func (b *board) Append(_ context.Context, rows []Row) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errDown
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	for _, r := range rows {
		if !b.known[r.ID] {
			r.Seq = b.removed + int64(len(b.rows)) + 1
			b.rows, b.known[r.ID] = append(b.rows, r), true
		}
	}
	for _, c := range b.follow {
		if !b.silent {
			signal(c)
		}
	}
	return nil
}

// Read implements Bus.
func (b *board) Read(_ context.Context, seq int64, _ string, limit int) ([]Row, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, false, errDown
	}
	from := max(seq, b.removed) - b.removed
	return slices.Clone(b.rows[from:min(len(b.rows), int(from)+limit)]), seq >= b.removed, nil
}

// After implements Bus.
func (b *board) After(ctx context.Context, id string, limit int) ([]Row, bool, error) {
	b.mu.Lock()
	i := slices.IndexFunc(b.rows, func(r Row) bool { return r.ID == id })
	seq := b.removed + int64(i) + 1
	b.mu.Unlock()
	if i < 0 {
		return nil, false, nil
	}
	return b.Read(ctx, seq, id, limit)
}

// Newest implements Bus.
func (b *board) Newest(context.Context) (int64, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return 0, "", errDown
	case len(b.rows) == 0:
		return b.removed, "", nil
	}
	last := b.rows[len(b.rows)-1]
	return last.Seq, last.ID, nil
}

// Follow implements Bus.
func (b *board) Follow() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{}, 1)
	b.follow = append(b.follow, c)
	return c
}

// poll wakes everybody.
func (b *board) poll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.follow {
		signal(c)
	}
}

// onBus makes the log of a server. The end of the test closes it.
func onBus(t interface {
	Fatal(...any)
	Cleanup(func())
}, b *board) *Log {
	l, err := Open(context.Background(), b, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func publish(l *Log, kinds ...string) {
	for _, kind := range kinds {
		l.Publish(Event{Type: kind, Workspace: "a"})
	}
}

func wantHeard(t *testing.T, s *Subscription, want ...string) {
	t.Helper()
	if got := heard(s); !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
}

// TestSharedIsOneOrder: subscribers of each server hear what any publishes, as it is on the bus. Those of a server's own hear that alone.
func TestSharedIsOneOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(board)
		one, two := onBus(t, b), onBus(t, b)
		publish(one, "before")
		mine := func(w, key string) bool { return w == "a" && key == "" }
		at1, at2, own, others := one.Subscribe(mine, ""), two.Subscribe(mine, ""), one.SubscribeOwn(all, ""), two.SubscribeOwn(all, "")
		publish(one, "1")
		synctest.Wait()
		publish(two, "2")
		synctest.Wait()
		one.Publish(Event{Type: "elsewhere", Workspace: "b"})
		one.Publish(Event{Type: "of a key", Workspace: "a", Key: "k"})
		synctest.Wait()
		publish(one, "3")
		synctest.Wait()
		first, again := <-at1.C, <-at2.C
		if first.Place != again.Place || string(first.Text()) != string(again.Text()) || first.Workspace() != "a" || !first.Shared() {
			t.Errorf("%s on one, %s on the other", first.Text(), again.Text())
		}
		publish(one, "4")
		wantHeard(t, one.Subscribe(all, "unknown"), Lost)
		wantHeard(t, at1, "2", "3", "4")
		wantHeard(t, at2, "2", "3", "4")
		wantHeard(t, own, "1", "elsewhere", "of a key", "3", "4")
		wantHeard(t, others, "2")
		if b.rows[1].Origin == b.rows[2].Origin || b.rows[1].Origin != b.rows[3].Origin {
			t.Errorf("origins: %+v", b.rows)
		}
		if n := one.Subscribers(); n != 3 {
			t.Errorf("%d subscribers", n)
		}
		own.Close()
		at1.Close()
		if n := one.Subscribers(); n != 1 {
			t.Errorf("%d subscribers", n)
		}
	})
}

// traveller is a subscriber that goes from server to server.
type traveller struct {
	board *board
	at    *Log
	*Subscription
	place string
	got   []string
	lost  int
}

// take takes what there is, and comes back where it was disconnected. After a loss it knows what came before.
func (s *traveller) take() {
	for {
		select {
		case e, ok := <-s.C:
			if !ok {
				s.Subscription = s.at.Subscribe(all, s.place)
				continue
			}
			s.place, s.got = e.Place, append(s.got, e.Type)
			if e.Type == Lost {
				s.lost, s.got = s.lost+1, s.board.until(e.Place)
			}
		default:
			return
		}
	}
}

// until returns the types of the events up to a place.
func (b *board) until(place string) (types []string) {
	i := slices.IndexFunc(b.rows, func(r Row) bool { return r.ID == place })
	for _, r := range b.rows[:i+1] {
		types = append(types, r.Type)
	}
	return types
}

// inBubble is a test whose deadline is of another clock.
type inBubble struct{ *testing.T }

// Deadline says that there is none.
func (inBubble) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestSharedResumeEqualsAModel: a subscriber that goes from server to server receives each event once and in order, or learns that it lost
// some. That happens only if it missed many. A server may be behind the one that gave the place.
func TestSharedResumeEqualsAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(inBubble{t}, func(t *rapid.T) {
			b := new(board)
			logs := []*Log{onBus(t, b), onBus(t, b), onBus(t, b)}
			synctest.Wait()
			one := func(what string) *Log { return logs[rapid.IntRange(0, 2).Draw(t, what)] }
			n := 0
			publishes := func(l *Log, count int) {
				for range count {
					n++
					publish(l, fmt.Sprint(n))
				}
				time.Sleep(time.Second) // of the bubble's clock
			}
			s := &traveller{board: b, at: logs[0], Subscription: logs[0].Subscribe(all, "")}
			publishes(logs[0], 1)
			s.take()
			for range rapid.IntRange(1, 20).Draw(t, "steps") {
				b.set(func() { b.silent = rapid.Bool().Draw(t, "silent") }) // who has appended knows still
				publishes(one("publisher"), rapid.SampledFrom([]int{0, 1, 5, Backlog / 2}).Draw(t, "events"))
				s.take()
				if !rapid.Bool().Draw(t, "moves") {
					continue
				}
				s.Close()
				publishes(one("publisher"), rapid.SampledFrom([]int{0, 3, Backlog - 10, Backlog + 10}).Draw(t, "missed"))
				missed, before := n-len(s.got), s.lost
				s.at = one("server")
				s.Subscription = s.at.Subscribe(all, s.place)
				if s.take(); s.lost > before && missed <= Backlog {
					t.Fatalf("lost after %d events", missed)
				}
			}
			b.poll()
			time.Sleep(time.Second)
			if s.take(); !slices.Equal(s.got, b.until(b.rows[n-1].ID)) {
				t.Fatalf("heard %d, want %d", len(s.got), n)
			}
		})
	})
}

// TestJoin: what was read elsewhere and what the log has are put together without a gap and without a repetition.
func TestJoin(t *testing.T) {
	t.Parallel()
	entries := func(places ...string) (out []Entry) {
		for _, p := range places {
			out = append(out, Entry{Place: p, Type: p})
		}
		return out
	}
	for _, c := range []struct{ log, read, want string }{
		{"c d e", "a b c d", "a b c d e"},
		{"c d e", "a b c d e", "a b c d e"},
		{"c d e", "a b c d e f", "a b c d e"}, // f is still to come
		{"c d e", "a b", "a b c d e"},         // b is before the log
		{"", "a b c", "a b"},
		{"c d e", "x y", ""},
		{"c d e", "", ""},
	} {
		l := New()
		if l.before = "b"; c.log != "" {
			l.recent = entries(strings.Fields(c.log)...)
		}
		s := l.join(all, entries(strings.Fields(c.read)...))
		if s == nil {
			s = &Subscription{}
		}
		if got := heard(s); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q and %q: %v, want %q", c.log, c.read, got, c.want)
		}
	}
}

// TestSharedOutage: events wait for the bus in their order. The own ones do not. Beyond a bound the oldest are lost, which everybody hears
// once.
func TestSharedOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(board)
		one, two := onBus(t, b), onBus(t, b)
		at1, at2, own := one.Subscribe(all, ""), two.Subscribe(func(string, string) bool { return false }, ""), one.SubscribeOwn(all, "")
		var got []string
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			for e := range at1.C {
				got = append(got, e.Type)
			}
		}()
		synctest.Wait()
		b.set(func() { b.down = true })
		publish(one, "1")
		synctest.Wait()
		wantHeard(t, own, "1")
		own.Close()
		for n := range maxUnsent + 7 {
			publish(one, fmt.Sprint(n+2))
		}
		synctest.Wait()
		if f := one.Figures(); f.Unsent != maxUnsent+1 || f.Unshared != 7 || f.Published != maxUnsent+8 || len(b.rows) != 0 {
			t.Errorf("%+v", f)
		}
		b.set(func() { b.down = false })
		time.Sleep(time.Minute) // of the bubble's clock
		b.poll()
		synctest.Wait()
		wantHeard(t, at2, Lost)
		one.Close()
		<-reading
		if len(got) != maxUnsent+2 || got[0] != "1" || got[1] != Lost || got[2] != "9" || got[len(got)-1] != fmt.Sprint(maxUnsent+8) {
			t.Errorf("heard %d, from %v", len(got), got[:min(4, len(got))])
		}
		if f := one.Figures(); f.Unsent != 0 || f.Unshared != 7 {
			t.Errorf("%+v", f)
		}
	})
}

// TestSharedIsRemoved: a server that was away while events were removed tells its subscribers that they lost some, once.
func TestSharedIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &board{silent: true}
		one, two := onBus(t, b), onBus(t, b)
		synctest.Wait()
		s := two.Subscribe(all, "")
		publish(one, "1", "2", "3")
		synctest.Wait()
		b.set(func() { b.removed, b.rows = b.removed+2, b.rows[2:] })
		b.poll()
		synctest.Wait()
		wantHeard(t, s, Lost, "3")
		publish(one, "4")
		synctest.Wait()
		b.set(func() { b.removed, b.rows = b.removed+2, nil }) // all of them
		for range 3 {
			b.poll()
			synctest.Wait()
		}
		wantHeard(t, s, Lost)
		publish(one, "5")
		synctest.Wait()
		b.poll()
		synctest.Wait()
		wantHeard(t, s, "5")
	})
}

// TestSharedBurst: when many events come at once, subscribers that read get all. One that does not read delays the others, but not for
// long, and is disconnected.
func TestSharedBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(board)
		one, two := onBus(t, b), onBus(t, b)
		reads, stuck := two.Subscribe(all, ""), two.Subscribe(all, "")
		const burst = 20 * Backlog
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range burst {
				<-reads.C
				if len(reads.C) == Backlog/2 {
					time.Sleep(10 * time.Millisecond) // of the bubble's clock
				}
			}
		}()
		began := time.Now()
		for range burst {
			publish(one, "x")
		}
		<-done
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if got := heard(stuck); got[len(got)-1] != "closed" || two.Figures().Dropped != 1 {
			t.Errorf("one that does not read has heard %d, %+v", len(got), two.Figures())
		}
	})
}

// TestSharedSlow: one that reads more slowly than events come is disconnected, however often it comes back. It does not hold up the others.
func TestSharedSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(board)
		l := onBus(t, b)
		quick, slow := l.Subscribe(all, ""), l.Subscribe(all, "")
		place := ""
		go func() {
			for range 1000 {
				e, ok := <-slow.C
				if !ok {
					slow = l.Subscribe(all, place)
				}
				place = e.Place
				time.Sleep(25 * time.Millisecond) // of the bubble's clock
			}
			slow.Close()
		}()
		began, worst := time.Now(), time.Duration(0)
		for range 4000 {
			at := time.Now()
			publish(l, "x")
			<-quick.C
			worst = max(worst, time.Since(at))
			time.Sleep(5 * time.Millisecond)
		}
		if took := time.Since(began); took > 23*time.Second || worst > drainTime || l.Figures().Dropped == 0 {
			t.Errorf("4000 events in 20 s took %v, one %v: %+v", took, worst, l.Figures())
		}
		synctest.Wait()
		time.Sleep(time.Minute)
	})
}

// TestSharedClose: the end of a server sends what it has published, and waits for a bus that is away no longer than it should.
func TestSharedClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := new(board)
		one, two := onBus(t, b), onBus(t, b)
		s, last := two.Subscribe(all, ""), one.Subscribe(all, "")
		publish(one, "1", "2")
		one.End()
		publish(one, "3")
		one.Close()
		one.Close()
		publish(one, "4")
		synctest.Wait()
		wantHeard(t, s, "1", "2", "3")
		wantHeard(t, last, "1", "2", "closed")
		wantHeard(t, one.Subscribe(all, ""), "closed")
		b.set(func() { b.down = true })
		if _, err := Open(t.Context(), b, slog.New(slog.DiscardHandler)); !errors.Is(err, errDown) {
			t.Errorf("without a bus: %v", err)
		}
		two.shared.log = slog.New(slog.NewTextHandler(&log, nil))
		publish(two, "5")
		began := time.Now()
		two.Close()
		told := strings.Contains(log.String(), "the last events did not reach other servers")
		if took := time.Since(began); took != 2*closeTime || !told {
			t.Errorf("the end took %v: %s", took, log.String())
		}
	})
}
