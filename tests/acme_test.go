package tests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"warren/testnet"
)

// authority is an authority that speaks ACME: Pebble, with which Let's Encrypt tests clients.
type authority struct {
	web   *httptest.Server
	ready atomic.Pointer[http.Handler]
	asked atomic.Int64
	roots *x509.CertPool
}

// newAuthority returns an authority that serves once it knows the port of the server that it connects to.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	a.web = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		(*a.ready.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(a.web.Close)
	return a
}

// serve begins to certify names, all of which lead to this machine.
func (a *authority) serve(t *testing.T, port int) {
	t.Helper()
	names, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	resolver := &dns.Server{Listener: names, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET},
				A: net.IPv4(127, 0, 0, 1)})
		}
		w.WriteMsg(m) //nolint:errcheck // the authority asks again
	})}
	go resolver.ActivateAndServe()            //nolint:errcheck // it ends with the test
	t.Cleanup(func() { resolver.Shutdown() }) //nolint:errcheck // the same
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "default"}})
	checker := va.New(quiet, 1, port, true, names.Addr().String(), store)
	front := wfe.New(quiet, store, checker, issuer, []string{"authority.test"}, true, false, 0, 0)
	handler := front.Handler()
	a.ready.Store(&handler)
	a.roots = x509.NewCertPool()
	a.roots.AddCert(issuer.GetRootCert(0).Cert)
}

// TestACME: a server beyond loopback gets its certificate from an authority when it is first asked for the name, keeps it over a restart,
// and asks nobody about another name.
func TestACME(t *testing.T) {
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	a := newAuthority(t)
	g := newTestbed(t)
	root := filepath.Join(g.dir, "root.pem")
	if err := os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	g.under = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+root) }
	flags := []string{"--listen", "0.0.0.0:0", "--acme", "warren.test", "--acme-directory", a.web.URL + "/dir"}
	s := g.serve(flags...)
	a.serve(t, portOf(t, s))
	var first *x509.Certificate
	testnet.Eventually(t, "the certificate", func() bool { // it may take longer than a handshake may: who asks again then gets it
		first = a.visit(t, s, "warren.test")
		return first != nil
	})
	if a.asked.Load() == 0 {
		t.Fatalf("a certificate, and nobody asked the authority\n%s", s.log)
	}
	before := a.asked.Load()
	if cert := a.visit(t, s, "other.test"); cert != nil || a.asked.Load() != before {
		t.Errorf("another name has a certificate: %v, after %d requests", cert != nil, a.asked.Load()-before)
	}
	s.end()
	a.web.Close()
	s = g.serve(flags...)
	if again := a.visit(t, s, "warren.test"); again == nil || !again.Equal(first) {
		t.Errorf("after a restart without the authority: a certificate: %v\n%s", again != nil, s.log)
	}
	for path, mode := range map[string]os.FileMode{"acme": 0o700, "acme/warren.test": 0o600, "acme/acme_account+key": 0o600} {
		if info, err := os.Stat(filepath.Join(g.data, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
}

func portOf(t *testing.T, s *liveServer) int {
	t.Helper()
	_, text, err := net.SplitHostPort(s.base[len("https://"):])
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(text) //nolint:errcheck // the server printed it
	return port
}

// visit asks the server for its health under a name, and returns its certificate; nil if it has none that the authority vouches for.
func (a *authority) visit(t *testing.T, s *liveServer, name string) *x509.Certificate {
	t.Helper()
	port := portOf(t, s)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		}}}
	defer c.CloseIdleConnections()
	res, err := c.Get("https://" + name + "/healthz")
	if err != nil {
		t.Logf("%s: %v", name, err)
		return nil
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", name, res.StatusCode)
	}
	return res.TLS.PeerCertificates[0]
}
