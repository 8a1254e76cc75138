package main

import (
	"fmt"
	"strings"
	"testing"
)

// Every fault of a list of rules is told at its place, and what is taken is told in one spelling.
func TestRulesOfAProfile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.do(t, "POST", "/profiles", `{"name":"x","allowHosts":["https://a.example","b.example","a b"],"denyHosts":["10.0.0.*"]}`).invalid(t, "body.allowHosts[0]", "body.allowHosts[2]", "body.denyHosts[0]")
	a.do(t, "POST", "/profiles", map[string]any{"name": "x", "denyHosts": strings.Split(strings.Repeat("a,", 1000)+"a", ",")}).invalid(t, "body.denyHosts")
	r := a.do(t, "POST", "/profiles", `{"name":"x","allowHosts":["Bücher.Example.","0x7f.1:080","*.a","*.a"]}`).want(t, 201)
	r.equal(t, "allowHosts", []any{"xn--bcher-kva.example", "127.0.0.1:80", "*.a"})
	r.equal(t, "denyHosts", []any{})
	a.do(t, "PUT", "/profiles/"+r.text("id"), `{"allowHosts":null}`).want(t, 200).equal(t, "allowHosts", []any{})
}

// A browser reaches what its profile's rules allow, however a page asks, and new rules hold at once.
func TestRulesOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newGround(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "denyHosts": []string{"*.elsewhere.test"}})
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	page := c.open(s.world.url("/allowed"))
	c.awaitURL(page, s.world.url("/allowed"))
	try := func(path string) string {
		t.Helper()
		return c.eval(page, fmt.Sprintf(`fetch(%q).then(r => "reached", e => "refused")`, path))
	}
	if got := try("/again"); got != "reached" {
		t.Fatalf("with rules for others a page %s", got)
	}
	var v shownView
	s.do("PUT", "/profiles/"+id, map[string]any{"denyHosts": []string{demoHost}}, 200, &v)
	if len(v.Run.Pending) != 0 {
		t.Errorf("pending: %v", v.Run.Pending)
	}
	before := len(s.world.paths())
	socket := c.eval(page, fmt.Sprintf(`new Promise(done => { const s = new WebSocket("ws://%s/socket"); s.onerror = () => done("refused"); s.onopen = () => done("reached") })`, demoHost))
	if got := try("/denied"); got != "refused" || socket != "refused" {
		t.Errorf("against the rules fetch %s, a socket %s", got, socket)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"denyHosts": nil, "allowHosts": []string{"elsewhere.test"}}, 200, nil)
	if got := try("/not-allowed"); got != "refused" || len(s.world.paths()) != before {
		t.Errorf("what no rule allows is %s; the site saw %v", got, s.world.paths())
	}
	if u := s.usage(id); u.ByRules < 3 {
		t.Errorf("the run says %+v", u)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"allowHosts": []string{demoHost}}, 200, nil)
	if got := try("/at-last"); got != "reached" {
		t.Errorf("what a rule allows is %s", got)
	}
	s.stop(id)
	var past struct {
		Data []struct{ RefusedByRules int64 }
	}
	if s.do("GET", "/profiles/"+id+"/runs", nil, 200, &past); past.Data[0].RefusedByRules < 3 {
		t.Errorf("its history says %+v", past.Data)
	}
}
