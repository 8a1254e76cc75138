package testnet

import (
	"fmt"
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
	n.wg.Go(func() { acceptAll(&n.wg, l, n.serve) })
}

// serve handles one SOCKS5 connection (RFC 1928): no authentication, CONNECT to a name, which is all that Chrome uses.
func (n *Site) serve(c net.Conn) {
	defer c.Close()
	if socksMethod(c, 0) != nil {
		return
	}
	target, err := socksRequest(c)
	if err != nil {
		return
	}
	n.mu.Lock()
	n.asked = append(n.asked, target)
	n.mu.Unlock()
	name, port, _ := net.SplitHostPort(target)
	if !strings.HasSuffix(name, ".test") && name != "app.localhost" { // the second is a secure context without TLS
		socksReply(c, socksNotAllowed) //nolint:errcheck // the connection is closed either way
		return
	}
	address := n.Server.Listener.Addr().String()
	if port == "443" && n.Secure != "" {
		address = n.Secure
	}
	up, err := net.Dial("tcp", address)
	if err != nil {
		socksReply(c, socksRefused) //nolint:errcheck // as above
		return
	}
	defer up.Close()
	if socksReply(c, socksDone) == nil {
		joinConns(c, up)
	}
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
