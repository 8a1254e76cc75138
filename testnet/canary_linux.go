package testnet

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Canaries are servers on all addresses of the machine: loopback, its own in the local network, and a cloud's
// metadata address. Nothing that a page does may reach one.
type Canaries struct {
	mu   sync.Mutex
	hits []string
}

// CanaryPorts returns the ports of the canaries, for TCP and UDP.
func CanaryPorts() []int { return []int{80, 8099} }

// Canaries starts the machine's canaries.
func (m *Machine) Canaries() *Canaries {
	m.t.Helper()
	c := &Canaries{}
	for _, port := range CanaryPorts() {
		address := fmt.Sprintf(":%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			m.t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: quiet(), Handler: http.HandlerFunc(c.serve),
			ConnState: func(conn net.Conn, s http.ConnState) {
				if s == http.StateNew {
					c.add(fmt.Sprintf("tcp %v from %v", conn.LocalAddr(), conn.RemoteAddr()))
				}
			}}
		go server.Serve(l) //nolint:errcheck // ends with Close
		u, err := net.ListenPacket("udp", address)
		if err != nil {
			m.t.Fatal(err)
		}
		go func() {
			b := make([]byte, 1500)
			for {
				n, from, err := u.ReadFrom(b)
				if err != nil {
					return
				}
				c.add(fmt.Sprintf("udp :%d from %v, %d bytes", port, from, n))
			}
		}()
		m.t.Cleanup(func() { server.Close(); u.Close() })
	}
	return c
}

func (c *Canaries) serve(w http.ResponseWriter, r *http.Request) {
	c.add(fmt.Sprintf("%s http://%s%s", r.Method, r.Host, r.URL.RequestURI()))
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Private-Network", "true")
	fmt.Fprint(w, "a secret of this machine")
}

func (c *Canaries) add(hit string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits = append(c.hits, hit)
}

// Hits returns the connections, requests and datagrams that reached a canary.
func (c *Canaries) Hits() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.hits)
}
