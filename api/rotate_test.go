package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warren/testnet"
)

// TestRotate: the URL is called, the new exit is awaited and compared, and the result is stored and answered. A failed rotation
// claims nothing.
func TestRotate(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.RotateEvery, c.RotateTimeout = 0, testnet.Patience })
	m := a.pool(t, "default", 1, nil)
	id := m.ids[0]
	var calls atomic.Int64
	seller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		switch r.URL.Path {
		case "/now":
			m.exit.Store(new("198.18.7." + fmt.Sprint(calls.Load())))
		case "/later": // the modem is offline for a while
			m.dead.Store(true)
			go func() {
				waitFor(t, "a look at the proxy that is away", func(n int64) func() bool {
					return func() bool { return m.conns.Load() > n }
				}(m.conns.Load()))
				m.exit.Store(new("198.18.8.8"))
				m.dead.Store(false)
			}()
		case "/fails":
			w.WriteHeader(http.StatusInternalServerError)
		case "/inward":
			http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
		}
	}))
	t.Cleanup(seller.Close)
	rotate := func() *answer { return a.do(t, "POST", "/proxies/"+id+"/rotate", nil) }
	set := func(path string) {
		a.do(t, "PUT", "/proxies/"+id, map[string]any{"rotateUrl": seller.URL + path}).want(t, 200)
	}
	rotate().refused(t, 409, "no_rotate_url")
	set("/now")
	r := rotate().want(t, 200)
	r.equal(t, "changed", true)
	r.equal(t, "before", m.exits[id])
	r.equal(t, "exitIp", "198.18.7.1")
	r.equal(t, "check.exitChanged", true)
	a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "lastCheck", r.at("check"))
	set("/later")
	stream := a.listen(t, a.key)
	r = rotate().want(t, 200)
	r.equal(t, "before", "198.18.7.1")
	r.equal(t, "exitIp", "198.18.8.8")
	for _, e := range stream.until(t, "proxy.exit_changed") {
		if e.event == "proxy.died" {
			t.Error("a proxy between two exits was called dead")
		}
	}
	hasty := newAPI(t, checkingURL, func(c *setup) { c.RotateEvery, c.RotateTimeout = 0, 3*time.Second })
	there := hasty.pool(t, "default", 1, nil)
	hasty.do(t, "PUT", "/proxies/"+there.ids[0], map[string]any{"rotateUrl": seller.URL + "/same"}).want(t, 200)
	r = hasty.do(t, "POST", "/proxies/"+there.ids[0]+"/rotate", nil).want(t, 200)
	r.equal(t, "changed", false)
	r.equal(t, "exitIp", there.exits[there.ids[0]])
	if took := r.at("durationMs").(float64); took < 2000 || calls.Load() != 3 {
		t.Errorf("it waited %v ms of 3000, and called %d times", took, calls.Load())
	}
	set("/fails")
	if detail := rotate().refused(t, 502, "rotate_failed").text("detail"); !strings.Contains(detail, "500") {
		t.Error(detail)
	}
	set("/inward")
	if detail := rotate().refused(t, 502, "rotate_failed").text("detail"); !strings.Contains(detail, "local to this machine") &&
		!strings.Contains(detail, "no proxy server can be") {
		t.Error(detail)
	}
	own := strings.Replace(a.base, "127.0.0.1", "localhost", 1)
	a.do(t, "PUT", "/proxies/"+id, map[string]any{"rotateUrl": own + "/healthz"}).want(t, 200)
	rotate().refused(t, 502, "rotate_failed")
}

// TestRotateNotTooOften: a second call within --rotate-every is refused, also a concurrent one, and the URL is not called.
func TestRotateNotTooOften(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.RotateEvery = time.Hour })
	m := a.pool(t, "default", 1, nil)
	var calls atomic.Int64
	seller := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		m.exit.Store(new(fmt.Sprintf("198.18.7.%d", calls.Add(1))))
	}))
	t.Cleanup(seller.Close)
	a.do(t, "PUT", "/proxies/"+m.ids[0], map[string]any{"rotateUrl": seller.URL}).want(t, 200)
	answers := make(chan *answer)
	for range 5 {
		go func() { answers <- a.do(t, "POST", "/proxies/"+m.ids[0]+"/rotate", nil) }()
	}
	ok := 0
	for range 5 {
		if r := <-answers; r.status == 200 {
			ok++
		} else if r.refused(t, 429, "rate_limited"); r.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if ok != 1 || calls.Load() != 1 {
		t.Errorf("%d were done, the address was called %d times; want one of each", ok, calls.Load())
	}
}

// TestRotateStaysOutside: where private networks are closed, no rotateUrl leads there.
func TestRotateStaysOutside(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.ClosedPrivate = true })
	called := new(atomic.Bool)
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Store(true) }))
	t.Cleanup(inner.Close)
	id := a.do(t, "POST", "/proxies", map[string]any{"url": "socks5://127.0.0.1:1", "rotateUrl": inner.URL}).want(t, 201).text("id")
	a.do(t, "POST", "/proxies/"+id+"/rotate", nil).refused(t, 502, "rotate_failed")
	if called.Load() {
		t.Error("the inner network was reached")
	}
}
