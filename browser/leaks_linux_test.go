package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// These tests count the packets of a browser on a page that tries everything. The first browser is confined by its flags and preferences
// alone. Further ones lack one of them each, which shows what it prevents. The last is confined by a namespace and lacks all of them.
// docs/isolation-flags.md has the table.

// without is what a browser lacks: flags by name, features of --disable-features, and preferences as they are written.
type without struct{ flags, features, prefs []string }

func (w without) String() string {
	if all := slices.Concat(w.flags, w.features, w.prefs); len(all) > 0 {
		return strings.Join(all, " and ")
	}
	return "nothing"
}

// script writes a program that replaces the browser and starts it with the remaining flags. It changes the preferences after they were
// written and before the browser reads them. It fails if there is nothing to remove.
func (w without) script(t *testing.T, path string) string {
	t.Helper()
	text := "#!/bin/sh\n[ \"$1\" = --version ] && exec " + path + " --version\n"
	for _, name := range w.flags {
		text += "case \" $*\" in *\" " + name + "\"*) ;; *) exit 7 ;; esac\n"
	}
	text += "for a in \"$@\"; do\n\tshift\n\tcase $a in\n"
	for _, name := range w.flags {
		text += "\t" + name + " | " + name + "=*) continue ;;\n"
	}
	text += "\t--disable-features=*)\n"
	for _, name := range w.features {
		text += "\t\tcase $a in *" + name + "*) ;; *) exit 8 ;; esac\n\t\ta=$(printf %s \"$a\" | sed s/" + name + "/NoSuchFeature/)\n"
	}
	text += "\t\t;;\n\t--user-data-dir=*) prefs=${a#*=}/Default/Preferences ;;\n\tesac\n\tset -- \"$@\" \"$a\"\ndone\n"
	for _, pref := range w.prefs {
		text += "grep -q '" + pref + "' \"$prefs\" || exit 9\nsed -i 's/" + pref + "/\"nothing\":0/' \"$prefs\"\n"
	}
	text += "if [ \"$(id -u)\" = 0 ]; then set -- --no-sandbox \"$@\"; fi\n" // required by Chrome for root; in a namespace nobody is root
	file := filepath.Join(t.TempDir(), "browser")
	testnet.WriteProgram(t, file, text+"exec "+path+" \"$@\"\n")
	return file
}

// trial is one run of a browser on the page.
type trial struct {
	name      string
	without   without
	headed    bool
	namespace bool
	lone      bool     // the page cannot be loaded at all
	lets      []string // what leaves beside the relay, each at least once; none: nothing does
	chats     []string // hosts that Chrome contacts by itself through the relay, beside accounts.google.com
	inside    bool     // services of this machine are reached
	thorough  bool     // for make leaks only
}

const (
	webrtcPref = `"ip_handling_policy":"disable_non_proxied_udp"`
	errorsPref = `"alternate_error_pages":{"enabled":false}`
)

// protecting are all flags and preferences that confine a browser to its relay, except --proxy-server.
func protecting() without {
	return without{
		flags: []string{"--proxy-bypass-list", "--host-resolver-rules", "--webrtc-ip-handling-policy",
			"--force-webrtc-ip-handling-policy"},
		features: []string{"WebRtcHideLocalIpsWithMdns", "DialMediaRouteProvider", "MediaRouter"},
		prefs:    []string{webrtcPref, errorsPref},
	}
}

func trials() []trial {
	flag := func(names ...string) without { return without{flags: names} }
	feature := func(names ...string) without { return without{features: names} }
	pref := func(names ...string) without { return without{prefs: names} }
	stun, groups, discovery := "udp to 203.0.113.9:3478 × STUN", "igmp to 224.0.0.22 × joins or leaves 224.0.0.251",
		"udp to 239.255.255.250:1900 × SSDP"
	everything := []string{stun, groups, discovery, "udp to 224.0.0.251:5353 × DNS", "DNS A stun.x.leak.test",
		"(turn-udp.x.leak.test) × STUN", "DNS A turn-tls.x.leak.test"}
	return []trial{
		{name: "all flags"},
		{name: "all flags, headed", headed: true},
		{name: "no flags", without: protecting(), lets: everything, inside: true},
		{name: "no flags, headed", without: protecting(), headed: true, lets: everything, inside: true, thorough: true},
		{name: "no flags in a namespace", without: protecting(), namespace: true},
		{name: "no flags in a namespace, headed", without: protecting(), namespace: true, headed: true, thorough: true},
		{name: "loopback", without: flag("--proxy-bypass-list"), inside: true},
		{name: "names", without: flag("--host-resolver-rules"), lets: []string{"DNS A turn-tcp.x.leak.test", "DNS A turn-tls.x.leak.test"}},
		{name: "mDNS", without: feature("WebRtcHideLocalIpsWithMdns"), lets: []string{groups}, thorough: true},
		{name: "discovery", without: feature("MediaRouter"), lets: []string{discovery}, thorough: true},
		{name: "updates", without: flag("--component-updater"), chats: []string{"update.googleapis.com"}, thorough: true},
		{name: "time", without: feature("NetworkTimeServiceQuerying"), chats: []string{"clients2.google.com"}, thorough: true},
		{name: "dictionary", without: flag("--disable-sync"), chats: []string{"redirector.gvt1.com"}, thorough: true},

		// Redundant ones: without one of them nothing leaves, since another one covers it.
		{name: "proxy", without: flag("--proxy-server"), lone: true, thorough: true},
		{name: "proxy and names", without: flag("--proxy-server", "--host-resolver-rules"),
			lets: []string{"DNS A page.x.leak.test", "TLS page.x.leak.test", "TLS accounts.google.com"}, inside: true, thorough: true},
		{name: "proxy and error pages", without: without{flags: []string{"--proxy-server"}, prefs: []string{errorsPref}},
			lets: []string{"udp to 8.8.8.8:53 × DNS A google.com"}, lone: true, thorough: true},
		{name: "error pages", without: pref(errorsPref), thorough: true},
		{name: "WebRTC's flag", without: flag("--webrtc-ip-handling-policy"), thorough: true},
		{name: "WebRTC's preference", without: pref(webrtcPref), thorough: true},
		{name: "WebRTC's flag and preference",
			without: without{flags: []string{"--webrtc-ip-handling-policy"}, prefs: []string{webrtcPref}}, lets: []string{stun},
			thorough: true},
		{name: "WebRTC's old flag", without: flag("--force-webrtc-ip-handling-policy"), thorough: true},
		{name: "DIAL", without: feature("DialMediaRouteProvider"), thorough: true},
	}
}

func TestPacketsBesideTheRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("is about what browsers send, not about our goroutines: the race detector's run leaves it out, make test has it")
	}
	t.Parallel()
	for _, x := range trials() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if x.thorough && os.Getenv("WARREN_LEAKS") == "" {
				t.Skip("is one of the long trials, which take minutes: make leaks has them")
			}
			if m := testnet.Enter(t); m != nil {
				x.run(t, m)
			}
		})
	}
}

// after is how long a browser may still send something when its page is done.
const after = 2 * time.Second

func (x trial) run(t *testing.T, m *testnet.Machine) {
	proxy, canaries := m.World.Proxy(), m.Canaries()
	b := x.open(t, m)
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	proxy.Relay(b.Listener())
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := b.OpenPages(t.Context(), []string{"https://page.x.leak.test/leak?tag=x&literal=203.0.113.9&machine=" + m.Addr.String()})
	if !x.lone {
		if err != nil {
			t.Error(err)
		}
		if _, done := m.World.AwaitVisit("/done", testnet.Patience); !done {
			t.Error("the page did not come to its end")
		}
	}
	<-time.After(after)
	b.Stop(t.Context(), false)

	counted := m.Counts()
	packets := m.World.Packets()
	beside := testnet.Except(packets, proxy)
	out, hits := m.World.Summary(beside), canaries.Hits()
	chat := chatter(proxy)
	t.Logf("| without %v (%s) | %d packets, %d beside the relay: %s | %d hits inside | asked for %s |", x.without, b.Isolation().Network,
		len(packets), len(beside), strings.Join(out, "; "), len(hits), strings.Join(chat, ", "))
	x.judge(t, out, hits)
	if quiet := counted.Names + counted.Others; (quiet == 0) != (len(beside) == 0) {
		t.Errorf("the machine's packet filter counted %+v", counted)
	}
	if !slices.Equal(chat, x.chats) {
		t.Errorf("Chrome asked by itself for %v, want %v", chat, x.chats)
	}
}

// chatter returns the hosts that no page named. It leaves out accounts.google.com, which Chrome always asks who is signed in, and which
// people visit themselves.
func chatter(p *testnet.Proxy) (hosts []string) {
	for _, target := range p.Asked() {
		host, _, _ := strings.Cut(target, ":")
		if strings.HasSuffix(host, ".com") && host != "accounts.google.com" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// open opens a run that is isolated as the trial says.
func (x trial) open(t *testing.T, m *testnet.Machine) *Browser {
	t.Helper()
	s := Spec{Path: x.without.script(t, installed(t).Path), UserDataDir: filepath.Join(t.TempDir(), "profile"), TempDir: tempDir(t),
		Headless: !x.headed, TrustSPKI: m.World.SPKI()}
	if x.headed {
		s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t)}
	}
	b, err := Open(s)
	if err != nil {
		t.Skipf("needs a namespace in a namespace: %v", err)
	}
	b.limits.start = testnet.Patience
	if x.namespace {
		if b.Isolation().Network != InNamespace {
			t.Skipf("needs a namespace in a namespace: %v", b.Warnings())
		}
		return b
	}
	if err := b.isolator.close(); err != nil {
		t.Fatal(err)
	}
	home, err := openLoopback(&Spec{Files: FilesByGuard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return open(s, home)
}

// judge compares what has left with what the trial says.
func (x trial) judge(t *testing.T, out, hits []string) {
	t.Helper()
	for _, want := range x.lets {
		proto, what, counted := strings.Cut(want, " × ")
		if !slices.ContainsFunc(out, func(line string) bool {
			return strings.Contains(line, proto) && (!counted || strings.HasSuffix(line, " "+what))
		}) {
			t.Errorf("without %v there is no %q among what got out", x.without, want)
		}
	}
	if len(x.lets) == 0 && len(out) > 0 {
		t.Errorf("beside the relay went\n  %s", strings.Join(out, "\n  "))
	}
	if x.inside != (len(hits) > 0) || x.inside && len(hits) < 8 {
		t.Errorf("services of this machine were reached %d times: %v", len(hits), hits[:min(len(hits), 20)])
	}
}

// Chrome's own traffic, over the time in which its services start.
func TestChatter(t *testing.T) {
	t.Parallel()
	for _, x := range []trial{{name: "headless"}, {name: "headed", headed: true}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("WARREN_LEAKS") == "" {
				t.Skip("is one of the long trials, which take minutes: make leaks has them")
			}
			if m := testnet.Enter(t); m != nil {
				x.listen(t, m, 140*time.Second)
			}
		})
	}
}

func (x trial) listen(t *testing.T, m *testnet.Machine, idle time.Duration) {
	proxy := m.World.Proxy()
	b := x.open(t, m)
	defer b.Close()
	proxy.Relay(b.Listener())
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-time.After(idle / 2) // on about:blank, and then on a page
	if err := b.OpenPages(t.Context(), []string{"https://page.x.leak.test/"}); err != nil {
		t.Fatal(err)
	}
	<-time.After(idle / 2)
	b.Stop(t.Context(), false)
	for _, v := range m.World.Visits(func(testnet.Visit) bool { return true }) {
		path, _, _ := strings.Cut(v.Path, "?")
		t.Logf("| %s %s%s |", v.Method, v.Host, path)
	}
	if chat := chatter(proxy); len(chat) > 0 {
		t.Errorf("Chrome asked by itself for %v", chat)
	}
	if beside := testnet.Except(m.World.Packets(), proxy); len(beside) > 0 {
		t.Errorf("beside the relay went %v", m.World.Summary(beside))
	}
}
