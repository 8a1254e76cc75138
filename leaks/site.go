package leaks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

//go:embed page
var files embed.FS

// Site serves the page and records what comes through the relay, over HTTP and HTTPS.
type Site struct {
	config        Config
	spki          string
	plain, secure net.Listener
	servers       []*http.Server

	mu       sync.Mutex
	hits     []Hit
	nextHit  chan struct{} // closed at the next hit
	reports  []Report
	reported chan struct{} // closed when every part has reported
}

// parts returns the pages that report.
func parts() []string { return []string{"plain", "secure"} }

func newSite(c Config, cert tls.Certificate, spki string) (*Site, error) {
	s := &Site{config: c, spki: spki, nextHit: make(chan struct{}), reported: make(chan struct{})}
	var err error
	if s.plain, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if s.secure, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		s.plain.Close()
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0) // browsers abort handshakes
	for _, l := range []net.Listener{s.plain, tls.NewListener(s.secure,
		&tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})} {
		h := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ErrorLog: quiet}
		s.servers = append(s.servers, h)
		go h.Serve(l) //nolint:errcheck // ends with Close
	}
	return s, nil
}

// Close ends the site and every connection to it.
func (s *Site) Close() {
	for _, h := range s.servers {
		h.Close()
	}
}

// Hits returns the requests, except those for the page's own parts.
func (s *Site) Hits() []Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hits)
}

// Reports returns the pages' reports so far.
func (s *Site) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

// ServeHTTP serves the page's parts, and records everything else. Channels request /seen/CHANNEL/VECTOR/NONCE.
// /redirect?to=URL redirects.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	switch name := r.URL.Path; {
	case name == "/config.json":
		writeJSON(w, s.config)
	case name == "/report":
		s.report(w, r)
	case name == "/redirect":
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	case name == "/favicon.ico":
		http.NotFound(w, r)
	case strings.HasPrefix(name, "/came/"):
		s.await(r.Context(), path.Base(name))
	case strings.HasPrefix(name, "/seen/"):
		s.record(r)
		s.answer(w, r)
	default:
		servePart(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the page may be gone
}

// servePart serves a file of the page. Any other path is the page itself.
func servePart(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	text, err := files.ReadFile("page/" + name)
	if err != nil {
		name = "index.html"
		text, _ = files.ReadFile("page/index.html") // the file is embedded
	}
	w.Header().Set("Content-Type", map[bool]string{true: "text/javascript", false: "text/html; charset=utf-8"}[path.Ext(name) == ".js"])
	w.Write(text) //nolint:errcheck // the page may be gone
}

// record stores a channel's request.
func (s *Site) record(r *http.Request) {
	h := Hit{At: time.Now(), Kind: "site", Host: r.Host, Remote: r.RemoteAddr, First: r.Method + " " + r.URL.Path}
	h.Channel, h.Nonce = channelOf(r.URL.Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = append(s.hits, h)
	close(s.nextHit)
	s.nextHit = make(chan struct{})
}

// await returns when a request with a nonce has come, or when ctx is done.
func (s *Site) await(ctx context.Context, nonce string) {
	for {
		s.mu.Lock()
		came, next := slices.ContainsFunc(s.hits, func(h Hit) bool { return h.Nonce == nonce }), s.nextHit
		s.mu.Unlock()
		if came {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// channelOf parses a path of the form /seen/CHANNEL/VECTOR/NONCE.
func channelOf(p string) (channel, nonce string) {
	part := strings.Split(p, "/")
	if len(part) != 5 || part[1] != "seen" {
		return "", ""
	}
	return part[2], part[4]
}

// answer sends each vector a successful answer.
func (s *Site) answer(w http.ResponseWriter, r *http.Request) {
	vector := strings.Split(r.URL.Path+"//", "/")[3]
	kind, text := "text/plain", "seen"
	switch vector {
	case "ws":
		if c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
			c.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the request is recorded
		}
		return
	case "eventsource":
		kind, text = "text/event-stream", "data: seen\n\n"
	case "download": // a failed download leaves no file
		w.WriteHeader(http.StatusNotFound)
		return
	case "altsvc":
		w.Header().Set("Alt-Svc", fmt.Sprintf(`h3=":%d"; ma=60`, s.config.Ports["quic"]))
	case "script", "modulepreload":
		kind, text = "text/javascript", ""
	case "css":
		kind, text = "text/css", ""
	case "img", "favicon":
		kind, text = "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`
	case "iframe", "form", "object", "embed", "popup", "redirectframe":
		kind, text = "text/html", "<!doctype html><title>seen</title>"
	case "prerender":
		kind, text = "text/html", `<!doctype html><title>seen</title><script type="module" src="/prerendered.js"></script>`
	}
	w.Header().Set("Content-Type", kind)
	io.WriteString(w, text) //nolint:errcheck // the request is recorded
}

// maxReport bounds a report, in bytes.
const maxReport = 4 << 20

// report takes a page's report. The first report of each part counts.
func (s *Site) report(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	var in Report
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err != nil || !slices.Contains(parts(), in.Part) {
		http.Error(w, "no report", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.reports, func(have Report) bool { return have.Part == in.Part }) {
		return
	}
	if s.reports = append(s.reports, in); len(s.reports) == len(parts()) {
		close(s.reported)
	}
}

// newCertificate creates a certificate for the names below Suffix, and the hash that makes a browser trust its key.
func newCertificate() (cert tls.Certificate, spki string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, "", err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return cert, "", err
	}
	now := time.Now()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: Suffix}, DNSNames: []string{Suffix, "*." + Suffix},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return cert, "", err
	}
	sum := sha256.Sum256(public)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, base64.StdEncoding.EncodeToString(sum[:]), nil
}
