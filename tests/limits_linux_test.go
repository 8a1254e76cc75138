package tests

import (
	"fmt"
	"strings"
	"testing"

	"warren/cgroup"
	"warren/testnet"
)

// needsLimits skips a test where the kernel lets this user limit no memory.
func needsLimits(t *testing.T) {
	t.Helper()
	needBrowser(t)
	if s := cgroup.Look(); !strings.Contains(" "+strings.Join(s.Controllers, " ")+" ", " memory ") {
		t.Skip(s)
	}
}

// outOfMemory is the end of a run that had no memory left.
type outOfMemory struct {
	Status          string
	EndedAt, Reason *string
	CPUMs           *int64
	PeakMemoryBytes *int64
	Memory          *struct {
		PeakBytes, LimitBytes *int64
		Tab                   *struct{ ID, Origin string }
	}
}

const eatsMemory = `(() => { window.all = [];
	const eat = () => { all.push(new Uint8Array(16 << 20).fill(1)); setTimeout(eat, 5) };
	eat(); return "" })()`

// greedy opens a page that takes memory until its run ends, and returns how that ended.
func (s *liveServer) greedy(id string, run runView) (end outOfMemory) {
	s.t.Helper()
	c := dialCDP(s.t, run.WsEndpoint, nil)
	defer c.ws.CloseNow()
	tab := c.open(s.world.url("/greedy"))
	c.try(tab, "Runtime.evaluate", map[string]any{"expression": eatsMemory}) //nolint:errcheck // it may end before it answers
	var history struct{ Data []outOfMemory }
	eventually(s.t, "the end of the greedy run", enough, func() bool {
		s.do("GET", "/profiles/"+id+"/runs", nil, 200, &history)
		return len(history.Data) > 0 && history.Data[0].EndedAt != nil
	})
	return history.Data[0]
}

// TestOutOfMemory: a page that takes all memory ends its run alone, which says so. A neighbour goes on, and limits change while it runs.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	needsLimits(t)
	s := newTestbed(t).serve()
	s.outOfMemory(1)
}

// TestOutOfMemoryOften is the same again and again.
func TestOutOfMemoryOften(t *testing.T) {
	needsLimits(t)
	testnet.Long(t)
	s := newTestbed(t).serve()
	s.outOfMemory(20)
}

func (s *liveServer) outOfMemory(times int) {
	s.t.Helper()
	proxy := s.addProxy(nil)
	still := s.profile(map[string]any{"proxyId": proxy, "limits": map[string]any{"memoryMb": 2048, "pids": 4000}})
	neighbour := s.start(still, nil)
	c := dialCDP(s.t, neighbour.WsEndpoint, nil)
	tab := c.open(s.world.url("/still"))
	greedy := ""
	for i := range times {
		if i%2 == 0 { // the greedy pages of more runs before would all come back
			greedy = s.profile(map[string]any{"proxyId": proxy, "limits": map[string]any{"memoryMb": 400}})
		}
		run := s.start(greedy, nil)
		end := s.greedy(greedy, run)
		if end.Status != "failed" || end.Reason == nil || *end.Reason != "out_of_memory" || end.Memory == nil {
			s.t.Fatalf("%d: the greedy run is %+v, %v", i, end, *end.Reason)
		}
		m := end.Memory
		if m.LimitBytes == nil || *m.LimitBytes != 400<<20 || m.PeakBytes == nil || *m.PeakBytes < 390<<20 || *m.PeakBytes > 420<<20 ||
			end.CPUMs == nil || *end.CPUMs < 50 || end.PeakMemoryBytes == nil {
			s.t.Errorf("%d: it had %+v", i, *m)
		}
		if m.Tab == nil || m.Tab.Origin != strings.TrimSuffix(s.world.url("/"), "/") {
			s.t.Errorf("%d: the largest tab was %+v", i, m.Tab)
		}
		if got := c.eval(tab, "String(6 * 7)"); got != "42" {
			s.t.Fatalf("%d: the neighbour says %q", i, got)
		}
	}
	c.eval(tab, `(window.held = new Uint8Array(160 << 20).fill(1), "")`) // 256 MiB are too few for it
	s.changesLimits(still)
}

// changesLimits changes the limits of a run that goes on: at once, or, where that would end it, from the next start.
func (s *liveServer) changesLimits(id string) {
	s.t.Helper()
	for _, c := range []struct {
		mb, limit int64
		pending   string
	}{{1024, 1024 << 20, "[]"}, {256, 1024 << 20, "[limits]"}, {4096, 4096 << 20, "[]"}} {
		s.do("PUT", "/profiles/"+id, map[string]any{"limits": map[string]any{"memoryMb": c.mb}}, 200, nil)
		var p struct{ Run struct{ Pending []string } }
		var all struct {
			Data []struct {
				ProfileID string
				Usage     *struct{ MemoryBytes, MemoryLimitBytes, PeakMemoryBytes *int64 }
			}
		}
		s.do("GET", "/profiles/"+id, nil, 200, &p)
		s.do("GET", "/runs", nil, 200, &all)
		if len(all.Data) != 1 || all.Data[0].Usage == nil || all.Data[0].Usage.MemoryLimitBytes == nil {
			s.t.Fatalf("the run uses %+v", all.Data)
		}
		if u := all.Data[0].Usage; *u.MemoryLimitBytes != c.limit || fmt.Sprint(p.Run.Pending) != c.pending || *u.PeakMemoryBytes < 50<<20 {
			s.t.Errorf("with %d MiB the run has %d bytes of %d, peak %d, and %v is pending", c.mb, *u.MemoryBytes, *u.MemoryLimitBytes,
				*u.PeakMemoryBytes, p.Run.Pending)
		}
	}
}
