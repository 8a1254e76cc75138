package tests

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/cgroup"
)

// needsFreezer skips a test where the kernel lets this user freeze nothing.
func needsFreezer(t *testing.T) {
	t.Helper()
	tree := cgroup.Open("warren-test-" + strconv.Itoa(os.Getpid()) + "-freezer")
	defer tree.Close()
	if !tree.CanFreeze() {
		t.Skip("no freezer: ", tree.Support())
	}
}

// counting is a page that keeps the longest time between two of its ticks, in milliseconds.
const counting = `<!doctype html><script>let last = Date.now(); window.gap = 0;
	setInterval(() => { gap = Math.max(gap, Date.now() - last); last = Date.now() }, 10)</script>`

// frozenSince returns since when a profile's browser is frozen; nil: it is not.
func (s *liveServer) frozenSince(id string) *time.Time {
	s.t.Helper()
	var p struct {
		Run *struct{ FrozenSince *time.Time }
	}
	if s.do("GET", "/profiles/"+id, nil, 200, &p); p.Run == nil {
		s.t.Fatalf("%s does not run", id)
	}
	return p.Run.FrozenSince
}

func (s *liveServer) freezes(id string) {
	s.t.Helper()
	eventually(s.t, "it is frozen", enough, func() bool { return s.frozenSince(id) != nil })
}

// TestFreeze: a browser that nobody needs is frozen: its page's timer stops, and goes on when a client comes. A client, a
// viewer and a download keep it awake while another one, that somebody left at the same time, is frozen. A server that
// was killed changes nothing. A frozen run is stopped in order, and ends with its process.
func TestFreeze(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	needsFreezer(t)
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/held" {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, counting)
			return
		}
		w.Header().Set("Content-Disposition", "attachment; filename=held.bin")
		io.WriteString(w, strings.Repeat("x", 1<<16))
		http.NewResponseController(w).Flush()
		<-release
	}))
	defer site.Close()
	g := newTestbed(t)
	s := g.serve("--freeze-after", "1s")
	events := s.listen()
	id := s.profile(map[string]any{"allowLocal": []string{strings.TrimPrefix(site.URL, "http://")}})
	other := s.profile(map[string]any{"freezeAfter": 1})
	run := s.start(id, nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	_, ids := c.pages()
	tab := c.attach(ids[0])
	c.call(tab, "Page.navigate", map[string]any{"url": site.URL + "/"}, nil)
	c.awaitURL(tab, site.URL+"/")
	c.ws.CloseNow()
	events.await("run.frozen", "", id)
	s.start(other, nil)
	events.await("run.frozen", "", other) // a second, at least
	since := s.frozenSince(id)
	if since == nil {
		t.Fatal("no run says that it is frozen")
	}
	began := time.Now()
	c = dialCDP(t, run.WsEndpoint, nil)
	tab = c.attach(ids[0])
	gap, err := strconv.ParseFloat(c.eval(tab, "String(gap)"), 64)
	took := time.Since(began)
	t.Logf("it was frozen for %v, and a client had its answers after %v", began.Sub(*since), took)
	if frozen := began.Sub(*since); err != nil || gap < float64(frozen.Milliseconds()-50) {
		t.Errorf("the page's timer stood still for %v ms of %v, %v", gap, frozen, err)
	}
	events.await("run.thawed", "", id)
	staysAwake := func(why string) {
		t.Helper()
		at := time.Now().Truncate(time.Millisecond)
		s.start(other, nil) // it is needed until now
		for !events.await("run.frozen", "", other).At.After(at) {
		}
		if s.frozenSince(id) != nil {
			t.Errorf("%s: it is frozen", why)
		}
	}
	staysAwake("a client")
	v := s.watches(run)
	c.ws.CloseNow()
	staysAwake("a viewer")
	c = dialCDP(t, run.WsEndpoint, nil)
	tab = c.attach(ids[0])
	c.eval(tab, `(window.held = new Uint8Array(200 << 20).fill(1), "")`)
	c.eval(tab, fmt.Sprintf("location.href = %q, ''", site.URL+"/held"))
	s.awaits(id, "held.bin", "in_progress")
	c.ws.CloseNow()
	v.ws.CloseNow()
	staysAwake("a download")
	close(release)
	s.awaits(id, "held.bin", "complete")
	s.freezes(id)
	since = s.frozenSince(id)
	s.kill()
	s = g.serve("--freeze-after", "1s")
	if again := s.frozenSince(id); again == nil || !again.Equal(*since) {
		t.Errorf("the next server says that it is frozen since %v, not %v", again, since)
	}
	s.endsFrozen(id, other)
}

// endsFrozen ends frozen runs in each way: for lack of memory, by a stop in order and by force, with their process, and with the server.
// Whatever the end was, the profile starts again.
func (s *liveServer) endsFrozen(id, other string) {
	s.t.Helper()
	s.freezes(other)
	if status, kind, _ := s.fetch("/profiles/" + id + "/screenshot"); status != 200 || kind != "image/png" {
		s.t.Errorf("its picture: %d %s", status, kind)
	}
	s.freezes(id)
	s.freezesLimited(id, other)
	if v := s.stop(id); v.LastRun == nil || v.LastRun.Method != "close" {
		s.t.Errorf("the stop answered %+v", v.LastRun)
	}
	s.start(id, nil)
	s.start(other, nil)
	s.freezes(id)
	var forced stopView
	began := time.Now()
	s.do("POST", "/profiles/"+id+"/stop", map[string]any{"force": true}, 200, &forced)
	s.t.Logf("a frozen run was stopped by force in %v", time.Since(began))
	if forced.LastRun == nil || forced.LastRun.Method != "kill" {
		s.t.Errorf("the forced stop answered %+v", forced.LastRun)
	}
	s.freezes(other)
	events := s.listen()
	began = time.Now()
	if err := syscall.Kill(s.pidOfShim(), syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	if ev := events.await("run.ended", "", other); ev.Data.Reason != "lost" {
		s.t.Errorf("it ended %+v", ev.Data)
	}
	s.t.Logf("a frozen run whose process was killed is over after %v", time.Since(began))
	s.nothingLeft()
	s.start(id, nil)
	s.freezes(id)
	began = time.Now()
	if code := s.terminate(); code != 0 {
		s.t.Errorf("the server ended with %d", code)
	}
	s.t.Logf("a server with a frozen run was over after %v", time.Since(began))
	s.nothingLeft()
}

// freezesLimited limits the memory of frozen runs. A limit that id would exceed when it goes on waits for its next start, as that of a run
// that is awake. The other one takes all of its memory when it goes on, and ends alone.
func (s *liveServer) freezesLimited(id, other string) {
	s.t.Helper()
	if !strings.Contains(strings.Join(cgroup.Look().Controllers, " "), cgroup.Memory) {
		return
	}
	limit := func(id string, mb int) (pending string) {
		var p struct{ Run struct{ Pending []string } }
		s.do("PUT", "/profiles/"+id, map[string]any{"limits": map[string]any{"memoryMb": mb}}, 200, &p)
		return strings.Join(p.Run.Pending, " ")
	}
	if got := limit(id, 256); got != "limits" {
		s.t.Errorf("with a limit that it exceeds, %q is pending", got)
	}
	if got := limit(id, 2048) + limit(other, 400); got != "" {
		s.t.Errorf("with limits that hold, %q is pending", got)
	}
	if end := s.greedy(other, s.start(other, nil)); end.Reason == nil || *end.Reason != "out_of_memory" {
		s.t.Errorf("it ended %+v", end)
	}
	s.freezes(id) // it may have been awake for a moment, with news of Chrome's
	limit(other, 2048)
}
