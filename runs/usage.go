package runs

import (
	"context"
	"math"
	"sync"
)

// Measures what runs use of the machine.

// Usage is what a run uses now.
type Usage struct {
	CPUPercent  *float64 `json:"cpuPercent" doc:"Of one core, since somebody last asked (the first time since the start). null where the system does not tell, as the next ones."`
	CPUMs       *int64   `json:"cpuMs" doc:"Since the start, all processes together, those that have gone included."`
	MemoryBytes *int64   `json:"memoryBytes" doc:"Of the browser's processes together. At most 10 s old."`
	MemoryKind  *string  `json:"memoryKind" enum:"pss,private" doc:"pss: each process' own memory and its share of what several have. private: without what several have, where the system tells no more."`
	OwnBytes    *int64   `json:"ownBytes" doc:"Memory of Warren's own process for this run."`
	Processes   *int     `json:"processes" doc:"Of the browser."`
	BytesUp     int64    `json:"bytesUp" doc:"From the browser to its targets, so far."`
	BytesDown   int64    `json:"bytesDown"`
	Connections int64    `json:"connections" doc:"To targets, now."`
	ByRules     int64    `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused, so far."`
	Clients     int      `json:"clients" doc:"Sockets of DevTools clients, now."`
	Viewers     int      `json:"viewers" doc:"Of the live view, now."`
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
	ctx, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	if client == nil {
		return nil
	}
	s, err := client.Stats(ctx)
	if err != nil {
		return nil
	}
	u := &Usage{CPUPercent: s.CPUPercent, CPUMs: s.CPUMs, MemoryBytes: s.MemoryBytes, MemoryKind: s.MemoryKind,
		OwnBytes: s.OwnBytes, Processes: s.Processes,
		BytesUp: s.BytesUp, BytesDown: s.BytesDown, Connections: s.Connections, ByRules: s.ByRules, Clients: s.Clients, Viewers: s.Viewers}
	if u.CPUPercent != nil {
		*u.CPUPercent = math.Round(*u.CPUPercent*10) / 10
	}
	return u
}
