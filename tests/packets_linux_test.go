package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/shim"
	"warren/testnet"
)

// Counts the packets that leave a machine with browsers of every kind, while their pages try everything and then
// idle. Beside the proxies there is none. Each packet is named, with the run that sent it.

// How a run gets out.
const (
	throughProxy = "proxy"
	deadProxy    = "dead proxy"
	direct       = "direct"
)

// packetRun is one run and what may leave the machine for it.
type packetRun struct {
	tag     string // is part of every name that its pages ask for
	kind    string
	headed  bool
	literal netip.Addr // an address of the world that its pages ask for without a name
	server  *liveServer
	proxy   *testnet.Proxy // nil: direct
	id      string
	view    runView
}

func (r *packetRun) String() string {
	mode, user := "headless", "root"
	if r.headed {
		mode = "headed"
	}
	if r.server.user != nil || !testnet.Root() {
		user = "ordinary user"
	}
	return fmt.Sprintf("%s (%s, %s, %s, %s)", r.tag, r.kind, mode, user, r.view.Isolation.Network)
}

// packetTest is a machine with servers and their runs.
type packetTest struct {
	t        *testing.T
	m        *testnet.Machine
	canaries *testnet.Canaries
	runs     []*packetRun
	pages    int // pages that were opened and report when they have tried everything
	trace    string

	listening, tried, accepted int // the figures of wantListeners and wantRelaysClosed
}

// TestPackets runs browsers of every kind on one machine and judges every packet.
func TestPackets(t *testing.T) {
	testnet.Long(t)
	t.Parallel() // on a machine of its own: nobody else's packets are there
	needBrowser(t)
	m := testnet.Enter(t, "WARREN_TEST_BINARY="+builtBinary)
	if m == nil {
		return
	}
	p := &packetTest{t: t, m: m, canaries: m.Canaries()}
	display := testnet.Display(t)
	servers := []*liveServer{p.serve(nil, display)}
	if testnet.Root() {
		servers = append(servers, p.serve(&ordinary{}, display))
	}
	traced := p.serveTraced()
	before := listeners(t)
	rounds, idle := 1, 20*time.Second
	if os.Getenv("WARREN_LEAKS") != "" {
		rounds, idle = 10/len(servers), time.Minute // 20 launches of each kind: with a window and without
	}
	for round := range rounds {
		runs := p.round(servers)
		if round == rounds-1 {
			runs = append(runs, p.start(traced, throughProxy, false))
		}
		for _, r := range runs {
			p.openPage(r)
		}
		p.awaitPages()
		if round == rounds-1 {
			<-time.After(idle)
		}
		p.wantListeners(before, runs)
		p.wantRelaysClosed(runs)
		if round < rounds-1 {
			for _, r := range runs {
				r.server.stop(r.id)
			}
		}
	}
	relay := relayOf(t, traced.browsers()[0])
	for _, s := range append(servers, traced) {
		s.terminate()
	}
	p.judge()
	p.judgeTrace(relay)
}

// round starts a run of each kind on each server.
func (p *packetTest) round(servers []*liveServer) (runs []*packetRun) {
	p.t.Helper()
	for _, s := range servers {
		for _, kind := range []string{throughProxy, direct, deadProxy} {
			for _, headed := range []bool{false, true} {
				runs = append(runs, p.start(s, kind, headed))
			}
		}
	}
	return runs
}

// serve starts a server as the user, nil: as whoever runs the test.
func (p *packetTest) serve(user *ordinary, display string) *liveServer {
	g := newTestbed(p.t)
	g.under = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "DISPLAY="+display) }
	if user != nil {
		g.asOrdinary()
	}
	// Private networks are closed, so that the world's local network is, too.
	return g.serve("--headless", "auto", "--allow-private", "no")
}

// serveTraced starts one more server under strace.
func (p *packetTest) serveTraced() *liveServer {
	g := newTestbed(p.t)
	p.trace = filepath.Join(g.dir, "trace")
	g.under = func(cmd *exec.Cmd) { testnet.Trace(p.t, cmd, p.trace) }
	return g.serve("--allow-private", "no")
}

// start starts a run.
func (p *packetTest) start(s *liveServer, kind string, headed bool) *packetRun {
	p.t.Helper()
	n := len(p.runs) + 1
	r := &packetRun{tag: fmt.Sprintf("r%d", n), kind: kind, headed: headed, server: s,
		literal: netip.AddrFrom4([4]byte{203, 0, byte(113 + n/256), byte(n)})}
	p.runs = append(p.runs, r)
	members := map[string]any{"headless": !headed}
	if kind != direct {
		r.proxy = p.m.World.Proxy()
		members["proxyId"] = s.addProxy(map[string]any{"host": r.proxy.Addr.Addr().String(), "port": r.proxy.Addr.Port(),
			"username": r.proxy.User, "password": r.proxy.Password})
	}
	if kind == deadProxy {
		r.proxy.Close()
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	for name, sets := range map[string][][]netip.Addr{
		"loop":     {{loopback}},
		"loop6":    {{netip.IPv6Loopback()}},
		"self":     {{p.m.Addr}},
		"metadata": {{netip.MustParseAddr("169.254.169.254")}},
		"rebind":   {{r.literal}, {loopback}},
	} {
		p.m.World.Name(name+"."+r.tag+".leak.test", sets...)
	}
	r.id = s.profile(members)
	r.view = s.start(r.id, map[string]any{"preflight": "off"})
	return r
}

// openPage opens the page that tries everything: without a window over https, with one over http. Either may do what the other may not.
func (p *packetTest) openPage(r *packetRun) {
	p.t.Helper()
	scheme := "https"
	if r.headed {
		scheme = "http"
	}
	query := url.Values{"tag": {r.tag}, "literal": {r.literal.String()}, "machine": {p.m.Addr.String()}}
	c := dialCDP(p.t, r.view.WsEndpoint, nil)
	page := c.open("about:blank")
	c.call(page, "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
	c.call(page, "Page.navigate", map[string]any{"url": scheme + "://page." + r.tag + ".leak.test/leak?" + query.Encode()}, nil)
	if r.kind != deadProxy {
		p.pages++
	}
}

// awaitPages waits until every page has tried everything.
func (p *packetTest) awaitPages() {
	p.t.Helper()
	done := func() []testnet.Visit {
		return p.m.World.Visits(func(v testnet.Visit) bool { return strings.HasPrefix(v.Path, "/done?") })
	}
	if !p.m.World.Await(2*enough, func() bool { return len(done()) >= p.pages }) {
		var who []string
		for _, v := range done() {
			who = append(who, v.Path)
		}
		p.t.Fatalf("of %d pages %d came to their end: %v", p.pages, len(who), who)
	}
}

// listeners are the sockets of the machine that take connections or datagrams: local addresses of /proc/net.
func listeners(t testing.TB) (out []string) {
	t.Helper()
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			continue // no IPv6
		}
		for _, line := range strings.Split(string(text), "\n") {
			if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" {
				out = append(out, table+" "+f[1])
			}
		}
	}
	slices.Sort(out)
	return out
}

// wantListeners wants no more listeners than before where every run has a namespace, and else one for each that has none.
func (p *packetTest) wantListeners(before []string, runs []*packetRun) {
	p.t.Helper()
	now := slices.DeleteFunc(listeners(p.t), func(l string) bool { return slices.Contains(before, l) })
	want := 0
	for _, r := range runs {
		if r.view.Isolation.Network != shim.Namespace {
			want++
		}
	}
	if len(now) > want {
		p.t.Errorf("runs made the machine listen at %v, want %d listeners", now, want)
	}
	p.listening = max(p.listening, len(now))
}

// wantRelaysClosed tries the relays as another program of the machine, a hundred times in all.
func (p *packetTest) wantRelaysClosed(runs []*packetRun) {
	p.t.Helper()
	seen := 0
	for _, s := range p.servers() {
		for _, b := range s.browsers() {
			seen++
			for range 100/len(runs) + 1 {
				p.tried++
				if speaks(relayOf(p.t, b)) {
					p.accepted++
				}
			}
		}
	}
	if p.accepted > 0 || seen < len(runs) {
		p.t.Errorf("the relays of %d browsers were tried, of %d runs; of %d connections %d were served", seen, len(runs), p.tried,
			p.accepted)
	}
}

// relayOf is where a browser has its relay.
func relayOf(t testing.TB, browser found) string {
	t.Helper()
	m := regexp.MustCompile(`--proxy-server=socks5://(\S+)`).FindStringSubmatch(browser.command)
	if m == nil {
		t.Fatalf("a browser has no relay: %s", browser.command)
	}
	return m[1]
}

// speaks reports whether what listens there answers a client of SOCKS5.
func speaks(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	c.Write([]byte{5, 1, 0})
	n, _ := c.Read(make([]byte, 2))
	return n == 2
}

func (p *packetTest) servers() (out []*liveServer) {
	for _, r := range p.runs {
		if !slices.Contains(out, r.server) {
			out = append(out, r.server)
		}
	}
	return out
}

// judge holds every packet against the runs that there were.
func (p *packetTest) judge() {
	counted := p.m.Counts()
	packets := p.m.World.Packets()
	to := map[*packetRun]int{}
	var beside []testnet.Packet
	for _, packet := range packets {
		if r := p.owner(packet); r != nil {
			to[r]++
		} else {
			beside = append(beside, packet)
		}
	}
	if len(beside) > 0 {
		p.t.Errorf("%d packets went beside the proxies and what direct runs were asked for:\n  %s\nThe runs:\n  %v", len(beside),
			strings.Join(p.m.World.Summary(beside), "\n  "), p.runs)
	}
	// Two count: the machine's kernel what it sends, the world what comes.
	if sent := counted.Proxies + counted.Names + counted.Others; sent < len(packets)-10 || sent > len(packets)+10 {
		p.t.Errorf("the machine's packet filter counted %d packets, %+v, and the world %d", sent, counted, len(packets))
	}
	if hits := p.canaries.Hits(); len(hits) > 0 {
		p.t.Errorf("services of this machine were reached: %v", hits)
	}
	for _, r := range p.runs {
		if to[r] == 0 {
			p.t.Errorf("%v sent nothing: is the test blind?", r)
		}
		if r.proxy != nil {
			for _, target := range r.proxy.Asked() {
				if strings.Contains(target, ".leak.test:") && !strings.Contains(target, "."+r.tag+".leak.test:") {
					p.t.Errorf("the proxy of %v was asked for %s", r, target)
				}
			}
		}
	}
	p.table(packets, beside, to, counted)
}

// owner is the run that may have sent the packet: to its proxy; or a direct one, for a name that its page asked for. Names that only
// WebRTC's own look-ups ask for are not among these, nor what is no TCP but the relay's questions for IPv4 and IPv6 addresses.
func (p *packetTest) owner(packet testnet.Packet) *packetRun {
	for _, r := range p.runs {
		switch {
		case r.proxy != nil:
			if packet.Proto == "tcp" && packet.Dst == r.proxy.Addr {
				return r
			}
		case packet.Proto == "tcp" && (packet.Dst.Addr() == r.literal || r.named(p.m.World.NameOf(packet.Dst.Addr()))):
			return r
		case packet.Proto == "udp" && packet.Dst == netip.MustParseAddrPort("10.99.0.1:53"):
			kind, name, _ := strings.Cut(strings.TrimPrefix(packet.What, "DNS "), " ")
			if (kind == "A" || kind == "AAAA") && r.named(name) {
				return r
			}
		}
	}
	return nil
}

// named tells whether the relay may be asked for the name by this run's Chrome.
func (r *packetRun) named(name string) bool {
	if name == "accounts.google.com" { // Chrome's own; docs/background-traffic.md
		return true
	}
	if name == r.tag || name == r.tag+".local" { // as printers have
		return true
	}
	host, ok := strings.CutSuffix(name, "."+r.tag+".leak.test")
	return ok && !slices.Contains([]string{"stun", "stun-google", "turn-udp", "dnsprefetch"}, host)
}

// judgeTrace reads what the traced server, its shim and its browser did with sockets. They send to the proxy and the
// relay alone, and only our programs listen.
func (p *packetTest) judgeTrace(relay string) {
	calls, lines, err := testnet.Calls(p.trace)
	if err != nil || lines < 100 {
		p.t.Fatalf("the trace has %d lines, %v", lines, err)
	}
	traced := p.runs[len(p.runs)-1]
	var strange []string
	ours, theirs := 0, 0
	for _, c := range calls {
		local, loopback := c.At.Addr().IsLoopback(), traced.view.Isolation.Network != shim.Namespace
		switch {
		case c.Program == "warren" && c.Kind == "tcp" && (c.At == traced.proxy.Addr || local || c.Name == "listen"):
			ours++
		case c.Program == "exe" && c.Kind == "tcp" && (c.At.String() == relay || c.Name == "listen"): // our child, before it is the browser
			ours++
		case c.Program != "warren" && c.At.String() == relay && c.Name == "connect" && c.Kind == "tcp":
			theirs++
		// asks the kernel for an address or a route; what sends is seen as such
		case c.Kind == "udp" && (c.Name == "bind" || loopback && c.Name == "connect"):
		default:
			strange = append(strange, c.String())
		}
	}
	if len(strange) > 0 {
		p.t.Errorf("%v, its server and its shim, did with sockets:\n  %s", traced, strings.Join(strange, "\n  "))
	}
	if ours < 3 || theirs < 10 {
		p.t.Errorf("the trace has %d calls of ours and %d of the browser's: is it blind?", ours, theirs)
	}
	p.t.Logf("| traced | %d lines, %d to the relay, %d of ours | %d others |", lines, theirs, ours, len(strange))
}

// table prints the figures.
func (p *packetTest) table(packets, beside []testnet.Packet, to map[*packetRun]int, counted testnet.Counts) {
	type sum struct{ launches, packets int }
	sums := map[string]*sum{}
	var names []string
	for _, r := range p.runs {
		_, name, _ := strings.Cut(r.String(), " ")
		if sums[name] == nil {
			sums[name] = &sum{}
			names = append(names, name)
		}
		sums[name].launches++
		sums[name].packets += to[r]
	}
	for _, name := range names {
		p.t.Logf("| %s | %d launches | %d packets to where it may |", name, sums[name].launches, sums[name].packets)
	}
	pairs, online := 0, 0
	reports := p.m.World.Visits(func(v testnet.Visit) bool { return strings.HasPrefix(v.Path, "/done?") })
	for _, v := range reports {
		var report struct {
			Pairs  int
			Online bool
		}
		if err := json.Unmarshal([]byte(v.Body), &report); err != nil {
			p.t.Errorf("a page reports %v: %.200s", err, v.Body)
		}
		pairs += report.Pairs
		if report.Online {
			online++
		}
	}
	if online < len(reports) && !slices.ContainsFunc(p.runs, func(r *packetRun) bool { return r.view.warned("offline_shown") }) {
		p.t.Errorf("of %d pages %d believe to be online", len(reports), online)
	}
	if pairs < 70*p.pages {
		p.t.Errorf("%d pages tried %d ways to services of this machine", p.pages, pairs)
	}
	p.t.Logf("| packets beside | %d of %d | %+v |", len(beside), len(packets), counted)
	p.t.Logf("| hits on services of this machine | %d of %d ways tried |", len(p.canaries.Hits()), pairs)
	p.t.Logf("| listeners of runs | %d |", p.listening)
	p.t.Logf("| connections that a relay took from a stranger | %d of %d |", p.accepted, p.tried)
	p.t.Logf("| pages that believe to be online | %d of %d |", online, len(reports))
}
