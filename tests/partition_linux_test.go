package tests

import (
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// Networks between servers of one database that fail silently. PostgreSQL and each server have a network namespace and an address of their
// own. The test reaches all of them whatever is cut, as do the pages of their browsers, through a SOCKS5 proxy with a password.

// partition is such a network with its servers.
type partition struct {
	*testnet.Lan
	t        *testing.T
	database *testnet.PostgresServer
	url      string                 // of the database
	all      map[string]*liveServer // by the names of their hosts
	flags    []string
	world    *world
	proxy    *testnet.LocalProxy
	proxyID  string
	key      string // the file with the secret key that all share
}

// databaseHost is the name of PostgreSQL's host.
const databaseHost = "db"

// partitioned runs the test in namespaces of its own, with PostgreSQL and servers of these names there. It returns nil where that run is
// over.
func partitioned(t *testing.T, names []string, flags ...string) *partition {
	t.Helper()
	needBrowser(t)
	lan := testnet.NewLan(t, []string{"WARREN_TEST_BINARY=" + builtBinary}, append([]string{databaseHost}, names...)...)
	if lan == nil {
		return nil
	}
	p := &partition{Lan: lan, t: t, database: lan.Postgres(databaseHost), all: map[string]*liveServer{}, flags: flags}
	p.url = p.database.NewDatabase()
	p.world = newWorld(t)
	p.proxy = testnet.NewLocalProxyAt(t, lan.Address(testnet.TestHost), p.world.site.Listener.Addr().String())
	for _, name := range names {
		p.begin(name)
	}
	return p
}

// begin starts the server of a host.
func (p *partition) begin(name string) {
	p.t.Helper()
	g := newTestbed(p.t)
	g.world, g.proxy = p.world, p.proxy
	g.under = func(cmd *exec.Cmd) { p.Move(name, cmd) }
	own := []string{"--store", p.url, "--node", name, "--label", "at=" + name, "--listen", p.Address(name) + ":7777",
		"--behind-proxy", p.Address(testnet.TestHost) + "/32", "--allow-private", "yes", "--webhook-allow-private=yes",
		"--check-url", p.world.url("/ip")}
	if p.key == "" {
		p.key = filepath.Join(g.data, "secret.key")
	} else {
		own = append(own, "--secret-key-file", p.key)
	}
	p.all[name] = g.serve(append(own, p.flags...)...)
}

// profileAt makes a profile that starts on a server, behind the proxy.
func (p *partition) profileAt(name string) string {
	p.t.Helper()
	return p.all[name].profile(map[string]any{"placement": map[string]any{"labels": map[string]any{"at": name}}, "proxyId": p.way()})
}

// way returns the id of the proxy that leads to the world, which it saves the first time.
func (p *partition) way() string {
	p.t.Helper()
	if p.proxyID == "" {
		for _, s := range p.all {
			p.proxyID = s.addProxy(map[string]any{"host": p.Address(testnet.TestHost)})
			break
		}
	}
	return p.proxyID
}

// browsersOf counts the browsers of a profile, by the names of their servers. A child that a browser has forked looks like it until it runs
// its own program.
func (p *partition) browsersOf(id string) map[string]int {
	out := map[string]int{}
	for name, s := range p.all {
		all := s.browsers()
		for _, b := range all {
			parent := parentOf(strconv.Itoa(b.pid))
			isChild := slices.ContainsFunc(all, func(other found) bool { return strconv.Itoa(other.pid) == parent })
			if strings.Contains(b.command, id) && parent != "" && !isChild {
				out[name]++
			}
		}
	}
	return out
}

// wantOne wants one browser of a profile.
func (p *partition) wantOne(id string) {
	p.t.Helper()
	if at := p.browsersOf(id); len(at) != 1 || slices.Max(slices.Collect(maps.Values(at))) != 1 {
		p.t.Errorf("the browsers of one profile: %v", at)
	}
}

// timed does an operation, and wants one of the codes as its problem within a time. It returns how long the answer took.
func (s *liveServer) timed(method, path string, limit time.Duration, codes ...string) time.Duration {
	s.t.Helper()
	began := time.Now()
	r, err := s.try(method, path, nil)
	took := time.Since(began)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
		return took
	}
	if !slices.ContainsFunc(codes, func(code string) bool { return strings.Contains(string(r.body), `"`+code+`"`) }) {
		s.t.Errorf("%s %s at %s answered %d %s, want %v", method, path, s.base, r.status, r.body, codes)
	}
	if took > limit {
		s.t.Errorf("%s %s at %s was refused after %v", method, path, s.base, took)
	}
	return took.Round(time.Millisecond)
}

// took logs how long something took until it was so.
func (p *partition) took(what string, yes func() bool) {
	p.t.Helper()
	began := time.Now()
	testnet.Eventually(p.t, what, yes)
	p.t.Logf("%s: after %v", what, time.Since(began).Round(10*time.Millisecond))
}

// tells waits until a stream of one server has an event of another.
func (p *partition) tells(from, to string) {
	p.t.Helper()
	stream := p.all[to].listen()
	began := time.Now()
	id := p.all[from].profile(nil)
	stream.await("profile.created", "", id)
	p.t.Logf("an event of %s was at %s after %v", from, to, time.Since(began).Round(time.Millisecond))
}

// silence is what bounds an answer while packets vanish: the 30 s after which a silent connection counts as lost, and a new one that is
// tried. A busy machine adds to it.
const silence = time.Minute

// TestPartitions: a server that is cut off from the database goes on with its run, and refuses what needs the database within a bounded
// time. Two servers that do not reach each other say so. Afterwards all work again by themselves. There is one browser all the time.
func TestPartitions(t *testing.T) {
	t.Parallel()
	p := partitioned(t, []string{"a", "b", "c"})
	if p == nil {
		return
	}
	a, b, c := p.all["a"], p.all["b"], p.all["c"]
	cut, apart := p.profileAt("b"), p.profileAt("c")
	before := map[string]runView{cut: a.start(cut, nil), apart: a.start(apart, nil)}
	direct, through := dialCDP(t, b.start(cut, nil).WsEndpoint, nil), dialCDP(t, before[cut].WsEndpoint, nil)
	beside, lost := dialCDP(t, c.start(apart, nil).WsEndpoint, nil), dialCDP(t, before[apart].WsEndpoint, nil)
	seen, events := b.watches(b.start(cut, nil)).messages(), a.listen()
	p.Cut("b", databaseHost)
	p.Cut("a", "c")
	looks := seen()
	p.drive(direct, "/meanwhile")
	p.drive(through, "/through")
	p.drive(beside, "/apart")
	testnet.Eventually(t, "the live view goes on", func() bool { return seen() > looks })
	var refusals sync.WaitGroup
	refusals.Go(func() { p.refusesDatabase(a, b, cut) })
	refusals.Go(func() { p.refusesOther(a, apart) })
	refusals.Go(func() {
		began := time.Now()
		if err := lost.awaitEnd(silence); err != nil {
			t.Errorf("a client of CDP through another server hangs: %v", err)
		}
		t.Logf("a client of CDP through a server that cannot reach the other: its connection ended after %v", time.Since(began))
	})
	refusals.Wait()
	p.drive(direct, "/later")
	for id := range before {
		p.wantOne(id)
	}
	p.Heal("b", databaseHost)
	p.Heal("a", "c")
	p.took("the server that was cut off from the database answers again", func() bool { return b.works("GET", "/profiles/"+cut) })
	p.took("its beat moves", func() bool { return a.stateOf("b") == "up" })
	p.took("the servers reach each other again", func() bool { return a.works("POST", "/profiles/"+apart+"/start") })
	p.tells("b", "a")
	p.tells("a", "b")
	for id, run := range before {
		again := a.start(id, nil)
		if !again.Reused || again.RunID != run.RunID {
			t.Errorf("a start after it gave %+v", again)
		}
		p.drive(dialCDP(t, again.WsEndpoint, nil), "/again/"+id)
		a.stop(id)
		events.await("run.ended", "stopped", id)
	}
}

// drive opens a page in a new tab.
func (p *partition) drive(c *cdpClient, path string) {
	p.t.Helper()
	c.awaitURL(c.open(p.world.url(path)), p.world.url(path))
	p.world.await(p.t, path, 1)
}

// TestCapabilitiesWithoutDatabase: clients of CDP connect through a server that does not reach the database, and do not wait for it.
func TestCapabilitiesWithoutDatabase(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	p := partitioned(t, []string{"a", "b"})
	if p == nil {
		return
	}
	a := p.all["a"]
	id := p.profileAt("b")
	run := a.start(id, nil)
	p.Cut("a", databaseHost)
	a.timed("GET", "/profiles/"+id, silence, "database_busy")
	for range 3 {
		began := time.Now()
		var joining sync.WaitGroup
		for range 5 {
			joining.Go(func() {
				if _, status, err := tryCDP(t, run.WsEndpoint, nil); err != nil {
					t.Errorf("CDP through a server without the database: %d %v", status, err)
				}
			})
		}
		joining.Wait()
		took := time.Since(began)
		t.Logf("5 clients of CDP through a server without the database: after %v", took.Round(time.Millisecond))
		if took > 10*time.Second {
			t.Errorf("clients of CDP through a server without the database waited %v", took)
		}
	}
	p.Heal("a", databaseHost)
	p.took("the server answers again", func() bool { return a.works("GET", "/profiles/"+id) })
	a.stop(id)
}

// messages counts what comes over a socket.
func (c *cdpClient) messages() (count func() int64) {
	var n atomic.Int64
	go func() {
		for {
			if _, _, err := c.ws.Read(context.Background()); err != nil {
				return
			}
			n.Add(1)
		}
	}()
	return n.Load
}

// refusesDatabase wants what needs the database refused by b, which does not reach it, and by a for a profile that b has.
func (p *partition) refusesDatabase(a, b *liveServer, id string) {
	p.t.Helper()
	var asking sync.WaitGroup
	ask := func(s *liveServer, method, path string) {
		asking.Go(func() {
			p.t.Logf("%s %s at %s: database_busy after %v", method, path, s.base, s.timed(method, path, silence, "database_busy"))
		})
	}
	ask(b, "GET", "/profiles/"+id)
	ask(b, "GET", "/profiles")
	ask(b, "POST", "/profiles/"+id+"/start")
	ask(b, "GET", "/proxies")
	ask(a, "POST", "/profiles/"+id+"/start")
	asking.Wait()
	p.took("the other server sees that the beat stands still", func() bool { return a.stateOf("b") == "unreachable" })
	ask(b, "GET", "/profiles/"+id)
	ask(a, "POST", "/profiles/"+id+"/start")
	asking.Wait()
	fresh := a.profile(nil)
	if a.start(fresh, nil); len(a.browsers()) != 1 {
		p.t.Error("a new profile does not run at the server that has the database")
	}
	a.stop(fresh)
}

// refusesOther wants what a cannot ask another server refused, within a bounded time.
func (p *partition) refusesOther(a *liveServer, id string) {
	p.t.Helper()
	var asking sync.WaitGroup
	for _, path := range [][2]string{{"POST", "/start"}, {"POST", "/stop"}, {"GET", "/screenshot"}, {"GET", "/downloads"}} {
		asking.Go(func() {
			took := a.timed(path[0], "/profiles/"+id+path[1], silence, "node_unreachable", "node_failed")
			p.t.Logf("%s %s by another server that cannot be reached: refused after %v", path[0], path[1], took)
		})
	}
	began := time.Now()
	a.do("GET", "/profiles/"+id, nil, 200, nil)
	a.do("GET", "/runs", nil, 200, nil)
	p.t.Logf("a profile and the list of runs: after %v", time.Since(began).Round(time.Millisecond))
	asking.Wait()
	p.t.Logf("a start then: refused after %v", a.timed("POST", "/profiles/"+id+"/start", silence, "node_unreachable"))
}

// TestServerStandsStill: the process of a server does nothing any more, and its machine lives. Requests for its profiles are given up.
func TestServerStandsStill(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	all := cluster(t, "", 2)
	id := all[0].profile(nil)
	owner, others := ownerOf(t, all, id)
	other := others[0]
	other.start(id, nil) // a connection is kept
	pause(t, owner.cmd.Process.Pid)
	began := time.Now()
	other.refused("POST", "/profiles/"+id+"/start", nil, 502, "node_failed")
	t.Logf("on a connection from before: after %v", time.Since(began).Round(time.Second))
	began = time.Now()
	other.refused("POST", "/profiles/"+id+"/start", nil, 409, "node_unreachable")
	t.Logf("on a new one: after %v", time.Since(began).Round(time.Second))
	if err := syscall.Kill(owner.cmd.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "it goes on", func() bool { return other.works("POST", "/profiles/"+id+"/start") })
}
