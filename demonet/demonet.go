// Package demonet is the world of the demonstrations: a site that shows what it sees, and a SOCKS5 proxy with a password.
package demonet

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Host is a name that only the proxy knows (RFC 6761: .test is nobody's).
const Host = "site.warren.test"

// Site shows visitors what a site sees of them, and records their visits.
type Site struct {
	listener net.Listener
	mu       sync.Mutex
	visits   []Visit
	changed  chan struct{} // closed and replaced at each visit
}

// Visit is what the site has seen of a visitor: the path, the address without its port, the user agent and the cookies.
type Visit struct{ Path, Address, Agent, Cookie string }

// NewSite serves a site on a free port of 127.0.0.1 until Close.
func NewSite() (*Site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Site{listener: l, changed: make(chan struct{})}
	go http.Serve(l, s) //nolint:errcheck,gosec // ends with the listener
	return s, nil
}

// Address returns HOST:PORT.
func (s *Site) Address() string { return s.listener.Addr().String() }

// Close ends the site.
func (s *Site) Close() { s.listener.Close() }

var page = template.Must(template.New("site").Parse(`<!doctype html><meta charset="utf-8"><title>What this site sees</title>
<style>body{font:16px/1.5 system-ui;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1d2433}
dt{font-weight:600}dd{margin:0 0 .8rem;overflow-wrap:anywhere}</style>
<h1>What this site sees</h1><dl><dt>Address</dt><dd>{{.Address}}</dd>{{range .Headers}}<dt>{{.Name}}</dt><dd>{{.Value}}</dd>{{end}}</dl>`))

// ServeHTTP shows the visitor's request. On /ip it answers the visitor's address and place, as a check service does.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	if r.URL.Path == "/ip" {
		fmt.Fprintf(w, `{"ip":%q,"country":"PT","country_name":"Portugal","timezone":"Europe/Lisbon"}`, host) // a place to show
		return
	}
	if r.URL.Path == "/favicon.ico" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.visits = append(s.visits, Visit{r.URL.Path, host, r.UserAgent(), r.Header.Get("Cookie")})
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: "visitor", Value: "seen-before", MaxAge: 86400, Path: "/"})
	type header struct{ Name, Value string }
	var headers []header
	for name, values := range r.Header {
		headers = append(headers, header{name, strings.Join(values, ", ")})
	}
	slices.SortFunc(headers, func(a, b header) int { return strings.Compare(a.Name, b.Name) })
	page.Execute(w, map[string]any{"Address": host, "Headers": headers}) //nolint:errcheck // the visitor may be gone
}

// Count returns how many visits a path has had.
func (s *Site) Count(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.visits {
		if v.Path == path {
			n++
		}
	}
	return n
}

// Await returns the first visit to path, waiting for it at most 15 seconds.
func (s *Site) Await(ctx context.Context, path string) (Visit, error) {
	limit := time.After(15 * time.Second)
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.visits, func(v Visit) bool { return v.Path == path })
		visits, changed := s.visits, s.changed
		s.mu.Unlock()
		if i >= 0 {
			return visits[i], nil
		}
		select {
		case <-changed:
		case <-limit:
			return Visit{}, fmt.Errorf("nobody came to %s", path)
		case <-ctx.Done():
			return Visit{}, ctx.Err()
		}
	}
}

// Proxy is a SOCKS5 proxy with a password (RFC 1928, RFC 1929). It resolves one name and refuses every other target.
type Proxy struct {
	listener net.Listener
	Password string
	Exit     string // the address that the site sees
	target   string
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// NewProxy serves a proxy on an address until Close. Host on port 80 leads to target, a HOST:PORT.
func NewProxy(listen, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, Password: rand.Text(), Exit: exitAddress(), target: target, open: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

// exitAddress is a source address that tells the proxy's connections from direct ones. Linux has all of 127.0.0.0/8;
// elsewhere it is 127.0.0.1.
func exitAddress() string {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return "127.0.0.1"
	}
	l.Close()
	return "127.0.0.2"
}

// Port returns the proxy's port.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *Proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.open[c] = true
		p.mu.Unlock()
		go func() {
			p.handle(c) //nolint:errcheck // a visitor that breaks off is nothing to tell
			c.Close()
			p.mu.Lock()
			delete(p.open, c)
			p.mu.Unlock()
		}()
	}
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

func (p *Proxy) handle(c net.Conn) error {
	if err := p.authenticate(c); err != nil {
		return err
	}
	host, port, err := readTarget(c)
	if err != nil {
		return err
	}
	if host != Host || port != 80 {
		_, err := c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}) // host unreachable
		return err
	}
	from := &net.TCPAddr{IP: net.ParseIP(p.Exit)}
	up, err := (&net.Dialer{LocalAddr: from, Timeout: 5 * time.Second}).Dial("tcp", p.target)
	if err != nil {
		return err
	}
	defer up.Close()
	if _, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	go func() {
		io.Copy(up, c) //nolint:errcheck // the end of either side ends both
		up.Close()
	}()
	_, err = io.Copy(c, up)
	return err
}

// authenticate requires the user name and the password.
func (p *Proxy) authenticate(c net.Conn) error {
	methods, err := readCounted(c, 5)
	if err != nil {
		return err
	}
	if !strings.Contains(methods, "\x02") {
		c.Write([]byte{5, 0xff}) //nolint:errcheck // refused either way
		return errors.New("no password offered")
	}
	if _, err := c.Write([]byte{5, 2}); err != nil {
		return err
	}
	user, err := readCounted(c, 1)
	if err != nil {
		return err
	}
	password, err := readCounted(c, -1)
	if err != nil {
		return err
	}
	if user != "demo" || password != p.Password {
		c.Write([]byte{1, 1}) //nolint:errcheck // refused either way
		return errors.New("wrong password")
	}
	_, err = c.Write([]byte{1, 0})
	return err
}

// readCounted reads a version byte (unless it is negative), a length and so many bytes.
func readCounted(r io.Reader, version int) (string, error) {
	var b [256]byte
	if version >= 0 {
		if _, err := io.ReadFull(r, b[:1]); err != nil || int(b[0]) != version {
			return "", errors.New("not SOCKS5")
		}
	}
	if _, err := io.ReadFull(r, b[:1]); err != nil {
		return "", err
	}
	n := int(b[0])
	_, err := io.ReadFull(r, b[:n])
	return string(b[:n]), err
}

// readTarget reads a CONNECT request (RFC 1928, 4).
func readTarget(r io.Reader) (host string, port int, err error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil || b[1] != 1 {
		return "", 0, errors.New("not a CONNECT")
	}
	switch b[3] {
	case 3:
		if host, err = readCounted(r, -1); err != nil {
			return "", 0, err
		}
	case 1, 4:
		ip := make([]byte, map[byte]int{1: 4, 4: 16}[b[3]])
		if _, err := io.ReadFull(r, ip); err != nil {
			return "", 0, err
		}
		host = net.IP(ip).String()
	default:
		return "", 0, errors.New("address type " + strconv.Itoa(int(b[3])))
	}
	var p [2]byte
	_, err = io.ReadFull(r, p[:])
	return host, int(binary.BigEndian.Uint16(p[:])), err
}
