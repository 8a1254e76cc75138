package store

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// twoBuses opens the database of an address twice, as two servers do.
func twoBuses(t *testing.T, o Options) (a, b *pgBus) {
	t.Helper()
	dir := t.TempDir()
	return openIn(t, dir, o).Bus().(*pgBus), openIn(t, dir, o).Bus().(*pgBus)
}

func eventRow(id string) EventRow {
	return EventRow{ID: id, Origin: "o", Workspace: "w", Key: "k", Type: "x", Text: `{"id":"` + id + `"}`}
}

func (b *pgBus) mustAppend(t *testing.T, rows ...EventRow) {
	t.Helper()
	if err := b.Append(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

// exec changes the database past the bus.
func (b *pgBus) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := b.engine.writes.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func TestNoBusOnSQLite(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir(), Options{})
	if s.Bus() != nil {
		t.Error("a file has a bus")
	}
}

// TestBusPassesOverNothing: who reads while two servers append sees each event once, those of each append in their order.
func TestBusPassesOverNothing(t *testing.T) {
	t.Parallel()
	const writers, batches, each = 6, 60, 5
	a, b := twoBuses(t, Options{Database: testnet.Postgres(t)})
	var writing sync.WaitGroup
	for w := range writers {
		bus := []*pgBus{a, b}[w%2]
		bus.engine.bus.SetMaxOpenConns(writers) // so that they meet
		writing.Go(func() {
			for n := range batches {
				var rows []EventRow
				for i := range each {
					rows = append(rows, eventRow(fmt.Sprintf("%d.%d", w, n*each+i)))
				}
				if err := bus.Append(context.Background(), rows); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() {
		writing.Wait()
		close(written)
	}()
	var seq int64
	id, next, got := "", map[int]int{}, 0
	for last := false; ; {
		rows, whole, err := b.Read(t.Context(), seq, id, 7)
		if err != nil || !whole {
			t.Fatalf("after %d %s: %v %v", seq, id, whole, err)
		}
		for _, r := range rows {
			var w, n int
			fmt.Sscanf(r.ID, "%d.%d", &w, &n)
			if n != next[w] || r.Seq <= seq {
				t.Fatalf("%s at %d after %d, want %d.%d", r.ID, r.Seq, seq, w, next[w])
			}
			next[w], got, seq, id = n+1, got+1, r.Seq, r.ID
		}
		if last && len(rows) == 0 {
			break
		}
		select {
		case <-written:
			last = true
		default:
		}
	}
	if want := writers * batches * each; got != want {
		t.Errorf("%d events, want %d", got, want)
	}
}

// TestBusKeepsEvents: events come back as they were, once, though their answer was lost.
func TestBusKeepsEvents(t *testing.T) {
	t.Parallel()
	a, b := twoBuses(t, Options{Database: testnet.Postgres(t)})
	if seq, id, err := a.Newest(t.Context()); seq != 0 || id != "" || err != nil {
		t.Errorf("an empty bus: %d %q %v", seq, id, err)
	}
	strange := EventRow{ID: "1", Workspace: `{"a,b"}`, Type: "ü", Text: `{"n":"\u0000","q":"' \\ NULL"}`}
	a.mustAppend(t, strange, eventRow("2"))
	a.mustAppend(t, eventRow("2"), eventRow("3"))
	rows, known, err := b.After(t.Context(), "1", 10)
	if err != nil || !known || len(rows) != 2 || rows[0].ID != "2" || rows[1].ID != "3" {
		t.Errorf("after 1: %+v %v %v", rows, known, err)
	}
	rows, whole, err := b.Read(t.Context(), 0, "", 1)
	if strange.Seq = 1; err != nil || !whole || len(rows) != 1 || rows[0] != strange {
		t.Errorf("the first: %+v %v %v, want %+v", rows, whole, err, strange)
	}
	if _, known, err := b.After(t.Context(), "9", 10); known || err != nil {
		t.Errorf("an unknown one: %v %v", known, err)
	}
	if _, id, err := b.Newest(t.Context()); id != "3" || err != nil {
		t.Errorf("the newest is %q %v", id, err)
	}
}

// TestBusIsPurged: old events go, and too many. The newest stays. Who has read less than what went learns it, and nobody else does.
func TestBusIsPurged(t *testing.T) {
	t.Parallel()
	a, b := twoBuses(t, Options{Database: testnet.Postgres(t)})
	purge := func() {
		t.Helper()
		for _, bus := range []*pgBus{a, b} {
			if err := bus.engine.purgeEvents(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants := func(seq int64, id string, whole bool, ids ...string) {
		t.Helper()
		rows, got, err := a.Read(t.Context(), seq, id, 100)
		var have []string
		for _, r := range rows {
			have = append(have, r.ID)
		}
		if err != nil || got != whole || fmt.Sprint(have) != fmt.Sprint(ids) {
			t.Errorf("after %d %q: %v, whole %v, %v; want %v, %v", seq, id, have, got, err, ids, whole)
		}
	}
	a.mustAppend(t, eventRow("1"), eventRow("2"), eventRow("3"))
	a.exec(t, "UPDATE events SET at = at - $1 WHERE seq <= 2", keepEvents.Milliseconds()+1000)
	purge()
	wants(1, "1", false, "3")
	wants(2, "2", true, "3") // it has read all that went
	wants(3, "3", true)
	wants(4, "4", false) // the database was put back
	wants(3, "x", false, "3")
	a.exec(t, "UPDATE events SET at = 0")
	purge()
	wants(3, "3", true)
	a.exec(t, `INSERT INTO events (id, origin, workspace_id, key, type, text)
		SELECT 'm' || n, '', '', '', '', '' FROM generate_series(1, $1) AS n`, int64(keepEventRows+5))
	purge()
	var n, first int64
	if err := a.engine.reads.QueryRowContext(t.Context(), "SELECT count(*), min(seq) FROM events").Scan(&n, &first); err != nil ||
		n != keepEventRows {
		t.Errorf("%d events stay, from %d, %v", n, first, err)
	}
	rows, whole, err := b.Read(t.Context(), 3, "3", 10)
	if err != nil || whole || len(rows) != 10 || rows[0].Seq != first {
		t.Errorf("after too many: %d, whole %v, %v", len(rows), whole, err)
	}
	if _, known, err := b.After(t.Context(), "m1", 10); known || err != nil {
		t.Errorf("one that went is known: %v %v", known, err)
	}
}

// TestBusWakes: a notification wakes the other server, also after its connection was cut. Without notifications the poll does.
func TestBusWakes(t *testing.T) {
	t.Parallel()
	var log testnet.Buffer
	address := testnet.Postgres(t)
	a, b := twoBuses(t, Options{Database: address, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	b.poll = math.MaxInt64
	deaf := *a
	deaf.channel, deaf.poll = "elsewhere", 10*time.Millisecond
	wake := b.Follow()
	await := func(from <-chan struct{}, what string) {
		t.Helper()
		select {
		case <-from:
		case <-time.After(testnet.Patience):
			t.Fatal(what)
		}
	}
	await(wake, "it does not listen")
	a.mustAppend(t, eventRow("1"))
	await(wake, "no notification")
	a.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1 AND datname = current_database()",
		`LISTEN "warren_events"`)
	await(wake, "it does not listen again")
	a.mustAppend(t, eventRow("2"))
	await(wake, "no notification on the new connection")
	for _, words := range []string{"notifications of events do not come", "notifications of events come again"} {
		testnet.Eventually(t, words, func() bool { return strings.Count(log.String(), words) == 1 })
	}
	silent := deaf.Follow()
	for range 3 { // one comes when it listens
		await(silent, "no poll")
	}
}
