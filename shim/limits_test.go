package shim

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	socks "golang.org/x/net/proxy"

	"warren/browser"
	"warren/proxy"
)

// A run with limits announces its end, calls it off when a client comes, and ends once the notice was long enough.
func TestLimits(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	p := &process{browser: opened(t), log: slog.New(slog.DiscardHandler), announced: map[string]time.Time{},
		noticesChanged: make(chan struct{})}
	here, err := proxy.LocalBypass(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.relay = proxy.NewRelay(&proxy.Dialer{Bypasses: []Bypass{here}}, nil)
	defer p.relay.Close()
	viewers := 0
	p.viewers = func() int { return viewers }
	start := time.Now()
	p.idle, p.maxRun = limit{after: 100 * time.Second, since: start}, limit{after: time.Hour, since: start}
	sent := map[string]time.Time{}
	look := func(at int, why Outcome, news ...string) {
		t.Helper()
		got, again := p.checkLimits(start.Add(time.Duration(at) * time.Second))
		var said []string
		notices, _ := p.newNotices(sent)
		for _, n := range notices {
			text := n.Reason + " goes on"
			if n.EndsAt != nil {
				text = n.Reason + " " + n.EndsAt.Sub(start).Round(time.Millisecond).String()
			}
			said = append(said, text)
		}
		if got != why || strings.Join(said, ", ") != strings.Join(news, ", ") {
			t.Errorf("after %d s: %q, says %q; want %q, %q", at, got, said, why, news)
		}
		if why == "" && (again <= 0 || again > time.Hour) {
			t.Errorf("after %d s the next look is in %v", at, again)
		}
	}
	p.spec.Headless = true
	look(0, "")
	traffic(t, p.relay, echo) // counts as the browser's own
	look(89, "")
	look(90, "", "idle 1m40s")
	if n, _ := p.newNotices(map[string]time.Time{}); len(n) != 1 || n[0].Reason != ReasonIdle || n[0].EndsAt == nil {
		t.Errorf("a server that watches now is sent %+v", n)
	}
	look(99, "")
	viewers = 1
	look(99, "", "idle goes on")
	look(500, "")
	viewers = 0
	look(510, "") // the viewer was there at the last check
	look(600, "", "idle 10m10s")
	p.recordUse(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/json/version", nil))
	look(605, "", "idle goes on")
	p.spec.Headless = false
	look(690, "")
	look(780, "", "idle 13m10s")
	traffic(t, p.relay, echo) // a person reads at the window
	look(785, "", "idle goes on")
	look(3000, "", "idle 50m10s") // the machine slept: the end is announced all the same
	look(3540, Idle, "maxRun 1h0m0s")
	look(3600, Expired)
}

// traffic sends bytes through a relay, and returns when they are counted.
func traffic(t *testing.T, r *proxy.Relay, target net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go r.Serve(l) //nolint:errcheck // ends with the relay
	go func() {
		if c, err := target.Accept(); err == nil {
			io.Copy(c, c) //nolint:errcheck // the other end may be closed
			c.Close()
		}
	}()
	d, err := socks.SOCKS5("tcp", l.Addr().String(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial("tcp", target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	// The relay counts a byte after it has sent it.
	for late := time.Now().Add(time.Minute); r.Stats().Open > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the relay holds a connection that has ended")
		}
	}
}

// A run of a real browser stays while a client is connected. It closes gracefully once it was idle for its limit, and
// the notice comes before.
func TestIdle(t *testing.T) {
	s := newSpec(t)
	s.Idle = 2 * time.Second
	c, _ := launch(t, s)
	front := httptest.NewServer(c.Gateway(Rights{}, "ws://base.test/cdp/CAP", "/cdp/CAP", http.NotFound))
	defer front.Close()
	address := "ws" + strings.TrimPrefix(front.URL, "http") + "/cdp/CAP/"
	client, _, err := websocket.Dial(soon(t), address, nil) //nolint:bodyclose // a socket has no body
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseNow() //nolint:errcheck // the test ends
	held := time.NewTimer(2 * s.Idle)
	defer held.Stop()
	select {
	case <-c.Done():
		t.Fatalf("a run that a client holds ended: %+v", c.End())
	case <-held.C:
	}
	client.CloseNow() //nolint:errcheck // as a client that dies
	left := time.Now()
	n := <-c.Notices()
	if n.Reason != ReasonIdle || n.EndsAt == nil || n.EndsAt.Before(left.Add(s.Idle)) {
		t.Errorf("a client left at %v, and the notice is %+v", left, n)
	}
	await(t, "the end of an idle run", c.Done())
	if e := c.End(); e.Outcome != Idle || e.Method != browser.MethodClose || e.EndedAt.Before(left.Add(s.Idle)) {
		t.Errorf("a client left at %v, and the run ended %+v", left, e)
	}
	Forget(s.RunDir, s.Name)
}

// opened is a browser that is not started.
func opened(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Open(newSpec(t).browser(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}
