package proxy

import (
	"testing"
)

// What somebody named is dialled directly, beside an upstream that is dead and a policy that refuses it; its neighbours are not.
func TestDetour(t *testing.T) {
	t.Parallel()
	target := serve(t, echo)
	d := &Dialer{Upstream: &Proxy{Type: SOCKS5, Host: "127.0.0.1", Port: 1}, Policy: Policy{AllowPrivate: true}, Detours: []Detour{
		{Host: "LocalHost", Port: "3000", Address: target.addr()},
		{Host: ".leaks.test", Port: "80", Address: target.addr()},
		{Host: "127.0.0.1", Port: "3001", Address: target.addr()},
	}}
	for address, direct := range map[string]bool{
		"localhost:3000": true, "LOCALHOST.:3000": true, "a.b.leaks.test:80": true, "127.1:3001": true, "[::ffff:127.0.0.1]:3001": true,
		"localhost:3001": false, "x.localhost:3000": false, "leaks.test:80": false, "notleaks.test:80": false, "a.leaks.test:81": false, "127.0.0.1:3000": false,
	} {
		c, err := d.DialContext(t.Context(), "tcp", address)
		if err == nil {
			c.Close()
		}
		if (err == nil) != direct {
			t.Errorf("%s: %v, want a direct connection: %v", address, err, direct)
		}
	}
}
