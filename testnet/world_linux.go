package testnet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// World is the other end of the machine's cable: every address is there and answers.
type World struct {
	t      testing.TB
	thread int         // of the operating system, whose network namespace the world is
	work   chan func() // what is to be done on it
	tls    *tls.Config
	spki   string
	web    *http.Server
	conns  *handed

	wg      sync.WaitGroup
	closers []func()

	mu      sync.Mutex
	packets []Packet
	dropped int // packets that the sniffer was too slow for
	notes   map[netip.AddrPort]string
	names   map[string]*entry
	byAddr  map[netip.Addr]string
	queries []string
	visits  []Visit
	proxies int
	changed chan struct{} // closed and replaced with whatever is taken down
}

// Visit is a request that the world's web site was asked for.
type Visit struct {
	At                 time.Time
	Method, Host, Path string // Path with its query
	Body               string // the first 64 KiB
}

// newWorld makes the namespace. It is that of a thread which does what do is told, until the test ends; the thread goes with it.
func newWorld(t testing.TB) *World {
	t.Helper()
	w := &World{t: t, work: make(chan func()), notes: map[netip.AddrPort]string{}, names: map[string]*entry{}, byAddr: map[netip.Addr]string{},
		changed: make(chan struct{})}
	made := make(chan error, 1)
	w.wg.Go(func() {
		offMain(func() {
			w.thread = unix.Gettid()
			made <- unix.Unshare(unix.CLONE_NEWNET)
			for f := range w.work {
				f()
			}
		})
	})
	t.Cleanup(func() {
		for _, c := range w.closers {
			c()
		}
		close(w.work)
		w.wg.Wait()
	})
	if err := <-made; err != nil {
		t.Skipf("needs a network namespace for the world: %v", err)
	}
	return w
}

// offMain runs f on a thread of its own, which ends with it. That is not the main thread: what /proc/self shows is that one's.
func offMain(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f() // and the thread stays locked, so that it ends
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); offMain(f) }()
	<-done
	runtime.UnlockOSThread()
}

// do runs f in the world's namespace: what sockets it opens and what programs it starts are in there.
func (w *World) do(f func() error) error {
	result := make(chan error)
	w.work <- func() { result <- f() }
	return <-result
}

// plug connects the cable. From here on every packet is taken down.
func (w *World) plug(six bool) error {
	return w.do(func() error {
		if err := ip("link set lo up"); err != nil {
			return err
		}
		if six {
			if err := ip("link set " + worldEnd + " addrgenmode none"); err != nil {
				return err
			}
		}
		if err := w.sniff(); err != nil {
			return err
		}
		if err := errors.Join(ip("link set "+worldEnd+" up"), awaitUp(worldEnd)); err != nil {
			return err
		}
		// Every address but the machine's is this host's own, so that all of them answer.
		if err := ip(fmt.Sprintf("addr add %s/32 dev %s", routerAddr(), worldEnd), "route add local 0.0.0.0/0 dev lo",
			fmt.Sprintf("route add %s/32 dev %s table local", machineAddr(), worldEnd),
			fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", machineAddr(), machineMAC, worldEnd)); err != nil {
			return err
		}
		if !six {
			return nil
		}
		return ip(fmt.Sprintf("addr add %s/128 dev %s nodad", routerAddr6(), worldEnd), "-6 route add local ::/0 dev lo",
			fmt.Sprintf("-6 route add %s/128 dev %s table local", machineAddr6(), worldEnd),
			fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", machineAddr6(), machineMAC, worldEnd))
	})
}

// open starts what answers.
func (w *World) open() {
	w.t.Helper()
	if err := w.certify(); err != nil {
		w.t.Fatal(err)
	}
	w.conns = &handed{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.web = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: quiet()}
	w.wg.Go(func() { w.web.Serve(w.conns) }) //nolint:errcheck // ends with the listener
	w.closers = append(w.closers, func() { w.web.Close(); w.conns.Close() })
	for _, port := range []int{80, 443, 853, 3478, 5222, 5228, 5349, 8080, 8099} {
		w.listen(netip.AddrPortFrom(netip.Addr{}, uint16(port)), func(c net.Conn) { w.answer(c) })
	}
	w.listen(netip.AddrPortFrom(netip.Addr{}, 53), w.nameStream)
	for port, reply := range map[uint16]func(from netip.AddrPort, in []byte) []byte{53: w.nameDatagram, 3478: stun, 19302: stun, 5349: stun, 443: nothing, 5353: nothing} {
		w.listenUDP(port, reply)
	}
}

func nothing(netip.AddrPort, []byte) []byte { return nil }

// listen serves TCP at an address of the world; the zero address is all of them. What it returns ends it.
func (w *World) listen(at netip.AddrPort, serve func(net.Conn)) (stop func()) {
	w.t.Helper()
	var l net.Listener
	address := fmt.Sprintf(":%d", at.Port())
	if at.Addr().IsValid() {
		address = at.String()
	}
	if err := w.do(func() (err error) { l, err = net.Listen("tcp", address); return err }); err != nil {
		w.t.Fatal(err)
	}
	var open sync.Map
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Store(c, nil)
			w.wg.Go(func() { defer open.Delete(c); serve(c) })
		}
	})
	stop = func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
	}
	w.closers = append(w.closers, stop)
	return stop
}

// note says what a connection from the machine is about. It shows beside the connection's packets.
func (w *World) note(from net.Addr, text string) {
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return // it came through a proxy of ours
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if w.notes[at] == "" {
		w.notes[at] = text
	}
}

// tell wakes who waits for something to be taken down. The lock is held.
func (w *World) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Await waits until ok says so, and asks again whenever something was taken down. It reports whether that came in time.
func (w *World) Await(limit time.Duration, ok func() bool) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return ok()
		}
	}
}

// certify makes the one key of all of the world's sites. Who is told its hash takes them for real.
func (w *World) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "world"}, DNSNames: []string{"*.world.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(public)
	w.spki = base64.StdEncoding.EncodeToString(sum[:])
	w.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}} //nolint:gosec // whatever a browser speaks
	return nil
}

// SPKI is the hash of the key that every site of the world has, as Chrome's --ignore-certificate-errors-spki-list takes it.
func (w *World) SPKI() string { return w.spki }
