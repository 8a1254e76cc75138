package proxy

import (
	"net"
	"strconv"
	"testing"
)

// A bypassed target is dialled directly, past a dead upstream and a policy that refuses it. Its neighbours are not.
func TestBypass(t *testing.T) {
	t.Parallel()
	target := serve(t, echo)
	d := &Dialer{Upstream: &Proxy{Type: SOCKS5, Host: "127.0.0.1", Port: 1}, Policy: nearby, Bypasses: []Bypass{
		{Host: "LocalHost", Port: "3000", Address: target.addr()},
		{Host: ".leaks.test", Port: "80", Address: target.addr()},
		{Host: "127.0.0.1", Port: "3001", Address: target.addr()},
	}}
	for address, direct := range map[string]bool{
		"localhost:3000": true, "LOCALHOST.:3000": true, "a.b.leaks.test:80": true, "127.1:3001": true, "[::ffff:127.0.0.1]:3001": true,
		"localhost:3001": false, "x.localhost:3000": false, "leaks.test:80": false, "notleaks.test:80": false, "a.leaks.test:81": false,
		"127.0.0.1:3000": false,
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

// LocalBypass takes services of this machine or its private network, in any spelling, and nothing else.
func TestLocalBypass(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]Bypass{
		"localhost:3000":       {"localhost", "3000", "localhost:3000"},
		"App.LocalHost.:3000":  {"app.localhost", "3000", "localhost:3000"},
		"127.1:80":             {"127.0.0.1", "80", "127.0.0.1:80"},
		"0x7f000001:080":       {"127.0.0.1", "80", "127.0.0.1:80"},
		"[::1]:80":             {"::1", "80", "[::1]:80"},
		"[::ffff:10.1.2.3]:80": {"10.1.2.3", "80", "10.1.2.3:80"},
		"192.168.0.10:8080":    {"192.168.0.10", "8080", "192.168.0.10:8080"},
		"[fd12::1]:8080":       {"fd12::1", "8080", "[fd12::1]:8080"},
	} {
		if got, err := LocalBypass(target); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", target, got, err, want)
		}
	}
	for _, target := range []string{
		"", "localhost", "localhost:0", "localhost:65536", "localhost:http", "example.com:80", "nas.local:80", "notlocalhost:80",
		"8.8.8.8:53", "169.254.169.254:80", "100.100.100.200:80", "[fd00:ec2::254]:80", "0.0.0.0:80", "[::]:80", "[fe80::1]:80",
		"224.0.0.1:80", "255.255.255.255:80", "[64:ff9b:1::a9fe:a9fe]:80", ":80", "a b:80",
	} {
		if got, err := LocalBypass(target); err == nil {
			t.Errorf("%q is taken: %+v", target, got)
		}
	}
}

// A service on localhost may listen in either family.
func TestBypassToLocalhost(t *testing.T) {
	t.Parallel()
	target := serveOn(t, "[::1]:0", echo)
	v, err := LocalBypass(net.JoinHostPort("localhost", strconv.Itoa(target.port())))
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&Dialer{Bypasses: []Bypass{v}}).DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", v.Port))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
