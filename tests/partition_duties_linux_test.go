package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"warren/store/postgres"
	"warren/testnet"
)

// What one of several servers does at a time, while networks between them fail silently.

// outside is what the servers call outside: an endpoint of webhooks, a rotateUrl, and a service that tells a proxy's exit, which is
// another one after each rotation.
type outside struct {
	site *httptest.Server

	mu        sync.Mutex
	delivered map[string]int // by the event's profile
	rotated   []time.Time
	checked   []time.Time
	exit      int
	holds     bool // the next check waits for its caller to go away
	held      chan struct{}
}

func (p *partition) outside() *outside {
	p.t.Helper()
	o := &outside{delivered: map[string]int{}, held: make(chan struct{}, 1)}
	l, err := net.Listen("tcp", p.Address(testnet.TestHost)+":0")
	if err != nil {
		p.t.Fatal(err)
	}
	o.site = &httptest.Server{Listener: l, Config: &http.Server{Handler: o}} //nolint:gosec // a test's
	o.site.Start()
	p.t.Cleanup(func() { o.site.CloseClientConnections(); o.site.Close() })
	return o
}

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r.URL.Path {
	case "/hook":
		var message struct{ Data struct{ ID string } }
		if body, err := io.ReadAll(r.Body); err == nil && json.Unmarshal(body, &message) == nil {
			o.delivered[message.Data.ID]++
		}
	case "/rotate":
		o.exit++
		o.rotated = append(o.rotated, time.Now())
	case "/ip":
		if o.holds {
			o.holds = false
			o.held <- struct{}{}
			o.mu.Unlock()
			<-r.Context().Done()
			o.mu.Lock()
			return
		}
		o.checked = append(o.checked, time.Now())
		fmt.Fprintf(w, `{"ip":"198.51.100.%d"}`, o.exit%250+1)
	}
}

// counted returns how often something was called.
func (o *outside) counted(calls *[]time.Time) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(*calls)
}

// at returns when a check came, by its number from 0.
func (o *outside) at(n int) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.checked[n]
}

// apart returns the shortest time between two calls.
func (o *outside) apart(calls *[]time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	least := time.Hour
	for i := 1; i < len(*calls); i++ {
		least = min(least, (*calls)[i].Sub((*calls)[i-1]))
	}
	return least
}

// told reports how often the endpoint was told of profiles: of how many never, and of how many more than once.
func (o *outside) told(profiles []string) (never, again int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range profiles {
		switch n := o.delivered[id]; {
		case n == 0:
			never++
		case n > 1:
			again++
		}
	}
	return never, again
}

// occurrences follows the occurrences of a schedule on a server's stream of events. The result counts them by the time at which each was
// due.
func (s *liveServer) occurrences(schedule string) (count func() map[string]int) {
	s.t.Helper()
	var mu sync.Mutex
	all, stream := map[string]int{}, s.listen()
	go func() {
		for e := range stream.ch {
			if e.Type == "schedule.started" && e.Data.ID == schedule {
				mu.Lock()
				all[e.Data.DueAt]++
				mu.Unlock()
			}
		}
	}()
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(all)
	}
}

// TestPartitionedDuties: the server that delivers webhooks, checks a proxy and rotates another is cut off from the database and from the
// other server. That one goes on with all of it. Each thing is done once over the cut and the end of it.
func TestPartitionedDuties(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	p := partitioned(t, []string{"b", "a"}, "--check-every", "4s", "--rotate-every", "1s", "--rotate-timeout", "10s")
	if p == nil {
		return
	}
	a, b := p.all["a"], p.all["b"] // b was first, so that it delivers
	rotates, checks := p.outside(), p.outside()
	proxyTo := func(o *outside, more map[string]any) string {
		way := testnet.NewLocalProxyAt(t, p.Address(testnet.TestHost), o.site.Listener.Addr().String())
		in := map[string]any{"host": p.Address(testnet.TestHost), "port": way.Port(), "username": way.User, "password": way.Password}
		for name, value := range more {
			in[name] = value
		}
		return a.addProxy(in)
	}
	var hook, pending struct {
		ID    string
		Total int
	}
	a.do("POST", "/webhooks", map[string]any{"url": rotates.site.URL + "/hook", "events": []string{"profile.created"}}, 201, &hook)
	proxyTo(checks, nil)
	rotated := proxyTo(rotates, map[string]any{"rotateUrl": rotates.site.URL + "/rotate"})
	var schedule scheduleView
	a.do("POST", "/schedules", map[string]any{"name": "turns", "everyMs": 2000, "action": "rotate", "proxyIds": []string{rotated}}, 201,
		&schedule)
	started := a.occurrences(schedule.ID)
	var profiles []string
	create := func(s *liveServer) { profiles = append(profiles, s.profile(nil)) }
	create(a)
	create(b)
	isTold := func() bool { // and it is written down: what is not comes again
		never, _ := rotates.told(profiles)
		a.do("GET", "/webhooks/"+hook.ID+"/deliveries?state=pending", nil, 200, &pending)
		return never == 0 && pending.Total == 0
	}
	p.took("the endpoint is told", isTold)
	for round := range 2 {
		checks.mu.Lock()
		checks.holds = round == 0 // whose ever check it is
		checks.mu.Unlock()
		if round == 0 {
			<-checks.held
		}
		p.Cut("b", "a", databaseHost)
		create(a)
		cut, before := time.Now(), checks.counted(&checks.checked)
		p.took("the endpoint is told of an event during the cut", isTold)
		p.took("proxies are checked", func() bool { return checks.counted(&checks.checked) >= before+2 })
		t.Logf("the first check was %v after the cut", checks.at(before).Sub(cut).Round(10*time.Millisecond))
		turns := rotates.counted(&rotates.rotated) + 2
		p.took("the proxy is rotated", func() bool { return rotates.counted(&rotates.rotated) >= turns })
		p.took("the server counts as gone", func() bool { return a.stateOf("b") == "unreachable" })
		t.Logf("after %v of the cut", time.Since(cut).Round(time.Second))
		p.Heal("b", "a", databaseHost)
		p.took("the server is back", func() bool { return b.works("GET", "/profiles") && a.stateOf("b") == "up" })
		create(a)
		create(b)
		p.took("the endpoint is told of what came after", isTold)
	}
	a.do("PUT", "/schedules/"+schedule.ID, map[string]any{"enabled": false}, 200, nil)
	occurred := started()
	for due, n := range occurred {
		if n != 1 {
			t.Errorf("the occurrence due at %s began %d times", due, n)
		}
	}
	_, again := rotates.told(profiles)
	t.Logf("%d occurrences, %d rotations %v apart at least, %d checks %v apart at least, %d of %d deliveries came again", len(occurred),
		rotates.counted(&rotates.rotated), rotates.apart(&rotates.rotated), checks.counted(&checks.checked), checks.apart(&checks.checked),
		again, len(profiles))
	if again != 0 || rotates.apart(&rotates.rotated) < time.Second || checks.apart(&checks.checked) < 3*time.Second {
		t.Error("something was done twice")
	}
	if n := rotates.counted(&rotates.rotated); n > len(occurred) {
		t.Errorf("%d rotations by %d occurrences", n, len(occurred))
	}
}

// TestLocksOfLostServer: a server vanishes in the middle of a transaction that holds the lock of events. PostgreSQL keeps that until it
// gives the connection up. The address of the database says how soon. This pool has no limit of its own before that of TCP.
func TestLocksOfLostServer(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	p := partitioned(t, []string{"a"})
	if p == nil {
		return
	}
	const lock = 0x5772726e<<8 | 2 // eventsLock of store
	for _, x := range []struct {
		settings string
		most     time.Duration
	}{{"", 45 * time.Second}, {"&tcp_keepalives_idle=5&tcp_user_timeout=10000", 20 * time.Second},
		{"&idle_in_transaction_session_timeout=5s", 15 * time.Second}} {
		pool, err := postgres.Open(p.url+x.settings, 1, postgres.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := pool.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1)", int64(lock)); err != nil {
			t.Fatal(err)
		}
		events := p.all["a"].listen()
		p.Cut(testnet.TestHost, databaseHost)
		began := time.Now()
		events.await("profile.created", "", p.all["a"].profile(nil))
		took := time.Since(began)
		t.Logf("with %q events went on after %v", x.settings, took.Round(100*time.Millisecond))
		if took > x.most || took < time.Second {
			t.Errorf("with %q events went on after %v", x.settings, took)
		}
		p.Heal(testnet.TestHost, databaseHost)
		tx.Rollback() //nolint:errcheck // its connection is lost
		pool.Close()
	}
}

// TestSlowNetwork: everything works where each way between two machines takes 50 ms.
func TestSlowNetwork(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	p := partitioned(t, []string{"a", "b"})
	if p == nil {
		return
	}
	a, b := p.all["a"], p.all["b"]
	id := p.profileAt("b")
	a.start(id, nil)
	a.stop(id) // connections and statements are there
	measure := func(what string, most time.Duration, do func()) {
		t.Helper()
		began := time.Now()
		do()
		took := time.Since(began)
		t.Logf("%s: %v", what, took.Round(time.Millisecond))
		if took > most {
			t.Errorf("%s took %v, want %v at most", what, took, most)
		}
	}
	p.Delay(50 * time.Millisecond)
	var c *cdpClient
	page := ""
	measure("get a profile", 5*time.Second, func() { a.get(id) })
	measure("list profiles", 5*time.Second, func() { a.do("GET", "/profiles", nil, 200, nil) })
	measure("list runs of all servers", 5*time.Second, func() { a.do("GET", "/runs", nil, 200, nil) })
	measure("create a profile", 10*time.Second, func() { a.profile(nil) })
	measure("start a profile of another server", time.Minute, func() { a.start(id, nil) })
	measure("connect to its browser through this server", 10*time.Second, func() {
		c = dialCDP(t, a.start(id, nil).WsEndpoint, nil)
		page = c.open(p.world.url("/slow"))
	})
	c.awaitURL(page, p.world.url("/slow"))
	measure("a command of CDP through this server", 5*time.Second, func() { c.eval(page, "1") })
	far := dialCDP(t, b.start(id, nil).WsEndpoint, nil)
	tab := far.open("about:blank")
	measure("a command of CDP at the profile's own server", 5*time.Second, func() { far.eval(tab, "1") })
	measure("an event of the other server", 10*time.Second, func() { p.tells("b", "a") })
	measure("stop", time.Minute, func() { a.stop(id) })
}
