package testnet

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Site is one web server behind SOCKS5 listeners: every host name below .test leads to it. It serves as the relay of a browser.
type Site struct {
	Mux    *http.ServeMux
	Server *httptest.Server
	Secure string      // "host:port" of the server for port 443; "": Server
	Hits   chan string // "host/path" of every request for a path that Mux does not know

	wg    sync.WaitGroup
	mu    sync.Mutex
	asked []string
}

// NewSite starts a site. A path that Mux does not know answers its own name.
func NewSite(t testing.TB) *Site {
	n := &Site{Mux: http.NewServeMux(), Hits: make(chan string, 1000)}
	n.Mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>%s", r.URL.Path, r.URL.Path)
		select {
		case n.Hits <- r.Host + r.URL.Path:
		default:
		}
	})
	n.Server = httptest.NewServer(n.Mux)
	t.Cleanup(func() {
		n.Server.CloseClientConnections()
		n.Server.Close()
		n.wg.Wait()
	})
	return n
}

// Serve speaks SOCKS5 on a listener until it is closed.
func (n *Site) Serve(l net.Listener) {
	n.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.wg.Go(func() { defer c.Close(); n.serve(c) })
		}
	})
}

// serve handles one SOCKS5 connection (RFC 1928): no authentication, CONNECT to a name, which is all that Chrome uses.
func (n *Site) serve(c net.Conn) {
	in := bufio.NewReader(c)
	head := make([]byte, 2)
	if _, err := io.ReadFull(in, head); err != nil {
		return
	}
	if _, err := in.Discard(int(head[1])); err != nil {
		return
	}
	c.Write([]byte{5, 0})
	request := make([]byte, 5)
	if _, err := io.ReadFull(in, request); err != nil || request[3] != 3 {
		return
	}
	rest := make([]byte, int(request[4])+2)
	if _, err := io.ReadFull(in, rest); err != nil {
		return
	}
	name, port := string(rest[:len(rest)-2]), int(rest[len(rest)-2])<<8|int(rest[len(rest)-1])
	n.mu.Lock()
	n.asked = append(n.asked, fmt.Sprintf("%s:%d", name, port))
	n.mu.Unlock()
	if !strings.HasSuffix(name, ".test") && name != "app.localhost" { // the second is a secure context without TLS
		c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	address := n.Server.Listener.Addr().String()
	if port == 443 && n.Secure != "" {
		address = n.Secure
	}
	up, err := net.Dial("tcp", address)
	if err != nil {
		c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer up.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(up, in); up.Close(); c.Close() }()
	io.Copy(c, up)
	c.Close()
	<-done
}

// Asked returns "host:port" of every CONNECT request so far.
func (n *Site) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

// Await waits until each of the pages ("host/path") was requested. Pages with handlers of their own do not count.
func (n *Site) Await(t testing.TB, wanted ...string) {
	t.Helper()
	missing := slices.Clone(wanted)
	late := time.After(Patience)
	for len(missing) > 0 {
		select {
		case hit := <-n.Hits:
			missing = slices.DeleteFunc(missing, func(w string) bool { return w == hit })
		case <-late:
			t.Fatalf("the site was not asked for %v", missing)
		}
	}
}
