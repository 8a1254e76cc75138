package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warren/pool"
	"warren/proxy"
	"warren/store"
)

// This file checks many proxies at once, and over time: each a real SOCKS5 server with a password and an exit of its own.

// manyProxies are SOCKS5 servers of one workspace, and the way into what each does.
type manyProxies struct {
	ids   []string
	exits map[string]string // by id
	ports map[string]int
	calm  chan struct{}          // closed: those that were silent hang up
	conns atomic.Int64           // that were taken
	open  atomic.Int64           // that are open now
	exit  atomic.Pointer[string] // what all of them tell, instead of their own
	dead  atomic.Bool            // they hang up
}

// pool adds n proxies to a workspace. Those for which silent says so take a connection and then say nothing.
func (a *testAPI) pool(t testing.TB, workspace string, n int, silent func(i int) bool) *manyProxies {
	t.Helper()
	m := &manyProxies{exits: map[string]string{}, ports: map[string]int{}, calm: make(chan struct{})}
	var rows []store.InsertProxyParams
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		exit := fmt.Sprintf("198.18.%d.%d", i/250, i%250+1)
		quiet := silent != nil && silent(i)
		go m.serve(l, exit, quiet)
		row := store.Proxy{ID: store.NewID()}
		if err := a.srv.pool.Seal(&row, proxy.Proxy{Type: proxy.SOCKS5, Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port,
			Username: "user", Password: "word-" + exit}); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, store.InsertProxyParams{ID: row.ID, WorkspaceID: workspace, Type: row.Type, Host: row.Host,
			Port: row.Port, Username: row.Username,
			Password: row.Password, Tags: `["Pool"]`, CreatedAt: now(), UpdatedAt: now()})
		m.ids = append(m.ids, row.ID)
		m.exits[row.ID], m.ports[row.ID] = exit, int(row.Port)
	}
	t.Cleanup(func() { m.hangUp() })
	err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(t.Context(), store.EnsureWorkspaceParams{ID: workspace, Now: now()}); err != nil {
			return err
		}
		for _, row := range rows {
			if _, err := q.InsertProxy(t.Context(), row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *manyProxies) hangUp() {
	select {
	case <-m.calm:
	default:
		close(m.calm)
	}
}

func (m *manyProxies) serve(l net.Listener, exit string, quiet bool) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		m.conns.Add(1)
		m.open.Add(1)
		go func() {
			defer m.open.Add(-1)
			defer c.Close()
			if quiet {
				<-m.calm
				return
			}
			if !m.dead.Load() {
				m.answer(c, exit)
			}
		}()
	}
}

// answer is a SOCKS5 server that wants a password (RFC 1928, RFC 1929), and the target behind it, which tells the exit.
func (m *manyProxies) answer(c net.Conn, exit string) {
	in := bufio.NewReader(c)
	take := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(in, b)
		return b
	}
	take(int(take(2)[1]))
	c.Write([]byte{5, 2})
	take(int(take(2)[1]))
	if string(take(int(take(1)[0]))) != "word-"+exit {
		c.Write([]byte{1, 1})
		return
	}
	c.Write([]byte{1, 0})
	head := take(4)
	if head[3] == 3 {
		take(int(take(1)[0]) + 2)
	} else {
		take(4 + 2)
	}
	if head[1] != 1 { // UDP ASSOCIATE, for one
		c.Write([]byte{5, 7, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	rq, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if rq.Host == "six.example" {
		exit = "2001:db8::" + exit[strings.LastIndexByte(exit, '.')+1:]
	} else if other := m.exit.Load(); other != nil {
		exit = *other
	}
	body := fmt.Sprintf(`{"ip":%q,"country":"DE","timezone":"Europe/Berlin"}`, exit)
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// checkAll reads the stream of POST /proxies/check-all. each is told of every line as it comes.
func (a *testAPI) checkAll(t testing.TB, ctx context.Context, body string, each func(pool.Check)) (lines []pool.Check, err error) {
	t.Helper()
	res, err := a.client.Do(a.request(t, "POST", "/proxies/check-all", body).WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/x-ndjson" || res.Header.Get("X-Total-Count") == "" {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %v %s", res.Status, res.Header, text)
	}
	in := json.NewDecoder(res.Body)
	for {
		var c pool.Check
		if err := in.Decode(&c); err != nil {
			if err == io.EOF && res.Header.Get("X-Total-Count") != fmt.Sprint(len(lines)) {
				t.Errorf("%d lines of %s", len(lines), res.Header.Get("X-Total-Count"))
			}
			return lines, err
		}
		lines = append(lines, c)
		if each != nil {
			each(c)
		}
	}
}

// checkingURL is a check URL that no proxy of these tests dials: they answer themselves.
func checkingURL(c *setup) { c.CheckURL = []string{"http://where.example/json"} }

// TestCheckAll: of 2,000 proxies each comes out at its own address, one line each, and is kept as a single check is. Silent ones
// among them hold nobody up: their lines come only when all the others are out.
func TestCheckAll(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 300
	}
	// Alone: it has two thousand connections. There are fewer places than silent ones.
	a := newAPI(t, checkingURL, func(c *setup) { c.CheckAtOnce = n / 20 })
	m := a.pool(t, "default", n, func(i int) bool { return i%10 == 3 })
	alive := 0
	lines, err := a.checkAll(t, t.Context(), `{}`, func(c pool.Check) {
		if c.OK {
			if alive++; alive == n*9/10 {
				m.hangUp()
			}
		}
	})
	if err != io.EOF || len(lines) != n || alive != n*9/10 {
		t.Fatalf("%d lines, %d alive, %v; want %d and %d", len(lines), alive, err, n, n*9/10)
	}
	seen := map[string]bool{}
	for i, c := range lines {
		if seen[*c.ID] = true; !c.OK && (c.Error == nil || c.Error.Stage != "greeting" || i < n*9/10) {
			t.Errorf("line %d: %+v", i, c.Error)
		} else if c.OK && *c.ExitIP != m.exits[*c.ID] {
			t.Errorf("the exit of another: %s, want %s", *c.ExitIP, m.exits[*c.ID])
		}
	}
	if len(seen) != n {
		t.Errorf("%d proxies have a line, want %d", len(seen), n)
	}
	for _, id := range []string{m.ids[0], m.ids[3], m.ids[n-1]} {
		r := a.do(t, "GET", "/proxies/"+id, nil).want(t, 200)
		i := slices.IndexFunc(lines, func(c pool.Check) bool { return *c.ID == id })
		r.equal(t, "lastCheck.checkedAt", lines[i].CheckedAt.Format(shownTime))
		r.equal(t, "status", lines[i].Status)
		a.do(t, "GET", "/proxies/"+id+"/checks", nil).want(t, 200).equal(t, "data", []any{r.at("lastCheck")})
	}
}

// TestCheckAllOfSome: by ids, tag and workspace; what is unknown is told, and nothing is checked.
func TestCheckAllOfSome(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL)
	m, other := a.pool(t, "default", 3, nil), a.pool(t, "other", 2, nil)
	for body, want := range map[string]int{
		`{}`: 5, `{"tag":"pool"}`: 5, `{"tag":"none"}`: 0, `{"workspaceId":"other"}`: 2, `{"workspaceId":"none"}`: 0,
		`{"ids":["` + m.ids[1] + `","` + m.ids[1] + `"]}`: 1, `{"ids":[]}`: 0, `{"ids":["` + other.ids[0] + `"],"tag":"POOL"}`: 1,
	} {
		if lines, err := a.checkAll(t, t.Context(), body, nil); err != io.EOF || len(lines) != want {
			t.Errorf("%s: %d lines, %v; want %d", body, len(lines), err, want)
		}
	}
	before := m.conns.Load() + other.conns.Load()
	key, _ := a.newKey(t, "run", "other")
	a.as(key).do(t, "POST", "/proxies/check-all", `{"ids":["`+m.ids[0]+`","`+other.ids[0]+`","x"]}`).invalid(t, "body.ids[0]",
		"body.ids[2]")
	a.do(t, "POST", "/proxies/check-all", `{"ids":["`+m.ids[0]+`"],"workspaceId":"other"}`).invalid(t, "body.ids[0]")
	a.do(t, "POST", "/proxies/check-all", `{"ids":null,"tag":1,"x":1}`).want(t, 422)
	a.do(t, "POST", "/proxies/check-all", `{"ids":[`+strings.Repeat(`"x",`, maxChecked)+`"x"]}`).invalid(t, "body.ids")
	if after := m.conns.Load() + other.conns.Load(); after != before {
		t.Errorf("%d checks were made for calls that were refused", after-before)
	}
	if lines, err := a.as(key).checkAll(t, t.Context(), `{}`, nil); err != io.EOF || len(lines) != 2 {
		t.Errorf("a key of one workspace: %d lines, %v; want 2", len(lines), err)
	}
}

// TestCheckAllEndsWithItsCaller: who leaves ends the checks, those under way included, and what they would have found is not kept.
func TestCheckAllEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.CheckAtOnce = 3; c.CheckTimeout = time.Minute })
	m := a.pool(t, "default", 200, func(i int) bool { return i > 9 }) // no line comes any more that could not be written
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	got := 0
	lines, err := a.checkAll(t, ctx, `{}`, func(pool.Check) {
		if got++; got == 10 {
			leave()
		}
	})
	if err == nil || err == io.EOF || len(lines) < 10 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	waitFor(t, "every connection to be closed", func() bool { return goroutinesIn("(*runs).checkWorkspace(") == 0 })
	if n := m.conns.Load(); n > 60 {
		t.Errorf("%d connections were made", n)
	}
	for _, id := range m.ids[10:] {
		if a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).at("lastCheck") != nil {
			t.Fatal("a check that was given up was kept")
		}
	}
}

// TestCheckEvents: one that dies, returns or changes its exit is told of; of many nothing else is but the end.
func TestCheckEvents(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL)
	m := a.pool(t, "default", 2, nil)
	stream := a.listen(t, a.key)
	other := "198.18.9.9"
	for _, step := range []func(){func() {}, func() { m.dead.Store(true) }, func() { m.dead.Store(false) },
		func() { m.exit.Store(&other) }} {
		step()
		if _, err := a.checkAll(t, t.Context(), `{}`, nil); err != io.EOF {
			t.Fatal(err)
		}
	}
	a.do(t, "PUT", "/proxies/"+m.ids[0], `{"name":"the end"}`).want(t, 200)
	var got []string
	for _, e := range stream.until(t, "proxy.updated") {
		got = append(got, e.event)
	}
	slices.Sort(got[1:3])
	want := []string{"proxy.all_checked", "proxy.died", "proxy.died", "proxy.all_checked", "proxy.returned", "proxy.returned",
		"proxy.all_checked",
		"proxy.exit_changed", "proxy.exit_changed", "proxy.all_checked", "proxy.updated"}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%q, want\n%q", got, want)
	}
	// Two profiles that come out at the same address, each by a proxy of its own, are told.
	one, two := a.profile(t, "proxyId", m.ids[0]), a.profile(t, "proxyId", m.ids[1])
	users := []string{one, two}
	slices.Sort(users)
	a.do(t, "POST", "/proxies/"+m.ids[0]+"/check", nil).want(t, 200).equal(t, "usedByProfiles", users)
	m.exit.Store(nil)
	a.do(t, "POST", "/proxies/"+m.ids[0]+"/check", nil).want(t, 200).equal(t, "usedByProfiles", []string{one})
	r := a.do(t, "GET", "/proxies/"+m.ids[0], nil).want(t, 200)
	r.equal(t, "latency.count", 5)
	r.equal(t, "uptime", 5.0/6)
}

// TestCheckEvery: proxies are checked again and again, each workspace at its own pace, and what has never been checked at once.
func TestCheckEvery(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.CheckEvery = []string{"1s", "slow=1h", "never=0"} })
	m, slow, never := a.pool(t, "default", 3, nil), a.pool(t, "slow", 2, nil), a.pool(t, "never", 2, nil)
	waitFor(t, "three rounds", func() bool {
		return !slices.ContainsFunc(m.ids, func(id string) bool { return len(a.history(t, id)) < 3 })
	})
	for _, id := range m.ids {
		h := a.history(t, id)
		for i := range h[:len(h)-1] {
			if gap := h[i].At - h[i+1].At; gap < 900 {
				t.Errorf("two checks began within %d ms, of 1000 less a tenth", gap)
			}
		}
	}
	for _, id := range slow.ids {
		if n := len(a.history(t, id)); n != 1 {
			t.Errorf("the slow workspace's proxy was checked %d times, want once", n)
		}
	}
	if never.conns.Load() != 0 {
		t.Error("a workspace without checks over time was checked")
	}
}

// TestCheckMore: an exit over IPv6 and datagrams are asked for where the server is told to, and make no proxy dead.
func TestCheckMore(t *testing.T) {
	t.Parallel()
	for _, more := range []bool{false, true} {
		a := newAPI(t, checkingURL, func(c *setup) {
			if more {
				c.CheckURL6, c.CheckUDPURL = []string{"http://six.example/"}, "stun://stun.example:3478"
			}
		})
		r := a.do(t, "POST", "/proxies/"+a.pool(t, "default", 1, nil).ids[0]+"/check", nil).want(t, 200)
		r.equal(t, "ok", true)
		if !more {
			r.equal(t, "exitIpV6", nil)
			r.equal(t, "udp", nil)
			continue
		}
		r.equal(t, "exitIpV6", "2001:db8::1")
		r.equal(t, "udp.ok", false)
		r.equal(t, "udp.error.code", "request_refused")
	}
}
