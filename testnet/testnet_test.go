//go:build linux

package testnet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Packets that leave the machine are seen by both, named, and told apart. Traffic inside the machine is not seen.
func TestWhatGoesOutIsSeen(t *testing.T) {
	t.Parallel()
	m := Enter(t)
	if m == nil {
		return
	}
	if got := m.World.Packets(); len(got) != 0 {
		t.Errorf("an idle machine sends %v", m.World.Summary(got))
	}
	before := m.Counts()
	canaries := m.Canaries()

	send := func(to string, text []byte) {
		t.Helper()
		c, err := net.Dial("udp", to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write(text)
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		b := make([]byte, 100)
		if n, err := c.Read(b); !strings.HasSuffix(to, ":443") && (err != nil || n < 20) {
			t.Errorf("%s answered %d bytes, %v", to, n, err)
		}
	}
	binding := append([]byte{0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42}, make([]byte, 12)...)
	send("198.51.100.9:3478", binding)
	if m.Addr6.IsValid() {
		send("[2001:4860:4860::8888]:3478", binding)
	}
	res, err := http.Get("http://site.leak.test/page")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(text), "here") {
		t.Errorf("the site says %s", text)
	}
	if c, err := net.DialTimeout("tcp", "10.99.0.77:9999", time.Second); err == nil {
		c.Close()
		t.Error("a port where nothing listens answers")
	}
	packets := m.World.Packets()
	all := strings.Join(m.World.Summary(packets), "\n")
	for _, want := range []string{"udp to 198.51.100.9:3478 × 1 STUN", "udp to 10.99.0.1:53 × 1 DNS A site.leak.test",
		"(site.leak.test) × ", "GET site.leak.test/page", "tcp to 10.99.0.77:9999 × 1", "arp to 10.99.0.77 × 1 who has 10.99.0.77"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing is like %q in\n%s", want, all)
		}
	}
	after := m.Counts()
	if after.Names-before.Names < 1 || after.Others-before.Others < 5 || after.Proxies != before.Proxies {
		t.Errorf("the kernel counted %+v, and before %+v", after, before)
	}
	if hits := canaries.Hits(); len(hits) != 0 {
		t.Errorf("canaries were hit: %v", hits)
	}
	for _, at := range []string{"127.0.0.1:8099", "127.3.4.5:8099", "[::1]:8099", "169.254.169.254:80",
		m.Addr.String() + ":80", "localhost:8099"} {
		if _, err := http.Get("http://" + at); err != nil {
			t.Error(err)
		}
	}
	if hits := canaries.Hits(); len(hits) < 12 {
		t.Errorf("canaries were hit: %v", hits)
	}
	if n := len(m.World.Packets()); n != len(packets) {
		t.Errorf("what stayed on the machine made %d packets", n-len(packets))
	}
}

// A proxy accepts its password only, and its packets are told from the others.
func TestProxy(t *testing.T) {
	t.Parallel()
	m := Enter(t)
	if m == nil {
		return
	}
	p := m.World.Proxy()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.Relay(l)
	client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(address)
		c.Write(append(append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...), 0, 80))
		_, err = io.ReadFull(c, make([]byte, 12))
		return c, err
	}}}
	res, err := client.Get("http://site.leak.test/through")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if asked := p.Asked(); !slices.Equal(asked, []string{"site.leak.test:80"}) {
		t.Errorf("the proxy was asked for %v", asked)
	}
	if _, ok := m.World.AwaitVisit("/through", time.Second); !ok {
		t.Error("the site was not visited")
	}
	packets := m.World.Packets()
	if beside := Except(packets, p); len(packets) == 0 || len(beside) != 0 {
		t.Errorf("%d packets, and beside the proxy %v", len(packets), m.World.Summary(beside))
	}
	if c := m.Counts(); c.Proxies < len(packets) || c.Names != 0 || c.Others != 1 { // the one packet is the mark
		t.Errorf("the kernel counted %+v, the world %d", c, len(packets))
	}
	stranger, err := net.Dial("tcp", p.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	stranger.Write([]byte("\x05\x01\x02\x01\x06user-1\x05wrong"))
	if got, _ := io.ReadAll(stranger); string(got) != "\x05\x02\x01\x01" {
		t.Errorf("a wrong password is answered %q", got)
	}
	client.CloseIdleConnections()
	p.Close()
	if _, err := client.Get("http://site.leak.test/dead"); err == nil {
		t.Error("a proxy that was closed answers")
	}
}

// A trace shows what a program did with the network, and what it did only on its own machine.
func TestTrace(t *testing.T) {
	t.Parallel()
	if os.Getenv("WARREN_TESTNET_TRACED") != "" { // the traced program
		if c, err := net.Dial("tcp", "127.0.0.1:1"); err == nil {
			c.Close()
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		u, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		u.WriteTo([]byte("x"), u.LocalAddr())
		return
	}
	file := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(os.Args[0], "-test.run=^TestTrace$")
	cmd.Env = append(os.Environ(), "WARREN_TESTNET_TRACED=yes")
	Trace(t, cmd, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("needs strace to work: %v %s", err, out)
	}
	calls, lines, err := Calls(file)
	if err != nil || lines < 8 {
		t.Fatalf("%d lines, %v", lines, err)
	}
	var got []string
	for _, c := range calls {
		if !c.At.IsValid() || c.At.Addr() == netip.MustParseAddr("127.0.0.1") && c.At.Port() != 1 {
			got = append(got, c.Kind+" "+c.Name)
		}
	}
	slices.Sort(got)
	for _, want := range []string{"tcp bind", "tcp connect", "tcp listen", "udp bind", "udp sendto"} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %q among %v", want, calls)
		}
	}
}

// Calls that strace splits are joined, failed calls are left out, and a datagram is told from a query for a route.
func TestCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace")
	text := `7<one> socket(AF_INET6, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP <unfinished ...>
8<two> listen(5<socket:[4]>, 10)         = 0
7<one> <... socket resumed>)       = 9<socket:[1]>
7<one> sendmsg(9<socket:[1]>, {msg_name={sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), ` +
		`inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, msg_namelen=28}, 0) = 5
7<one> connect(9<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("8.8.8.8")}, 16) = -1 ` +
		`ENETUNREACH (Network is unreachable)
7<one> connect(9<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("8.8.8.8")}, 16) = 0
7<one> sendto(9<socket:[1]>, "x", 1, 0, NULL, 0) = 1
8<two> sendto(3<socket:[2]>, "x", 1, 0, NULL, 0) = 1
8<two> connect(3<socket:[2]>, {sa_family=AF_UNIX, sun_path="/x"}, 110) = 0
8<two> sendto(3<socket:[3]>, "x", 1, 0, {sa_family=AF_PACKET, sll_protocol=htons(ETH_P_ALL)}, 20) = 1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	calls, lines, err := Calls(file)
	var got []string
	for _, c := range calls {
		got = append(got, strings.Join([]string{c.Program, c.Kind, c.Name, c.At.String()}, " "))
	}
	want := []string{"one udp sendmsg [2001:db8::1]:443", "one udp connect 8.8.8.8:53", "one udp sendto invalid AddrPort",
		"two raw sendto invalid AddrPort"}
	if err != nil || lines != 10 || !slices.Equal(got, want) {
		t.Errorf("%d lines, %v, say\n%s\nwant\n%s", lines, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
