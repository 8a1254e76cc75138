package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"warren/shim"
	"warren/store"
)

// meteredListener counts what its connections get and send.
type meteredListener struct {
	net.Listener
	up, down *atomic.Int64
}

func (l meteredListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return meteredConn{c, l}, err
}

type meteredConn struct {
	net.Conn
	l meteredListener
}

func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.l.up.Add(int64(n))
	return n, err
}

func (c meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.l.down.Add(int64(n))
	return n, err
}

// What a proxy's traffic says is what the target saw, to the byte: of what runs, over a server's death, and of what has ended.
func TestTrafficIsExact(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newGround(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	metered := meteredListener{l, new(atomic.Int64), new(atomic.Int64)}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.Copy(w, io.LimitReader(zeros{}, 300_000)) //nolint:errcheck // the test sees it
		io.Copy(io.Discard, r.Body)                  //nolint:errcheck // as above
	}))
	site.Listener.Close()
	site.Listener = metered
	site.Start()
	defer site.Close()
	ways, err := newDemoProxy("127.0.0.1:0", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ways.close()
	s := g.serve()
	proxy := s.addProxy(map[string]any{"port": ways.port(), "password": ways.password})
	id := s.profile(map[string]any{"proxyId": proxy, "timezone": "UTC", "locale": []string{"en"}, "geolocation": "off"})
	run := s.start(id, map[string]any{"preflight": "off"})
	path := "/proxies/" + proxy + "/traffic"
	says := func(path string) (out trafficJSON) { s.do("GET", path, nil, 200, &out); return out }
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open("about:blank")
	fetch := func() {
		t.Helper()
		c.call(page, "Page.navigate", map[string]any{"url": "http://" + demoHost + "/"}, nil)
		c.awaitURL(page, "http://"+demoHost+"/")
		c.eval(page, `fetch("/up", {method: "POST", body: "x".repeat(70000)}).then(r => r.text()).then(t => String(t.length))`)
	}
	exact := func(when string) {
		t.Helper()
		var got trafficJSON
		eventually(t, when+" the sums are the target's", enough, func() bool {
			got = says(path)
			return got.BytesUp == metered.up.Load() && got.BytesDown == metered.down.Load() && got.BytesUp > 70000
		})
	}
	fetch()
	exact("while it runs")
	s.kill()
	fetch2 := func() {
		c = dialCDP(t, s.start(id, nil).WsEndpoint, nil)
		_, pages := c.pages()
		page = c.attach(pages[0])
		fetch()
	}
	s = g.serve()
	fetch2()
	exact("with the next server")
	s.stop(id)
	exact("after its end")
	all := says(path)
	for _, query := range []string{"?by=day", "?by=profile", "?by=run", "?from=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)} {
		if got := says(path + query); got.TrafficSums != all.TrafficSums || len(got.Data) == 0 {
			t.Errorf("%s: %+v, want %+v", query, got, all.TrafficSums)
		}
	}
	if got := says("/profiles/" + id + "/traffic?by=proxy"); got.TrafficSums != all.TrafficSums || len(got.Data) != 1 || *got.Data[0].ProxyID != proxy {
		t.Errorf("by proxy: %+v", got)
	}
	if v := s.get(id).LastRun; v.BytesDown != all.BytesDown || all.Connections == 0 {
		t.Errorf("the run says %+v, its proxy %+v", v, all.TrafficSums)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte{'0'}, len(b))), nil }

// The same word twice counts once; parts add up to the whole; what is old is forgotten; nobody sees another workspace's.
func TestTraffic(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy, other := a.proxy(t), a.proxy(t, "port", 2)
	one, two := a.profile(t), a.profile(t)
	today := dayOf(time.Now())
	say := func(run, profile string, said ...shim.Traffic) {
		t.Helper()
		if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
			return upsertTraffic(t.Context(), q, store.Run{ID: run, ProfileID: profile, WorkspaceID: "default"}, said)
		}); err != nil {
			t.Fatal(err)
		}
	}
	first := shim.Traffic{ProxyID: proxy, Day: today - 1, BytesUp: 1, BytesDown: 10, Connections: 1}
	say("r1", one, first, shim.Traffic{ProxyID: other, Day: today, BytesUp: 7}, shim.Traffic{Day: today, BytesDown: 5})
	say("r1", one, first)
	say("r2", two, shim.Traffic{ProxyID: proxy, Day: today, BytesUp: 2, BytesDown: 20, Connections: 2})
	say("r2", two, shim.Traffic{ProxyID: proxy, Day: today, BytesUp: 1, BytesDown: 20, Connections: 2}) // an older word
	say("r3", two, shim.Traffic{ProxyID: proxy, Day: today - trafficDaysKept - 1, BytesUp: 100})
	says := func(path, want string) {
		t.Helper()
		r := a.do(t, "GET", path, nil).want(t, 200)
		got := fmt.Sprint(r.at("bytesUp"), " ", r.at("bytesDown"), " ", r.at("connections"), ":")
		for i := range r.at("data").([]any) {
			row := r.at(fmt.Sprint("data.", i)).(map[string]any)
			delete(row, "day")
			got += fmt.Sprint(" ", row)
		}
		if got != want {
			t.Errorf("%s says %s, want %s", path, got, want)
		}
	}
	path := "/proxies/" + proxy + "/traffic"
	if err := a.srv.runs.purgeTraffic(t.Context()); err != nil {
		t.Fatal(err)
	}
	says(path, "3 30 3: map[bytesDown:10 bytesUp:1 connections:1] map[bytesDown:20 bytesUp:2 connections:2]")
	says(path+"?by=run", "3 30 3: map[bytesDown:10 bytesUp:1 connections:1 runId:r1] map[bytesDown:20 bytesUp:2 connections:2 runId:r2]")
	says(path+"?to="+time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), "1 10 1: map[bytesDown:10 bytesUp:1 connections:1]")
	says("/profiles/"+one+"/traffic?by=proxy&from="+time.Now().UTC().Format(time.DateOnly), "7 5 0: map[bytesDown:5 bytesUp:0 connections:0 proxyId:] map[bytesDown:0 bytesUp:7 connections:0 proxyId:"+other+"]")
	says("/profiles/"+two+"/traffic?by=proxy", "2 20 2: map[bytesDown:20 bytesUp:2 connections:2 proxyId:"+proxy+"]")
	a.do(t, "GET", path+"?by=hour", nil).invalid(t, "query.by")
	a.do(t, "GET", path+"?from=yesterday&to=2026-13-01", nil).invalid(t, "query.from", "query.to")
	a.do(t, "GET", path+"?from=2026-11-02&to=2026-11-01", nil).invalid(t, "query.to")
	a.do(t, "GET", "/profiles/"+one+"/traffic?by=profile", nil).invalid(t, "query.by")
}
