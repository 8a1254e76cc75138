package api

import (
	"testing"
)

// No address in the API may be in 127.77.0.0/16: each member that takes an address refuses it in every spelling.
func TestDebugRangeInTheAPI(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, proxy := a.profile(t), a.proxy(t)
	for _, host := range []string{"127.77.0.1", "127.77.1", "0x7f.77.0.1", "2135752705", "0177.0115.0.1", "[::ffff:127.77.0.1]",
		"[::ffff:7f4d:1]", "127.77.255.255"} {
		a.do(t, "PUT", "/profiles/"+profile, map[string]any{"allowLocal": []string{host + ":9222"}}).invalid(t, "body.allowLocal[0]")
		a.do(t, "PUT", "/profiles/"+profile, map[string]any{"localhostVia": []string{host + ":9222"}}).invalid(t, "body.localhostVia[0]")
		a.do(t, "PUT", "/proxies/"+proxy, map[string]any{"host": host}).invalid(t, "body.host")
		a.do(t, "POST", "/proxies", map[string]any{"url": "socks5://" + host + ":9222"}).invalid(t, "body.url")
		a.do(t, "POST", "/proxies/check", map[string]any{"type": "http", "host": host, "port": 9222}).invalid(t, "body.host")
		a.do(t, "PUT", "/proxies/"+proxy, map[string]any{"rotateUrl": "http://" + host + ":9222/json/close/x"}).invalid(t, "body.rotateUrl")
		r := a.importList(t, "", "text/plain", host+":9222\n")
		r.equal(t, "created", 0)
	}
	a.do(t, "PUT", "/profiles/"+profile, `{"allowLocal":["127.0.0.1:9222","127.78.0.1:9222"],"localhostVia":["9222"]}`).want(t, 200)
}
