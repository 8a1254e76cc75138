package api

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"warren/events"
	"warren/store"
	"warren/testnet"
)

// eventServer is what a server has of the events: a store and a log.
type eventServer struct {
	store *store.Store
	*events.Log
}

// eventServers makes servers on one database. The end of the test closes them.
func eventServers(t testing.TB, o store.Options, n int) (all []eventServer) {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	for range n {
		st, err := store.Open(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := events.Open(t.Context(), st.Bus(), log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ev.Close(); st.Close() })
		all = append(all, eventServer{st, ev})
	}
	return all
}

func everything(string, string) bool { return true }

// heard takes n events. It comes back by its place where it is disconnected, as clients do. On a machine that is too busy to read it may
// have lost some by then, which it reads from the database.
func (s eventServer) heard(t testing.TB, sub *events.Subscription, n int) (places, types []string) {
	for late := time.After(testnet.Patience); len(types) < n; {
		select {
		case e, ok := <-sub.C:
			if !ok {
				sub = s.Subscribe(everything, places[len(places)-1])
				continue
			}
			if e.Type != events.Lost {
				places, types = append(places, e.Place), append(types, e.Type)
				continue
			}
			rows, known, err := s.store.Bus().After(context.Background(), places[len(places)-1], 10_000)
			if err != nil || !known {
				t.Errorf("lost: %v %v", known, err)
				return places, types
			}
			for _, r := range rows {
				if places, types = append(places, r.ID), append(types, r.Type); r.ID == e.Place {
					break
				}
			}
		case <-late:
			t.Errorf("%d events, want %d", len(types), n)
			return places, types
		}
	}
	return places, types
}

// hearAll publishes events of many publishers on each server, and wants each server to have all of them, once, in the same order, each
// publisher's in its own. Between equal parts of them the steps run.
func hearAll(t *testing.T, servers []eventServer, publishers, each int, steps ...func()) {
	t.Helper()
	n := len(servers) * publishers * each
	places, types := make([][]string, len(servers)), make([][]string, len(servers))
	var hearing sync.WaitGroup
	for i, s := range servers {
		sub := s.Subscribe(everything, "")
		hearing.Go(func() { places[i], types[i] = s.heard(t, sub, n) })
	}
	part := each / (len(steps) + 1)
	for from, step := range append(steps, func() {}) {
		var publishing sync.WaitGroup
		for i, s := range servers {
			for p := range publishers {
				publishing.Go(func() {
					for k := range part {
						kind := fmt.Sprintf("%d.%d.%d", i, p, from*part+k)
						s.Publish(events.Event{Type: kind, Workspace: "w", Data: map[string]any{"n": k}})
					}
				})
			}
		}
		publishing.Wait()
		step()
	}
	hearing.Wait()
	for i := range servers {
		if !slices.Equal(places[i], places[0]) {
			t.Errorf("server %d has another order than server 0", i)
		}
	}
	next := map[string]int{}
	for _, kind := range types[0] {
		var server, publisher, k int
		fmt.Sscanf(kind, "%d.%d.%d", &server, &publisher, &k)
		who := fmt.Sprintf("%d.%d", server, publisher)
		if kind != fmt.Sprintf("%s.%d", who, next[who]) {
			t.Fatalf("%s comes after %d of %s", kind, next[who], who)
		}
		next[who]++
	}
}

// TestEventsOfTwoServers: ten thousand events from two servers reach subscribers of both once, in one order.
func TestEventsOfTwoServers(t *testing.T) {
	t.Parallel()
	hearAll(t, eventServers(t, store.Options{Database: testnet.Postgres(t)}, 2), 5, 1000)
}

// TestEventsOverAnOutage: what is published before, while and after the database is killed reaches both servers.
func TestEventsOverAnOutage(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	servers := eventServers(t, store.Options{Database: db.NewDatabase()}, 2)
	hearAll(t, servers, 2, 1500, db.Kill, db.Start)
	hearAll(t, servers, 1, 100)
}

// TestEventsWithoutNotifications: events arrive although the connections that listen are cut again and again.
func TestEventsWithoutNotifications(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	servers := eventServers(t, store.Options{Database: db.NewDatabase()}, 2)
	sub := servers[1].Subscribe(everything, "")
	for n := range 3 {
		testnet.Eventually(t, "both listen", func() bool {
			return db.Exec("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") == "2"
		})
		db.Exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
		servers[0].Publish(events.Event{Type: fmt.Sprint(n)})
		if _, types := servers[1].heard(t, sub, 1); types[0] != fmt.Sprint(n) {
			t.Errorf("heard %v, want %d", types, n)
		}
	}
}

// TestEventsOnAnotherServer: a stream goes on at another server where it ended at the first, and hears what both publish. A place that is
// too old, or nobody's, gets events.lost.
func TestEventsOnAnotherServer(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	on := func(c *setup) { c.Database = address }
	a := newAPI(t, on)
	b := newAPI(t, on, func(c *setup) {
		secret, err := os.ReadFile(filepath.Join(a.dir, "secret.key"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(c.Data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.Data, "secret.key"), secret, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	key, _ := a.newKey(t, "read", "a")
	s := a.listen(t, key)
	b.profile(t, "workspaceId", "a")
	old := s.until(t, "profile.created")[0].id
	s.stop()
	<-s.closed
	a.proxy(t, "workspaceId", "a")
	b.proxy(t, "workspaceId", "b")
	missed := b.proxy(t, "workspaceId", "a", "username", "x")
	back := b.listen(t, key, old)
	back.says(t, missed) // one server could else tell of its end before the other has told of its beginning
	a.do(t, "DELETE", "/proxies/"+missed, nil).want(t, 204)
	var got []string
	for _, e := range back.until(t, "proxy.deleted") {
		got = append(got, e.event)
	}
	if want := []string{"proxy.created", "proxy.created", "proxy.deleted"}; !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	for range events.Backlog {
		a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: "b"})
	}
	marker := a.profile(t, "workspaceId", "a")
	all := back.until(t, "profile.created")
	for _, last := range []string{old, store.NewID()} {
		if first := b.listen(t, key, last).until(t, "events.lost"); len(first) != 1 {
			t.Errorf("from %q heard %v", last, first)
		}
	}
	a.do(t, "DELETE", "/profiles/"+marker, nil).want(t, 204)
	back.until(t, "profile.deleted")
	o := store.Options{Database: address, SecretKeyFile: filepath.Join(a.dir, "secret.key")}
	c := eventServers(t, o, 1)[0] // has nothing in memory
	if _, types := c.heard(t, c.Subscribe(everything, all[len(all)-1].id), 1); types[0] != "profile.deleted" {
		t.Errorf("a new server replays %v", types)
	}
}

// BenchmarkEventsBetweenServers measures the time from the call of Publish until a subscriber of another server has the event.
func BenchmarkEventsBetweenServers(b *testing.B) {
	servers := eventServers(b, store.Options{Database: testnet.Postgres(b)}, 2)
	for _, at := range []struct {
		name   string
		server eventServer
	}{{"other", servers[1]}, {"same", servers[0]}} {
		b.Run(at.name, func(b *testing.B) {
			sub := at.server.Subscribe(everything, "")
			defer sub.Close()
			var all []time.Duration
			for b.Loop() {
				began := time.Now()
				servers[0].Publish(events.Event{Type: "x", Workspace: "w", Data: map[string]any{"id": "x"}})
				<-sub.C
				all = append(all, time.Since(began))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99")
		})
	}
	if err := servers[0].store.Ready(context.Background()); err != nil {
		b.Error(err)
	}
}
