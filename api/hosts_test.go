package api

import (
	"net/http"
	"strings"
	"testing"
)

// Tests addresses behind a reverse proxy.

// TestForwarded: X-Forwarded headers count only from --behind-proxy, and only with harmless values.
func TestForwarded(t *testing.T) {
	t.Parallel()
	plain, plainRun := newFakeRun(t)
	behind, behindRun := newFakeRun(t, func(c *setup) {
		c.BehindProxy, c.AllowHost = []string{"127.0.0.1"}, []string{"warren.example", "warren.example:8443"}
	})
	elsewhere, elsewhereRun := newFakeRun(t, func(c *setup) {
		c.BehindProxy, c.AllowHost = []string{"10.0.0.0/8"}, []string{"warren.example"}
	})
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add("X-Forwarded-"+pairs[i], pairs[i+1])
		}
		return h
	}
	all := header("Proto", "https", "Host", "warren.example", "Prefix", "/team/warren")
	own := func(a *testAPI) string { return a.base }
	for _, c := range []struct {
		a      *testAPI
		run    *fakeRun
		header http.Header
		want   string // "": 421
	}{
		{plain, plainRun, all, own(plain)},
		{elsewhere, elsewhereRun, all, own(elsewhere)},
		{plain, plainRun, header("Host", "evil.example"), own(plain)},
		{behind, behindRun, nil, own(behind)},
		{behind, behindRun, all, "https://warren.example/team/warren"},
		{behind, behindRun, header("Proto", "HTTPS", "Host", "Warren.Example:8443"), "https://Warren.Example:8443"},
		{behind, behindRun, header("Proto", "wss", "Host", "warren.example", "Prefix", "/a/"), "https://warren.example/a"},
		{behind, behindRun, header("Proto", "http", "Host", "warren.example", "Prefix", "/"), "http://warren.example"},
		{behind, behindRun, header("Proto", "javascript", "Host", "warren.example"), "http://warren.example"},
		{behind, behindRun, header("Prefix", "/~me/v1.2_x-y"), own(behind) + "/~me/v1.2_x-y"},
		{behind, behindRun, header("Host", "evil.example"), ""},
		{behind, behindRun, header("Host", ""), ""},
		{behind, behindRun, header("Host", "warren.example", "Host", "warren.example"), ""},
		{behind, behindRun, header("Host", "warren.example, evil.example"), ""},
		{behind, behindRun, header("Host", "warren.example/x"), ""},
		{behind, behindRun, header("Prefix", "/a", "Prefix", "/b"), own(behind)},
		{behind, behindRun, header("Prefix", "/"+strings.Repeat("a", 200)), own(behind)},
		{behind, behindRun, header("Prefix", "a/b"), own(behind)}, {behind, behindRun, header("Prefix", "//evil.example"), own(behind)},
		{behind, behindRun, header("Prefix", "/a/../b"), own(behind)}, {behind, behindRun, header("Prefix", "/./a"), own(behind)},
		{behind, behindRun, header("Prefix", "/a?b"), own(behind)}, {behind, behindRun, header("Prefix", "/a#b"), own(behind)},
		{behind, behindRun, header("Prefix", "/a%2fb"), own(behind)}, {behind, behindRun, header("Prefix", "/a b"), own(behind)},
		{behind, behindRun, header("Prefix", "/a\"><script>"), own(behind)}, {behind, behindRun, header("Prefix", "/a@evil.example"),
			own(behind)},
		{behind, behindRun, header("Prefix", "/a:1"), own(behind)}, {behind, behindRun, header("Prefix", `/a\b`), own(behind)},
	} {
		req := c.a.request(t, "POST", "/profiles/"+c.run.profileID+"/capabilities", nil)
		req.Header = c.header.Clone()
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("Authorization", "Bearer "+c.a.key)
		r := c.a.send(t, req)
		if c.want == "" {
			r.refused(t, 421, "host_not_allowed")
			continue
		}
		r.want(t, 201)
		ws := "ws" + strings.TrimPrefix(c.want, "http")
		for member, begins := range map[string]string{"liveUrl": c.want + "/live#", "cdpUrl": c.want + "/cdp/", "wsEndpoint": ws +
			"/cdp/"} {
			if !strings.HasPrefix(r.text(member), begins) {
				t.Errorf("%v: %s is %s, want it to begin with %s", c.header, member, r.text(member), begins)
			}
		}
	}
	// The header does not help a page whose host name resolves to this server (DNS rebinding).
	req := behind.request(t, "GET", "/profiles", nil)
	req.Host = "evil.example"
	req.Header.Set("X-Forwarded-Host", "warren.example")
	behind.send(t, req).refused(t, 421, "host_not_allowed")
}
