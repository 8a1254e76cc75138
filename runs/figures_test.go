package runs

import (
	"errors"
	"testing"
	"time"

	"warren/cgroup"
	"warren/problem"
	"warren/shim"
	"warren/tally"
)

// TestFigures: sums over runs never fall when a run ends, and a run that has ended is no gauge any more.
func TestFigures(t *testing.T) {
	t.Parallel()
	var sums runTally
	first, second := newRun("1", "p1", "w", running), newRun("2", "p2", "w", running)
	sums.began(first)
	sums.began(second)
	stats := func(up int64, messages int64) shim.Stats {
		return shim.Stats{BytesUp: up, BytesDown: 2 * up, CPUMs: new(up), MemoryBytes: new(int64(1000)), OwnBytes: new(int64(10)),
			Processes: new(5), Clients: 1, Served: shim.Served{MessagesIn: messages, Frames: 3}}
	}
	sums.report(first, stats(100, 7))
	sums.report(second, stats(10, 1))
	sums.used(first, cgroup.Usage{MemoryBytes: new(int64(70)), CPU: new(time.Second), ReadBytes: new(int64(5))})
	sums.used(first, cgroup.Usage{}) // its group is gone already
	if got := sums.totals(); got.BytesUp != 110 || got.BytesDown != 220 || got.CPUMs != 110 || got.MemoryBytes != 2000 ||
		got.MessagesIn != 8 || got.Frames != 6 || got.Processes != 10 || got.Clients != 2 ||
		got.kernel != (groupUse{memory: 70, read: 5, cpu: time.Second}) {
		t.Errorf("two runs: %+v", got)
	}
	sums.end(first, "stopped", shim.End{BytesUp: 150, BytesDown: 300, Served: shim.Served{MessagesIn: 9, Frames: 4}},
		cgroup.Usage{MemoryBytes: new(int64(70)), CPU: new(2 * time.Second)})
	sums.report(first, stats(1, 1)) // an answer that comes late
	sums.used(first, cgroup.Usage{MemoryBytes: new(int64(70))})
	if got := sums.totals(); got.BytesUp != 160 || got.BytesDown != 320 || got.MessagesIn != 10 || got.Frames != 7 ||
		got.MemoryBytes != 1000 || got.Clients != 1 || got.CPUMs != 110 ||
		got.kernel != (groupUse{read: 5, cpu: 2 * time.Second}) {
		t.Errorf("after one has ended: %+v", got)
	}
	sums.end(second, "crashed", shim.End{}, cgroup.Usage{}) // a process that was killed reports nothing
	if got := sums.totals(); got.BytesUp != 160 || got.MessagesIn != 10 || got.MemoryBytes != 0 {
		t.Errorf("after both have ended: %+v", got)
	}
	if ends := sums.ends.All(); ends["stopped"] != 1 || ends["crashed"] != 1 {
		t.Errorf("%v", ends)
	}
	sums.started(nil, []shim.Phase{{Name: "plan", Took: time.Second}, {Name: "ready", Took: 2 * time.Second}})
	sums.started(problem.New(problem.Upstream, "browser_failed", "x"), nil)
	sums.started(errors.New("x"), nil)
	starts, took, phases := sums.starts.All(), sums.took.Read(), sums.phases.Read()
	if starts["ok"] != 1 || starts["browser_failed"] != 1 || starts["internal"] != 1 || took.Count != 1 || took.Sum != 3 ||
		phases["plan"].Sum != 1 || len(phases) != 2 {
		t.Errorf("%v %+v %+v", starts, took, phases)
	}
}

// spans keeps the last span.
type spans struct{ last tally.Span }

func (s *spans) Record(one tally.Span) { s.last = one }

// TestTracedStart: a start is one span with its phases. Without traces it costs no allocation.
func TestTracedStart(t *testing.T) { // not beside others, whose allocations would be counted
	phases := []shim.Phase{{Name: "plan", Took: time.Second}, {Name: "ready", Took: 2 * time.Second}}
	var off runTally
	if n := testing.AllocsPerRun(100, func() { off.trace("ok", phases) }); n != 0 {
		t.Errorf("without traces a start allocates %v times", n)
	}
	to := &spans{}
	on := runTally{spans: to}
	on.started(nil, phases)
	if s := to.last; s.Name != "start" || s.Result != "ok" || s.Failed || s.Took != 3*time.Second || len(s.Parts) != 2 ||
		s.Parts[1].Name != "ready" || time.Since(s.Began) < 3*time.Second {
		t.Errorf("%+v", s)
	}
	on.started(problem.New(problem.Upstream, "browser_failed", "x"), phases[:1])
	if s := to.last; s.Result != "browser_failed" || !s.Failed || len(s.Parts) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestFiguresOfRuns: runs are counted by state, and holds are none.
func TestFiguresOfRuns(t *testing.T) {
	t.Parallel()
	m := thousandRuns(10)
	if _, ours, err := m.claim(newHold("held")); !ours || err != nil {
		t.Fatal(err)
	}
	m.byProfile["0"].to(stopping)
	m.byProfile["1"].setFrozen(new(time.Now()))
	if f := m.Figures(); f.Running != 9 || f.Stopping != 1 || f.Starting != 0 || f.Frozen != 1 || f.Totals.BytesUp != 10 {
		t.Errorf("%+v", f)
	}
	gone := m.byProfile["0"]
	gone.successor = newRun("next", "0", "w", starting)
	m.release(gone)
	m.release(m.byProfile["1"])
	if f := m.Figures(); f.Running != 8 || f.Stopping != 0 || f.Starting != 1 || f.Frozen != 0 {
		t.Errorf("after one has ended and one was restarted: %+v", f)
	}
}

// thousandRuns returns a manager that has so many runs, whose processes were asked just now.
func thousandRuns(n int) *Manager {
	m := &Manager{warm: newWarmRuns(), byProfile: map[string]*run{}}
	m.tally.asked = time.Now()
	for i := range n {
		id := string(rune('0' + i))
		r := newRun(id, id, "w", running)
		m.claim(r) //nolint:errcheck // nothing refuses it
		m.tally.began(r)
		m.tally.report(r, shim.Stats{BytesUp: 1, MemoryBytes: new(int64(1))})
	}
	return m
}

// BenchmarkFigures reads the figures of a thousand runs.
func BenchmarkFigures(b *testing.B) {
	m := thousandRuns(1000)
	for b.Loop() {
		m.tally.asked = time.Now()
		if m.Figures().Running != 1000 {
			b.Fatal("runs are missing")
		}
	}
}
