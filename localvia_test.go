package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// What a profile may name, and in which spelling it is kept; and nothing where private networks are closed.
func TestLocalhostVia(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/profiles", `{"name":"x","localhostVia":[3000,"03000","App.Test:3000","shop.com:80",8080]}`).want(t, 201)
	r.equal(t, "localhostVia", []any{"3000", "app.test:3000", "shop.com:80", "8080"})
	a.do(t, "PUT", "/profiles/"+r.text("id"), fmt.Sprintf(`{"localhostVia":[%s]}`, a.srv.port)).invalid(t, "body.localhostVia[0]")
	a.do(t, "PUT", "/profiles/"+r.text("id"), `{"localhostVia":["0","65536","app.test","127.0.0.1:80","[::1]:80","*.test:80","localhost:80","a.localhost:80","http://a:80","10.0.0.0/8:80","-1",""]}`).
		invalid(t, slicesOfFaults("body.localhostVia", 12)...)
	a.do(t, "PUT", "/profiles/"+r.text("id"), map[string]any{"localhostVia": make21()}).invalid(t, "body.localhostVia")
	closed := newAPI(t, func(c *serveConfig) { c.AllowPrivate = "no" })
	closed.do(t, "POST", "/profiles", `{"name":"x","localhostVia":[3000]}`).invalid(t, "body.localhostVia")
}

func slicesOfFaults(name string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s[%d]", name, i))
	}
	return out
}

func make21() (out []int) {
	for i := range 21 {
		out = append(out, 4000+i)
	}
	return out
}

// A browser behind a proxy reaches the ports of this machine that its profile names, by the names that it gives them, and no others.
func TestLocalhostViaOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newGround(t).serve()
	local := func(says string) (port string) {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			fmt.Fprint(w, says)
		}))
		t.Cleanup(site.Close)
		return site.URL[strings.LastIndexByte(site.URL, ':')+1:]
	}
	mine, other := local("mine"), local("other")
	number, err := strconv.Atoi(mine)
	if err != nil {
		t.Fatal(err)
	}
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "localhostVia": []any{number, "app.test:" + mine, "shop.com:" + mine}})
	run := s.start(id, nil)
	for _, w := range run.Warnings {
		if w.Code == "localhost_via" && (!strings.Contains(w.Message, "shop.com") || strings.Contains(w.Message, "app.test")) {
			t.Errorf("it warns %s", w.Message)
		}
	}
	if !run.warned("localhost_via") {
		t.Error("of a name of the internet it does not warn")
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open(s.world.url("/behind"))
	c.awaitURL(page, s.world.url("/behind"))
	for host, want := range map[string]string{"app.test:" + mine: "mine", "localhost:" + mine: "mine", "sub.localhost:" + mine: "mine", "127.0.0.1:" + mine: "mine", "shop.com:" + mine: "mine",
		"app.test:" + other: "refused", "localhost:" + other: "refused", "127.0.0.1:" + other: "refused", "x.app.test:" + mine: "refused", "app.test": "refused"} {
		target := c.open("http://" + host + "/")
		got := ""
		eventually(t, host+" answers or is refused", enough, func() bool {
			got = c.eval(target, `location.protocol == "chrome-error:" ? "refused" : document.readyState == "complete" && location.href != "about:blank" ? document.body.innerText : ""`)
			return got != ""
		})
		if got != want {
			t.Errorf("http://%s/: %q, want %q", host, got, want)
		}
	}
	if v := s.world.await(t, "/behind", 1); v.address != s.proxy.exit {
		t.Errorf("the site saw %s, want the proxy's %s", v.address, s.proxy.exit)
	}
	var shown shownView
	if s.do("PUT", "/profiles/"+id, map[string]any{"localhostVia": nil}, 200, &shown); fmt.Sprint(shown.Run.Pending) != "[localhostVia]" {
		t.Errorf("a change waits as %v", shown.Run.Pending)
	}
}
