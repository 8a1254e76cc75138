package testnet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The keys of S3, and the bucket that it has.
const (
	S3Access = "TESTKEYTESTKEYTESTKE"
	S3Secret = "not+a/secret+of+anybody+but+of+this+test"
	S3Bucket = "bucket"
)

// S3 is Versity's S3 gateway over a temporary folder: a real server, for real requests.
type S3 struct{ socket string }

// s3Program builds the gateway, or finds it built: testdata/s3gateway says what it is made of. Without inlining that takes 90 s of
// processor time, with it 150 s. So tests that need it are long trials.
func s3Program(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs versitygw, which is not for Windows")
	}
	_, here, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "testdata", "s3gateway")
	var told bytes.Buffer
	build := exec.CommandContext(t.Context(), "go", "-C", source, "tool", "-n", "s3gateway")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-gcflags=github.com/...=-l")
	build.Stderr = &told
	path, err := build.Output()
	if err != nil {
		t.Skipf("needs versitygw, which cannot be built here: %v\n%s", err, told.String())
	}
	return strings.TrimSpace(string(path))
}

// NewS3 starts the gateway until the test ends. The test must be a Long one.
func NewS3(t testing.TB) *S3 {
	t.Helper()
	program := s3Program(t)
	dir, err := os.MkdirTemp("", "s3-") // short: the path of a socket has 100 bytes at most
	must(t, err)
	s := &S3{socket: filepath.Join(dir, "s")}
	for _, sub := range []string{"files", "files/" + S3Bucket, "meta"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	var told bytes.Buffer
	server := exec.Command(program, filepath.Join(dir, "files"), filepath.Join(dir, "meta"), s.socket) //nolint:gosec // ours
	server.Env = []string{"S3_ACCESS=" + S3Access, "S3_SECRET=" + S3Secret}
	server.Stdout, server.Stderr = &told, &told
	must(t, server.Start())
	ended := make(chan struct{})
	go func() { server.Wait(); close(ended) }() //nolint:errcheck // it is killed
	t.Cleanup(func() {
		server.Process.Kill() //nolint:errcheck // it may have ended
		<-ended
		if t.Failed() {
			t.Log(told.String())
		}
		must(t, os.RemoveAll(dir))
	})
	Eventually(t, "the gateway listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("the gateway ended: %s", told.String())
		default:
		}
		c, err := net.Dial("unix", s.socket)
		return err == nil && c.Close() == nil
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Breaker answers a request itself, badly, and returns true; or it returns false, and the request goes on.
type Breaker func(w http.ResponseWriter, r *http.Request) bool

// S3Proxy stands before the gateway, and breaks requests.
type S3Proxy struct {
	*httptest.Server
	through *httputil.ReverseProxy

	mu       sync.Mutex
	breaks   Breaker // nil: nothing is broken
	requests []string
}

// Proxy serves until the test ends.
func (s *S3) Proxy(t testing.TB) *S3Proxy {
	t.Helper()
	quiet := log.New(io.Discard, "", 0)
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
	p := &S3Proxy{through: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      quiet,
	}}
	p.Server = httptest.NewUnstartedServer(p)
	p.Config.ErrorLog = quiet
	p.Start()
	t.Cleanup(func() {
		p.Close()
		transport.CloseIdleConnections()
	})
	return p
}

// ServeHTTP is of http.Handler.
func (p *S3Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	breaks := p.breaks
	p.requests = append(p.requests, r.Method+" "+r.URL.Path)
	p.mu.Unlock()
	if breaks == nil || !breaks(w, r) {
		p.Pass(w, r)
	}
}

// Pass lets a request through.
func (p *S3Proxy) Pass(w http.ResponseWriter, r *http.Request) { p.through.ServeHTTP(w, r) }

// Set breaks the requests from now on; nil breaks none.
func (p *S3Proxy) Set(breaks Breaker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breaks, p.requests = breaks, nil
}

// Asked returns the requests since Set, as methods and paths.
func (p *S3Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}

// Environment returns what a program needs to reach the bucket through the proxy.
func (p *S3Proxy) Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + S3Access, "AWS_SECRET_ACCESS_KEY=" + S3Secret, "AWS_ENDPOINT_URL=" + p.URL}
}

// S3Error answers as S3 does.
func S3Error(w http.ResponseWriter, status int, code, message string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message) //nolint:errcheck // a client that left
	return true
}

// Cut ends the client's connection.
func Cut() { panic(http.ErrAbortHandler) }

// First breaks the first n requests of a method. do is called with 1 to n.
func First(n int, method string, do func(w http.ResponseWriter, r *http.Request, now int) bool) Breaker {
	var seen atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method {
			return false
		}
		now := int(seen.Add(1))
		return now <= n && do(w, r, now)
	}
}

// Shortened sends Left bytes of an answer, and then ends the connection.
type Shortened struct {
	http.ResponseWriter
	Left int
}

// Write is of io.Writer.
func (s *Shortened) Write(b []byte) (int, error) {
	n, err := s.ResponseWriter.Write(b[:min(len(b), s.Left)])
	if s.Left -= n; err == nil && s.Left == 0 {
		s.ResponseWriter.(http.Flusher).Flush()
		Cut()
	}
	return n, err
}

// Discards keeps an answer from the client.
type Discards struct{ http.ResponseWriter }

// Header is of http.ResponseWriter.
func (Discards) Header() http.Header { return http.Header{} }

// Write is of http.ResponseWriter.
func (Discards) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader is of http.ResponseWriter.
func (Discards) WriteHeader(int) {}

// Flush is of http.Flusher.
func (Discards) Flush() {}
