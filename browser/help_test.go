//go:build !windows

package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes the test's own binary the child that enters a namespace when it is called like one, as the server's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ChildArgument {
		fmt.Fprintln(os.Stderr, EnterNamespace())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// patient is how long a test waits for what comes in no time on a machine that has nothing else to do.
const patient = 5 * time.Minute

// installed returns the machine's Chromium, or skips the test.
func installed(t *testing.T) Installed {
	t.Helper()
	found, err := Find(t.Context(), "")
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	needIsolation(t)
	return found
}

// needIsolation skips a test that starts browsers, real ones or others, where nothing is started at all.
func needIsolation(t *testing.T) {
	t.Helper()
	if missing := CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
}

// profile is a profile's folders and the network behind its relay, for one or more runs.
type profile struct {
	t    *testing.T
	path string
	dir  string
	net  *internet
}

func newProfile(t *testing.T) *profile {
	t.Helper()
	return &profile{t: t, path: installed(t).Path, dir: filepath.Join(t.TempDir(), "profile"), net: newInternet(t)}
}

func (p *profile) spec() Spec {
	return Spec{Path: p.path, UserDataDir: p.dir, TempDir: tempDir(p.t), Headless: true}
}

// tempDir returns a short path that does not exist: Chrome makes a unix socket in it.
func tempDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "wb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "t")
}

// open opens a run and serves its relay. The run is closed at the end of the test. A start, and a new page that is asked what pages show, may take as
// long as a test waits: the product's own limits are for people.
func (p *profile) open(s Spec) *Browser {
	p.t.Helper()
	b, err := Open(s)
	if err != nil {
		p.t.Fatal(err)
	}
	b.limits.start, b.limits.lookNew = patient, patient
	p.net.relay(b.Listener())
	p.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			p.t.Errorf("Close: %v", err)
		}
		if p.t.Failed() && b.proc != nil {
			p.t.Logf("the browser said last:\n%s", strings.Join(b.proc.output.lines(), "\n"))
		}
	})
	return b
}

// start opens and starts a run.
func (p *profile) start() *Browser {
	p.t.Helper()
	b := p.open(p.spec())
	ctx, cancel := context.WithTimeout(p.t.Context(), patient)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		p.t.Fatalf("Start: %v", err)
	}
	return b
}

// internet is a SOCKS5 server without authentication behind which every name is one web server of ours.
type internet struct {
	site   *httptest.Server
	secure string // where port 443 leads, when not to site too
	mux    *http.ServeMux

	wg    sync.WaitGroup
	mu    sync.Mutex
	asked []string // "host:port" of every request
	hits  chan string
}

func newInternet(t *testing.T) *internet {
	n := &internet{mux: http.NewServeMux(), hits: make(chan string, 1000)}
	n.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>%s", r.URL.Path, r.URL.Path)
		select {
		case n.hits <- r.Host + r.URL.Path:
		default:
		}
	})
	n.site = httptest.NewServer(n.mux)
	t.Cleanup(func() {
		n.site.CloseClientConnections()
		n.site.Close()
		n.wg.Wait()
	})
	return n
}

// relay serves l until it is closed.
func (n *internet) relay(l net.Listener) {
	n.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.wg.Go(func() { defer c.Close(); n.socks(c) })
		}
	})
}

// socks speaks RFC 1928 with a client that has no choice of method and CONNECTs to a name, which is all that Chrome does.
func (n *internet) socks(c net.Conn) {
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
	site := n.site.Listener.Addr().String()
	if port == 443 && n.secure != "" {
		site = n.secure
	}
	up, err := net.Dial("tcp", site)
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

// await returns when the site was asked for one of the paths ("host/path").
func (n *internet) await(t *testing.T, wanted ...string) {
	t.Helper()
	missing := slices.Clone(wanted)
	late := time.After(patient)
	for len(missing) > 0 {
		select {
		case hit := <-n.hits:
			missing = slices.DeleteFunc(missing, func(w string) bool { return w == hit })
		case <-late:
			t.Fatalf("the site was not asked for %v", missing)
		}
	}
}

// awaitClosed bounds a wait for a channel.
func awaitClosed(t *testing.T, what string, c <-chan struct{}, d time.Duration) {
	t.Helper()
	select {
	case <-c:
		return
	default:
	}
	select {
	case <-c:
	case <-time.After(d):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s: not within %v\n%s", what, d, buf[:runtime.Stack(buf, true)])
	}
}

// eventually asks until the answer is yes, for what has no event to wait for. The pause leaves the machine to the browser.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for late := time.After(patient); !yes(); {
		select {
		case <-pause.C:
		case <-late:
			t.Fatalf("not within %v: %s", patient, what)
		}
	}
}
