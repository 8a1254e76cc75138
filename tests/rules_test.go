package tests

import (
	"fmt"
	"testing"

	"warren/testnet"
)

// A browser reaches what its profile's rules allow, however a page asks, and new rules hold at once.
func TestRulesOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
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
	s.do("PUT", "/profiles/"+id, map[string]any{"denyHosts": []string{testnet.LocalSite}}, 200, &v)
	if len(v.Run.Pending) != 0 {
		t.Errorf("pending: %v", v.Run.Pending)
	}
	before := len(s.world.paths())
	socket := c.eval(page, fmt.Sprintf(`new Promise(done => {
		const s = new WebSocket("ws://%s/socket"); s.onerror = () => done("refused")
		s.onopen = () => done("reached") })`, testnet.LocalSite))
	if got := try("/denied"); got != "refused" || socket != "refused" {
		t.Errorf("against the rules fetch %s, a socket %s", got, socket)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"denyHosts": nil, "allowHosts": []string{"elsewhere.test"}}, 200, nil)
	if got := try("/not-allowed"); got != "refused" || len(s.world.paths()) != before {
		t.Errorf("what no rule allows is %s; the site saw %v", got, s.world.paths())
	}
	if u := s.usage(id); u.RefusedByRules < 3 {
		t.Errorf("the run says %+v", u)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"allowHosts": []string{testnet.LocalSite}}, 200, nil)
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
