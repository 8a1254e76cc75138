package testnet

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Proxy is a SOCKS5 server of the world, at its own address, with a user and a password (RFC 1928, RFC 1929). Behind
// it every name is a site of the world.
type Proxy struct {
	Addr           netip.AddrPort
	User, Password string

	world *World
	stop  func()

	mu    sync.Mutex
	asked []string
}

const proxyPort = 1080

// proxyRange holds the proxies' addresses, which the machine takes for public ones.
func proxyRange() netip.Prefix { return netip.MustParsePrefix("185.199.0.0/24") }

// Proxy opens a proxy.
func (w *World) Proxy() *Proxy {
	w.t.Helper()
	w.mu.Lock()
	w.proxies++
	b := proxyRange().Addr().As4()
	b[3] = byte(w.proxies)
	w.mu.Unlock()
	p := &Proxy{Addr: netip.AddrPortFrom(netip.AddrFrom4(b), proxyPort), User: fmt.Sprint("user-", b[3]),
		Password: fmt.Sprint("secret of the proxy ", b[3]), world: w}
	p.stop = w.listen(p.Addr, p.serve)
	return p
}

// Close ends the proxy and its connections. Its address refuses connections from now on.
func (p *Proxy) Close() { p.stop() }

// Asked returns the requested targets, as "host:port", in their order.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func (p *Proxy) serve(c net.Conn) {
	p.world.annotate(c.RemoteAddr(), "SOCKS5")
	target, err := p.handshake(c)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, target)
	p.mu.Unlock()
	p.world.mu.Lock()
	p.world.notify()
	p.world.mu.Unlock()
	p.world.answer(&proxiedConn{c})
}

// proxiedConn is a connection through a proxy. Its address is hidden, so that no packets of the machine get its note.
type proxiedConn struct{ net.Conn }

func (t *proxiedConn) RemoteAddr() net.Addr { return &netAddr{"a proxy"} }

// handshake speaks SOCKS5 until the client has the answer that its target is connected.
func (p *Proxy) handshake(c net.Conn) (target string, err error) {
	c.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // a failed connection is closed
	defer c.SetDeadline(time.Time{})           //nolint:errcheck // as above
	if err := socksLogin(c, p.User, p.Password); err != nil {
		return "", err
	}
	if target, err = socksRequest(c); err != nil {
		return "", err
	}
	return target, socksReply(c, socksDone)
}

// Relay serves l as a browser's SOCKS5 server without a password. It forwards each connection to the proxy, until the
// listener is closed.
func (p *Proxy) Relay(l net.Listener) {
	p.world.wg.Go(func() { acceptAll(&p.world.wg, l, p.forward) })
}

func (p *Proxy) forward(c net.Conn) {
	defer c.Close()
	if socksMethod(c, 0) != nil {
		return
	}
	up, err := net.Dial("tcp", p.Addr.String())
	if err != nil {
		return
	}
	defer up.Close()
	hello := append([]byte{5, 1, 2, 1, byte(len(p.User))}, p.User...)
	hello = append(append(hello, byte(len(p.Password))), p.Password...)
	if _, err := up.Write(hello); err != nil {
		return
	}
	if _, err := io.ReadFull(up, make([]byte, 4)); err != nil { // the answers to the method and the login
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(up, c)                 //nolint:errcheck // either end may be gone
		up.(*net.TCPConn).CloseWrite() //nolint:errcheck // as above
	}()
	io.Copy(c, up) //nolint:errcheck // as above
	c.Close()
	<-done
}
