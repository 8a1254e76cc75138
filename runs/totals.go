package runs

import (
	"time"

	"warren/cgroup"
	"warren/shim"
)

// Totals are sums over runs. Those of runs that ended since the server started are in all but the gauges.
type Totals struct {
	BytesUp, BytesDown int64 // through relays
	RefusedByRules     int64 // connections
	MessagesIn         int64 // of DevTools clients
	MessagesOut        int64
	ClientBytesIn      int64 // in these messages
	ClientBytesOut     int64
	Frames             int64 // of live views
	CPUMs              int64

	// The gauges, of the runs that go on.
	MemoryBytes, OwnBytes        int64
	Connections                  int64
	Processes, Clients, Watchers int

	kernel groupUse
}

// groupUse is what the kernel has counted by control groups.
type groupUse struct {
	memory, read, written int64 // bytes; memory is a gauge
	cpu                   time.Duration
}

// report is what is known of a run that goes on.
type report struct {
	stats shim.Stats // of its process
	used  groupUse
}

// add sums up a report (n is 1), or takes it out again (-1).
func (t *Totals) add(r *report, n int64) {
	s := &r.stats
	t.BytesUp += n * s.BytesUp
	t.BytesDown += n * s.BytesDown
	t.RefusedByRules += n * s.ByRules
	t.MessagesIn += n * s.MessagesIn
	t.MessagesOut += n * s.MessagesOut
	t.ClientBytesIn += n * s.ClientIn
	t.ClientBytesOut += n * s.ClientOut
	t.Frames += n * s.Frames
	t.CPUMs += n * orZero(s.CPUMs)
	t.MemoryBytes += n * orZero(s.MemoryBytes)
	t.OwnBytes += n * orZero(s.OwnBytes)
	t.Connections += n * s.Connections
	t.Processes += int(n) * orZero(s.Processes)
	t.Clients += int(n) * s.Clients
	t.Watchers += int(n) * s.Viewers
	t.kernel.memory += n * r.used.memory
	t.kernel.read += n * r.used.read
	t.kernel.written += n * r.used.written
	t.kernel.cpu += time.Duration(n) * r.used.cpu
}

// grow takes later figures of the kernel. A figure that it does not tell stays as it was, and no counter falls.
func (g groupUse) grow(u cgroup.Usage) groupUse {
	if u.MemoryBytes != nil {
		g.memory = *u.MemoryBytes
	}
	g.read, g.written, g.cpu = max(g.read, orZero(u.ReadBytes)), max(g.written, orZero(u.WriteBytes)), max(g.cpu, orZero(u.CPU))
	return g
}

// last returns what stays of a report in the sums: the counters.
func (r *report) last() *report {
	s, left := &r.stats, *r
	left.stats = shim.Stats{BytesUp: s.BytesUp, BytesDown: s.BytesDown, ByRules: s.ByRules, CPUMs: s.CPUMs, Served: s.Served}
	left.used.memory = 0
	return &left
}

func orZero[T any](of *T) (n T) {
	if of != nil {
		n = *of
	}
	return n
}
