package shim

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"warren/cgroup"
	"warren/proxy"
)

// Measures what a run uses of the machine.

// Stats are a run's figures. A figure that the system does not report is nil.
type Stats struct {
	CPUMs       *int64   `json:"cpuMs"`       // CPU time of the browser's processes since their start, milliseconds
	CPUPercent  *float64 `json:"cpuPercent"`  // of one core, since the last request; at the first request since the start
	MemoryBytes *int64   `json:"memoryBytes"` // of the browser's processes
	MemoryKind  *string  `json:"memoryKind"`  // MemoryPSS or MemoryPrivate
	OwnBytes    *int64   `json:"ownBytes"`    // of the shim itself, measured in the same way
	Processes   *int     `json:"processes"`   // of the browser
	PeakBytes   *int64   `json:"peakBytes"`   // of memory; nil without a control group, as the next four
	LimitBytes  *int64   `json:"limitBytes"`  // nil also without a limit
	ReadBytes   *int64   `json:"readBytes"`   // from disks
	WriteBytes  *int64   `json:"writeBytes"`  // to disks
	PIDs        *int     `json:"pids"`        // processes and threads
	BytesUp     int64    `json:"bytesUp"`     // through the relay, from browser to target
	BytesDown   int64    `json:"bytesDown"`
	Connections int64    `json:"connections"` // open through the relay
	ByRules     int64    `json:"refusedByRules"`
	Clients     int      `json:"clients"` // of DevTools
	Viewers     int      `json:"viewers"` // of the live view
	Served
}

func (p *process) served() Served {
	t := p.browser.ClientTraffic()
	return Served{t.Received, t.Sent, t.BytesReceived, t.BytesSent, p.view.Frames()}
}

// What MemoryBytes counts.
const (
	MemoryPSS     = "pss"     // proportional set size: shared pages are divided among their users (proc_pid_smaps(5))
	MemoryPrivate = "private" // without shared pages; used where PSS cannot be read
	MemoryGroup   = "cgroup"  // what the kernel charges to the run's control group, without files that it could drop at once
)

// Figures older than this are measured anew. Reading the memory of one browser takes 30 ms, and longer where many runs do
// so: then it is read less often.
const (
	cpuAge      = time.Second
	memoryAge   = 10 * time.Second
	memoryShare = 300 // and at least as many times as long as it took
)

// meter caches the last measurements.
type meter struct {
	group *cgroup.Group // of the run; nil: it has none

	mu       sync.Mutex
	started  time.Time // of the run
	cpuAt    time.Time // of cpu
	cpu      cpuUse
	percent  float64
	memoryAt time.Time     // of memory
	took     time.Duration // to measure it
	memory   memoryUse
}

// cpuUse is the CPU time that the run's processes have used.
type cpuUse struct {
	time time.Duration
	pids []int // of running processes, without this one
}

// memoryUse is the memory of the run's processes in bytes.
type memoryUse struct {
	bytes, own int64
	kind       string
}

// refresh measures what is old, and reports whether the system provides any figures.
func (m *meter) refresh(now time.Time) bool {
	if since := now.Sub(m.cpuAt); since >= cpuAge {
		use, ok := measureCPU()
		if !ok {
			return false
		}
		if used := m.group.Usage().CPU; used != nil {
			use.time = *used
		}
		if m.cpuAt.IsZero() {
			since = now.Sub(m.started)
		}
		m.percent = 100 * max(0, (use.time-m.cpu.time).Seconds()/since.Seconds())
		m.cpuAt, m.cpu = now, use
	}
	if now.Sub(m.memoryAt) >= max(memoryAge, memoryShare*m.took) {
		pids := m.cpu.pids
		if m.group.Has(cgroup.Memory) { // which costs nothing to read
			pids = nil
		}
		m.memory, m.memoryAt = measureMemory(pids), now
		m.took = time.Since(now)
	}
	return true
}

// stats returns the figures. Concurrent callers share one measurement.
func (p *process) stats() Stats {
	traffic := p.relay.Stats()
	s := Stats{BytesUp: traffic.BytesUp, BytesDown: traffic.BytesDown, Connections: traffic.Open, ByRules: traffic.ByRules,
		Clients: p.browser.Clients(), Viewers: p.viewers(), Served: p.served()}
	m := &p.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started, m.group = p.started, p.spec.Group
	if !m.refresh(time.Now()) {
		return s
	}
	s.CPUMs, s.CPUPercent, s.Processes = new(m.cpu.time.Milliseconds()), new(m.percent), new(len(m.cpu.pids))
	s.MemoryBytes, s.OwnBytes, s.MemoryKind = new(m.memory.bytes), new(m.memory.own), new(m.memory.kind)
	used := m.group.Usage()
	s.PeakBytes, s.LimitBytes, s.PIDs = used.PeakBytes, used.LimitBytes, used.PIDs
	s.ReadBytes, s.WriteBytes = used.ReadBytes, used.WriteBytes
	if used.MemoryBytes != nil {
		s.MemoryBytes, s.MemoryKind = used.MemoryBytes, new(MemoryGroup)
	}
	return s
}

// cpuMs returns the processor time of this process's children so far; 0: the system does not tell.
func cpuMs() int64 {
	use, ok := measureCPU()
	if !ok {
		return 0
	}
	return use.time.Milliseconds()
}

func (p *process) serveStats(w http.ResponseWriter, _ *http.Request) { writeJSON(w, p.stats()) }

// Stats asks the shim for the run's figures.
func (c *Client) Stats(ctx context.Context) (*Stats, error) { return ask[*Stats](ctx, c, "/stats") }

// Sums up the traffic through a run's proxies by day.

// trafficLog adds what the relay has counted since the last update to the day of this update.
type trafficLog struct {
	mu   sync.Mutex
	last map[string]proxy.RouteStats
	sums []Traffic
}

const secondsOfDay = 24 * 60 * 60

// update reads the counters and returns the sums, which never decrease. It reads the counters and the clock under its
// lock, so that concurrent updates cannot apply figures out of order.
func (l *trafficLog) update(clock func() time.Time, read func() []proxy.RouteStats) []Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, stats := clock(), read()
	if l.last == nil {
		l.last = map[string]proxy.RouteStats{}
	}
	day := now.Unix() / secondsOfDay
	for _, s := range stats {
		before := l.last[s.Key]
		if s == before {
			continue
		}
		l.last[s.Key] = s
		i := slices.IndexFunc(l.sums, func(t Traffic) bool { return t.ProxyID == s.Key && t.Day == day })
		if i < 0 {
			i = len(l.sums)
			l.sums = append(l.sums, Traffic{ProxyID: s.Key, Day: day})
		}
		t := &l.sums[i]
		t.BytesUp += s.BytesUp - before.BytesUp
		t.BytesDown += s.BytesDown - before.BytesDown
		t.Connections += s.Connected - before.Connected
	}
	out := slices.Clone(l.sums)
	slices.SortFunc(out, func(a, b Traffic) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.ProxyID, b.ProxyID)) })
	return out
}

// serveTraffic answers with the current sums.
func (p *process) serveTraffic(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, p.traffic.update(time.Now, p.relay.RouteStats))
}

// Traffic asks the shim for the traffic through the run's proxies so far.
func (c *Client) Traffic(ctx context.Context) ([]Traffic, error) {
	return ask[[]Traffic](ctx, c, "/traffic")
}
