package shim

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// This file tells what a run uses of the machine.

// Stats are a run's figures. What the system does not tell is nil.
type Stats struct {
	CPUMs       *int64   `json:"cpuMs"`       // of the browser's processes since they were started, milliseconds
	CPUPercent  *float64 `json:"cpuPercent"`  // of one core, since the last time that somebody asked, the first time since the start
	MemoryBytes *int64   `json:"memoryBytes"` // of the browser's processes
	MemoryKind  *string  `json:"memoryKind"`  // MemoryPSS or MemoryPrivate
	OwnBytes    *int64   `json:"ownBytes"`    // of the shim itself, measured in the same way
	Processes   *int     `json:"processes"`   // of the browser
	BytesUp     int64    `json:"bytesUp"`     // through the relay, from browser to target
	BytesDown   int64    `json:"bytesDown"`
	Connections int64    `json:"connections"` // through the relay, now
	ByRules     int64    `json:"refusedByRules"`
	Clients     int      `json:"clients"` // of DevTools
	Viewers     int      `json:"viewers"` // of the live view
}

// What MemoryBytes counts.
const (
	MemoryPSS     = "pss"     // each process' own memory, and its share of what several have (proc_pid_smaps(5))
	MemoryPrivate = "private" // each process' own memory without what several have; where the system tells no more
)

// The figures are read anew when they are older than this. A look at the memory of one browser takes 30 ms.
const (
	cpuAge    = time.Second
	memoryAge = 10 * time.Second
)

// meter remembers what was measured last.
type meter struct {
	mu      sync.Mutex
	started time.Time // of the run
	at      time.Time // of cpu
	cpu     cpuUse
	percent float64
	read    time.Time // of memory
	memory  memoryUse
}

// cpuUse is what the run's processes took so far.
type cpuUse struct {
	time time.Duration
	pids []int // of those that live, without this process
}

// memoryUse is what they hold, in bytes.
type memoryUse struct {
	bytes, own int64
	kind       string
}

// look measures what is old, and says whether the system tells anything.
func (m *meter) look(now time.Time) bool {
	if since := now.Sub(m.at); since >= cpuAge {
		use, ok := measureCPU()
		if !ok {
			return false
		}
		if m.at.IsZero() {
			since = now.Sub(m.started)
		}
		m.percent = 100 * max(0, (use.time-m.cpu.time).Seconds()/since.Seconds())
		m.at, m.cpu = now, use
	}
	if now.Sub(m.read) >= memoryAge {
		m.memory, m.read = measureMemory(m.cpu.pids), now
	}
	return true
}

// stats gives the figures. Those who ask at once share one look.
func (p *process) stats() Stats {
	traffic := p.relay.Stats()
	s := Stats{BytesUp: traffic.BytesUp, BytesDown: traffic.BytesDown, Connections: traffic.Open, ByRules: traffic.ByRules, Clients: p.browser.Clients(), Viewers: p.viewers()}
	m := &p.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = p.started
	if !m.look(time.Now()) {
		return s
	}
	ms, percent, processes, memory := m.cpu.time.Milliseconds(), m.percent, len(m.cpu.pids), m.memory
	s.CPUMs, s.CPUPercent, s.Processes = &ms, &percent, &processes
	s.MemoryBytes, s.OwnBytes, s.MemoryKind = &memory.bytes, &memory.own, &memory.kind
	return s
}

func (p *process) serveStats(w http.ResponseWriter, _ *http.Request) { send(w, p.stats()) }

// Stats asks the shim what the run uses.
func (c *Client) Stats(ctx context.Context) (*Stats, error) {
	var s Stats
	return &s, c.call(ctx, http.MethodGet, "/stats", nil, &s)
}
