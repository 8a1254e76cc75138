package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"warren/events"
	"warren/store"
)

// adminContext returns the context of a request of the admin.
func adminContext(a *testAPI) context.Context {
	return context.WithValue(context.Background(), requestKey{}, &request{caller: newCaller(store.Holder{KeyID: "test",
		Rights: store.AllRights(), Sees: store.All()})})
}

// eventReader is a client of GET /events.
type eventReader struct {
	mu     sync.Mutex
	events []streamed
	text   strings.Builder
	grown  chan struct{} // closed and replaced at each event
	closed chan struct{} // when the stream has ended
	stop   context.CancelFunc
}

// streamed is one event: the fields of the stream, and its data.
type streamed struct {
	id, event string
	data      struct {
		ID          string         `json:"id"`
		Type        string         `json:"type"`
		At          time.Time      `json:"at"`
		WorkspaceID string         `json:"workspaceId"`
		Data        map[string]any `json:"data"`
	}
}

// listen starts to read the events of a key, and returns once the server has answered.
func (a *testAPI) listen(t testing.TB, key string, last ...string) *eventReader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req := a.as(key).request(t, "GET", "/events", nil).WithContext(ctx)
	req.Header["Last-Event-Id"] = last
	res, err := a.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("GET /events: %d %v", res.StatusCode, res.Header)
	}
	s := &eventReader{grown: make(chan struct{}), closed: make(chan struct{}), stop: cancel}
	go func() {
		defer close(s.closed)
		defer res.Body.Close()
		s.read(res.Body)
	}()
	t.Cleanup(func() {
		cancel()
		<-s.closed
	})
	return s
}

func (s *eventReader) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var now streamed
	for lines.Scan() {
		line := lines.Text()
		s.mu.Lock()
		s.text.WriteString(line + "\n")
		s.mu.Unlock()
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			now.id = value
		case "event":
			now.event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &now.data); err != nil {
				now.event = "broken: " + err.Error()
			}
		}
		if line == "" && now.id != "" {
			s.mu.Lock()
			s.events = append(s.events, now)
			close(s.grown)
			s.grown = make(chan struct{})
			s.mu.Unlock()
			now = streamed{}
		}
	}
}

// until waits for the first event of a type, and returns all events up to it.
func (s *eventReader) until(t testing.TB, kind string) []streamed {
	t.Helper()
	late := time.After(enough)
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.events, func(e streamed) bool { return e.event == kind })
		all, grown := slices.Clone(s.events), s.grown
		s.mu.Unlock()
		if i >= 0 {
			return all[:i+1]
		}
		select {
		case <-grown:
		case <-late:
			t.Fatalf("no %s among %v", kind, all)
		}
	}
}

// says waits until the stream has contained a text.
func (s *eventReader) says(t testing.TB, text string) {
	t.Helper()
	waitFor(t, text, func() bool { return strings.Contains(s.all(), text) })
}

func (s *eventReader) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestEventsOfTheKeysWorkspaces: each key receives only events of its own workspaces, in order, in the form of the contract.
func TestEventsOfTheKeysWorkspaces(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	keyA, _ := a.newKey(t, "read", "a")
	keyB, _ := a.newKey(t, "read", "b")
	streams := map[string]*eventReader{"a": a.listen(t, keyA), "b": a.listen(t, keyB), "all": a.listen(t, a.key)}
	var want []string
	for _, w := range []string{"a", "b", "c"} {
		profile, proxy := a.profile(t, "workspaceId", w), a.proxy(t, "workspaceId", w, "host", "127.0.0.1", "port", 1)
		a.do(t, "PUT", "/profiles/"+profile, `{"notes":"n"}`).want(t, 200)
		a.do(t, "PUT", "/proxies/"+proxy, `{"notes":"n"}`).want(t, 200)
		a.do(t, "POST", "/proxies/"+proxy+"/check", nil).want(t, 200)
		a.do(t, "DELETE", "/profiles/"+profile, nil).want(t, 204)
		a.do(t, "POST", "/profiles/"+profile+"/restore", nil).want(t, 200)
		a.do(t, "DELETE", "/proxies/"+proxy, nil).want(t, 204)
		for _, kind := range []string{"profile.created", "proxy.created", "profile.updated", "proxy.updated", "proxy.checked",
			"profile.deleted", "profile.restored", "proxy.deleted"} {
			want = append(want, w+" "+kind)
		}
	}
	a.do(t, "PUT", "/profiles/"+a.profile(t, "workspaceId", "c"), `{"tags":["x"],"name":"n","proxyId":null}`).want(t, 200)
	streams["all"].says(t, `"changed":["name","tags","proxyId"]`)
	_, id := a.newKey(t, "read", "a")
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	for _, w := range []string{"a", "b"} { // the last event that each may receive
		marker := a.profile(t, "workspaceId", w, "name", "marker")
		a.do(t, "DELETE", "/profiles/"+marker+"?permanent=true", nil).want(t, 204)
	}
	for who, s := range streams {
		waitFor(t, "the last event of "+who, func() bool {
			return strings.Count(s.all(), `"permanent":true`) >= map[string]int{"a": 1, "b": 1, "all": 2}[who]
		})
		s.mu.Lock()
		heard := slices.Clone(s.events)
		s.mu.Unlock()
		var got []string
		ids := map[string]bool{}
		for _, e := range heard {
			if e.id != e.data.ID || e.event != e.data.Type || ids[e.id] || !uuidV7.MatchString(e.id) || e.data.At.IsZero() ||
				e.data.Data["id"] == nil {
				t.Errorf("%s: %+v has not the form of an event", who, e)
			}
			ids[e.id] = true
			if strings.HasPrefix(e.event, "key.") != (e.data.WorkspaceID == "") {
				t.Errorf("%s: %+v", who, e)
			}
			if who != "all" && e.data.WorkspaceID != who {
				t.Errorf("%s hears of %q: %+v", who, e.data.WorkspaceID, e)
			}
			if !strings.Contains(s.all(), "marker") { // names are no part of events
				got = append(got, e.data.WorkspaceID+" "+e.event)
			}
		}
		mine := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return who != "all" && !strings.HasPrefix(s, who+" ") })
		if len(got) < len(mine) || !slices.Equal(got[:len(mine)], mine) {
			t.Errorf("%s heard\n%v\nwant\n%v", who, got, mine)
		}
		keys := slices.ContainsFunc(heard, func(e streamed) bool { return e.event == "key.created" }) && slices.ContainsFunc(heard,
			func(e streamed) bool { return e.event == "key.revoked" })
		if keys != (who == "all") {
			t.Errorf("%s hears of keys: %v", who, keys)
		}
	}
}

// TestEventsHead: HEAD answers at once and subscribes to nothing.
func TestEventsHead(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "HEAD", "/events", nil).want(t, 200)
	if r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v", r.header)
	}
	waitFor(t, "nobody to listen", func() bool { return a.listeners() == 0 })
	a.do(t, "GET", "/events?x=1", nil).invalid(t, "query")
}

// TestEventsResume: a client that reconnects with Last-Event-ID receives each later event of its workspaces once.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "read", "a")
	s := a.listen(t, key)
	a.profile(t, "workspaceId", "a")
	last := s.until(t, "profile.created")[0].id
	s.stop()
	<-s.closed
	missed := a.proxy(t, "workspaceId", "a")
	a.proxy(t, "workspaceId", "b")
	a.do(t, "PUT", "/proxies/"+missed, `{"name":"x"}`).want(t, 200)
	back := a.listen(t, key, last)
	a.do(t, "DELETE", "/proxies/"+missed, nil).want(t, 204)
	var got []string
	for _, e := range back.until(t, "proxy.deleted") {
		got = append(got, e.event)
	}
	if want := []string{"proxy.created", "proxy.updated", "proxy.deleted"}; !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	late := a.listen(t, key, "")
	a.profile(t, "workspaceId", "a")
	if got := late.until(t, "profile.created"); len(got) != 1 {
		t.Errorf("without Last-Event-ID heard %v, want what comes from now on", got)
	}
}

// awaitEvents returns once the server's log has all events that were published before. On PostgreSQL they come back from the database,
// and until then a place is known for longer.
func (a *testAPI) awaitEvents(t testing.TB) {
	t.Helper()
	for mark, heard := store.NewID(), false; !heard; {
		sub := a.srv.events.Subscribe(func(workspace, _ string) bool { return workspace == mark }, "")
		a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: mark, Data: map[string]any{}})
		_, heard = <-sub.C
		sub.Close()
	}
}

// TestEventsLost: a Last-Event-ID that is unknown, or from before a restart, gets events.lost first, once. All events follow, also
// after a reconnect with the id of events.lost.
func TestEventsLost(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "read", "a")
	before := a.listen(t, key)
	a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: "a", Data: map[string]any{"id": "x"}})
	old := before.until(t, "profile.updated")[0].id
	before.stop()
	<-before.closed
	for range 2 * events.Backlog {
		a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: "a", Data: map[string]any{"id": "x"}})
	}
	a.profile(t, "workspaceId", "b") // the last one, which the key does not receive
	a.awaitEvents(t)
	for _, last := range []string{old, "x", store.NewID()} {
		s := a.listen(t, key, last)
		first := s.until(t, "events.lost")
		if len(first) != 1 || first[0].data.ID == "" || first[0].data.At.IsZero() || first[0].data.Data == nil || first[0].id == "" {
			t.Errorf("with Last-Event-ID %q heard %+v", last, first)
		}
		s.stop()
		<-s.closed
		a.proxy(t, "workspaceId", "a", "username", last) // while it is disconnected
		back := a.listen(t, key, first[0].id)
		if got := back.until(t, "proxy.created"); len(got) != 1 {
			t.Errorf("with the id of events.lost heard %+v, want what was missed", got)
		}
	}
	b := newAPI(t) // a server that has just started
	fresh := b.listen(t, b.key, old)
	place := fresh.until(t, "events.lost")[0].id
	fresh.stop()
	<-fresh.closed
	again := b.listen(t, b.key, place)
	b.profile(t)
	if got := again.until(t, "profile.created"); len(got) != 1 {
		t.Errorf("after a restart heard %+v", got)
	}
}

// TestRevokedKeyHearsNothing: a stream ends when its key is revoked.
func TestRevokedKeyHearsNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, id := a.newKey(t, "read", "a")
	s := a.listen(t, key)
	a.profile(t, "workspaceId", "a")
	s.until(t, "profile.created")
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	select {
	case <-s.closed:
	case <-time.After(enough):
		t.Fatal("the stream of a revoked key goes on")
	}
	soon := time.Now().Add(5 * time.Second)
	r := a.do(t, "POST", "/keys", map[string]any{"name": "soon", "scopes": []string{"read"},
		"expiresAt": soon.UTC().Format(time.RFC3339Nano)}).want(t, 201)
	s = a.listen(t, r.text("key"))
	waitFor(t, "the key to expire", func() bool { return time.Now().After(soon) })
	a.profile(t)
	<-s.closed
	if strings.Contains(s.all(), "profile.created") {
		t.Error("an expired key hears on")
	}
}

// TestSlowReader: a reader that does not keep up is disconnected. Publishing never waits, and other readers receive everything.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	slow := a.neverReads(t)
	defer slow.Close()
	quick := a.listen(t, a.key)
	ev := a.srv.events
	waitFor(t, "both to listen", func() bool { return a.listeners() == 2 })
	big := map[string]any{"id": strings.Repeat("x", 60<<10)}
	sent := 0
	waitFor(t, "the slow one to be cut off", func() bool { // after the sockets' buffers and 256 more events
		for range 20 {
			sent++
			ev.Publish(events.Event{Type: "profile.updated", Workspace: "default", Data: big})
			quick.await(t, sent)
		}
		return a.listeners() == 1
	})
	ev.Publish(events.Event{Type: "profile.created", Workspace: "default", Data: map[string]any{"id": "last"}})
	if got := quick.until(t, "profile.created"); len(got) != sent+1 {
		t.Errorf("the quick one heard %d, want %d", len(got), sent+1)
	}
}

// listeners is how many streams of events there are: subscriptions but that of the webhooks, of FollowKeys and of the pool's FollowOthers.
func (a *testAPI) listeners() int {
	own := 1
	if a.store.Shared() {
		own += 2
	}
	return a.srv.events.Subscribers() - own
}

// neverReads is a client that stops reading when the answer begins.
func (a *testAPI) neverReads(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", a.hostPort())
	if err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).SetReadBuffer(1024) //nolint:errcheck // then more is sent before it blocks
	fmt.Fprintf(c, "GET /api/v1/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", a.hostPort(), a.key)
	first := make([]byte, 16)
	if _, err := io.ReadFull(c, first); err != nil || string(first[:15]) != "HTTP/1.1 200 OK" {
		t.Fatalf("%q %v", first, err)
	}
	return c
}

// streaming returns how many goroutines of this process stream events.
func streaming() int {
	stacks := make([]byte, 8<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ").streamEvents(")
}

// heapInUse returns the bytes of live objects.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// forget drops the events so far.
func (s *eventReader) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
	s.text.Reset()
}

// await waits until n events have arrived.
func (s *eventReader) await(t testing.TB, n int) {
	t.Helper()
	late := time.After(enough)
	for {
		s.mu.Lock()
		have, grown := len(s.events), s.grown
		s.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-grown:
		case <-s.closed:
			select {
			case <-grown: // before the end
				continue
			default:
			}
			t.Fatalf("the stream ended after %d events", have)
		case <-late:
			t.Fatalf("%d events, want %d", have, n)
		}
	}
}

// TestEventsEndWithTheServer: no goroutine remains: streams end with their reader or the server. It runs alone.
func TestEventsEndWithTheServer(t *testing.T) {
	before := goleak.IgnoreCurrent()
	a := newAPI(t)
	a.srv.writeTime = time.Second
	gone := a.listen(t, a.key)
	gone.stop()
	<-gone.closed
	stays := []*eventReader{a.listen(t, a.key), a.listen(t, a.key)}
	a.profile(t)
	for _, s := range stays {
		s.until(t, "profile.created")
	}
	waitFor(t, "the one that went to be forgotten", func() bool { return a.listeners() == 2 })
	silent := a.neverReads(t)
	defer silent.Close()
	waitFor(t, "the silent one to listen", func() bool { return a.listeners() == 3 })
	heap := heapInUse()
	big, sent := map[string]any{"id": strings.Repeat("x", 60<<10)}, 1
	waitFor(t, "the silent one to be cut off", func() bool {
		for range 20 {
			sent++
			a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: "default", Data: big})
			for _, s := range stays {
				s.await(t, sent)
			}
		}
		return a.listeners() == 2
	})
	for range 2 * events.Backlog { // the large ones leave the journal
		sent++
		a.srv.events.Publish(events.Event{Type: "profile.updated", Workspace: "default", Data: map[string]any{"id": "x"}})
		for _, s := range stays {
			s.await(t, sent)
		}
	}
	waitFor(t, "its goroutine to end while it is connected still", func() bool { return streaming() == 2 })
	for _, s := range stays {
		s.forget()
	}
	waitFor(t, "its memory to come back", func() bool { return heapInUse() < heap+4<<20 })
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	for _, s := range stays {
		<-s.closed
	}
	a.client.Transport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("warren/testnet.keepServer")) // of all tests
}
