package runs

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"warren/cgroup"
)

// Reports how busy this server is, for clients that spread starts over several servers. Measures what runs use of the
// machine.

// Pressure is how busy this server and its machine are. Members that the system does not provide are null.
type Pressure struct {
	Accepting      bool    `json:"accepting" doc:"A start would now neither wait for others nor be refused."`
	Running        int     `json:"running" doc:"Browsers that run or are being closed, in all workspaces."`
	Starting       int     `json:"starting" doc:"Browsers that are being launched."`
	Warm           int     `json:"warm" doc:"Browsers that are up for a start like the last one of a profile without data (--warm). They are no runs."`
	Queued         int64   `json:"queued" doc:"Starts that wait for their turn."`
	MaxRunning     *int    `json:"maxRunning" doc:"--max-running; null: no limit."`
	MaxStarting    int     `json:"maxStarting" doc:"--max-starting."`
	MaxQueue       int     `json:"maxQueue" doc:"--max-queue."`
	RecentRejected int64   `json:"recentRejected" doc:"Starts that were refused for want of room within the last minute."`
	CPU            CPU     `json:"cpu"`
	Memory         *Memory `json:"memory"`
	Disk           *Disk   `json:"disk"`
}

// CPU is the load of the machine's processors.
type CPU struct {
	Cores   int      `json:"cores"`
	Load1   *float64 `json:"load1" doc:"Processes that wanted to run, on average over a minute."`
	Percent *float64 `json:"percent" doc:"Of all cores together, since somebody last asked, the first time since the server was started."`
}

// Disk is the space of the disk with the data folder, in bytes.
type Disk struct {
	FreeBytes int64 `json:"freeBytes" doc:"Where the data folder is."`
}

// machineMeter stores the processor times at the last sample.
type machineMeter struct {
	mu          sync.Mutex
	at          time.Time
	busy, total int64 // in the kernel's units
	percent     *float64
}

// sample returns the CPU usage in percent since the last sample. Within a second it returns the last result.
func (m *machineMeter) sample(now time.Time) *float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.at) < time.Second {
		return m.percent
	}
	busy, total, ok := processorTimes()
	if !ok {
		return nil
	}
	if !m.at.IsZero() && total > m.total {
		m.percent = new(math.Round(1000*float64(busy-m.busy)/float64(total-m.total)) / 10)
	}
	m.at, m.busy, m.total = now, busy, total
	return m.percent
}

// Pressure returns how much capacity is left for more runs.
func (m *Manager) Pressure() Pressure {
	taken, refused := m.queue.counts()
	p := Pressure{Starting: len(m.startSem), Queued: m.queued.Load(), MaxStarting: m.cfg.MaxStarting, MaxQueue: m.cfg.MaxQueue,
		RecentRejected: refused, Warm: m.warm.countReady(),
		CPU: CPU{Cores: runtime.NumCPU(), Load1: loadAverage(), Percent: m.machine.sample(time.Now())}, Memory: machineMemory()}
	m.mu.Lock()
	closing := m.closing || m.refusal != nil
	for _, r := range m.byProfile {
		r.mu.Lock()
		if r.answer != nil {
			p.Running++
		}
		r.mu.Unlock()
	}
	m.mu.Unlock()
	p.Accepting = !closing && p.Queued == 0 && p.Starting < p.MaxStarting
	if m.cfg.MaxRunning > 0 {
		p.MaxRunning = new(m.cfg.MaxRunning)
		p.Accepting = p.Accepting && taken < m.cfg.MaxRunning
	}
	if free, err := FreeBytes(m.cfg.Data); err == nil {
		p.Disk = &Disk{int64(free)} //nolint:gosec // no disk is that large
	}
	return p
}

// startMemory is what a browser may need while it starts, in bytes. An idle one takes 150 MiB (docs/bench.md).
const startMemory = 512 << 20

// DefaultMaxStarting returns how many browsers start at the same time where nothing else is said: one per core, and no
// more than fit into the machine's memory.
func DefaultMaxStarting() int { return maxStarting(runtime.NumCPU(), machineMemory()) }

// maxStarting is DefaultMaxStarting for a machine. memory is nil where the system does not tell.
func maxStarting(cores int, memory *Memory) int {
	if memory == nil {
		return cores
	}
	return min(cores, max(1, int(memory.TotalBytes/startMemory)))
}

// Usage is what a run uses now.
type Usage struct {
	CPUPercent       *float64 `json:"cpuPercent" doc:"Of one core, since somebody last asked (the first time since the start). null where the system does not tell, as the next ones."`
	CPUMs            *int64   `json:"cpuMs" doc:"Since the start, all processes together, those that have gone included."`
	MemoryBytes      *int64   `json:"memoryBytes" doc:"Of the browser's processes together. At most 10 s old."`
	MemoryKind       *string  `json:"memoryKind" enum:"cgroup,pss,private" doc:"cgroup: what the kernel counts of the run, with shared memory and files in use. pss: each process' own memory and its share of what several have. private: without what several have, where the system tells no more."`
	OwnBytes         *int64   `json:"ownBytes" doc:"Memory of Warren's own process for this run."`
	Processes        *int     `json:"processes" doc:"Of the browser."`
	PeakMemoryBytes  *int64   `json:"peakMemoryBytes" doc:"The most memory so far, with files that the kernel could drop. null where the run has no control group, as the next four."`
	MemoryLimitBytes *int64   `json:"memoryLimitBytes" doc:"null also without a limit."`
	ReadBytes        *int64   `json:"readBytes" doc:"From disks, so far."`
	WriteBytes       *int64   `json:"writeBytes" doc:"To disks, so far."`
	PIDs             *int     `json:"pids" doc:"Processes and threads, now."`
	BytesUp          int64    `json:"bytesUp" doc:"From the browser to its targets, so far."`
	BytesDown        int64    `json:"bytesDown"`
	Connections      int64    `json:"connections" doc:"To targets, now."`
	ByRules          int64    `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused, so far."`
	Clients          int      `json:"clients" doc:"Sockets of DevTools clients, now."`
	Viewers          int      `json:"viewers" doc:"Of the live view, now."`
}

// Usages asks all listed runs concurrently for their usage. It is nil for a run that has ended or does not answer in
// time.
func (m *Manager) Usages(ctx context.Context, listed []Info) []*Usage {
	out := make([]*Usage, len(listed))
	var wg sync.WaitGroup
	for i := range listed {
		if r := m.runOf(listed[i].ProfileID); r != nil && r.id == listed[i].RunID {
			wg.Go(func() { out[i] = m.usage(ctx, r) })
		}
	}
	wg.Wait()
	return out
}

// usage asks a run for its usage; nil if it does not answer in time.
func (m *Manager) usage(ctx context.Context, r *run) *Usage {
	client, err := r.process()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	s, err := client.Stats(ctx)
	if err != nil {
		return nil
	}
	u := &Usage{CPUPercent: s.CPUPercent, CPUMs: s.CPUMs, MemoryBytes: s.MemoryBytes, MemoryKind: s.MemoryKind,
		OwnBytes: s.OwnBytes, Processes: s.Processes, PeakMemoryBytes: s.PeakBytes, MemoryLimitBytes: s.LimitBytes,
		ReadBytes: s.ReadBytes, WriteBytes: s.WriteBytes, PIDs: s.PIDs,
		BytesUp: s.BytesUp, BytesDown: s.BytesDown, Connections: s.Connections, ByRules: s.ByRules, Clients: s.Clients, Viewers: s.Viewers}
	if u.CPUPercent != nil {
		*u.CPUPercent = math.Round(*u.CPUPercent*10) / 10
	}
	return u
}

// UsageOfAll adds up what all runs with a control group have used since this server started, and what they use now. ok is false where the
// kernel does not count memory and processor time by groups. It is as old as the sums of Figures.
func (m *Manager) UsageOfAll() (sum cgroup.Usage, ok bool) {
	k := m.tally.totals().kernel
	return cgroup.Usage{MemoryBytes: &k.memory, CPU: &k.cpu, ReadBytes: &k.read, WriteBytes: &k.written}, m.groups.tree.Counts()
}
