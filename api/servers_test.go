package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/events"
	"warren/pool"
	"warren/store"
	"warren/testnet"
)

// Tests what several servers on one database do together.

// newServers serves on one database at several addresses, each with a data folder of its own.
func newServers(t testing.TB, database string, count int, change ...func(*setup)) (all []*testAPI) {
	t.Helper()
	for i := range count {
		all = append(all, newAPI(t, append(change, func(c *setup) {
			c.Database, c.NodeName = database, string(rune('a'+i))
			if i == 0 {
				return
			}
			secret, err := os.ReadFile(filepath.Join(all[0].dir, "secret.key"))
			if err == nil {
				err = os.MkdirAll(c.Data, 0o700)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(c.Data, "secret.key"), secret, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		})...))
	}
	return all
}

// TestKeysOfTwoServers: a key that is revoked at one server ends at the other one. Its requests are refused, and its stream and its
// capability end. So do a session key that goes for newer ones, and one whose parent is revoked.
func TestKeysOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	one, two := both[0], both[1]
	profile := two.profile(t)
	two, run := two.adopt(t, profile, "default", rand.Text())
	key, id := one.newKey(t, "read,run")
	session, _ := two.session(t, key)
	r := two.as(key).do(t, "POST", "/profiles/"+profile+"/capabilities", `{}`).want(t, 201)
	_, secret, _ := strings.Cut(r.text("liveUrl"), "#")
	watching, res := two.open(t, "/live/"+secret, nil)
	if res.StatusCode != 101 || run == nil {
		t.Fatal(res.StatusCode)
	}
	stream, ofSession := two.listen(t, key), two.listen(t, session)

	revoked := time.Now()
	one.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	for _, s := range []*eventReader{stream, ofSession} {
		select {
		case <-s.closed:
		case <-time.After(enough):
			t.Fatal("the stream of a key goes on that another server has revoked")
		}
	}
	t.Logf("the streams ended after %v", time.Since(revoked))
	for _, k := range []string{key, session} {
		two.as(k).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	}
	waitFor(t, "the end of its capability", func() bool {
		_, res := two.open(t, "/live/"+secret, nil)
		return res.StatusCode == http.StatusNotFound
	})
	if _, _, err := watching.Read(t.Context()); err == nil {
		t.Error("a connection of its capability goes on")
	}

	first, _ := two.session(t, two.key)
	two.as(first).do(t, "GET", "/profiles", nil).want(t, 200)
	for range maxSessions {
		one.session(t, one.key)
	}
	waitFor(t, "the end of a session key that went for newer ones", func() bool {
		return two.as(first).do(t, "GET", "/profiles", nil).status == http.StatusUnauthorized
	})
}

// TestKeysWithoutEvents: a key that was revoked by a server that died before it told the others ends all the same, within a second or two.
// While the database is away, a key is refused after a while, and what it has open goes on.
func TestKeysWithoutEvents(t *testing.T) {
	t.Parallel()
	db := testnet.OwnPostgres(t)
	a := newServers(t, db.NewDatabase(), 1)[0]
	key, id := a.newKey(t, "read")
	other, _ := a.newKey(t, "read")
	stream, stays := a.listen(t, key), a.listen(t, other)
	if err := a.store.Write(t.Context(), func(q *store.Queries) error {
		return store.ErrorOf(q.RevokeKey(t.Context(), store.RevokeKeyParams{ID: id, RevokedAt: now()}))
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stream.closed:
	case <-time.After(enough):
		t.Fatal("the stream of a revoked key goes on")
	}
	a.as(key).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")

	db.Kill()
	waitFor(t, "known keys to count no more", func() bool {
		a.srv.keys.mu.RLock()
		defer a.srv.keys.mu.RUnlock()
		return time.Since(a.srv.keys.compared) > maxKeyAge
	})
	a.as(other).do(t, "GET", "/openapi.json", nil).refused(t, 503, "database_busy")
	select {
	case <-stays.closed:
		t.Error("a stream ended with the database")
	default:
	}
	db.Start()
	waitFor(t, "keys to count again", func() bool { return a.as(other).do(t, "GET", "/profiles", nil).status == 200 })
}

// TestChecksOfTwoServers: of two servers that find the same proxies due, one checks them, once. A round that one of them leaves is taken on
// by the other.
func TestChecksOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2, checkingURL)
	m := both[0].pool(t, "default", 30, nil)
	for round := range 3 {
		at := time.Now().Add(time.Duration(round) * 2 * time.Hour)
		var checking sync.WaitGroup
		for _, a := range both {
			checking.Go(func() {
				if err := a.srv.pool.CheckDue(context.Background(), "default", time.Hour, at); err != nil {
					t.Error(err)
				}
			})
		}
		checking.Wait()
	}
	for _, id := range m.ids {
		if n := len(both[0].history(t, id)); n != 3 {
			t.Errorf("a proxy was checked %d times in 3 rounds", n)
		}
	}

	over, end := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		called, err := both[0].store.Alone(over, "a duty", func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			return nil
		})
		if !called {
			err = fmt.Errorf("it was not called")
		}
		ended <- err
	}()
	<-begun
	nothing := func(context.Context) error { return nil }
	if called, err := both[1].store.Alone(t.Context(), "a duty", nothing); called || err != nil {
		t.Errorf("while the other server does it: %v %v", called, err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if called, err := both[1].store.Alone(t.Context(), "a duty", nothing); !called || err != nil {
		t.Errorf("after the other server: %v %v", called, err)
	}
}

// TestRotateOnTwoServers: one of several rotations of a proxy at once is done, at whichever server they are asked for. The others are
// refused, as those at one server are. The exit that has moved is news to the other servers, once, and none to the one that has found it.
func TestRotateOnTwoServers(t *testing.T) {
	t.Parallel()
	database := testnet.Postgres(t)
	both := newServers(t, database, 2, checkingURL)
	m := both[0].pool(t, "default", 1, nil)
	var calls atomic.Int64
	seller := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		m.exit.Store(new(fmt.Sprintf("198.18.7.%d", calls.Add(1))))
	}))
	t.Cleanup(seller.Close)
	both[0].do(t, "PUT", "/proxies/"+m.ids[0], map[string]any{"rotateUrl": seller.URL}).want(t, 200)

	movesOf := []func(last string) []string{}
	for _, log := range []*events.Log{both[0].srv.events, both[1].srv.events, eventsOf(t, both[0], database)} {
		movesOf = append(movesOf, followMoves(t, both[0].store, log))
	}
	answers := make([]*answer, 6)
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() { answers[i] = both[i%2].do(t, "POST", "/proxies/"+m.ids[0]+"/rotate", nil) })
	}
	asking.Wait()
	var done []int
	for i, r := range answers {
		if r.status == 200 {
			done = append(done, i%2)
		} else {
			r.refused(t, 429, "rate_limited")
		}
	}
	if len(done) != 1 || calls.Load() != 1 {
		t.Fatalf("%d were done, the address was called %d times; want one of each", len(done), calls.Load())
	}
	if got := movesOf[2](m.ids[0]); !slices.Equal(got, m.ids) {
		t.Errorf("another server takes the moves %v, want %v", got, m.ids)
	}
	last := events.Event{Type: "proxy.exit_changed", Workspace: "default", Data: map[string]string{"id": "last"}}
	eventsOf(t, both[0], database).Publish(last)
	for i, moves := range movesOf[:2] {
		want := []string{m.ids[0], "last"}
		if i == done[0] {
			want = want[1:]
		}
		if got := moves("last"); !slices.Equal(got, want) {
			t.Errorf("server %d takes the moves %v from the events, want %v", i, got, want)
		}
	}
}

// eventsOf opens the events of one more server of a database.
func eventsOf(t testing.TB, a *testAPI, database string) *events.Log {
	t.Helper()
	st, err := store.Open(t.Context(), t.TempDir(), store.Options{Database: database, SecretKeyFile: filepath.Join(a.dir, "secret.key")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	log, err := events.Open(t.Context(), st.Bus(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	return log
}

// followMoves makes a pool take moves from events. The result waits for the move of a proxy, and returns all up to it.
func followMoves(t testing.TB, st *store.Store, log *events.Log) (until func(last string) []string) {
	t.Helper()
	beside, before := pool.New(t.Context(), pool.Config{}, slog.New(slog.DiscardHandler), st, log, nil), log.Subscribers()
	go beside.FollowOthers(t.Context())
	waitFor(t, "it follows", func() bool { return log.Subscribers() > before })
	return func(last string) (all []string) {
		for !slices.Contains(all, last) {
			moves := beside.AwaitMoves(t.Context())
			if moves == nil {
				t.Fatal("the move does not come")
			}
			for _, move := range moves {
				all = append(all, move.ProxyID)
			}
		}
		return all
	}
}

// TestTicketsOfTwoServers: a ticket that one server made opens one socket at another one, once, and nothing at another path. The code of a
// login link is good at any server, once.
func TestTicketsOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	one, two := both[0], both[1]
	profile := two.profile(t)
	two, _ = two.adopt(t, profile, "default", rand.Text())
	both[1] = two
	live := Prefix + "/profiles/" + profile + "/live"
	key, _ := one.newKey(t, "run")
	session, _ := one.session(t, one.key)
	for _, k := range []string{one.key, key, session} {
		ticket := "warren.ticket." + one.ticketFor(t, k, live)
		states := make(chan int)
		for range 4 {
			go func() {
				_, status := two.openFromPage(t, live, nil, "warren.live", ticket)
				states <- status
			}()
		}
		opened := 0
		for range 4 {
			if status := <-states; status == 101 {
				opened++
			} else if status != 401 {
				t.Errorf("a ticket that was used: %d", status)
			}
		}
		if opened != 1 {
			t.Errorf("a ticket opened %d sockets", opened)
		}
	}
	cdp := Prefix + "/profiles/" + profile + "/cdp"
	if _, status := two.openFromPage(t, cdp, nil, "warren.ticket."+one.ticketFor(t, key, live)); status != 401 {
		t.Errorf("a ticket for another path: %d", status)
	}

	for _, k := range []string{one.key, key} {
		code := one.codeOf(t, k)
		answers := make(chan *answer)
		for i := range 6 {
			go func() { answers <- both[i%2].exchange(t, code) }()
		}
		made := 0
		for range 6 {
			if r := <-answers; r.status == 201 {
				made++
			}
		}
		if made != 1 {
			t.Errorf("a code made %d session keys", made)
		}
	}
}

// namedServer is one of several servers, which count as gone when others is false.
type namedServer struct {
	id     string
	others *atomic.Bool
}

func (s namedServer) Owner() string { return s.id }

func (s namedServer) Lives(context.Context, string) (bool, error) { return s.others.Load(), nil }

// TestIdempotencyOfTwoServers: of the same requests at two servers at once one is done, and the others get its answer or are told to wait.
// After a crash of the server that did it, the other one does not guess. What is settled at the next start is that server's own.
func TestIdempotencyOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	others := new(atomic.Bool)
	others.Store(true)
	for i, a := range both {
		a.srv.idempotency.nodes = namedServer{fmt.Sprint("node", i), others}
	}
	for round := range 5 {
		key, body := fmt.Sprint("key ", round), fmt.Sprintf(`{"name":"once %d"}`, round)
		answers := make(chan *answer)
		for i := range 6 {
			go func() { answers <- both[i%2].once(t, key, "POST", "/profiles", body) }()
		}
		for range 6 {
			if r := <-answers; r.status != 201 {
				r.refused(t, 409, "idempotency_conflict")
				if r.header.Get("Retry-After") == "" {
					t.Errorf("it does not say when to ask again: %s", r)
				}
			}
		}
		for _, a := range both {
			a.once(t, key, "POST", "/profiles", body).want(t, 201).equal(t, "name", fmt.Sprint("once ", round))
		}
		both[0].do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", float64(round+1))
	}

	body := `{"name":"left"}`
	ask := func(a *testAPI) *answer { return a.once(t, "left", "POST", "/profiles", body) }
	if err := both[0].store.Write(t.Context(), func(q *store.Queries) error {
		hash := sha256.Sum256([]byte(body))
		return store.ErrorOf(q.BeginIdempotency(t.Context(), store.BeginIdempotencyParams{KeyID: environmentID, IdemKey: "left",
			Target: store.IdempotencyTarget("POST", Prefix+"/profiles"), BodyHash: hash[:], CreatedAt: now(), NodeID: "node0"}))
	}); err != nil {
		t.Fatal(err)
	}
	if r := ask(both[1]).refused(t, 409, "idempotency_conflict"); r.header.Get("Retry-After") == "" {
		t.Errorf("while the other server has it: %s", r)
	}
	others.Store(false)
	if r := ask(both[1]).refused(t, 409, "idempotency_conflict"); !strings.Contains(r.text("detail"), "unknown") {
		t.Errorf("after the end of the other server: %s", r)
	}
	for i, want := range []int{409, 201} { // the start of the one, and that of the other
		if err := both[1-i].srv.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask(both[1]).want(t, want)
	}
}

// TestWorkspaceOfTwoServers: a workspace that one server has deleted is made anew by a create at another one that knew it.
func TestWorkspaceOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newServers(t, testnet.Postgres(t), 2)
	for range 3 {
		id := both[0].profile(t, "workspaceId", "w")
		both[1].do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)
		both[1].do(t, "DELETE", "/workspaces/w", nil).want(t, 204)
	}
}
