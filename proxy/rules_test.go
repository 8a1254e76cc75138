package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNormalizeRule: each rule has one spelling, and other text is refused.
func TestNormalizeRule(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Example.COM.": "example.com", "example.com:0443": "example.com:443", "bücher.example": "xn--bcher-kva.example",
		"*.Bücher.example": "*.xn--bcher-kva.example",
		"*":                "*", "*:25": "*:25", "cdn-*.example.com": "cdn-*.example.com", "shop.*": "shop.*", "a.*.b": "a.*.b",
		"_x.y": "_x.y", "localhost": "localhost",
		"127.1": "127.0.0.1", "0x7f000001": "127.0.0.1", "2130706433": "127.0.0.1", "::ffff:192.0.2.1": "192.0.2.1",
		"[2001:DB8:0::1]:443": "[2001:db8::1]:443", "2001:db8::1": "2001:db8::1",
		"192.0.2.77/24": "192.0.2.0/24", "192.0.2.0/24:80": "192.0.2.0/24:80", "[2001:db8::/32]:443": "[2001:db8::/32]:443",
		"2001:db8:1::/32": "2001:db8::/32", "::ffff:192.0.2.0/120": "192.0.2.0/24",
		"192.0.2.1/32": "192.0.2.1", "１２７.0.0.1": "", "例え。テスト": "xn--r8jz45g.xn--zckzah",
		"": "", " ": "", "a b": "", "https://example.com": "", "https://example.com:443": "", "example.com/path": "", "a..b": "", ".a": "",
		"example.com:": "", "example.com:0": "", "example.com:65536": "", "example.com:http": "",
		"10.0.0.*": "", "10.*": "", "1.2.3.4.5": "", "192.0.2.0/33": "", "[example.com]": "", "[192.0.2.1]": "", "[::1]x": "", "[::1": "",
		"fe80::1%eth0": "", "user@example.com": "", "a?b": "", "[a-z].b": "", `a\b`: "",
		"bü*.example": "", "::ffff:0.0.0.0/90": "", strings.Repeat("a", 64) + ".b": "", strings.Repeat("a.", 130): "", "**.b": "*.b",
		"***": "*", "*.*": "", "*.1": "", "1*.a": "1*.a", "\x00": "", "a\n": "",
	} {
		got, err := NormalizeRule(in)
		if got != want || (err == nil) == (want == "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if again, err := NormalizeRule(want); want != "" && (again != got || err != nil) {
			t.Errorf("%q is no fixed point: %q, %v", got, again, err)
		}
	}
}

// TestRules: the targets that each kind of rule matches.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allow, deny, passes, refused string }{
		{"", "", "a.b:1 192.0.2.1:1", ""},
		{"example.com", "", "example.com:1 a.example.com:1 a.b.example.com:1 EXAMPLE.com.:1",
			"xexample.com:1 example.com.evil.test:1 192.0.2.1:1 com:1"},
		{"*.example.com", "", "a.example.com:1 a.b.example.com:1", "example.com:1 b.com:1"},
		{"cdn-*.example.com", "", "cdn-1.example.com:1 cdn-.example.com:1 x.cdn-1.example.com:1",
			"cdn.example.com:1 cdn-1.x.example.com:1 example.com:1"},
		{"shop.*", "", "shop.com:1 a.shop.de:1", "shop.co.uk:1 shop:1"},
		{"a.*.b", "", "a.x.b:1 y.a.x.b:1", "a.b:1 a.x.y.b:1"},
		{"example.com:443", "", "example.com:443 a.example.com:443", "example.com:80"},
		{"example.com:443 example.com:80", "", "example.com:443 example.com:80", "example.com:81"},
		{"192.0.2.0/24", "", "192.0.2.7:1 [::ffff:192.0.2.7]:1 0xc0000207:1", "192.0.3.1:1 example.com:1 [64:ff9b::192.0.2.7]:1"},
		{"", "192.0.2.0/24", "192.0.3.1:1 example.com:1",
			"192.0.2.7:1 [::ffff:192.0.2.7]:1 0xc0000207:1 3221225991:1 [64:ff9b::192.0.2.7]:1"},
		{"", "[2001:db8::/32]:443", "[2001:db8::1]:80 [2001:db9::1]:443", "[2001:db8::1]:443"},
		{"example.com", "bad.example.com", "example.com:1", "bad.example.com:1 x.bad.example.com:1"},
		{"*", "example.com", "a.b:1 192.0.2.1:1", "example.com:1"},
		{"", "*:25", "a.b:26 192.0.2.1:1", "a.b:25 192.0.2.1:25 [2001:db8::1]:25"},
		{"", "127.1", "", "127.0.0.1:1 2130706433:1 [::ffff:7f00:1]:1"},
	} {
		r, err := NewRules(strings.Fields(c.allow), strings.Fields(c.deny))
		if err != nil {
			t.Fatal(err)
		}
		for list, want := range map[string]bool{c.passes: false, c.refused: true} {
			for _, address := range strings.Fields(list) {
				target, fault := parseTarget(address)
				if fault != nil {
					t.Fatal(address, fault)
				}
				if got := r.refuses(target); got != want {
					t.Errorf("allow %q, deny %q: %s is refused: %v, want %v", c.allow, c.deny, address, got, want)
				}
			}
		}
	}
}

// TestRelayKeepsRules: refused targets are not reached in any spelling, through an upstream, directly or by a bypass. New rules end
// the tunnels that they refuse.
func TestRelayKeepsRules(t *testing.T) {
	target := serve(t, echo)
	closed := canary(t)
	names := network{"good.test:7": target.addr(), "bad.test:7": closed.addr(), "sub.bad.test:7": closed.addr()}
	proxies := serve(t, names.socks5(nil))
	here, err := LocalBypass(closed.addr())
	if err != nil {
		t.Fatal(err)
	}
	exempt := Policy{AllowPrivate: true, Exempt: []string{closed.addr(), target.addr()}}
	port := closed.port()
	for name, d := range map[string]*Dialer{"upstream": {Policy: exempt, Upstream: upstream(SOCKS5, proxies, "", "")},
		"direct": {Policy: exempt}, "bypass": {Policy: exempt, Bypasses: []Bypass{here}}} {
		r, address := startRelay(t, d)
		rules, err := NewRules(nil, []string{"bad.test", "127.0.0.1:" + fmt.Sprint(port)})
		if err != nil {
			t.Fatal(err)
		}
		r.SetRules(rules)
		refused := int64(0)
		for _, host := range []string{"127.0.0.1", "127.1", "0x7f000001", "2130706433", "::ffff:127.0.0.1", "bad.test", "BAD.test.",
			"sub.bad.test"} {
			to := port
			if strings.Contains(strings.ToLower(host), "bad") {
				to = 7
			}
			if code := request(t, dialTCP(t, address), host, to); code != replyNotAllowed {
				t.Errorf("%s: %s: reply %d", name, host, code)
			}
			refused++
		}
		if s := r.Stats(); s.ByRules != refused || s.Refused != refused || s.LastError != nil {
			t.Errorf("%s: %+v, want %d refused", name, s, refused)
		}
	}
	r, address := startRelay(t, &Dialer{Policy: exempt, Upstream: upstream(SOCKS5, proxies, "", "")})
	c := tunnelTo(t, address, "good.test", 7)
	roundTrip(t, c)
	for _, other := range []string{"other.test", "good.test:8", "x.good.test"} {
		rules, _ := NewRules(nil, []string{other})
		if got := r.SetRules(rules); got != 0 {
			t.Errorf("deny %s ended %d", other, got)
		}
		roundTrip(t, c)
	}
	rules, _ := NewRules([]string{"good.test:8"}, nil)
	if got := r.SetRules(rules); got != 1 {
		t.Errorf("an allow list without it ended %d", got)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("what is open against the rules: %v, want a reset", err)
	}
	if code := request(t, dialTCP(t, address), "good.test", 7); code != replyNotAllowed {
		t.Errorf("then it gives %d", code)
	}
	r.SetRules(nil)
	roundTrip(t, tunnelTo(t, address, "good.test", 7))
}

// TestRulesAtADial: rules that are set during a dial end it.
func TestRulesAtADial(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	slow := serve(t, func(c net.Conn) {
		close(asked)
		<-answer
		network{}.socks5(nil)(c)
	})
	r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, slow, "", "")})
	c := dialTCP(t, address)
	done := make(chan error, 1)
	go func() { done <- askFor(c, "site.test", 7) }()
	<-asked
	rules, _ := NewRules(nil, []string{"site.test"})
	if ended := r.SetRules(rules); ended != 0 {
		t.Errorf("%d ended that were not open", ended)
	}
	if err := <-done; err == nil {
		t.Error("the connection was handed out against the rules")
	}
	close(answer)
	until(t, "the tunnel is gone", func() bool { return r.Stats().Open == 0 })
}

// naiveMatch matches a target against each rule of a list.
func naiveMatch(list []string, t target) bool {
	for _, s := range list {
		r, err := parseRule(s)
		if err != nil {
			panic(err)
		}
		if r.port != "" && r.port != t.port {
			continue
		}
		switch {
		case r.any:
			return true
		case r.prefix.IsValid():
			if t.addr.IsValid() && r.prefix.Contains(t.addr.Unmap()) {
				return true
			}
		case !t.addr.IsValid():
			pattern := `^([^.]+\.)*` + strings.ReplaceAll(strings.ReplaceAll(regexp.QuoteMeta(r.name), `\*`, `[^.]*`), `\.[^.]*\.`,
				`\.[^.]+\.`) + `$`
			if regexp.MustCompile(pattern).MatchString(t.host) {
				return true
			}
		}
	}
	return false
}

// TestMatcherEqualsNaiveMatching: the matcher decides as naiveMatch does.
func TestMatcherEqualsNaiveMatching(t *testing.T) {
	t.Parallel()
	label := rapid.SampledFrom([]string{"a", "b", "ab", "abc", "c"})
	wild := rapid.SampledFrom([]string{"a", "b", "ab", "*", "a*", "*b", "a*c"})
	join := func(g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			name := strings.Join(rapid.SliceOfN(g, 1, 4).Draw(t, "labels"), ".")
			if strings.Trim(name, "*.") == "" {
				return "*"
			}
			return name
		})
	}
	address := rapid.Custom(func(t *rapid.T) string {
		a := netip.AddrFrom4([4]byte{10, 0, rapid.Byte().Draw(t, "x") & 3, rapid.Byte().Draw(t, "y") & 3})
		if rapid.Bool().Draw(t, "six") {
			b := a.As4()
			a = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: b[3]})
		}
		return a.String()
	})
	prefix := rapid.Custom(func(t *rapid.T) string {
		a := netip.MustParseAddr(address.Draw(t, "a"))
		return netip.PrefixFrom(a, rapid.IntRange(a.BitLen()-10, a.BitLen()).Draw(t, "bits")).Masked().String()
	})
	port := rapid.SampledFrom([]string{"", "80", "443"})
	rule := rapid.Custom(func(t *rapid.T) string {
		host, port := rapid.OneOf(join(label), join(wild), address, prefix).Draw(t, "host"), port.Draw(t, "port")
		if port == "" {
			return host
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return host + ":" + port
	})
	rapid.Check(t, func(t *rapid.T) {
		allow, deny := rapid.SliceOfN(rule, 0, 8).Draw(t, "allow"), rapid.SliceOfN(rule, 0, 8).Draw(t, "deny")
		r, err := NewRules(allow, deny)
		if err != nil {
			t.Fatal(err)
		}
		host := rapid.OneOf(join(label), address).Draw(t, "host")
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		target, fault := parseTarget(host + ":" + rapid.SampledFrom([]string{"80", "443", "1"}).Draw(t, "port"))
		if fault != nil {
			t.Fatal(fault)
		}
		want := naiveMatch(deny, target) || len(allow) > 0 && !naiveMatch(allow, target)
		if got := r.refuses(target); got != want {
			t.Fatalf("allow %q, deny %q: %v is refused: %v, want %v", allow, deny, target, got, want)
		}
	})
}

// FuzzRule: no text crashes the parser, and an accepted rule has one spelling that compiles.
func FuzzRule(f *testing.F) {
	for _, s := range []string{"*.example.com:443", "[2001:db8::/32]:1", "10.0.0.0/8", "bücher.example", "a*b.*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		normal, err := NormalizeRule(s)
		if err != nil {
			return
		}
		if again, err := NormalizeRule(normal); again != normal || err != nil {
			t.Fatalf("%q: %q, then %q, %v", s, normal, again, err)
		}
		if _, err := NewRules([]string{normal}, []string{normal}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkRules(b *testing.B) {
	var deny []string
	for i := range 980 {
		deny = append(deny, fmt.Sprintf("host%d.example.com", i))
	}
	for i := range 10 {
		deny = append(deny, fmt.Sprintf("cdn-%d-*.example.org", i), fmt.Sprintf("10.%d.0.0/%d", i, 16+i))
	}
	r, err := NewRules([]string{"*"}, deny)
	if err != nil {
		b.Fatal(err)
	}
	t, _ := parseTarget("www.some.other.example.com:443")
	for b.Loop() {
		if r.refuses(t) {
			b.Fatal("refused")
		}
	}
}

// TestHostLog: a thousand hosts are logged, and requests for further ones are counted. Switching the log off forgets all.
func TestHostLog(t *testing.T) {
	target := serve(t, echo)
	names := network{"site.test:7": target.addr()}
	r, address := startRelay(t, &Dialer{Policy: nearby, Upstream: upstream(SOCKS5, serve(t, names.socks5(nil)), "", "")})
	push(t, address, 10)
	if list, more := r.Hosts(); list != nil || more != 0 {
		t.Errorf("off, it keeps %v", list)
	}
	r.LogHosts(true)
	push(t, address, 100)
	c := tunnelTo(t, address, "SITE.test.", 7)
	roundTrip(t, c)
	c.Close()
	until(t, "the bytes are counted", func() bool {
		list, _ := r.Hosts()
		return len(list) == 1 && list[0].Host == "site.test" && list[0].Connections == 2 && list[0].BytesUp == 105 &&
			list[0].BytesDown == 105
	})
	l := r.hosts.Load()
	for i := range 2 * maxLoggedHosts {
		l.record(fmt.Sprint("host", i), time.Now())
	}
	if list, more := r.Hosts(); len(list) != maxLoggedHosts || more != maxLoggedHosts+1 {
		t.Errorf("of many it keeps %d, and %d more", len(list), more)
	}
	r.LogHosts(false)
	push(t, address, 10)
	if list, _ := r.Hosts(); list != nil {
		t.Errorf("off again, it keeps %v", list)
	}
}
