package testnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is where a test's processes run: a network of its own with a loopback, and one cable to the World.
type Machine struct {
	t     testing.TB
	World *World

	Addr  netip.Addr // the machine's own address in its local network
	Addr6 netip.Addr // the same for IPv6; invalid where the kernel has none
}

// The two ends of the cable. The world's end is the machine's only neighbour, its router and its name server.
const (
	machineEnd = "eth0"
	worldEnd   = "wire"
	machineMAC = "02:00:00:00:00:02"
	worldMAC   = "02:00:00:00:00:01"
)

func machineAddr() netip.Addr  { return netip.MustParseAddr("10.99.0.2") }
func routerAddr() netip.Addr   { return netip.MustParseAddr("10.99.0.1") }
func machineAddr6() netip.Addr { return netip.MustParseAddr("2001:db8:99::2") }
func routerAddr6() netip.Addr  { return netip.MustParseAddr("2001:db8:99::1") }

// envInside is set in the environment of a test that runs on its machine.
const envInside = "WARREN_TESTNET"

// Enter runs the calling test again, on a machine of its own, and returns nil when that run is over. In that run
// Enter returns the machine. env is added to its environment.
func Enter(t *testing.T, env ...string) *Machine {
	t.Helper()
	if isInside(t) {
		return newMachine(t)
	}
	runInside(t, env)
	return nil
}

// isInside reports whether this is the run of a test that runInside has started.
func isInside(t *testing.T) bool { return os.Getenv(envInside) == t.Name() }

// runInside runs the calling test again in namespaces of its own, for the network and for mounts, until that run is over.
func runInside(t *testing.T, env []string) {
	t.Helper()
	limit := 10 * time.Minute
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end) - 5*time.Second
	}
	// Each level of a subtest's name is its own pattern.
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	cmd := exec.Command(os.Args[0], "-test.run="+pattern, "-test.v", "-test.timeout="+limit.String())
	cmd.Env = append(append(os.Environ(), env...), envInside+"="+t.Name(),
		"PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin") // ordinary users have the tools too, but often not in PATH
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the child dies with this thread
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil:
		t.Skipf("needs namespaces for a machine of its own: %v", err)
	case err != nil:
		t.Errorf("on a machine of its own: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("on a machine of its own: %s", out)
	case !strings.Contains(string(out), "--- PASS"):
		t.Errorf("nothing ran on a machine of its own:\n%s", out)
	default:
		t.Logf("on a machine of its own:\n%s", out)
	}
}

// newMachine connects a machine to a world and starts the world's servers.
func newMachine(t testing.TB) *Machine {
	t.Helper()
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (deploy/install-test-tools.sh): %v", tool, err)
		}
	}
	m := &Machine{t: t, Addr: machineAddr()}
	if err := m.mountFiles(); err != nil {
		t.Skipf("needs mounts of its own: %v", err)
	}
	m.World = newWorld(t)
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		m.Addr6 = machineAddr6()
	}
	if err := m.connect(); err != nil {
		t.Skipf("needs a network cable between namespaces: %v", err)
	}
	if err := m.startCounters(); err != nil {
		t.Skipf("needs counters in the kernel's packet filter: %v", err)
	}
	m.World.open()
	return m
}

// mountFiles gives the machine a name server and host names, by files that only its processes see.
func (m *Machine) mountFiles() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	dir := m.t.TempDir()
	for name, text := range map[string]string{
		"resolv.conf":   "nameserver " + routerAddr().String() + "\n",
		"hosts":         "127.0.0.1 localhost\n::1 localhost ip6-localhost\n",
		"nsswitch.conf": "hosts: files dns\n",
	} {
		target, err := filepath.EvalSymlinks("/etc/" + name)
		if errors.Is(err, os.ErrNotExist) && name == "nsswitch.conf" {
			continue // a system without glibc
		}
		if err != nil {
			return err
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // for every user of the machine
			return err
		}
		if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // whatever the umask
			return err
		}
		if err := unix.Mount(file, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount over %s: %w", target, err)
		}
		m.t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) }) //nolint:errcheck // the mount goes with the machine
	}
	return nil
}

// connect lays the cable. It switches off what the kernel would send on a new interface: neighbours are configured,
// and there is no router discovery and no duplicate address detection.
func (m *Machine) connect() error {
	w := m.World
	if err := ip("link set lo up", fmt.Sprintf("link add %s address %s type veth peer name %s address %s netns %d",
		machineEnd, machineMAC, worldEnd, worldMAC, w.thread)); err != nil {
		return err
	}
	if m.Addr6.IsValid() {
		if err := ip("link set " + machineEnd + " addrgenmode none"); err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+machineEnd+"/accept_ra", []byte("0"), 0); err != nil {
			return err
		}
	}
	if err := errors.Join(ip("link set "+machineEnd+" up"), w.connect(m.Addr6.IsValid()), awaitUp(machineEnd)); err != nil {
		return err
	}
	if err := ip(fmt.Sprintf("addr add %s/24 dev %s", m.Addr, machineEnd),
		fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", routerAddr(), worldMAC, machineEnd),
		fmt.Sprintf("route add default via %s", routerAddr()),
		"addr add 169.254.169.254/32 dev lo"); err != nil { // the metadata address of clouds, so that this machine has it too
		return err
	}
	if !m.Addr6.IsValid() {
		return nil
	}
	if err := ip(fmt.Sprintf("addr add %s/64 dev %s nodad", m.Addr6, machineEnd),
		fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", routerAddr6(), worldMAC, machineEnd),
		fmt.Sprintf("-6 route add default via %s", routerAddr6())); err != nil {
		return err
	}
	return awaitOutput("local ", "-6", "route", "get", m.Addr6.String()) // the kernel adds it a while after the address
}

// awaitUp waits until the kernel has seen that both ends are connected. Configuration before that may take effect
// late.
func awaitUp(end string) error { return awaitOutput(" state UP ", "-o", "link", "show", "dev", end) }

// awaitOutput runs ip until its output contains the word.
func awaitOutput(word string, arguments ...string) error {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for late := time.Now().Add(10 * time.Second); ; <-poll.C {
		out, err := exec.Command("ip", arguments...).CombinedOutput()
		if err == nil && strings.Contains(string(out), word) {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("ip %s does not come to say %q: %s", strings.Join(arguments, " "), word, out)
		}
	}
}

// ip runs the command of that name with each of the lines, in the namespace of the calling thread.
func ip(lines ...string) error {
	for _, line := range lines {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}

// Root reports whether the machine's root is the computer's root, which may run programs as other users.
func Root() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(text))
	return err == nil && os.Geteuid() == 0 && len(fields) == 3 && fields[2] != "1"
}

// The rules by which the machine's kernel counts outgoing packets, whether or not the world's sniffer sees them. The
// counter kernel holds what the kernel sends about its own addresses and neighbours.
const counters = `table inet testnet {
	counter proxies {
	}
	counter names {
	}
	counter kernel {
	}
	counter others {
	}
	chain out {
		type filter hook output priority 0; policy accept;
		oifname "lo" accept
		ip daddr %s tcp dport %d counter name proxies accept
		ip daddr %s udp dport 53 counter name names accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } counter name kernel accept
		icmp type destination-unreachable counter name kernel accept
		counter name others
	}
}
`

// startCounters sets up the counters.
func (m *Machine) startCounters() error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(counters, proxyRange(), proxyPort, routerAddr()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// Counts are the packets that the machine's kernel sent, by destination.
type Counts struct {
	Proxies int // to the proxies of the world, over TCP
	Names   int // to the machine's name server, over UDP
	Others  int // anywhere else, without the kernel's own packets about addresses
}

// Counts reads the counters.
func (m *Machine) Counts() Counts {
	m.t.Helper()
	out, err := exec.Command("nft", "-j", "list", "counters").Output()
	if err != nil {
		m.t.Fatalf("nft: %v", err)
	}
	var list struct {
		Nftables []struct {
			Counter *struct {
				Name    string
				Packets int
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		m.t.Fatalf("nft: %v: %s", err, out)
	}
	packets := map[string]int{}
	for _, e := range list.Nftables {
		if e.Counter != nil {
			packets[e.Counter.Name] = e.Counter.Packets
		}
	}
	if len(packets) != 4 {
		m.t.Fatalf("nft lists %d counters: %s", len(packets), out)
	}
	return Counts{packets["proxies"], packets["names"], packets["others"]}
}
