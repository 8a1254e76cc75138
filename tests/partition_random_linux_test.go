package tests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// storm starts and stops a few profiles through any server, while networks fail and servers stand still.
type storm struct {
	*partition
	names  []string
	client *http.Client // does not wait for ever: a server that stands still answers nothing

	mu      sync.Mutex
	answers map[string]int             // by status and code
	at      map[string]map[string]bool // the servers that had a browser of each profile
	twice   []string                   // what was seen
	looks   int                        // how often a browser was there
}

// usual are the codes with which starts and stops are refused while something has failed.
const usual = "database_busy node_unreachable node_failed node_conflict no_server profile_busy browser_failed proxy_unreachable " +
	"start_cancelled start_timed_out profile_locked run_not_answering"

// ask starts or stops a profile through any server.
func (m *storm) ask(ids []string) {
	id, name := ids[rand.IntN(len(ids))], m.names[rand.IntN(len(m.names))]
	deed := "/start"
	if rand.IntN(4) == 0 {
		deed = "/stop"
	}
	s := m.all[name]
	req, err := http.NewRequest("POST", s.base+apiPrefix+"/profiles/"+id+deed, nil)
	if err != nil {
		m.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	came := "no answer"
	if res, err := m.client.Do(req); err == nil {
		var p problemView
		var text bytes.Buffer
		_, err = text.ReadFrom(res.Body)
		res.Body.Close()
		if came = fmt.Sprint(res.StatusCode); err == nil && res.StatusCode >= 400 && json.Unmarshal(text.Bytes(), &p) == nil {
			if came += " " + p.Code; !strings.Contains(usual, p.Code) || res.StatusCode == 500 {
				m.t.Errorf("%s of a profile at %s: %d %s", deed, name, res.StatusCode, &text)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[deed+" "+came]++
}

// look notes which browsers run. A profile has one at most, always at the same server.
func (m *storm) look(ids []string) {
	for _, id := range ids {
		for name, n := range m.browsersOf(id) {
			m.mu.Lock()
			if m.at[id] == nil {
				m.at[id] = map[string]bool{}
			}
			if m.at[id][name] = true; n > 1 || len(m.at[id]) > 1 {
				m.twice = append(m.twice, fmt.Sprintf("%d browsers of %s at %s; so far they were at %v", n, id, name, m.at[id]))
			}
			m.looks++
			m.mu.Unlock()
		}
	}
}

// fail breaks something for a while.
func (m *storm) fail(while time.Duration) (what string) {
	host, other := m.names[rand.IntN(len(m.names))], m.names[rand.IntN(len(m.names))]
	wait := time.NewTimer(while)
	switch rand.IntN(5) {
	case 0:
		m.Cut(host, databaseHost)
		defer m.Heal(host, databaseHost)
		what = "no database"
	case 1:
		if other == host {
			other = databaseHost
		}
		m.Cut(host, other)
		defer m.Heal(host, other)
		what = "one cable"
	case 2:
		rest := append([]string{databaseHost}, m.names...)
		m.Cut(host, rest...)
		defer m.Heal(host, rest...)
		what = "all cables"
	case 3:
		if err := m.Unplug(host); err != nil {
			m.t.Error(err)
		}
		defer func() {
			if err := m.Plug(host); err != nil {
				m.t.Error(err)
			}
		}()
		what = "unplugged"
	case 4:
		pid := m.all[host].cmd.Process.Pid
		testnet.Pause(m.t, pid)
		defer syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it is there
		what = "stands still"
	}
	<-wait.C
	return what
}

// settle waits until some requests were answered, or for a while: what was sent into the failure waits for longer.
func (m *storm) settle() {
	count := func() (n int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, k := range m.answers {
			n += k
		}
		return n
	}
	enough, late := count()+5, time.Now().Add(2*time.Second)
	testnet.Eventually(m.t, "answers", func() bool { return count() >= enough || time.Now().After(late) })
}

// TestPartitionsAtRandom: networks between three servers and their database fail at random, and servers stand still, while clients start
// and stop three profiles through any of them. No profile has two browsers at any time. Afterwards each starts, is driven and stops.
func TestPartitionsAtRandom(t *testing.T) {
	t.Parallel()
	partitionsAtRandom(t, 20)
}

// TestManyPartitionsAtRandom is the same for longer. Some failures last longer than servers count as gone after. WARREN_PARTITIONS is how
// many there are.
func TestManyPartitionsAtRandom(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("WARREN_PARTITIONS"), "50"))
	if err != nil {
		t.Fatal(err)
	}
	partitionsAtRandom(t, rounds)
}

func partitionsAtRandom(t *testing.T, rounds int) {
	t.Helper()
	p := partitioned(t, []string{"a", "b", "c"}, "--orphan-grace", "60s")
	if p == nil {
		return
	}
	m := &storm{partition: p, names: []string{"a", "b", "c"}, client: &http.Client{Timeout: 90 * time.Second}, answers: map[string]int{},
		at: map[string]map[string]bool{}}
	var ids []string
	for range 3 {
		ids = append(ids, p.all["a"].profile(map[string]any{"proxyId": p.way()}))
	}
	over := make(chan struct{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for !isClosed(over) {
				m.ask(ids)
			}
		})
	}
	clients.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); !isClosed(over); <-tick.C {
			m.look(ids)
		}
	})
	broke := map[string]int{}
	for round := range rounds {
		while := time.Duration(rand.IntN(1500)) * time.Millisecond
		if round%20 == 19 && rounds > 20 {
			while = 20 * time.Second
		}
		broke[m.fail(while)]++
		m.settle()
	}
	close(over)
	clients.Wait()
	for _, id := range ids {
		p.endsWell(id)
	}
	for _, what := range m.twice {
		t.Error(what)
	}
	t.Logf("%d rounds: %v; answers: %v; looked at a browser %d times", rounds, broke, m.answers, m.looks)
}

// endsWell wants that a profile can be started through any server, driven through any other, and stopped.
func (p *partition) endsWell(id string) {
	p.t.Helper()
	for name, s := range p.all {
		p.took("a start through "+name, func() bool { return s.works("POST", "/profiles/"+id+"/start") })
		path := "/well/" + name + "/" + id
		c := dialCDP(p.t, s.start(id, nil).WsEndpoint, nil)
		c.awaitURL(c.open(p.world.url(path)), p.world.url(path))
		p.wantOne(id)
	}
	for _, s := range p.all {
		if s.stop(id); len(p.browsersOf(id)) != 0 {
			p.t.Error("a browser is left")
		}
		break
	}
}
