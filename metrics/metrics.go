// Package metrics serves what the server has counted to Prometheus, in the formats that it reads.
package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"warren/events"
	"warren/pool"
	"warren/runs"
	"warren/store"
)

// Sources are where the figures come from.
type Sources struct {
	Runs    interface{ Figures() runs.Figures }
	Pool    interface{ Figures() pool.Figures }
	Store   interface{ Figures() store.Figures }
	Events  interface{ Figures() events.Figures }
	Server  Server
	Version map[string]string // version, commit and go
}

// Server is what the server knows beside that.
type Server interface {
	// Requests returns the answers by class of the status, such as 2xx.
	Requests() map[string]int64
	// Kept returns the size of the store of snapshots.
	Kept() Kept
	// BackedUp returns when the newest backup was made; the zero time: there is none.
	BackedUp() time.Time
	// Resources returns the sums of the kernel; ok is false where those of the runs' own reports count.
	Resources() (r Resources, ok bool)
}

// Resources are sums over all runs, as the kernel counts them. Times are in seconds, sizes in bytes.
type Resources struct {
	CPU                     float64 // since the server started, ended runs included
	Memory                  int64
	BytesRead, BytesWritten int64 // since the server started
}

// Kept is what the store of snapshots holds, in files and bytes.
type Kept struct{ Files, Bytes int64 }

// New returns the handler of GET /metrics. It gathers at most twice a second, however often it is asked. Gathering reads
// counters and the sizes of files; it waits for no run and for no table of the database.
func New(s Sources, log *slog.Logger) http.Handler { return handler(s, log, time.Second/2) }

func handler(s Sources, log *slog.Logger, age time.Duration) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), newProcess())
	all := &lately{from: []prometheus.Gatherer{r, newCollector(s)}, age: age}
	return inOnePiece(promhttp.HandlerFor(all, promhttp.HandlerOpts{
		DisableCompression: true, // takes longer than the rest, for a few kilobytes on the local network
		ErrorLog:           slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}))
}

// usualLength is more than an answer has in bytes, mostly.
const usualLength = 32 << 10

// inOnePiece writes an answer at once. Its pieces would be chunks, each with a call of the system.
func inOnePiece(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := &wholeAnswer{ResponseWriter: w}
		whole.text.Grow(usualLength)
		next.ServeHTTP(whole, r)
		w.Header().Set("Content-Length", strconv.Itoa(whole.text.Len()))
		w.WriteHeader(cmp.Or(whole.status, http.StatusOK))
		w.Write(whole.text.Bytes()) //nolint:errcheck // the client sees that it is too short
	})
}

// wholeAnswer holds back what is written.
type wholeAnswer struct {
	http.ResponseWriter
	status int
	text   bytes.Buffer
}

func (w *wholeAnswer) WriteHeader(status int)         { w.status = status }
func (w *wholeAnswer) Write(part []byte) (int, error) { return w.text.Write(part) }

// lately gathers what is older than age. Callers that come meanwhile wait for it, and share it.
type lately struct {
	from []prometheus.Gatherer
	age  time.Duration

	mu   sync.Mutex
	at   time.Time
	all  []*dto.MetricFamily
	fail error
}

// Gather implements prometheus.Gatherer.
func (l *lately) Gather() ([]*dto.MetricFamily, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || time.Since(l.at) >= l.age {
		l.gather()
		l.at = time.Now()
	}
	return l.all, l.fail
}

// gather sorts the families by name. What one gatherer lacks does not keep back what the others have.
func (l *lately) gather() {
	l.all, l.fail = nil, nil
	for _, from := range l.from {
		some, err := from.Gather()
		l.all, l.fail = append(l.all, some...), errors.Join(l.fail, err)
	}
	slices.SortFunc(l.all, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
}
