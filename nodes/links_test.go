package nodes

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/store"
	"warren/testnet"
)

// linkedNodes are two servers of one database. The first one has left it, and can still speak.
func linkedNodes(t *testing.T) (a, b *Node) {
	t.Helper()
	all := newServers(t, 2)
	a = all[0].mustJoin(t)
	a.Leave()
	return a, all[1].mustJoin(t)
}

// answerLinks answers other servers with tellPeer, and clients too if others is set. It returns the address as a row has it.
func answerLinks(t *testing.T, n *Node, others *tls.Config) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: tellPeer(n), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go s.Serve(tls.NewListener(l, n.ServerTLS(others))) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

// tellPeer answers which server sent a request. It takes upgrades and sends back one line.
func tellPeer(n *Node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprintf(w, "%s %s", n.Peer(r), r.Host)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
		line, _ := rw.ReadString('\n') //nolint:errcheck // then the answer is short
		fmt.Fprint(conn, "back: "+line)
	})
}

// ask sends a request, and returns what was answered.
func ask(t *testing.T, rt http.RoundTripper, address string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := rt.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// TestLinks: two servers of one database talk, and each knows the other. The scheme of a request does not matter, and the connection is
// used again. An upgrade has both directions.
func TestLinks(t *testing.T) {
	t.Parallel()
	a, b := linkedNodes(t)
	at := answerLinks(t, b, nil)
	to := a.Transport(b.ID(), at)
	if a.Transport(b.ID(), at) != to || a.Transport(b.ID(), "http://127.0.0.1:1") == to || a.Transport(b.ID(), at) == to {
		t.Error("a transport is of one address")
	}
	for _, scheme := range []string{"http://", "https://"} {
		got, err := ask(t, to, scheme+"name.example", "X-Peer", b.ID(), "Forwarded", "for="+b.ID())
		if err != nil || got != a.ID()+" name.example" {
			t.Errorf("%s: %q, %v", scheme, got, err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+ServerName(b.ID()), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "test")
	res, err := to.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	both, ok := res.Body.(io.ReadWriter)
	if res.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("%s, %T", res.Status, res.Body)
	}
	fmt.Fprintln(both, "there")
	if line, err := bufio.NewReader(both).ReadString('\n'); line != "back: there\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	alone := Alone(Config{})
	given := &tls.Config{} //nolint:gosec // it is only compared
	if alone.ServerTLS(nil) != nil || alone.ServerTLS(given) != given || alone.Transport("x", at) != nil ||
		alone.Peer(&http.Request{}) != "" {
		t.Error("a server with a database of its own has no others")
	}
}

// TestStrangers: what is no server of the database, or not the one meant, gets nothing. Clients with the certificate of others are
// answered as before.
func TestStrangers(t *testing.T) {
	t.Parallel()
	a, b := linkedNodes(t)
	foreign := newServers(t, 1)[0].mustJoin(t)
	public, err := foreign.links.own() // stands for the certificate of the API
	if err != nil {
		t.Fatal(err)
	}
	others := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*public}}
	plain, own, theirs := answerLinks(t, b, nil), answerLinks(t, b, others), answerLinks(t, foreign, nil)
	with := func(name string, cert *tls.Certificate, roots *Node) http.RoundTripper {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: roots.links.trusted}
		if cert != nil { // whatever the server asks for
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
		}
		return &http.Transport{TLSClientConfig: cfg}
	}
	mine, err := a.links.own()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what string
		to   http.RoundTripper
		at   string
		want string // what is answered, or a part of the error
	}{
		{"a server", with(ServerName(b.ID()), mine, b), own, a.ID() + " "},
		{"no certificate", with(ServerName(b.ID()), nil, b), own, "certificate required"},
		{"no certificate, plain", with(ServerName(b.ID()), nil, b), plain, "certificate required"},
		{"another authority's certificate", with(ServerName(b.ID()), public, b), own, "unknown certificate authority"},
		{"another authority's server", a.Transport(foreign.ID(), theirs), theirs, "signed by unknown authority"},
		{"another server", a.Transport(a.ID(), own), own, "certificate is valid for " + ServerName(b.ID())},
		{"a client", with(ServerName(foreign.ID())[:36]+".example", nil, foreign), own, "not " + foreign.ID()},
		{"a client with a certificate", &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{*mine},
			InsecureSkipVerify: true}}, own, " 127.0.0.1"}, //nolint:gosec // the name is not looked at
		{"a client where the API is plain", &http.Transport{}, plain, "unrecognized name"},
		{"nothing there", a.Transport(b.ID(), "https://127.0.0.1:1"), plain, "refused"},
		{"no address", a.Transport(b.ID(), "127.0.0.1"), plain, "give another with --advertise"},
	} {
		got, err := ask(t, x.to, "https"+strings.TrimPrefix(x.at, "http"))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, x.want) || x.want[0] == ' ' && !strings.HasPrefix(got, " ") {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
	leaf, err := x509.ParseCertificate(mine.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if id := b.Peer(&http.Request{Header: http.Header{"X-Peer": {a.ID()}}, TLS: &tls.ConnectionState{ServerName: ServerName(a.ID()),
		PeerCertificates: []*x509.Certificate{leaf}}}); id != "" {
		t.Errorf("a certificate that nobody verified names %s", id)
	}
}

// TestClocks: clocks that differ by a day do not part two servers. Three days do, and the error says why.
func TestClocks(t *testing.T) {
	t.Parallel()
	a, b := linkedNodes(t)
	at := answerLinks(t, b, nil)
	var ahead atomic.Int64
	b.links.clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	for _, x := range []struct {
		ahead time.Duration
		want  string
	}{{25 * time.Hour, ""}, {-25 * time.Hour, ""}, {72 * time.Hour, "expired or is not yet valid"}, {0, ""}} {
		ahead.Store(int64(x.ahead))
		a.links.close()
		got, err := ask(t, a.Transport(b.ID(), at), at)
		if x.want == "" && (err != nil || !strings.HasPrefix(got, a.ID())) || x.want != "" && (err == nil ||
			!strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s ahead: %q, %v", x.ahead, got, err)
		}
	}
}

// TestCertificateEachDay: a server that runs on has a new certificate each day, and when its clock was set back. Others see it on the next
// connection.
func TestCertificateEachDay(t *testing.T) {
	t.Parallel()
	a, b := linkedNodes(t)
	at := answerLinks(t, b, nil)
	var now atomic.Pointer[time.Time]
	clock := func() time.Time { return *now.Load() }
	b.links.clock, a.links.clock = clock, clock
	shown := func(when time.Time) string {
		t.Helper()
		now.Store(&when)
		conn, err := a.links.dial(t.Context(), b.ID(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		leaf := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		if before, after := when.Sub(leaf.NotBefore), leaf.NotAfter.Sub(when); before < 47*time.Hour || after < 29*24*time.Hour ||
			leaf.DNSNames[0] != ServerName(b.ID()) {
			t.Errorf("from %s before to %s after, for %v", before, after, leaf.DNSNames)
		}
		return leaf.SerialNumber.String()
	}
	begin := time.Now()
	first := shown(begin)
	if shown(begin.Add(23*time.Hour)) != first {
		t.Error("it is made anew within a day")
	}
	second := shown(begin.Add(25 * time.Hour))
	if second == first {
		t.Error("it is the same after a day")
	}
	if shown(begin.Add(-time.Hour)) == second {
		t.Error("it is the same after the clock was set back")
	}
	for day := range 40 {
		shown(begin.AddDate(0, 0, day))
	}
}

// TestOneAuthority: servers that open an authority at the same moment have the same one. The database does not show its key.
func TestOneAuthority(t *testing.T) {
	t.Parallel()
	all := newServers(t, 4)
	var group sync.WaitGroup
	made, errs := make([]*authority, len(all)), make([]error, len(all))
	begin := make(chan struct{})
	for i, s := range all {
		group.Go(func() {
			<-begin
			errs[i] = s.st.Write(t.Context(), func(q *store.Queries) (err error) {
				made[i], err = openAuthority(t.Context(), q, s.st)
				return err
			})
		})
	}
	close(begin)
	group.Wait()
	for i, a := range made {
		if errs[i] != nil || !a.certificate.Equal(made[0].certificate) || !a.key.Equal(made[0].key) {
			t.Errorf("server %d has another: %v", i, errs[i])
		}
	}
	text, err := all[0].st.Read().GetSetting(t.Context(), authoritySetting)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || strings.Contains(string(plain), "Warren") || strings.Contains(string(plain), "key") {
		t.Errorf("it is not sealed: %q, %v", plain, err)
	}
	n := all[3].mustJoin(t)
	if !n.links.authority.certificate.Equal(made[0].certificate) {
		t.Error("a server that joins has another")
	}
}

// TestAuthorityThatDoesNotOpen: a server does not join where the secret key does not open the authority, and changes nothing.
func TestAuthorityThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	s, other := newServers(t, 1)[0], newServer(t, testnet.Postgres(t), t.TempDir(), "")
	other.mustJoin(t)
	theirs, err := other.st.Read().GetSetting(t.Context(), authoritySetting)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := s.st.Seal("settings", "value", authoritySetting, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{theirs: "sealed with another key", "": "no envelope", "?": "illegal base64",
		base64.StdEncoding.EncodeToString(empty): "x509"} {
		err := s.st.Write(t.Context(), func(q *store.Queries) error {
			return q.SetSetting(t.Context(), store.SetSettingParams{Name: authoritySetting, Value: value})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.join(t.Context())
		if !errors.Is(err, ErrAuthority) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
		rows, listed := s.st.Read().ListNodes(t.Context())
		kept, got := s.st.Read().GetSetting(t.Context(), authoritySetting)
		if errors.Join(listed, got) != nil || len(rows) != 0 || kept != value {
			t.Errorf("it has changed the database: %v, %q, %v", rows, kept, errors.Join(listed, got))
		}
	}
}
