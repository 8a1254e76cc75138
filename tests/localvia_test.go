package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// A browser behind a proxy reaches the ports of this machine that its profile names, by the names that it gives them, and no others.
func TestLocalhostViaOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
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
	for host, want := range map[string]string{"app.test:" + mine: "mine", "localhost:" + mine: "mine", "sub.localhost:" + mine: "mine",
		"127.0.0.1:" + mine: "mine", "shop.com:" + mine: "mine",
		"app.test:" + other: "refused", "localhost:" + other: "refused", "127.0.0.1:" + other: "refused", "x.app.test:" + mine: "refused",
		"app.test": "refused"} {
		target := c.open("http://" + host + "/")
		got := ""
		eventually(t, host+" answers or is refused", enough, func() bool {
			got = c.eval(target, `location.protocol == "chrome-error:" ? "refused" :
				document.readyState == "complete" && location.href != "about:blank" ? document.body.innerText : ""`)
			return got != ""
		})
		if got != want {
			t.Errorf("http://%s/: %q, want %q", host, got, want)
		}
	}
	if v := s.world.await(t, "/behind", 1); v.address != s.proxy.Exit {
		t.Errorf("the site saw %s, want the proxy's %s", v.address, s.proxy.Exit)
	}
	var shown shownView
	if s.do("PUT", "/profiles/"+id, map[string]any{"localhostVia": nil}, 200, &shown); fmt.Sprint(shown.Run.Pending) != "[localhostVia]" {
		t.Errorf("a change waits as %v", shown.Run.Pending)
	}
}
