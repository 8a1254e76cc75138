//go:build linux

package browser

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"warren/testnet"
)

// The site of TestIdentityTable is *.test over http and https. Every context that it serves has a name, which all its requests carry
// (?ctx=). A context reports with testdata/table/probe.js.

// Kinds of request, in the table's order. The first one is for the context's own document or script.
func requestKinds() []string {
	return []string{"first", "sub", "fetch", "worker", "ws", "beacon", "download"}
}

// highHints are the hints that a site gets over https once it has asked for them.
func highHints() []string {
	return []string{"Sec-CH-UA-Full-Version-List", "Sec-CH-UA-Platform-Version", "Sec-CH-UA-Arch", "Sec-CH-UA-Bitness", "Sec-CH-UA-Model",
		"Sec-CH-UA-WoW64", "Sec-CH-UA-Form-Factors"}
}

// tableSite logs requests and the reports of contexts.
type tableSite struct {
	scheme string // of the contexts that do not name one
	spki   string // of its certificate's key

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	seen    map[string]*sighting
}

// sighting is what the site knows of a context.
type sighting struct {
	Told  map[string]any           // what JavaScript saw; nil: it has not reported
	Heads map[string][]http.Header // of each kind of request
}

// newTableSite serves the table's pages on the site behind a profile's relay.
func newTableSite(t *testing.T, n *testnet.Site, scheme string) *tableSite {
	t.Helper()
	for _, name := range []string{"probe.js", "page.js", "audio.js"} {
		if _, err := os.Stat(filepath.Join("testdata", "table", name)); err != nil {
			t.Fatal(err)
		}
	}
	s := &tableSite{scheme: scheme, changed: make(chan struct{}), seen: map[string]*sighting{}}
	for path, handle := range map[string]http.HandlerFunc{
		"/page": s.page, "/script": s.script, "/log": s.log, "/report": s.report, "/doc.pdf": s.pdf,
		"/redirect": func(w http.ResponseWriter, r *http.Request) {
			s.note(r, "first")
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusSeeOther)
		},
		"/nothing": func(w http.ResponseWriter, r *http.Request) { s.note(r, "first"); w.WriteHeader(http.StatusNotFound) },
	} {
		n.Mux.HandleFunc(path, handle)
	}
	secure := httptest.NewUnstartedServer(n.Mux)
	cert, spki := ownCertificate(t)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // browsers hang up at any time
	secure.StartTLS()
	s.spki, n.Secure = spki, secure.Listener.Addr().String()
	t.Cleanup(func() {
		secure.CloseClientConnections()
		secure.Close()
	})
	return s
}

// ownCertificate returns a certificate for *.test, and the hash by which a browser trusts its key.
func ownCertificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"*.test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, base64.StdEncoding.EncodeToString(sum[:])
}

// at returns the sighting of a context. s.mu is held.
func (s *tableSite) at(ctx string) *sighting {
	if s.seen[ctx] == nil {
		s.seen[ctx] = &sighting{Heads: map[string][]http.Header{}}
	}
	return s.seen[ctx]
}

func (s *tableSite) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// note logs a request.
func (s *tableSite) note(r *http.Request, kind string) {
	ctx := r.URL.Query().Get("ctx")
	s.change(func() { s.at(ctx).Heads[kind] = append(s.at(ctx).Heads[kind], r.Header.Clone()) })
}

// told stores the report of a context.
func (s *tableSite) told(ctx string, values map[string]any) {
	s.change(func() { s.at(ctx).Told = values })
}

// forget drops a context that will be visited again.
func (s *tableSite) forget(ctx string) {
	s.change(func() { delete(s.seen, ctx) })
}

// whole reports whether a context has reported and made all of its requests.
func (s *sighting) whole(c tableContext) bool {
	return s != nil && (s.Told != nil || c.silent) &&
		!slices.ContainsFunc(c.requests(), func(kind string) bool { return len(s.Heads[kind]) == 0 })
}

// await waits until the contexts are whole, and returns which are not.
func (s *tableSite) await(contexts ...tableContext) error {
	late := time.After(testnet.Patience)
	for {
		s.mu.Lock()
		changed := s.changed
		var missing []string
		for _, c := range contexts {
			if is := s.seen[c.name]; !is.whole(c) {
				missing = append(missing, c.name+is.has())
			}
		}
		s.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return fmt.Errorf("the site did not hear all of %s", strings.Join(missing, ", "))
		}
	}
}

// awaitFirst waits until the site is asked for a context's page.
func (s *tableSite) awaitFirst(ctx string) error {
	late := time.After(testnet.Patience)
	for {
		s.mu.Lock()
		changed, came := s.changed, len(s.at(ctx).Heads["first"]) > 0
		s.mu.Unlock()
		if came {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return fmt.Errorf("the site was not asked for %s", ctx)
		}
	}
}

// has describes the sighting of a context.
func (s *sighting) has() string {
	if s == nil {
		return " (nothing came)"
	}
	return fmt.Sprintf(" (reported: %v; came: %s)", s.Told != nil, strings.Join(slices.Sorted(maps.Keys(s.Heads)), " "))
}

// answer sets the headers of every answer.
func (s *tableSite) answer(w http.ResponseWriter, r *http.Request, kind string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Service-Worker-Allowed", "/")
	if r.URL.Query().Get("do") != "back" { // a page with no-store is not kept for the way back
		h.Set("Cache-Control", "no-store")
	}
	if r.TLS == nil {
		return
	}
	hints := strings.Join(highHints(), ", ")
	h.Set("Accept-CH", hints)
	if r.URL.Query().Get("ctx") == "critical" {
		h.Set("Critical-CH", hints)
	}
	policy := []string{"geolocation=*"}
	for _, hint := range highHints() {
		policy = append(policy, strings.TrimPrefix(strings.ToLower(hint), "sec-")+"=*")
	}
	h.Set("Permissions-Policy", strings.Join(policy, ", "))
}

// me returns what a context is told to do.
func (s *tableSite) me(r *http.Request) string {
	scheme, other := "http", "b.test"
	if r.TLS != nil {
		scheme = "https"
	}
	if r.Host == other {
		other = "a.test"
	}
	ctx := r.URL.Query().Get("ctx")
	all := map[string]any{"ctx": ctx, "site": scheme + "://a.test", "own": scheme + "://" + r.Host, "other": scheme + "://" + other,
		"begin": []string{}}
	if do := r.URL.Query().Get("do"); do != "" {
		all["begin"] = strings.Split(do, ",")
	}
	c := contextNamed(ctx)
	all["kinds"] = slices.DeleteFunc(c.requests(), func(kind string) bool { return kind == "first" })
	all["position"] = r.TLS != nil && !c.lacksFor("position", scheme)
	all["webrtc"] = !c.lacksFor("webrtc", scheme)
	text, _ := json.Marshal(all) // strings and booleans always marshal
	return string(text)
}

func (s *tableSite) page(w http.ResponseWriter, r *http.Request) {
	s.note(r, "first")
	s.answer(w, r, "text/html; charset=utf-8")
	ctx := r.URL.Query().Get("ctx")
	if ctx == "page" {
		w.Header().Set("Content-Security-Policy-Report-Only", "img-src 'none'; report-uri /log?ctx=request-report&kind=first")
	}
	if body, err := io.ReadAll(r.Body); err != nil || ctx == "popup-form" && string(body) != "a=b" {
		http.Error(w, "the form is gone", http.StatusBadRequest)
		return
	}
	start := "probe(me);"
	if ctx == "away" || ctx == "elsewhere" || ctx == "prerender" { // it reports later, or never
		start = ""
	}
	fmt.Fprintf(w, "<!doctype html><title>%s</title><script>%s\nconst me = %s; %s</script><body>%s<script>%s</script>", ctx, probeSource(),
		s.me(r), start, ctx, tableFile("page.js"))
}

func (s *tableSite) script(w http.ResponseWriter, r *http.Request) {
	s.note(r, "first")
	s.answer(w, r, "text/javascript")
	me := "const me = " + s.me(r) + ";"
	text := ""
	switch r.URL.Query().Get("do") {
	case "worker":
		text = me + "probe(me);"
	case "module": // importScripts is for classic scripts
		text = me + "requests.sub = url => import(url); probe(me);"
	case "nest":
		text = me + "probe(me); new Worker('/script?ctx=worker-nested&do=worker');"
	case "service":
		text = me + "me.values = collect(); importScripts('/log?ctx=' + me.ctx + '&kind=sub'); requests.sub = () => 0; oninstall = e => " +
			"{ skipWaiting(); e.waitUntil(probe(me)) };"
	case "audio":
		text = tableFile("audio.js")
	case "paint":
		text = "registerPaint('p', class { paint() {} });"
	}
	fmt.Fprint(w, probeSource()+"\n"+text)
}

// log answers the further requests of contexts.
func (s *tableSite) log(w http.ResponseWriter, r *http.Request) {
	kind := r.URL.Query().Get("kind")
	s.note(r, kind)
	if kind == "ws" {
		if socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
			socket.Close(websocket.StatusNormalClosure, "")
		}
		return
	}
	s.answer(w, r, "text/javascript")
	if kind == "worker" {
		fmt.Fprint(w, "postMessage(1)")
	}
}

func (s *tableSite) report(w http.ResponseWriter, r *http.Request) {
	var values map[string]any
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&values); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.told(r.URL.Query().Get("ctx"), values)
	s.answer(w, r, "text/plain")
}

func (s *tableSite) pdf(w http.ResponseWriter, r *http.Request) {
	s.note(r, "first")
	s.answer(w, r, "application/pdf")
	io.WriteString(w, "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"+
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
}

func probeSource() string { return tableFile("probe.js") }

func tableFile(name string) string {
	text, err := os.ReadFile(filepath.Join("testdata", "table", name))
	if err != nil {
		return "throw new Error('the test has lost " + name + "')"
	}
	return string(text)
}
