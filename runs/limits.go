package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json"

	"warren/cgroup"
	"warren/shim"
	"warren/store"
)

// Says what a run may use of the machine, when it is frozen, and what it has used when it ends.

// The bounds of a run's limits. A browser with one empty tab takes 150 MiB and 200 threads.
const (
	MinMemoryMB, MaxMemoryMB     = 256, 1 << 20
	MinCPUPercent, MaxCPUPercent = 10, 100_000
	MinPIDs, MaxPIDs             = 300, 4 << 20
)

// Limits are what a run may use of the machine; 0 is no limit.
type Limits = cgroup.Limits

// limitsMember is a profile's setting, as the database has it.
type limitsMember struct {
	MemoryMB   *int64 `json:"memoryMb"`
	CPUPercent *int   `json:"cpuPercent"`
	PIDs       *int   `json:"pids"`
}

// limitsFrom returns a profile's limits: its own, and the server's where it has none.
func limitsFrom(own *string, server Limits) Limits {
	out, member := server, limitsMember{}
	if own == nil || json.Unmarshal([]byte(*own), &member) != nil {
		return out
	}
	if member.MemoryMB != nil {
		out.MemoryBytes = *member.MemoryMB << 20
	}
	if member.CPUPercent != nil {
		out.CPUPercent = *member.CPUPercent
	}
	if member.PIDs != nil {
		out.PIDs = *member.PIDs
	}
	return out
}

// GroupsName returns the name of the control group of all runs of a data folder.
func GroupsName(data string) string {
	sum := sha256.Sum256([]byte(data))
	return "warren-" + hex.EncodeToString(sum[:4])
}

// EndMemory is what is known of a run that ended for lack of memory.
type EndMemory struct {
	PeakBytes  *int64  `json:"peakBytes" doc:"The most that the run had. null where the kernel does not tell, as limitBytes."`
	LimitBytes *int64  `json:"limitBytes" doc:"What it could have: limits.memoryMb, or --run-memory. null: the server's own group had no more."`
	Tab        *EndTab `json:"tab" doc:"The tab that used the most shortly before. null: not known."`
}

// EndTab is a tab of a run that is over.
type EndTab struct {
	ID        string `json:"id" doc:"Its target's."`
	Origin    string `json:"origin" example:"https://shop.example"`
	HeapBytes *int64 `json:"heapBytes" doc:"JavaScript, DOM and buffers of its page; null: it did not answer any more."`
}

// setUsage adds what a run's group and its process tell of it. A run whose processes the kernel has killed ended for
// lack of memory, also if its process could not say so.
func (l *End) setUsage(used cgroup.Usage, e shim.End) {
	l.PeakMemoryBytes = used.PeakBytes
	switch {
	case used.CPU != nil:
		l.CPUMs = new(used.CPU.Milliseconds())
	case e.CPUMs > 0:
		l.CPUMs = new(e.CPUMs)
	}
	killed := used.OOMKills > 0 && (e.Outcome == shim.Lost || e.Outcome == shim.Failed)
	if e.Outcome != shim.OutOfMemory && !killed {
		return
	}
	l.Reason, l.Status = string(shim.OutOfMemory), "failed"
	l.Memory = &EndMemory{PeakBytes: used.PeakBytes, LimitBytes: used.LimitBytes}
	if t := e.LargeTab; t != nil {
		l.Memory.Tab = &EndTab{ID: t.Target, Origin: t.Origin}
		if t.Bytes > 0 {
			l.Memory.Tab.HeapBytes = &t.Bytes
		}
	}
}

// memoryAwake returns what a run has when it is awake, in bytes: what is in swap of a frozen one comes back at the thaw.
func memoryAwake(u cgroup.Usage) (bytes int64) {
	for _, part := range []*int64{u.MemoryBytes, u.SwapBytes} {
		if part != nil {
			bytes += *part
		}
	}
	return bytes
}

// freezeAfter returns how long nobody has needed a profile's run that is frozen; 0: it never is. server is for profiles
// that do not say. A run with a window is never frozen: who comes back to the window could not thaw it.
func freezeAfter(row store.Profile, server time.Duration, headless bool) time.Duration {
	switch {
	case !headless:
		return 0
	case row.FreezeAfter != nil:
		return time.Duration(*row.FreezeAfter) * time.Second
	}
	return server
}
