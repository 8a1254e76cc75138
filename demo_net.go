package main

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

// demoSite shows visitors what a site sees of them, and records their visits.
type demoSite struct {
	listener net.Listener
	mu       sync.Mutex
	visits   []visit
	changed  chan struct{} // closed and replaced at each visit
}

type visit struct{ path, address, agent, cookie string }

func newDemoSite() (*demoSite, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &demoSite{listener: l, changed: make(chan struct{})}
	go http.Serve(l, s) //nolint:errcheck,gosec // ends with the listener
	return s, nil
}

func (s *demoSite) address() string { return s.listener.Addr().String() }
func (s *demoSite) close()          { s.listener.Close() }

var demoPage = template.Must(template.New("site").Parse(`<!doctype html><meta charset="utf-8"><title>What this site sees</title>
<style>body{font:16px/1.5 system-ui;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1d2433}
dt{font-weight:600}dd{margin:0 0 .8rem;overflow-wrap:anywhere}</style>
<h1>What this site sees</h1><dl><dt>Address</dt><dd>{{.Address}}</dd>{{range .Headers}}<dt>{{.Name}}</dt><dd>{{.Value}}</dd>{{end}}</dl>`))

// ServeHTTP shows the visitor's request. On /ip it answers the visitor's address and place, as a check service does.
func (s *demoSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	s.visits = append(s.visits, visit{r.URL.Path, host, r.UserAgent(), r.Header.Get("Cookie")})
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
	demoPage.Execute(w, map[string]any{"Address": host, "Headers": headers}) //nolint:errcheck // the visitor may be gone
}

func (s *demoSite) count(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.visits {
		if v.path == path {
			n++
		}
	}
	return n
}

// await returns the first visit to path, waiting for it at most 15 seconds.
func (s *demoSite) await(ctx context.Context, path string) (visit, error) {
	limit := time.After(15 * time.Second)
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.visits, func(v visit) bool { return v.path == path })
		visits, changed := s.visits, s.changed
		s.mu.Unlock()
		if i >= 0 {
			return visits[i], nil
		}
		select {
		case <-changed:
		case <-limit:
			return visit{}, fmt.Errorf("nobody came to %s", path)
		case <-ctx.Done():
			return visit{}, ctx.Err()
		}
	}
}

// demoProxy is a SOCKS5 proxy with a password (RFC 1928, RFC 1929). It resolves one name and refuses every other target.
type demoProxy struct {
	listener net.Listener
	password string
	exit     string // the address that the site sees
	target   string
	mu       sync.Mutex
	open     map[net.Conn]bool
}

func newDemoProxy(listen, target string) (*demoProxy, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	p := &demoProxy{listener: l, password: rand.Text(), exit: demoExit(), target: target, open: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

// demoExit is a source address that tells the proxy's connections from direct ones. Linux has all of 127.0.0.0/8;
// elsewhere it is 127.0.0.1.
func demoExit() string {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return "127.0.0.1"
	}
	l.Close()
	return "127.0.0.2"
}

func (p *demoProxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *demoProxy) serve() {
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

// close ends the proxy and every connection through it.
func (p *demoProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

func (p *demoProxy) handle(c net.Conn) error {
	if err := p.authenticate(c); err != nil {
		return err
	}
	host, port, err := readTarget(c)
	if err != nil {
		return err
	}
	if host != demoHost || port != 80 {
		_, err := c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}) // host unreachable
		return err
	}
	from := &net.TCPAddr{IP: net.ParseIP(p.exit)}
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
func (p *demoProxy) authenticate(c net.Conn) error {
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
	if user != "demo" || password != p.password {
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
