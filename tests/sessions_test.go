package tests

import (
	"slices"
	"strings"
	"testing"

	"warren/testnet"
)

// A profile keeps its session, and uses its proxy alone.

// Cookies set a moment before the stop, session cookies and tabs are there at the next start.
func TestSessionComesBack(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.start(id, nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	c.awaitURL(c.open(s.world.url("/tab-one")), s.world.url("/tab-one"))
	page := c.open(s.world.url("/tab-two"))
	c.awaitURL(page, s.world.url("/tab-two"))
	if got := c.get(page, s.world.url("/set?kept=k1&session=s1")); !strings.HasPrefix(got, "200") {
		t.Fatalf("setting the cookies: %s", got)
	}
	if v := s.stop(id); v.Method != "close" || v.LastRun.BytesDown == 0 {
		t.Errorf("the stop answered %+v, %+v", v, v.LastRun)
	}
	run = s.start(id, map[string]any{"startUrls": []string{s.world.url("/show")}})
	if v := s.world.await(t, "/show", 1); !strings.Contains(v.cookie, "kept=k1") || !strings.Contains(v.cookie, "session=s1") {
		t.Errorf("at the next start the site saw the cookies %q, want kept=k1 and session=s1", v.cookie)
	}
	c = dialCDP(t, run.WsEndpoint, nil)
	for _, want := range []string{"/tab-one", "/tab-two", "/show"} { // the site has seen the last one before its tab says so
		eventually(t, "a tab shows "+want, enough, func() bool {
			urls, _ := c.pages()
			return slices.Contains(urls, s.world.url(want))
		})
	}
}

// The proxy dies while the browser runs: the page fails, and works again when the proxy is back.
func TestProxyDiesMidRun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	run := s.start(s.profile(map[string]any{"proxyId": s.addProxy(nil)}), nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open(s.world.url("/page"))
	c.awaitURL(page, s.world.url("/page"))
	s.proxy.Close()
	if got := c.get(page, s.world.url("/beside")); got != "failed" {
		t.Errorf("with a dead proxy a page got %q", got)
	}
	s.proxy.Open()
	if got := c.get(page, s.world.url("/back")); !strings.HasPrefix(got, "200") {
		t.Errorf("with its proxy back a page got %q", got)
	}
	if slices.Contains(s.world.paths(), "/beside") {
		t.Error("the site was reached beside the dead proxy")
	}
}

// A change of the proxy, or of which one it is, reaches the running browser; taking the proxy away does not send it out directly.
func TestProxySwap(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	other := testnet.NewLocalProxy(t, s.world.site.Listener.Addr().String())
	first := s.addProxy(nil)
	second := s.addProxy(map[string]any{"port": other.Port(), "password": other.Password})
	id := s.profile(map[string]any{"proxyId": first})
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	page := c.open(s.world.url("/page"))
	c.awaitURL(page, s.world.url("/page"))
	reaches := func(what string) {
		t.Helper()
		if got := c.get(page, s.world.url("/"+strings.ReplaceAll(what, " ", "-"))); !strings.HasPrefix(got, "200") {
			t.Errorf("%s: a page got %q", what, got)
		}
	}
	fails := func(what string) {
		t.Helper()
		if got := c.get(page, s.world.url("/"+strings.ReplaceAll(what, " ", "-"))); got != "failed" {
			t.Errorf("%s: a page got %q, want nothing", what, got)
		}
	}
	shows := func(want string) {
		t.Helper()
		if p := s.get(id).Run.Proxy; p == nil || p.ID != want {
			t.Errorf("the run shows the proxy %+v, want %s", p, want)
		}
	}
	// The first proxy moves, to where nobody is, and back.
	s.do("PUT", "/proxies/"+first, map[string]any{"password": "wrong"}, 200, nil)
	s.proxy.Drop()
	fails("the password is wrong now")
	s.do("PUT", "/proxies/"+first, map[string]any{"password": s.proxy.Password}, 200, nil)
	reaches("the password is right again")
	// The profile gets the second.
	events := s.listen()
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": second}, 200, nil)
	events.await("run.updated", "", id)
	shows(second)
	s.proxy.Close()
	reaches("by the second")
	// What becomes of the first is nothing to it any more.
	s.do("PUT", "/proxies/"+first, map[string]any{"password": "changed"}, 200, nil)
	reaches("the first was changed")
	s.do("PUT", "/proxies/"+second, map[string]any{"password": "wrong"}, 200, nil)
	other.Drop()
	fails("the second was changed")
	s.do("PUT", "/proxies/"+second, map[string]any{"password": other.Password}, 200, nil)
	reaches("the second is right again")
	// Without a proxy the profile's next start is direct; this browser stays behind the one that it has.
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": nil}, 200, nil)
	reaches("no proxy for the next start")
	shows(second)
	other.Close()
	fails("and that one is dead")
	// So it does when the next server has adopted it.
	s.kill()
	s = g.serve()
	shows(second)
	if v := s.stop(id); !v.Stopped {
		t.Errorf("the adopted run's stop answered %+v", v)
	}
	if run := s.start(id, nil); run.Proxy != nil {
		t.Errorf("the next start has the proxy %+v", run.Proxy)
	}
}

// A proxy that is changed while a browser starts behind it is the one that the browser has.
func TestProxySwapDuringStart(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	other := testnet.NewLocalProxy(t, s.world.site.Listener.Addr().String())
	second := s.addProxy(map[string]any{"port": other.Port(), "password": other.Password})
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	events := s.listen()
	started := make(chan runView, 1)
	go func() { started <- s.start(id, map[string]any{"preflight": "off"}) }()
	events.await("profile.status", "starting", id)
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": second}, 200, nil)
	run := <-started
	s.proxy.Close()
	if run.Proxy == nil || run.Proxy.ID != second {
		t.Errorf("start answered the proxy %+v, want the new one", run.Proxy)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	c.awaitURL(c.open(s.world.url("/by-the-second")), s.world.url("/by-the-second"))
}
