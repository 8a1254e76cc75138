package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// blockedSpellings are spellings of what must never be reached. Browsers and resolvers take most of them.
var blockedSpellings = strings.Fields(`
	127.0.0.1 127.0.0.2 127.255.255.254 127.0.0.1. 127.1 127.0.1 127.00.0.1 127.000.000.001
	2130706433 2130706433. 017700000001 0x7f000001 0X7F000001 0x7F.0.0.1 0x7f.1 0x7f.0x0.0x0.0x1 0177.0.0.1 0177.1 0177.0.1 00177.0.0.1
	127.0x1 0x7f.0.1 0177.0x0.0.01 2130706434 0x7fffffff 017777777776 127.65535 127.16777215
	0 0.0.0.0 0x0 00 0.0 0x 0.0.0 0.1.2.3 0.0.0.1 000.000.000.000 0x00000000
	169.254.169.254 169.254.169.253 169.254.170.2 169.254.0.1 2852039166 0xa9fea9fe 0xA9.0xFE.0xA9.0xFE 0251.0376.0251.0376 025177524776
	169.16689662
	100.100.100.200 0x646464c8 1684301000 168.63.129.16 192.0.0.192
	224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 4294967295 0xffffffff 037777777777
	:: ::0 0:0:0:0:0:0:0:0 ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::0001 [::1] [::] ::0.0.0.1 ::1%lo ::1%1
	::ffff:127.0.0.1 ::FFFF:127.0.0.1 ::ffff:7f00:1 ::ffff:7f00:0001 0:0:0:0:0:ffff:127.0.0.1 0:0:0:0:0:ffff:7f00:1 [::ffff:127.0.0.1]
	::ffff:169.254.169.254
	::ffff:a9fe:a9fe ::ffff:0.0.0.0 ::ffff:100.100.100.200 ::ffff:224.0.0.1 ::ffff:0:127.0.0.1 ::ffff:0:7f00:1
	::127.0.0.1 ::7f00:1 ::169.254.169.254 ::a9fe:a9fe
	64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::127.0.0.1 64:ff9b:1::a9fe:a9fe
	64:ff9b::100.100.100.200
	2002:7f00:1:: 2002:7f00:0001::1 2002:a9fe:a9fe:: 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:80ff:fffe 2001::5601:5601
	fe80::1 fe80::1%eth0 fe80::1%1 FE80::A%lo febf::1 [fe80::1%25eth0] fec0::1 ff02::1 ff05::2 ff0e::1 ff02::1%eth0
	fd00:ec2::254 FD00:EC2::254 fd00:0ec2:0:0:0:0:0:254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42
	localhost LOCALHOST LocalHost localhost. LOCALHOST. a.localhost a.b.localhost www.LocalHost. localhost.localdomain localhost6
	ip6-localhost ip6-loopback
	metadata metadata.google.internal METADATA.GOOGLE.INTERNAL metadata.google.internal. x.metadata.google.internal metadata.goog
	instance-data
	instance-data.ec2.internal host.docker.internal host.containers.internal kubernetes.docker.internal
	1.2.3.4.5 08.0.0.1 256.1.1.1 127.0.0.256 0x7f.0.0.0x100 4294967296 127.0.0.08 x.0x7f example.1 a.b.09
	127.0.0.1:80 127.0.0.1/x user@127.0.0.1 127.0.0.1#x 127.0.0.1?x 127.0.0.1\x 127。0。0。1 １２７.0.0.1 ①②⑦.0.0.1 loc%61lhost 127%2e0.0.1 a..b
	.localhost -.127.1
`)

// privateSpellings are spellings of private addresses, which only AllowPrivate allows.
var privateSpellings = strings.Fields(`
	10.0.0.1 10.255.255.255 0xa000001 012.0.0.1 10.1 172.16.0.1 172.31.255.255 192.168.0.1 192.168.257 3232235521
	100.64.0.1 100.127.255.255 198.18.0.1 198.19.255.255 192.0.0.1 fc00::1 fd12:3456::1 FDFF::1 ::ffff:10.0.0.1 ::ffff:c0a8:1
	64:ff9b::10.0.0.1 2002:a00:1:: ::10.0.0.1`)

var publicSpellings = strings.Fields(`
	1.1.1.1 8.8.8.8 134744072 0x08080808 93.184.216.34 172.15.255.255 172.32.0.1 192.167.1.1 100.63.0.1
	100.128.0.1 198.20.0.1 126.255.255.255 128.0.0.1 169.253.0.1 169.255.0.1 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888
	::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::
	example.com EXAMPLE.com. localhost.example.com mylocalhost notlocalhost.com metadata.example.com xn--mller-kva.example a_b.example
	127.0.0.1.example.com 1.com 0x7f.com`)

func TestBlockedSpellings(t *testing.T) {
	if len(blockedSpellings) < 150 {
		t.Fatalf("got %d spellings, want at least 150", len(blockedSpellings))
	}
	bird := canary(t)
	proxyServer := canary(t) // not even the proxy is asked
	for _, up := range []*Proxy{nil, upstream(SOCKS5, proxyServer, "", ""), upstream(HTTP, proxyServer, "", ""),
		upstream(SOCKS4, proxyServer, "", "")} {
		for _, private := range []bool{false, true} {
			d := &Dialer{Upstream: up, Policy: Policy{AllowPrivate: private}, resolver: noResolver(t)}
			for _, host := range blockedSpellings {
				wantRefused(t, d, host, bird.port())
			}
			if !private {
				for _, host := range privateSpellings {
					wantRefused(t, d, host, bird.port())
				}
			}
		}
	}
}

func wantRefused(t *testing.T, d *Dialer, host string, port int) {
	t.Helper()
	for _, address := range []string{net.JoinHostPort(host, fmt.Sprint(port)), fmt.Sprintf("%s:%d", host, port)} {
		c, err := d.DialContext(within(t, waitLimit), "tcp", address)
		if err == nil {
			c.Close()
			t.Errorf("%s was dialled", address)
			continue
		}
		if e := err.(*Error); e.Stage != StageRequest || e.Code != BlockedAddress {
			t.Errorf("%s: got %v, want request/blocked_address", address, e)
		}
	}
}

// noResolver fails the test when a name is looked up.
func noResolver(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name was looked up")
		return nil, net.ErrClosed
	}}
}

func TestAllowedSpellings(t *testing.T) {
	for private, hosts := range map[bool][]string{false: publicSpellings, true: append(privateSpellings, publicSpellings...)} {
		p := Policy{AllowPrivate: private}
		for _, host := range hosts {
			target, fault := parseTarget(net.JoinHostPort(host, "80"))
			if fault != nil {
				t.Errorf("%s: %v", host, fault)
			} else if reason := p.refuses(target, machine("")); reason != "" {
				t.Errorf("%s (private %v): refused, because %s", host, private, reason)
			}
		}
	}
}

// machine is the cache of a machine with this name and these addresses.
func machine(name string, addrs ...netip.Addr) *localCache {
	c := &localCache{}
	c.p.Store(&localSnapshot{at: time.Now().Add(time.Hour), addrs: addrs, names: hostnameForms(name)})
	return c
}

func TestOwnAddressesAreRefused(t *testing.T) {
	own := netip.MustParseAddr("203.0.113.7")
	p := Policy{AllowPrivate: true}
	for _, host := range []string{"203.0.113.7", "3405803783", "::ffff:203.0.113.7", "64:ff9b::203.0.113.7"} {
		target, _ := parseTarget(net.JoinHostPort(host, "80"))
		if p.refuses(target, machine("", own)) == "" {
			t.Errorf("%s is this machine's own and was allowed", host)
		}
	}
	if target, _ := parseTarget("203.0.113.8:80"); p.refuses(target, machine("", own)) != "" {
		t.Error("the neighbour was refused")
	}
	// The addresses of the system's interfaces are refused.
	addrs, err := net.InterfaceAddrs()
	if err != nil || len(addrs) == 0 {
		t.Skip("no interfaces to ask")
	}
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if p.refusesAddr(ip, &localCache{}) == "" {
			t.Errorf("%s is an interface's address and was allowed", ip)
		}
	}
}

func TestExempt(t *testing.T) {
	s := serve(t, echo)
	d := &Dialer{Policy: Policy{Exempt: []string{s.addr()}}}
	c, err := d.DialContext(t.Context(), "tcp", s.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	roundTrip(t, c)
	wantRefused(t, d, "127.0.0.1", s.port()+1)
	wantRefused(t, d, "127.0.0.2", s.port())
	wantRefused(t, d, "localhost", s.port())
}

func TestProxyServersAddress(t *testing.T) {
	const never, nearbyOnly, always = 0, 1, 2
	own := machine("", netip.MustParseAddr("203.0.113.7"))
	for host, when := range map[string]int{
		"127.0.0.1": nearbyOnly, "127.5.5.5": nearbyOnly, "::1": nearbyOnly, "::ffff:127.0.0.1": nearbyOnly, "10.0.0.1": nearbyOnly,
		"192.168.1.1": nearbyOnly,
		"fd00::1":     nearbyOnly, "100.64.0.1": nearbyOnly, "203.0.113.7": nearbyOnly, "64:ff9b::a00:1": nearbyOnly, "8.8.8.8": always,
		"2001:4860:4860::8888": always,
		"169.254.169.254":      never, "169.254.1.1": never, "0.0.0.0": never, "::": never, "224.0.0.1": never, "255.255.255.255": never,
		"fe80::1": never, "fe80::1%eth0": never, "ff02::1": never, "100.100.100.200": never, "fd00:ec2::254": never,
		"::ffff:169.254.169.254": never, "64:ff9b::a9fe:a9fe": never,
	} {
		for _, private := range []bool{false, true} {
			p := Policy{AllowPrivate: private}
			want := when == always || when == nearbyOnly && private
			if got := p.refusesServer(netip.MustParseAddr(host), own) == ""; got != want {
				t.Errorf("a proxy server at %s, private networks allowed %v: allowed %v, want %v", host, private, got, want)
			}
		}
	}
	d := &Dialer{Upstream: &Proxy{Type: HTTP, Host: "169.254.169.254", Port: 80}, Policy: nearby}
	_, err := d.DialContext(within(t, waitLimit), "tcp", "example.com:80")
	wantFault(t, err, StageConnect, BlockedAddress)
}

// Without AllowPrivate neither a dial nor a check finds out what listens on this machine, whatever name the proxy server has.
func TestProxyServersAreNoWayIn(t *testing.T) {
	bird := canary(t)
	c := &Checker{URLs: []string{"http://ip.test/"}, Timeout: waitLimit}
	for _, typ := range []Type{SOCKS5, HTTP, HTTPS, SOCKS4} {
		for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
			p := Proxy{Type: typ, Host: host, Port: bird.port()}
			_, err := (&Dialer{Upstream: &p}).DialContext(within(t, waitLimit), "tcp", "example.com:80")
			wantFault(t, err, StageConnect, BlockedAddress)
			wantFault(t, c.Check(t.Context(), p).Err, StageConnect, BlockedAddress)
		}
	}
}

// This machine's own names are refused as localhost is, with an upstream too, which may be on this very machine.
func TestOwnNamesAreRefused(t *testing.T) {
	proxyServer := canary(t)
	for _, up := range []*Proxy{nil, upstream(SOCKS5, proxyServer, "", "")} {
		d := &Dialer{Upstream: up, Policy: Policy{AllowPrivate: true}, resolver: noResolver(t)}
		d.own.locals.p.Store(machine("Burrow.Example.ORG.").p.Load())
		for _, host := range strings.Fields("burrow BURROW burrow. Burrow.Local burrow.local. burrow.example.org burrow.example.org. " +
			"BURROW.example.org.local burrow.example.org.local.") {
			wantRefused(t, d, host, 80)
		}
		for _, host := range strings.Fields("example.org x.burrow burrow.example x.burrow.local burrow.local.example burrows " +
			"example.org.local local org") {
			if target, fault := parseTarget(net.JoinHostPort(host, "80")); fault != nil || d.Policy.refuses(target, &d.own.locals) != "" {
				t.Errorf("%s is not this machine's name and was refused", host)
			}
		}
	}
	// The same with the system's hostname.
	name, err := os.Hostname()
	if err != nil || name == "" {
		t.Skip("this machine has no name")
	}
	for _, host := range []string{name, strings.ToUpper(name) + ".", strings.Split(name, ".")[0], name + ".local"} {
		wantRefused(t, &Dialer{Upstream: upstream(HTTP, proxyServer, "", ""), Policy: nearby, resolver: noResolver(t)}, host, 80)
	}
	if got := hostnameForms(""); got != nil {
		t.Errorf("a machine without a name is called %q", got)
	}
}

// nameserver answers the n-th A question with answer(n).
func nameserver(t *testing.T, answer func(n int) []string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for asked := 0; ; {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				for _, ip := range answer(asked) {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(ip).As4()},
					})
				}
				asked++
			}
			if out, err := m.Pack(); err == nil {
				pc.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// A name that resolves to loopback only when it is dialled reaches nothing, since the dialled address counts.
func TestRebinding(t *testing.T) {
	bird := canary(t)
	harmless := serve(t, echo)
	var lookups atomic.Int64
	d := &Dialer{resolver: nameserver(t, func(n int) []string {
		if lookups.Add(1); n == 0 {
			return []string{"203.0.113.1"} // documentation (RFC 5737): public for the policy, without a host
		}
		return []string{"127.0.0.1"}
	})}
	name := fmt.Sprintf("rebind.example:%d", bird.port())
	if _, err := d.DialContext(within(t, 100*time.Millisecond), "tcp", name); err == nil || err.(*Error).Code == BlockedAddress {
		t.Errorf("the public address: got %v, want it tried", err)
	}
	for range 5 {
		_, err := d.DialContext(within(t, waitLimit), "tcp", name)
		wantFault(t, err, StageRequest, BlockedAddress)
	}
	if n := lookups.Load(); n != 6 {
		t.Errorf("got %d look-ups for 6 dials, want one each: a second one could say something else", n)
	}
	// None of several refused addresses of a name is dialled.
	d = &Dialer{Policy: Policy{AllowPrivate: true}, resolver: nameserver(t, func(int) []string {
		return []string{"127.0.0.1", "169.254.169.254", "0.0.0.0", "127.0.0.1"}
	})}
	_, err := d.DialContext(within(t, waitLimit), "tcp", fmt.Sprintf("many.example:%d", bird.port()))
	wantFault(t, err, StageRequest, BlockedAddress)
	// The same name is dialled when it is exempt, so the refusals above are the policy's.
	d = &Dialer{Policy: Policy{Exempt: []string{fmt.Sprintf("rebind.example:%d", harmless.port())}},
		resolver: nameserver(t, func(int) []string { return []string{"127.0.0.1"} })}
	c, err := d.DialContext(within(t, waitLimit), "tcp", fmt.Sprintf("Rebind.Example.:%d", harmless.port()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	roundTrip(t, c)
}

// Refused names are refused in every spelling, before any upstream is asked, and are no failure of the upstream.
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	upstream := serve(t, echo)
	d := &Dialer{Upstream: &Proxy{Type: SOCKS5, Host: "127.0.0.1", Port: upstream.port()},
		Policy: Policy{AllowPrivate: true, Refused: []string{"update.example.com", ".gvt1.example"}}}
	r, address := startRelay(t, d)
	for _, host := range []string{"update.example.com", "UPDATE.Example.com.", "a.gvt1.example", "a.b.GVT1.example"} {
		_, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "443"))
		wantFault(t, err, StageRequest, BlockedAddress)
		if reply := askRelay(t, address, host); reply != replyNotAllowed {
			t.Errorf("%s: the relay answered %d", host, reply)
		}
	}
	if n := upstream.count(); n != 0 {
		t.Errorf("the upstream was asked %d times", n)
	}
	if st := r.Stats(); st.LastError != nil || st.Refused != 4 {
		t.Errorf("stats %+v", st)
	}
	for _, host := range []string{"xupdate.example.com", "example.com", "gvt1.example", "a.update.example.com"} {
		if _, err := d.DialContext(within(t, time.Second), "tcp", net.JoinHostPort(host, "443")); errors.Is(err, errRefusedName) {
			t.Errorf("%s is refused", host)
		}
	}
}

// askRelay requests a host from a relay and returns the code of its reply (RFC 1928 section 6).
func askRelay(t *testing.T, relay, host string) byte {
	t.Helper()
	c, err := net.Dial("tcp", relay)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...)
	if _, err := c.Write(append(request, 1, 187)); err != nil {
		t.Fatal(err)
	}
	return take(c, 12)[3]
}
