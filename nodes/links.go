package nodes

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/store"
)

// Connects the servers of one database. What they send each other is encrypted, and each of the two proves which server it is: TLS 1.3
// with certificates on both sides. A server answers the others on the port of its API.

// serverDomain ends the names in certificates of servers. No resolver knows them.
const serverDomain = ".node.warren"

const (
	// certificateEvery is how often a server makes its certificate anew.
	certificateEvery = 24 * time.Hour
	// certificateBefore and certificateAfter are how long a certificate is valid before and after it is made: clocks may differ by a day.
	certificateBefore = 48 * time.Hour
	certificateAfter  = 30 * 24 * time.Hour
)

const (
	// linkTime is how long a connection to another server may take, and handshakeTime how long TLS on it. A machine that is busy answers
	// late, and one that is gone not at all.
	linkTime, handshakeTime = 5 * time.Second, 15 * time.Second
	// silentFor is after how long a connection ends whose other side confirms nothing.
	silentFor = 30 * time.Second
	// stillFor is how long a server may take to begin an answer while its beat stands still. One that reaches the database answers when it
	// likes, and one that does not says so earlier.
	stillFor = time.Minute
	// maxIdleLinks is how many connections to another server wait for their next request, and idleLinkTime how long. A server closes them
	// after 2 minutes.
	maxIdleLinks = 16
	idleLinkTime = time.Minute
)

// ErrNotReached is the error of a request to another server for which there was no connection. Nothing was sent.
var ErrNotReached = errors.New("another server was not reached")

// errStandsStill is the error of a request to a server that does not answer, and whose beat stands still.
var errStandsStill = errors.New("another server stands still: it answers nothing, and its beat does not move")

// links are the connections of a server with the others. Its methods are safe for concurrent use.
type links struct {
	id        string
	authority *authority
	trusted   *x509.CertPool   // the authority alone
	clock     func() time.Time // the wall clock

	mu          sync.Mutex
	certificate *tls.Certificate
	made        time.Time // when certificate was made
	to          map[string]link
}

// link is how another server is reached.
type link struct {
	address   string
	transport *http.Transport
}

func newLinks(id string, a *authority) *links {
	l := &links{id: id, authority: a, trusted: x509.NewCertPool(), clock: time.Now, to: map[string]link{}}
	l.trusted.AddCert(a.certificate)
	return l
}

// ServerName is the name of a server in its certificate. No resolver knows it: Transport connects to the address.
func ServerName(id string) string { return id + serverDomain }

// own returns this server's certificate, which is in memory alone. It is made anew each day, and when the clock was set back.
func (l *links) own() (*tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.clock().Round(0) // the wall clock: the monotonic one stands still while a machine sleeps
	if age := at.Sub(l.made); l.certificate != nil && age >= 0 && age < certificateEvery {
		return l.certificate, nil
	}
	cert, key, err := l.authority.certify(ServerName(l.id), at.Add(-certificateBefore), at.Add(certificateAfter))
	if err != nil {
		return nil, fmt.Errorf("the certificate of this server: %w", err)
	}
	l.certificate, l.made = &tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}, at
	return l.certificate, nil
}

// config is what both sides of a connection have in common.
func (l *links) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Time: l.clock, NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true}
}

// ServerTLS returns the configuration of TLS with which a listener answers other servers. They are told by the name that they ask for,
// and must have a certificate. All others get the configuration that is given; nil refuses them. A server with a database of its own
// returns what is given.
func (n *Node) ServerTLS(others *tls.Config) *tls.Config {
	l := n.links
	if l == nil {
		return others
	}
	servers := l.config()
	servers.ClientAuth, servers.ClientCAs = tls.RequireAndVerifyClientCert, l.trusted
	servers.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return l.own() }
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if others != nil {
		out = others.Clone()
	}
	out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if strings.HasSuffix(strings.ToLower(hello.ServerName), serverDomain) {
			return servers, nil
		}
		return nil, nil //nolint:nilnil // it means: out
	}
	return out
}

// Peer returns the id of the server that sent a request, as the certificate of its connection proves it. It is empty for all other
// clients.
func (n *Node) Peer(r *http.Request) string {
	if n.links == nil || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return ""
	}
	chain := r.TLS.VerifiedChains[0]
	if !chain[len(chain)-1].Equal(n.links.authority.certificate) || len(chain[0].DNSNames) != 1 {
		return ""
	}
	id, ok := strings.CutSuffix(chain[0].DNSNames[0], serverDomain)
	if !ok {
		return ""
	}
	return id
}

// Transport sends requests to another server, whose row has the id and the address. It connects to that address, whatever the host and
// the scheme of a request are, and always with TLS. A server that is not the one meant gets no request. Connections are kept by the
// requests' hosts, so that all should have one, such as ServerName. A server that stands still is given up after stillFor. Transport
// returns nil where no other server can be.
func (n *Node) Transport(id, address string) http.RoundTripper {
	l := n.links
	if l == nil {
		return nil
	}
	return patience{n, id, l.transport(id, address)}
}

// patience is a Transport.
type patience struct {
	node      *Node
	id        string
	transport *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (p patience) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, giveUp := context.WithCancelCause(r.Context())
	answered := make(chan struct{})
	defer close(answered)
	go func() {
		look := time.NewTicker(stillFor)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				if p.node.standsStill(p.id) {
					giveUp(errStandsStill)
				}
			case <-answered: // what follows ends with the request's own context
				return
			}
		}
	}()
	res, err := p.transport.RoundTrip(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), errStandsStill) {
		err = errStandsStill
	}
	return res, err
}

// CloseIdleConnections ends the connections that wait for a request. http.Client calls it.
func (p patience) CloseIdleConnections() { p.transport.CloseIdleConnections() }

// standsStill reports whether the beat of another server stands still, as far as is known.
func (n *Node) standsStill(id string) bool {
	n.rows.mu.Lock()
	defer n.rows.mu.Unlock()
	since := time.Since(n.rows.read)
	i := slices.IndexFunc(n.rows.all, func(row store.Node) bool { return row.ID == id })
	return since < n.goneAfter() && i >= 0 && n.info(n.rows.all[i], n.rows.at+since.Milliseconds()).State == Unreachable
}

// transport returns that of a server.
func (l *links) transport(id, address string) *http.Transport {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.to[id]
	if known.transport != nil && known.address == address {
		return known.transport
	}
	if known.transport != nil {
		known.transport.CloseIdleConnections()
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx, id, address) }
	t := &http.Transport{DialContext: dial, DialTLSContext: dial, Protocols: new(http.Protocols), DisableCompression: true,
		MaxIdleConns: maxIdleLinks, MaxIdleConnsPerHost: maxIdleLinks, IdleConnTimeout: idleLinkTime}
	t.Protocols.SetHTTP1(true) // upgrades need it
	l.to[id] = link{address, t}
	return t
}

// dial connects to a server and proves that it is the one meant.
func (l *links) dial(ctx context.Context, id, address string) (net.Conn, error) {
	at, err := hostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: linkTime, ControlContext: limitSilence,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silentFor / 3, Interval: silentFor / 6, Count: 4}}
	plain, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("%w: the server %s: %w", ErrNotReached, id, err)
	}
	cfg := l.config()
	cfg.ServerName, cfg.RootCAs = ServerName(id), l.trusted
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return l.own() }
	conn := tls.Client(plain, cfg)
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close() //nolint:errcheck // nothing was sent
		return nil, fmt.Errorf("%w: %s does not answer as the server %s: %w", ErrNotReached, address, id, err)
	}
	return conn, nil
}

// hostPort returns the HOST:PORT of a server's address.
func hostPort(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is no address of a server; give another with --advertise", address)
	}
	port := "443"
	if u.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), nil
}

// close ends the connections that wait for a request.
func (l *links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.to {
		one.transport.CloseIdleConnections()
	}
}
