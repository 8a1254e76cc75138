package runs

import (
	"testing"

	"warren/cgroup"
	"warren/shim"
)

// TestLimitsFrom is that a profile's limits replace the server's one by one.
func TestLimitsFrom(t *testing.T) {
	t.Parallel()
	server := Limits{MemoryBytes: 1 << 30, CPUPercent: 200, PIDs: 1000}
	for text, want := range map[string]Limits{
		`{}`:                                 server,
		`{"memoryMb":512,"cpuPercent":null}`: {MemoryBytes: 512 << 20, CPUPercent: 200, PIDs: 1000},
		`{"cpuPercent":50,"pids":400}`:       {MemoryBytes: 1 << 30, CPUPercent: 50, PIDs: 400},
		`damaged`:                            server,
	} {
		if got := limitsFrom(&text, server); got != want {
			t.Errorf("%s: %+v, not %+v", text, got, want)
		}
	}
	if got := limitsFrom(nil, server); got != server {
		t.Errorf("without limits: %+v", got)
	}
}

// TestEndOfMemory is which ends are for lack of memory: those that say so, and those that the kernel tells of when nobody else can.
func TestEndOfMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome shim.Outcome
		kills   int64
		reason  string
	}{{shim.OutOfMemory, 1, "out_of_memory"}, {shim.OutOfMemory, 0, "out_of_memory"}, {shim.Failed, 1, "out_of_memory"},
		{shim.Lost, 1, "out_of_memory"}, {shim.Failed, 0, "crashed"}, {shim.Lost, 0, "lost"}, {shim.Stopped, 1, "stopped"}} {
		e := shim.End{Outcome: c.outcome, LargeTab: &shim.LargeTab{Target: "t", Origin: "https://a.example"}}
		last := newEnd("r", Millis(0), e)
		last.setUsage(cgroup.Usage{OOMKills: c.kills, PeakBytes: new(int64(5)), LimitBytes: new(int64(6))}, e)
		if last.Reason != c.reason || (last.Memory != nil) != (c.reason == "out_of_memory") || *last.PeakMemoryBytes != 5 {
			t.Errorf("%s with %d kills: %s, %+v", c.outcome, c.kills, last.Reason, last.Memory)
		}
		if m := last.Memory; m != nil && (last.Status != "failed" || *m.LimitBytes != 6 || m.Tab.Origin != "https://a.example" ||
			m.Tab.HeapBytes != nil) {
			t.Errorf("%s: %s, %+v", c.outcome, last.Status, m)
		}
	}
}

// TestMemoryAwake: what is in swap counts, and what the kernel does not tell does not.
func TestMemoryAwake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		u    cgroup.Usage
		want int64
	}{
		{cgroup.Usage{}, 0}, {cgroup.Usage{MemoryBytes: new(int64(5))}, 5},
		{cgroup.Usage{MemoryBytes: new(int64(5)), SwapBytes: new(int64(7))}, 12},
	} {
		if got := memoryAwake(c.u); got != c.want {
			t.Errorf("%+v: %d", c.u, got)
		}
	}
}
