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

// World is the other end of the machine's cable: every address exists and answers.
type World struct {
	t      testing.TB
	thread int         // the OS thread whose network namespace is the world
	tasks  chan func() // functions to run on that thread
	tls    *tls.Config
	spki   string
	web    *http.Server
	conns  *connListener

	wg      sync.WaitGroup
	closers []func()

	mu      sync.Mutex
	packets []Packet
	dropped int // packets that the sniffer lost
	notes   map[netip.AddrPort]string
	names   map[string]*entry
	byAddr  map[netip.Addr]string
	queries []string
	visits  []Visit
	proxies int
	changed chan struct{} // closed and replaced whenever something is recorded
}

// Visit is a request to one of the world's web sites.
type Visit struct {
	At                 time.Time
	Method, Host, Path string // Path with its query
	Body               string // the first 64 KiB
}

// newWorld creates the namespace. It belongs to a thread that runs the functions from do until the test ends.
func newWorld(t testing.TB) *World {
	t.Helper()
	w := &World{t: t, tasks: make(chan func()), notes: map[netip.AddrPort]string{}, names: map[string]*entry{},
		byAddr: map[netip.Addr]string{}, changed: make(chan struct{})}
	made := make(chan error, 1)
	w.wg.Go(func() {
		offMain(func() {
			w.thread = unix.Gettid()
			made <- unix.Unshare(unix.CLONE_NEWNET)
			for f := range w.tasks {
				f()
			}
		})
	})
	t.Cleanup(func() {
		for _, c := range w.closers {
			c()
		}
		close(w.tasks)
		w.wg.Wait()
	})
	if err := <-made; err != nil {
		t.Skipf("needs a network namespace for the world: %v", err)
	}
	return w
}

// offMain runs f on a thread of its own, which ends with f. It is not the main thread, whose namespace /proc/self
// shows.
func offMain(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f() // the thread stays locked, so that it ends
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); offMain(f) }()
	<-done
	runtime.UnlockOSThread()
}

// do runs f in the world's namespace, with the sockets it opens and the programs it starts.
func (w *World) do(f func() error) error {
	result := make(chan error)
	w.tasks <- func() { result <- f() }
	return <-result
}

// connect sets up the world's end of the cable. From then on every packet is recorded.
func (w *World) connect(six bool) error {
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
		// Every address but the machine's belongs to this host, so that all of them answer.
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

// open starts the world's servers.
func (w *World) open() {
	w.t.Helper()
	if err := w.makeCertificate(); err != nil {
		w.t.Fatal(err)
	}
	w.conns = &connListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.web = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: quiet()}
	w.wg.Go(func() { w.web.Serve(w.conns) }) //nolint:errcheck // ends with the listener
	w.closers = append(w.closers, func() { w.web.Close(); w.conns.Close() })
	for _, port := range []int{80, 443, 853, 3478, 5222, 5228, 5349, 8080, 8099} {
		w.listen(netip.AddrPortFrom(netip.Addr{}, uint16(port)), func(c net.Conn) { w.answer(c) })
	}
	w.listen(netip.AddrPortFrom(netip.Addr{}, 53), w.nameStream)
	for port, reply := range map[uint16]func(from netip.AddrPort, in []byte) []byte{53: w.nameDatagram, 3478: stun, 19302: stun,
		5349: stun, 443: noReply, 5353: noReply} {
		w.listenUDP(port, reply)
	}
}

func noReply(netip.AddrPort, []byte) []byte { return nil }

// listen serves TCP at an address of the world, the zero address at all of them. stop ends it.
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

// annotate records what a connection from the machine is for. Packets of the connection show the note.
func (w *World) annotate(from net.Addr, text string) {
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return // the connection came through a proxy
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if w.notes[at] == "" {
		w.notes[at] = text
	}
}

// notify wakes the callers of Await. The lock is held.
func (w *World) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Await waits until ok returns true, and calls it whenever something was recorded. It returns false after limit.
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

// makeCertificate creates the key of all of the world's sites. Browsers trust it by its hash.
func (w *World) makeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "world"}, DNSNames: []string{"*.world.test"},
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
	certificate := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	w.tls = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}} //nolint:gosec // any TLS version
	return nil
}

// SPKI returns the hash of the sites' key, for Chrome's --ignore-certificate-errors-spki-list.
func (w *World) SPKI() string { return w.spki }
