package testnet

import (
	"crypto/rand"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// LocalSite is the only name that a LocalProxy resolves (RFC 6761: .test belongs to nobody).
const LocalSite = "site.warren.test"

// LocalProxy is a SOCKS5 server of this machine with a user and a password (RFC 1928, RFC 1929). It connects port 80 of
// LocalSite to one address and port 443 to another one, and answers every other target that its host is unreachable.
type LocalProxy struct {
	User, Password string
	Exit           string // the source address of its connections
	Secure         string // "host:port" that port 443 of LocalSite is; "": nothing

	t      testing.TB
	host   string // on which it listens
	target string
	wg     sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while the proxy is closed
	port     int
	open     map[net.Conn]bool
}

// NewLocalProxy opens a proxy at a free port. It leads to target, a "host:port", until the test ends.
func NewLocalProxy(t testing.TB, target string) *LocalProxy {
	return NewLocalProxyAt(t, "127.0.0.1", target)
}

// NewLocalProxyAt is NewLocalProxy at another address of this machine, such as that of TestHost in a Lan.
func NewLocalProxyAt(t testing.TB, host, target string) *LocalProxy {
	t.Helper()
	p := &LocalProxy{User: "visitor", Password: rand.Text(), Exit: exitAddress(), t: t, host: host, target: target,
		open: map[net.Conn]bool{}}
	p.Open()
	t.Cleanup(func() { p.Close(); p.wg.Wait() })
	return p
}

// exitAddress is an address of this machine other than 127.0.0.1, so that a site can tell the proxy's connections. Linux
// has all of 127.0.0.0/8; elsewhere it is 127.0.0.1.
func exitAddress() string {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return "127.0.0.1"
	}
	l.Close()
	return "127.0.0.2"
}

// Open listens again after Close, at the same port.
func (p *LocalProxy) Open() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := net.Listen("tcp", net.JoinHostPort(p.host, strconv.Itoa(p.port)))
	if err != nil {
		p.t.Fatal(err)
	}
	p.listener, p.port = l, l.Addr().(*net.TCPAddr).Port
	p.wg.Go(func() { acceptAll(&p.wg, l, func(c net.Conn) { p.serve(l, c) }) })
}

// Port is the proxy's TCP port.
func (p *LocalProxy) Port() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.port
}

// Close ends the proxy and its connections. Its port refuses connections until Open.
func (p *LocalProxy) Close() {
	p.mu.Lock()
	if p.listener != nil {
		p.listener.Close()
	}
	p.listener = nil
	p.mu.Unlock()
	p.Drop()
}

// Drop ends every open connection. The proxy takes new ones.
func (p *LocalProxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

// Connections counts the open connections.
func (p *LocalProxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// add keeps a connection of the listener, so that Close and Drop end it. It returns false after the listener was closed.
func (p *LocalProxy) add(l net.Listener, c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != l {
		return false
	}
	p.open[c] = true
	return true
}

func (p *LocalProxy) serve(l net.Listener, c net.Conn) {
	defer c.Close()
	if !p.add(l, c) {
		return
	}
	defer func() {
		p.mu.Lock()
		delete(p.open, c)
		p.mu.Unlock()
	}()
	if socksLogin(c, p.User, p.Password) != nil {
		return
	}
	target, err := socksRequest(c)
	if err != nil {
		return
	}
	to := map[string]string{LocalSite + ":80": p.target, LocalSite + ":443": p.Secure}[target]
	if to == "" {
		socksReply(c, socksUnreachable) //nolint:errcheck // the connection is closed either way
		return
	}
	from := &net.TCPAddr{IP: net.ParseIP(p.Exit)}
	up, err := (&net.Dialer{LocalAddr: from, Timeout: 5 * time.Second}).Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	if socksReply(c, socksDone) == nil {
		joinConns(c, up)
	}
}
