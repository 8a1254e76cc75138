package proxy

import (
	"net"
	"net/netip"
	"strconv"
	"testing"
)

// debugListener listens at an address, and fails the test when a connection comes.
func debugListener(t *testing.T, address string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Skipf("this system has no %s: %v", address, err)
	}
	l.Close()
	s := serveOn(t, address, echo)
	t.Cleanup(func() {
		if n := s.count(); n > 0 {
			t.Errorf("%d connections came to the debug port", n)
		}
	})
	return strconv.Itoa(s.port())
}

// debugHostSpellings returns spellings of 127.77.5.6.
func debugHostSpellings() []string {
	return []string{"127.77.5.6", "127.77.1286", "127.5047558", "2135753990", "0x7f.77.5.6", "0x7f4d0506", "0177.0115.05.06",
		"017723202406", "0x7F.0x4D.0x5.0x6", "127.77.5.6.",
		"::ffff:127.77.5.6", "::ffff:7f4d:506", "0:0:0:0:0:ffff:7f4d:0506", "::127.77.5.6", "64:ff9b::7f4d:506", "2002:7f4d:506::1"}
}

// No dial on another's behalf reaches a run's debug port, in no spelling, by no name and whatever else is allowed. The port is no target,
// with and without an upstream. It is no bypass, no exempt target, no proxy's host and no URL of a call.
func TestDebugPortsAreOutOfReach(t *testing.T) {
	port := debugListener(t, "127.77.5.6:0")
	relayed := serve(t, network{}.socks5(nil)) // an upstream on this machine that would reach the port
	named := nameserver(t, func(int) []string { return []string{"127.77.5.6"} })
	for _, host := range debugHostSpellings() {
		target := net.JoinHostPort(host, port)
		for how, d := range map[string]*Dialer{
			"directly":            {Policy: nearby},
			"as what is exempt":   {Policy: Policy{AllowPrivate: true, Exempt: []string{target, "127.77.5.6:" + port}}},
			"through an upstream": {Policy: nearby, Upstream: upstream(SOCKS5, relayed, "", "")},
			"through an upstream, as what is exempt": {Policy: Policy{AllowPrivate: true, Exempt: []string{target}},
				Upstream: upstream(SOCKS5, relayed, "", "")},
			"by a bypass to it": {Policy: nearby,
				Bypasses: []Bypass{{Host: host, Port: port, Address: "127.77.5.6:" + port}}},
			"by a bypass of its own, with an upstream": {Policy: nearby, Upstream: upstream(HTTP, relayed, "", ""),
				Bypasses: []Bypass{{Host: host, Port: port, Address: target}}},
		} {
			if c, err := d.DialContext(t.Context(), "tcp", target); err == nil {
				c.Close()
				t.Errorf("%s is reached %s", host, how)
			}
		}
		n, _ := strconv.Atoi(port)
		d := &Dialer{Policy: nearby, Upstream: &Proxy{Type: SOCKS5, Host: host, Port: n}}
		_, err := d.DialContext(t.Context(), "tcp", "example.com:80")
		wantFault(t, err, StageConnect, BlockedAddress)
		if _, err := LocalBypass(target); err == nil {
			t.Errorf("%s is taken for a local service", host)
		}
		if faults := (Proxy{Type: SOCKS5, Host: host, Port: n}).Validate(); len(faults) != 1 || faults[0].Field != "host" {
			t.Errorf("%s is taken for a proxy's host: %v", host, faults)
		}
		if res, err := NewClient(nearby, nil, waitLimit).Get("http://" + target + "/json/list"); err == nil {
			res.Body.Close()
			t.Errorf("%s is called", host)
		}
	}
	if n := relayed.count(); n > 0 {
		t.Errorf("the upstream was asked %d times", n)
	}
	for how, d := range map[string]*Dialer{
		"directly":          {Policy: nearby, resolver: named},
		"as what is exempt": {Policy: Policy{AllowPrivate: true, Exempt: []string{"door.example:" + port}}, resolver: named},
		"by a bypass": {Policy: nearby, resolver: named,
			Bypasses: []Bypass{{Host: "door.example", Port: port, Address: "door.example:" + port}}},
	} {
		_, err := d.DialContext(t.Context(), "tcp", "door.example:"+port)
		if wantFault(t, err, StageRequest, BlockedAddress); t.Failed() {
			t.Fatal(how)
		}
	}
	n, _ := strconv.Atoi(port)
	d := &Dialer{Policy: nearby, resolver: named, Upstream: &Proxy{Type: SOCKS5, Host: "door.example", Port: n}}
	_, err := d.DialContext(t.Context(), "tcp", "example.com:80")
	wantFault(t, err, StageConnect, BlockedAddress)
}

// On systems without a loopback but 127.0.0.1, the ports in use are refused, and other ports of loopback are reached as before.
func TestDebugPortsThatAreKept(t *testing.T) {
	port := debugListener(t, "127.0.0.1:0")
	open := serve(t, echo)
	p := Policy{AllowPrivate: true, DebugPorts: func() []string { return []string{"1", port} }, Exempt: []string{"127.0.0.1:" + port}}
	n, _ := strconv.Atoi(port)
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "0.0.0.0", "::ffff:127.0.0.1", "0x7f000001"} {
		target := net.JoinHostPort(host, port)
		for how, d := range map[string]*Dialer{
			"directly": {Policy: p}, "by a bypass": {Policy: p, Bypasses: []Bypass{{Host: host, Port: port, Address: target}}},
			"as a proxy": {Policy: p, Upstream: &Proxy{Type: SOCKS5, Host: host, Port: n}},
		} {
			if c, err := d.DialContext(t.Context(), "tcp", target); err == nil {
				c.Close()
				t.Errorf("%s is reached %s", host, how)
			}
		}
		if res, err := NewClient(p, nil, waitLimit).Get("http://" + target + "/json/list"); err == nil {
			res.Body.Close()
			t.Errorf("%s is called", host)
		}
	}
	d := &Dialer{Policy: p, Bypasses: []Bypass{{Host: "localhost", Port: "3000", Address: open.addr()}}}
	c, err := d.DialContext(t.Context(), "tcp", "localhost:3000")
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, c)
}

func TestDebugHosts(t *testing.T) {
	t.Parallel()
	for _, host := range append(debugHostSpellings(), "[::ffff:127.77.5.6]", "127.77.0.0", "127.77.255.255", "127.77.1") {
		if !IsDebugHost(host) {
			t.Errorf("%s is not seen", host)
		}
	}
	for _, host := range []string{"127.76.255.255", "127.78.0.0", "127.0.0.1", "localhost", "::1", "example.com", "128.77.0.1", "",
		"127.77", "127.77.0.0.1"} {
		if IsDebugHost(host) {
			t.Errorf("%s is refused", host)
		}
	}
	if !DebugRange().Contains(netip.MustParseAddr("127.77.0.1")) {
		t.Error("the range is another one")
	}
}
