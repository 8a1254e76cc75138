package tests

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// visit is one request to the world.
type visit struct{ path, address, agent, cookie string }

// world is a web site, and who came to it.
type world struct {
	site *httptest.Server

	mu      sync.Mutex
	visits  []visit
	changed chan struct{} // closed and replaced at each visit
	place   func() string // members that /ip tells beside the address; nil: none

	openTo map[string]bool   // connections that are open, by their other end
	cameBy map[string]string // the connection of the last visit to each path
}

func newWorld(t testing.TB) *world { return newWorldAt(t, "127.0.0.1:0") }

func newWorldAt(t testing.TB, address string) *world {
	w := &world{changed: make(chan struct{}), openTo: map[string]bool{}, cameBy: map[string]string{}}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	w.site = &httptest.Server{Listener: l, Config: &http.Server{Handler: w, ConnState: w.noteConn}} //nolint:gosec // a test's
	w.site.Start()
	t.Cleanup(func() {
		w.site.CloseClientConnections()
		w.site.Close()
	})
	return w
}

func (w *world) noteConn(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.openTo[c.RemoteAddr().String()] = true; state == http.StateClosed {
		delete(w.openTo, c.RemoteAddr().String())
	}
}

// isOpen reports whether the connection of the last visit to a path is open.
func (w *world) isOpen(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openTo[w.cameBy[path]]
}

// ServeHTTP answers the caller's address on /ip, its accepted languages on /languages and the size of its body on
// /upload. It sets the cookies that the query names on /set and leads on to another page: tabs load again what they
// showed. Everything else is a page.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.RemoteAddr, ":")
	switch r.URL.Path {
	case "/favicon.ico":
		http.NotFound(rw, r)
		return
	case "/ip":
		w.mu.Lock()
		place, more := w.place, ""
		w.mu.Unlock()
		if place != nil {
			more = "," + place()
		}
		fmt.Fprintf(rw, `{"ip":%q%s}`, host, more)
		return
	case "/languages":
		fmt.Fprint(rw, r.Header.Get("Accept-Language"))
		return
	case "/upload":
		n, _ := io.Copy(io.Discard, r.Body) // the count says what came
		fmt.Fprint(rw, n)
		return
	case "/set":
		http.SetCookie(rw, &http.Cookie{Name: "kept", Value: r.FormValue("kept"), MaxAge: 86400, Path: "/"})
		http.SetCookie(rw, &http.Cookie{Name: "session", Value: r.FormValue("session"), Path: "/"})
		http.Redirect(rw, r, "/set/done", http.StatusSeeOther)
		return
	}
	rw.Header().Set("Content-Type", "text/html")
	rw.Header().Set("Cache-Control", "no-store")
	fmt.Fprintf(rw, "<!doctype html><title>%s</title><p>here", r.URL.Path)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cameBy[r.URL.Path] = r.RemoteAddr
	w.visits = append(w.visits, visit{r.URL.RequestURI(), host, r.UserAgent(), r.Header.Get("Cookie")})
	close(w.changed)
	w.changed = make(chan struct{})
}

// comesOut changes what /ip tells of its caller's place. It may take its time.
func (w *world) comesOut(place func() string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place = place
}

// await returns the n-th visit (from 1) to a path.
func (w *world) await(t testing.TB, path string, n int) visit {
	t.Helper()
	late := time.NewTimer(enough)
	defer late.Stop()
	for {
		w.mu.Lock()
		changed, seen := w.changed, 0
		for _, v := range w.visits {
			if v.path == path {
				if seen++; seen == n {
					w.mu.Unlock()
					return v
				}
			}
		}
		w.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("the site saw %d visits to %s, want %d; all: %v", seen, path, n, w.paths())
		}
	}
}

func (w *world) paths() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.visits {
		out = append(out, v.path)
	}
	return out
}

// url is a page of the world as browsers name it: by the name that only the proxy knows.
func (w *world) url(path string) string { return "http://" + testnet.LocalSite + path }
