package metrics

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"warren/events"
	"warren/pool"
	"warren/runs"
	"warren/store"
	"warren/tally"
)

// figures is a source of figures, and counts its readings.
type figures[T any] struct {
	value T
	read  atomic.Int64
}

func (f *figures[T]) Figures() T {
	f.read.Add(1)
	return f.value
}

// server stands in for the server.
type server struct {
	kernel bool
	backup time.Time
}

func (server) Requests() map[string]int64 { return words("1xx", "2xx", "3xx", "4xx", "5xx") }
func (server) Kept() Kept                 { return Kept{1, 2} }
func (s server) BackedUp() time.Time      { return s.backup }
func (s server) Resources() (Resources, bool) {
	return Resources{CPU: 1.5, Memory: 2, BytesRead: 3, BytesWritten: 4}, s.kernel
}

func words(names ...string) map[string]int64 {
	out := map[string]int64{}
	for _, n := range names {
		out[n] = 123456789
	}
	return out
}

// full returns sources in which everything has a value, and every label as many as it can have.
func full() Sources {
	took := tally.Durations{Count: 12345678, Sum: 12345.678, Buckets: (&tally.Histogram{}).Read().Buckets}
	phases := map[string]tally.Durations{}
	for _, p := range strings.Fields("claim plan process namespace extensions launch attach override ready record") {
		phases[p] = took
	}
	codes := strings.Fields("ok browser_failed start_timeout proxy_unreachable capacity_exceeded queue_full profile_busy cancelled " +
		"server_stopping internal profile_damaged browser_not_found disk_full")
	ends := strings.Fields("stopped crashed idle expired closed lost orphaned out_of_memory")
	checks := strings.Fields("alive dns_failed connection_refused connection_closed timed_out host_unreachable tls_failed not_a_proxy " +
		"auth_required auth_failed request_refused target_unreachable bad_response blocked_address auth_unsupported password_unreadable")
	return Sources{
		Runs: &figures[runs.Figures]{value: runs.Figures{Starting: 3, Running: 1000, Stopping: 2, Queued: 7, Refused: 8,
			Starts: words(codes...), Phases: phases, Ends: words(ends...), Took: took, Waited: took,
			Totals: runs.Totals{BytesUp: 1 << 50, BytesDown: 1 << 51, CPUMs: 1 << 40, MemoryBytes: 1 << 40}}},
		Pool:    &figures[pool.Figures]{value: pool.Figures{Checks: words(checks...), Took: took}},
		Store:   &figures[store.Figures]{value: store.Figures{Groups: 1, Writes: 2, Took: took, Bytes: 1 << 40}},
		Events:  &figures[events.Figures]{value: events.Figures{Published: 1, Lag: 2}},
		Server:  server{true, time.Unix(1800000000, 0)},
		Version: map[string]string{"version": "v1", "commit": "c", "go": "go1"},
	}
}

func scrape(t testing.TB, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") ||
		w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

// TestScrape: the answer has what the sources say, is small, and its names follow the conventions.
func TestScrape(t *testing.T) {
	t.Parallel()
	s := full()
	text := scrape(t, New(s, slog.New(slog.DiscardHandler)))
	for _, want := range []string{`warren_runs{state="running"} 1000`, `warren_relay_bytes_total{direction="up"} 1.125899906842624e+15`,
		`warren_start_phase_seconds_count{phase="ready"} 1.2345678e+07`, `warren_runs_oom_total 1.23456789e+08`,
		`warren_runs_memory_bytes 2`,
		`warren_backup_timestamp_seconds 1.8e+09`, `warren_build_info{commit="c",go="go1",version="v1"} 1`, "process_open_fds",
		"go_goroutines", `warren_runs_io_bytes_total{direction="read"} 3`, `warren_proxy_rotations_total{result="same"} 0`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if len(text) > 100_000 {
		t.Errorf("%d bytes, want 100 kB at most", len(text))
	}
	t.Logf("%d bytes", len(text))
	// Gatherers of client_golang check that families are consistent and that no metric is there twice, as a registry does.
	checked := prometheus.Gatherers{newCollector(s)}
	if faults, err := testutil.GatherAndLint(checked); err != nil || len(faults) > 0 {
		t.Errorf("%v %v", faults, err)
	}
}

// TestWithout: what is not known has no value, and the runs' own reports stand in for the kernel's.
func TestWithout(t *testing.T) {
	t.Parallel()
	s := full()
	s.Server = server{}
	text := scrape(t, New(s, slog.New(slog.DiscardHandler)))
	for _, none := range []string{"warren_backup_timestamp_seconds", "warren_runs_io_bytes_total"} {
		if strings.Contains(text, none) {
			t.Errorf("%s has a value", none)
		}
	}
	if !strings.Contains(text, "warren_runs_memory_bytes 1.099511627776e+12") ||
		!strings.Contains(text, "warren_runs_oom_total 1.23456789e+08") {
		t.Errorf("the runs' reports are missing:\n%s", text)
	}
}

// TestManyScrapes: a hundred scrapes at once read the sources once.
func TestManyScrapes(t *testing.T) {
	t.Parallel()
	s := full()
	read := &s.Runs.(*figures[runs.Figures]).read
	l := &lately{from: []prometheus.Gatherer{newCollector(s)}, age: time.Hour}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if all, err := l.Gather(); err != nil || len(all) == 0 {
				t.Errorf("%v %v", all, err)
			}
		})
	}
	wg.Wait()
	if n := read.Load(); n != 1 {
		t.Errorf("the sources were read %d times", n)
	}
	l.age = 0
	if _, err := l.Gather(); err != nil || read.Load() != 2 {
		t.Errorf("what is old was not read anew: %v", err)
	}
}

// TestListener: it answers without a key, and on loopback not to a name of a web page.
func TestListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	h := New(full(), slog.New(slog.DiscardHandler))
	go func() { served <- Serve(t.Context(), l, h) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"127.0.0.1:" + port: 200, "localhost": 200, "[::1]:9": 200, "[::1]": 200, "evil.example": 421} {
		if got, text := get(t, l, host, "/metrics"); got != want || want == 200 && !strings.Contains(text, "warren_runs") {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
	if got, _ := get(t, l, "localhost", "/api/v1/profiles"); got != 404 {
		t.Errorf("another path: %d", got)
	}
	l.Close() //nolint:errcheck // this ends it
	if err := <-served; err == nil {
		t.Error("a listener that fails is no error")
	}
}

func get(t *testing.T, l net.Listener, host, path string) (status int, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+l.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// BenchmarkScrape is one scrape that gathers anew, but for the connection.
func BenchmarkScrape(b *testing.B) {
	h := handler(full(), slog.New(slog.DiscardHandler), 0)
	for b.Loop() {
		scrape(b, h)
	}
}
