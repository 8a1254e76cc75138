package tests

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"warren/testnet"
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
	g := newTestbed(t)
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
	ways := testnet.NewLocalProxy(t, l.Addr().String())
	s := g.serve()
	proxy := s.addProxy(map[string]any{"port": ways.Port(), "password": ways.Password})
	id := s.profile(map[string]any{"proxyId": proxy, "timezone": "UTC", "locale": []string{"en"}, "geolocation": "off"})
	run := s.start(id, map[string]any{"preflight": "off"})
	path := "/proxies/" + proxy + "/traffic"
	says := func(path string) (out trafficView) { s.do("GET", path, nil, 200, &out); return out }
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open("about:blank")
	fetch := func() {
		t.Helper()
		c.call(page, "Page.navigate", map[string]any{"url": "http://" + testnet.LocalSite + "/"}, nil)
		c.awaitURL(page, "http://"+testnet.LocalSite+"/")
		c.eval(page, `fetch("/up", {method: "POST", body: "x".repeat(70000)}).then(r => r.text()).then(t => String(t.length))`)
	}
	exact := func(when string) {
		t.Helper()
		var got trafficView
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
	for _, query := range []string{"?by=day", "?by=profile", "?by=run",
		"?from=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)} {
		if got := says(path + query); got.trafficSums != all.trafficSums || len(got.Data) == 0 {
			t.Errorf("%s: %+v, want %+v", query, got, all.trafficSums)
		}
	}
	if got := says("/profiles/" + id + "/traffic?by=proxy"); got.trafficSums != all.trafficSums || len(got.Data) != 1 ||
		*got.Data[0].ProxyID != proxy {
		t.Errorf("by proxy: %+v", got)
	}
	if v := s.get(id).LastRun; v.BytesDown != all.BytesDown || all.Connections == 0 {
		t.Errorf("the run says %+v, its proxy %+v", v, all.trafficSums)
	}
}

// trafficView is the traffic of a proxy or a profile.
type trafficView struct {
	trafficSums
	Data []struct{ ProxyID *string }
}

type trafficSums struct{ BytesUp, BytesDown, Connections int64 }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte{'0'}, len(b))), nil }
