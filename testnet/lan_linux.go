package testnet

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Lan is a network of hosts, each with a network namespace and an address of its own. A cable joins every two of them. The test carries
// what a cable has, packet by packet, so that it can hold packets back for a while or lose them. Nothing then tells either end: there is no
// RST and no ICMP, as when a switch between two machines fails. Its methods are safe for concurrent use.
type Lan struct {
	t      testing.TB
	hosts  map[string]*lanHost
	cables []*cable
	wg     sync.WaitGroup
}

// TestHost is the name of the host that the test itself is.
const TestHost = "test"

// lanHost is a thread whose network namespace is the host's. The test's host has none: that is the process.
type lanHost struct {
	name    string
	address netip.Addr
	tasks   chan func()
	thread  int
}

// cable joins two hosts.
type cable struct {
	ends    [2]*os.File // TUN devices (Documentation/networking/tuntap.rst in Linux)
	hosts   [2]string
	devices [2]string

	mu    sync.Mutex
	cut   bool
	delay time.Duration
}

// NewLan runs the calling test again in a network namespace of its own, and returns nil when that run is over. In that run it returns a
// network with hosts of these names beside TestHost. env is added to the environment of that run. It needs root: PostgreSQL runs as another
// user. Otherwise the test is skipped.
func NewLan(t *testing.T, env []string, names ...string) *Lan {
	t.Helper()
	if !Root() {
		t.Skip("needs root: PostgreSQL runs as another user in a network namespace")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("needs TUN devices: %v", err)
	}
	if !isInside(t) {
		runInside(t, env)
		return nil
	}
	l := &Lan{t: t, hosts: map[string]*lanHost{}}
	t.Cleanup(l.close)
	for i, name := range append([]string{TestHost}, names...) {
		h := &lanHost{name: name, address: netip.AddrFrom4([4]byte{10, 88, 0, byte(i + 1)})}
		if name != TestHost {
			h.tasks = make(chan func())
			l.keepHost(h)
		}
		if err := l.do(h, func() error { return ip("link set lo up") }); err != nil {
			t.Fatal(err)
		}
		for _, other := range l.hosts {
			if err := l.connect(h, other); err != nil {
				t.Fatal(err)
			}
		}
		l.hosts[name] = h
	}
	return l
}

// keepHost starts the thread of a host.
func (l *Lan) keepHost(h *lanHost) {
	l.t.Helper()
	made := make(chan error, 1)
	l.wg.Go(func() {
		offMain(func() {
			h.thread = unix.Gettid()
			made <- unix.Unshare(unix.CLONE_NEWNET)
			for f := range h.tasks {
				f()
			}
		})
	})
	if err := <-made; err != nil {
		l.t.Skipf("needs a network namespace for the host %s: %v", h.name, err)
	}
}

func (l *Lan) close() {
	for _, c := range l.cables {
		c.ends[0].Close()
		c.ends[1].Close()
	}
	for _, h := range l.hosts {
		if h.tasks != nil {
			close(h.tasks)
		}
	}
	l.wg.Wait()
}

// do runs f in the namespace of a host, with the sockets it opens and the programs it starts.
func (l *Lan) do(h *lanHost, f func() error) error {
	if h.tasks == nil {
		return f()
	}
	result := make(chan error)
	h.tasks <- func() { result <- f() }
	return <-result
}

func (l *Lan) host(name string) *lanHost {
	l.t.Helper()
	h := l.hosts[name]
	if h == nil {
		l.t.Fatalf("the network has no host %q", name)
	}
	return h
}

// Address returns the address of a host.
func (l *Lan) Address(name string) string { return l.host(name).address.String() }

// Move has a command run on a host: by nsenter(1), with the same number of its process.
func (l *Lan) Move(name string, cmd *exec.Cmd) {
	l.t.Helper()
	enter, err := exec.LookPath("nsenter")
	if err != nil {
		l.t.Skipf("needs nsenter of util-linux: %v", err)
	}
	space := fmt.Sprintf("--net=/proc/%d/task/%d/ns/net", os.Getpid(), l.host(name).thread)
	cmd.Path, cmd.Args = enter, append([]string{enter, space, cmd.Path}, cmd.Args[1:]...)
}

// Postgres starts a server of PostgreSQL on a host, as OwnPostgres does.
func (l *Lan) Postgres(name string) *PostgresServer {
	l.t.Helper()
	h := l.host(name)
	return ownPostgres(l.t, placeOfServer{h.address.String(), func(cmd *exec.Cmd) error { return l.do(h, cmd.Start) }}, nil, nil)
}

// connect lays a cable.
func (l *Lan) connect(a, b *lanHost) error {
	c := &cable{hosts: [2]string{a.name, b.name}, devices: [2]string{"to-" + b.name, "to-" + a.name}}
	both := [2]*lanHost{a, b}
	for i, h := range both {
		err := l.do(h, func() (err error) {
			if c.ends[i], err = openTun(c.devices[i]); err != nil {
				return err
			}
			return ip(fmt.Sprintf("addr add %s peer %s dev %s", h.address, both[1-i].address, c.devices[i]),
				"link set "+c.devices[i]+" mtu 9000 up")
		})
		if err != nil {
			return fmt.Errorf("the cable from %s to %s: %w", h.name, both[1-i].name, err)
		}
	}
	l.cables = append(l.cables, c)
	for i := range c.ends {
		l.wg.Go(func() { c.carry(c.ends[i], c.ends[1-i]) })
	}
	return nil
}

// openTun makes a network device whose packets are read from the file.
func openTun(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// maxUnderway is how many packets a cable holds in one direction. More are lost, as in a switch.
const maxUnderway = 10_000

// carry carries the packets of one direction until the cable is gone.
func (c *cable) carry(from, to *os.File) {
	packets := make(chan parcel, maxUnderway)
	var writer sync.WaitGroup
	writer.Go(func() {
		for p := range packets {
			if wait := time.Until(p.at); wait > 0 {
				<-time.After(wait)
			}
			if !c.isCut() {
				to.Write(p.data) //nolint:errcheck // an end that is down loses it
			}
		}
	})
	defer writer.Wait()
	defer close(packets)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil { // the end of the test
			return
		}
		if c.isCut() {
			continue
		}
		c.mu.Lock()
		due := time.Now().Add(c.delay)
		c.mu.Unlock()
		select {
		case packets <- parcel{slices.Clone(buffer[:n]), due}:
		default:
		}
	}
}

func (c *cable) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// each calls change for the cables from a host to others; without others to all.
func (l *Lan) each(name string, others []string, change func(*cable)) {
	l.t.Helper()
	l.host(name)
	for _, other := range others {
		l.host(other)
	}
	for _, c := range l.cables {
		for i, h := range c.hosts {
			if h == name && (len(others) == 0 || slices.Contains(others, c.hosts[1-i])) {
				c.mu.Lock()
				change(c)
				c.mu.Unlock()
			}
		}
	}
}

// Cut loses all packets between a host and others, until Heal. Those that are on their way are lost too.
func (l *Lan) Cut(name string, others ...string) {
	l.t.Helper()
	l.each(name, others, func(c *cable) { c.cut = true })
}

// Heal ends a Cut.
func (l *Lan) Heal(name string, others ...string) {
	l.t.Helper()
	l.each(name, others, func(c *cable) { c.cut = false })
}

// Delay has each packet of every cable take so long, but for those of the test's own host.
func (l *Lan) Delay(d time.Duration) {
	for _, c := range l.cables {
		if !slices.Contains(c.hosts[:], TestHost) {
			c.mu.Lock()
			c.delay = d
			c.mu.Unlock()
		}
	}
}

// Unplug sets a host's network devices down but for that to the test: what it sends fails at once. Others notice nothing.
func (l *Lan) Unplug(name string) error { return l.plug(name, "down") }

// Plug ends Unplug.
func (l *Lan) Plug(name string) error { return l.plug(name, "up") }

func (l *Lan) plug(name, state string) error {
	var lines []string
	for _, c := range l.cables {
		for i, h := range c.hosts {
			if h == name && c.hosts[1-i] != TestHost {
				lines = append(lines, strings.Join([]string{"link set", c.devices[i], state}, " "))
			}
		}
	}
	return l.do(l.host(name), func() error { return ip(lines...) })
}
