package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// fullState is a storageState with what is easily lost. Its cookies are of the host alone, of a partition, of the browser's session, and
// with an expiry below the second. Its records have values that JSON has not.
const fullState = `{"cookies":[
 {"name":"own","value":"1","domain":"SITE","path":"/","expires":-1,"httpOnly":true,"secure":false,"sameSite":"Lax"},
 {"name":"all","value":"a=b","domain":".shop.example","path":"/p","expires":EXPIRES.125,"httpOnly":false,"secure":true,"sameSite":"None"},
 {"name":"__Host-id","value":"","domain":"shop.example","path":"/","expires":EXPIRES,"httpOnly":false,"secure":true,"sameSite":"Strict"},
 {"name":"chips","value":"c","domain":"cdn.example","path":"/","expires":-1,"httpOnly":false,"secure":true,"sameSite":"None",
  "partitionKey":"https://shop.example","_crHasCrossSiteAncestor":true}],
"origins":[{"origin":"https://shop.example","localStorage":[{"name":"half","value":"\ud800 é"}],
  "indexedDB":[{"name":"db","version":2,"stores":[{"name":"s","autoIncrement":false,"records":[
   {"key":1,"valueEncoded":{"d":"2026-01-02T03:04:05.678Z"}},{"keyEncoded":{"ab":{"b":"AQI="}},"value":{"n":[1,null]}}],
   "indexes":[{"name":"i","keyPath":"n","multiEntry":true,"unique":false}]}]}]},
 {"origin":"http://SITE:8080","localStorage":[{"name":"a","value":"1"}]}]}`

// stateView is the storageState of a profile.
type stateView struct {
	Cookies []map[string]any  `json:"cookies"`
	Origins []json.RawMessage `json:"origins"`
}

// state reads a profile's storageState.
func (s *liveServer) state(id string) string {
	s.t.Helper()
	var v stateView
	s.do("GET", "/profiles/"+id+"/storage-state?indexedDB=true", nil, 200, &v)
	slices.SortFunc(v.Cookies, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestStateThereAndBack: a state written into a profile that does not run is what its pages have, and what comes out of it, running or not,
// and goes into another profile. Nothing leaves while it does not run.
func TestStateThereAndBack(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	expires := strconv.FormatInt(time.Now().AddDate(0, 0, 300).Unix(), 10) // Chrome keeps none longer than 400 days
	text := strings.NewReplacer("SITE", testnet.LocalSite, "EXPIRES", expires).Replace(fullState)
	var done struct {
		Taken   int
		Refused []any
		Failed  []any
	}
	s.do("PUT", "/profiles/"+id+"/storage-state", json.RawMessage(text), 200, &done)
	if done.Taken != 4 || len(done.Refused)+len(done.Failed) > 0 {
		t.Errorf("%+v", done)
	}
	before := s.state(id)
	if !strings.Contains(before, `"_crHasCrossSiteAncestor":true`) || !strings.Contains(before, expires+".125") ||
		!strings.Contains(before, `\ud800`) || !strings.Contains(before, "2026-01-02T03:04:05.678Z") ||
		strings.Count(before, `"expires":-1`) != 2 {
		t.Errorf("the state is\n%s", before)
	}
	var runs struct {
		Data []struct {
			Offline bool
			Status  string
		}
	}
	s.do("GET", "/profiles/"+id+"/runs", nil, 200, &runs)
	if len(runs.Data) != 2 || !runs.Data[0].Offline || runs.Data[0].Status != "stopped" {
		t.Errorf("the history has %+v", runs)
	}
	if p := s.get(id); p.Status != "stopped" {
		t.Errorf("the profile is %s", p.Status)
	}
	if n := len(s.world.paths()); n > 0 {
		t.Errorf("the site was asked for %v", s.world.paths())
	}

	run := s.start(id, map[string]any{"startUrls": []string{s.world.url("/first")}})
	if v := s.world.await(t, "/first", 1); v.cookie != "own=1" {
		t.Errorf("the page sends %q", v.cookie)
	}
	if now := s.state(id); now != before {
		t.Errorf("while it runs the state is\n%s\nwant\n%s", now, before)
	}
	more := `[{"name":"more","value":"2","domain":"` + testnet.LocalSite + `","path":"/"}]`
	s.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(more), 200, nil)
	dialCDP(t, run.WsEndpoint, nil).open(s.world.url("/second"))
	if v := s.world.await(t, "/second", 1); v.cookie != "own=1; more=2" {
		t.Errorf("the page sends %q", v.cookie)
	}
	s.stop(id)
	s.do("DELETE", "/profiles/"+id+"/cookies?domain="+testnet.LocalSite, nil, 204, nil)
	s.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(strings.Replace(more, "more", "own", 1)), 200, nil)

	other := s.profile(nil)
	was := s.state(id)
	s.do("PUT", "/profiles/"+other+"/storage-state", json.RawMessage(was), 200, nil)
	if now := s.state(other); now != was {
		t.Errorf("another profile has\n%s\nwant\n%s", now, was)
	}
	// A cookie ends before the browser is there that takes it, so that the one whose place it takes stays.
	ends := strconv.FormatFloat(float64(time.Now().UnixMilli()+200)/1e3, 'f', 3, 64)
	r, err := s.try("PUT", "/profiles/"+other+"/cookies", json.RawMessage(`{"cookies":[{"name":"new","value":"1","domain":"shop.example",`+
		`"path":"/","expires":`+ends+`}],"remove":[{"name":"__Host-id","domain":"shop.example","path":"/"}]}`))
	var kept []struct{ Name string }
	s.do("GET", "/profiles/"+other+"/cookies?domain=shop.example", nil, 200, &kept)
	if names := fmt.Sprint(kept); err != nil || !strings.Contains(names, "__Host-id") || strings.Contains(names, "new") {
		t.Errorf("after %s, %v there are %s", r.body, err, names)
	}
	s.do("POST", "/profiles/"+other+"/clear", map[string]any{"kinds": []string{"cookies", "history"}}, 200, nil)
	s.do("POST", "/profiles/"+other+"/clear",
		map[string]any{"kinds": []string{"storage"}, "origins": []string{"https://shop.example"}}, 200, nil)
	if now := s.state(other); now != `{"cookies":null,"origins":[{"origin":"http://`+testnet.LocalSite+
		`:8080","localStorage":[{"name":"a","value":"1"}]}]}` && !strings.HasPrefix(now, `{"cookies":[],`) {
		t.Errorf("cleared, the profile has %s", now)
	}
}

// numberedState is a state whose every value is n.
func numberedState(n int) string {
	var cookies, origins []string
	for i := range 200 {
		cookies = append(cookies, fmt.Sprintf(`{"name":"c%d","value":"%d","domain":"h%d.example","path":"/"}`, i, n, i%10))
	}
	for i := range 3 {
		origins = append(origins, fmt.Sprintf(`{"origin":"https://h%d.example","localStorage":[{"name":"k","value":"%[2]d"}],`+
			`"indexedDB":[{"name":"db","version":1,"stores":[{"name":"s","autoIncrement":false,`+
			`"records":[{"key":1,"value":"%[2]d"},{"key":2,"value":"%[2]d"}],"indexes":[]}]}]}`, i, n))
	}
	return `{"cookies":[` + strings.Join(cookies, ",") + `],"origins":[` + strings.Join(origins, ",") + `]}`
}

// numberOf returns the number of a numberedState, and says what is between two.
func (s *liveServer) numberOf(id string) int {
	s.t.Helper()
	seen := map[string]int{}
	for _, m := range regexp.MustCompile(`"value":"?([0-9]+)`).FindAllStringSubmatch(s.state(id), -1) {
		seen[m[1]]++
	}
	if len(seen) != 1 {
		s.t.Fatalf("the state is between: the number of values by number is %v", seen)
	}
	for text, count := range seen {
		n, _ := strconv.Atoi(text)
		if count != 200+3*3 {
			s.t.Fatalf("of state %d there are %d values, want %d", n, count, 200+3*3)
		}
		return n
	}
	return 0
}

// TestStateWrittenOrNot: browser, run process or server is killed while a state is written, into a profile that does not run or that runs.
// Then there is the state before or the state after, and the one after if the write was answered. WARREN_KILLS is how many kills each (3).
func TestStateWrittenOrNot(t *testing.T) {
	testnet.Long(t)
	needBrowser(t)
	kills, _ := strconv.Atoi(os.Getenv("WARREN_KILLS"))
	for _, runs := range []bool{false, true} {
		t.Run(fmt.Sprintf("running %v", runs), func(t *testing.T) {
			t.Parallel()
			g := newTestbed(t)
			s := g.serve()
			id := s.profile(nil)
			put := func(n int) bool {
				r, err := s.try("PUT", "/profiles/"+id+"/storage-state?mode=replace-all&confirm=true", json.RawMessage(numberedState(n)))
				return err == nil && r.status == 200
			}
			began := time.Now()
			if !put(0) {
				t.Fatal("the first write failed")
			}
			took, last, answered := time.Since(began), 0, 0
			for n := range max(kills, 3) {
				if runs {
					s.start(id, nil)
				}
				done := make(chan bool, 2)
				go func() { done <- put(n + 1) }()
				moment := time.After(time.Duration(rand.Int64N(int64(took))))
				select {
				case ok := <-done:
					t.Logf("write %d ended first: %v", n+1, ok)
					done <- ok
				case <-moment:
				}
				s = g.killOne(s, n%3)
				if <-done {
					last, answered = n+1, answered+1
				}
				if left := g.filesOfRuns(); !runs && n%3 == 1 && len(left) > 0 {
					t.Errorf("a run without a network that was killed leaves %v", left)
				}
				if now := s.numberOf(id); now != last && now != n+1 {
					t.Fatalf("after the kill of %d the state is %d, want %d or %d", n%3, now, last, n+1)
				} else {
					last = now
				}
			}
			t.Logf("%d of the writes were answered", answered)
		})
	}
}

// killOne kills the browser, the run's process or the server, and returns the server that is there then.
func (g *testbed) killOne(s *liveServer, which int) *liveServer {
	if which == 2 {
		s.kill()
		return g.serve()
	}
	for _, p := range g.alive() {
		isShim := strings.HasSuffix(p.command, "warren shim ")
		if isShim == (which == 1) && (isShim || strings.Contains(p.command, "--user-data-dir") && !strings.Contains(p.command, "--type=")) {
			syscall.Kill(p.pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
		}
	}
	return s
}

// filesOfRuns lists what runs have beside their profiles' data.
func (g *testbed) filesOfRuns() (names []string) {
	g.t.Helper()
	entries, err := os.ReadDir(filepath.Join(g.data, "run"))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestStateOfAKilledBrowser: two writes that a running browser has not on the disk yet are both there after it was killed. The profile has
// failed: reading its state at once does not make it run.
func TestStateOfAKilledBrowser(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	for _, name := range []string{"first", "second"} {
		cookie := `[{"name":"` + name + `","value":"1","domain":"a.example","path":"/"}]`
		s.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(cookie), 200, nil)
	}
	if err := syscall.Kill(run.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var all []struct{ Name string }
	s.do("GET", "/profiles/"+id+"/cookies", nil, 200, &all)
	if len(all) != 2 {
		t.Errorf("there are %v", all)
	}
	if p := s.get(id); p.Status != "failed" {
		t.Errorf("the profile is %s", p.Status)
	}
}

// fillOrigin is an expression that fills an origin's localStorage, and three databases with stores, indexes and keys of all kinds. n is the
// number of the origin.
const fillOrigin = `(async n => {
  localStorage.setItem('n', String(n)); localStorage.setItem('half\ud800', '\udc00' + n); localStorage.setItem('', '')
  const opened = (name, version, make) => new Promise((resolve, reject) => {
    const r = indexedDB.open(name, version)
    r.onupgradeneeded = () => make(r.result)
    r.onsuccess = () => { r.result.close(); resolve() }
    r.onerror = () => reject(r.error)
  })
  const keys = [n, -0.5, 1e400, -1e400, '', 'text ' + n, 'half\ud800', new Date(n), new Uint8Array([n, 255]).buffer, new Uint8Array([1, n]),
    [], [n, 'x', [new Date(5), new Uint8Array([3]).buffer]]]
  await opened('keys', n + 1, db => {
    const s = db.createObjectStore('out of line')
    keys.forEach((k, i) => s.put({i, n, k}, k))
    s.createIndex('by n', 'n'); s.createIndex('by i', 'i', {unique: true})
    db.createObjectStore('none')
  })
  await opened('paths', 2 ** 40 + n, db => {
    const s = db.createObjectStore('in line', {keyPath: ['a', 'b.c']})
    s.createIndex('tags', 'tags', {multiEntry: true}); s.createIndex('both', ['n', 'tags']); s.createIndex('itself', '')
    keys.forEach(k => s.put({a: k, b: {c: n}, n, tags: [k, 'all', k]}))
    const counted = db.createObjectStore('counted', {keyPath: 'id', autoIncrement: true})
    for (let i = 0; i < 5; i++) counted.put({n, big: 2n ** 70n + BigInt(n), when: new Date(i), set: new Set([i, undefined])})
    db.createObjectStore('generated', {autoIncrement: true}).put('first')
  })
  await opened('empty \u00e9', 1, () => {})
  return 'filled'
})`

// TestStateOfManyOrigins: what fifty origins have kept comes out of one profile, goes into another and comes out the same.
func TestStateOfManyOrigins(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	needBrowser(t)
	const origins = 50
	s := newTestbed(t).serve()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.world.site.URL, "http://"), ":")
	id := s.profile(map[string]any{"localhostVia": []string{port}})
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	page := c.open("about:blank")
	for n := range origins {
		address := fmt.Sprintf("http://s%d.localhost:%s/", n, port)
		c.call(page, "Page.navigate", map[string]any{"url": address}, nil)
		c.awaitURL(page, address)
		if got := c.eval(page, fmt.Sprintf("%s(%d)", fillOrigin, n)); got != "filled" {
			t.Fatal(got)
		}
	}
	s.stop(id)
	want := s.state(id)
	for part, count := range map[string]int{`"origin":"http://s`: origins, `"version":`: 3 * origins, `"name":"out of line"`: origins,
		`"name":"tags"`: origins, `"keyPathArray":["a","b.c"]`: origins, `\ud800`: 4 * origins} {
		if got := strings.Count(want, part); got < count {
			t.Errorf("%s stands %d times in the state, want %d: %.3000s", part, got, count, want)
		}
	}
	other := s.profile(nil)
	var done struct {
		Origins         int
		Refused, Failed []any
	}
	s.do("PUT", "/profiles/"+other+"/storage-state", json.RawMessage(want), 200, &done)
	if done.Origins != origins || len(done.Refused)+len(done.Failed) > 0 {
		t.Errorf("%+v", done)
	}
	if now := s.state(other); now != want {
		at := 0
		for at < min(len(now), len(want)) && now[at] == want[at] {
			at++
		}
		t.Errorf("another profile has another state from byte %d on: %.300s\nwant %.300s", at, now[max(0, at-100):], want[max(0, at-100):])
	}
}
