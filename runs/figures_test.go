package runs

import (
	"errors"
	"testing"
	"time"

	"warren/problem"
	"warren/shim"
)

// TestFigures: sums over runs never fall when a run ends, and a run that has ended is no gauge any more.
func TestFigures(t *testing.T) {
	t.Parallel()
	var tally runTally
	first, second := newRun("1", "p1", "w", running), newRun("2", "p2", "w", running)
	tally.began(first)
	tally.began(second)
	stats := func(up int64, messages int64) shim.Stats {
		return shim.Stats{BytesUp: up, BytesDown: 2 * up, CPUMs: new(up), MemoryBytes: new(int64(1000)), OwnBytes: new(int64(10)),
			Processes: new(5), Clients: 1, Served: shim.Served{MessagesIn: messages, Frames: 3}}
	}
	tally.report(first, stats(100, 7))
	tally.report(second, stats(10, 1))
	if got := tally.totals(); got.BytesUp != 110 || got.BytesDown != 220 || got.CPUMs != 110 || got.MemoryBytes != 2000 ||
		got.MessagesIn != 8 || got.Frames != 6 || got.Processes != 10 || got.Clients != 2 {
		t.Errorf("two runs: %+v", got)
	}
	tally.end(first, "stopped", shim.End{BytesUp: 150, BytesDown: 300, Served: shim.Served{MessagesIn: 9, Frames: 4}})
	tally.report(first, stats(1, 1)) // an answer that comes late
	if got := tally.totals(); got.BytesUp != 160 || got.BytesDown != 320 || got.MessagesIn != 10 || got.Frames != 7 ||
		got.MemoryBytes != 1000 || got.Clients != 1 || got.CPUMs != 110 {
		t.Errorf("after one has ended: %+v", got)
	}
	tally.end(second, "crashed", shim.End{}) // a process that was killed reports nothing
	if got := tally.totals(); got.BytesUp != 160 || got.MessagesIn != 10 || got.MemoryBytes != 0 {
		t.Errorf("after both have ended: %+v", got)
	}
	if ends := tally.ends.All(); ends["stopped"] != 1 || ends["crashed"] != 1 {
		t.Errorf("%v", ends)
	}
	tally.started(nil, []shim.Phase{{Name: "plan", Took: time.Second}, {Name: "ready", Took: 2 * time.Second}})
	tally.started(problem.New(problem.Upstream, "browser_failed", "x"), nil)
	tally.started(errors.New("x"), nil)
	starts, took, phases := tally.starts.All(), tally.took.Read(), tally.phases.Read()
	if starts["ok"] != 1 || starts["browser_failed"] != 1 || starts["internal"] != 1 || took.Count != 1 || took.Sum != 3 ||
		phases["plan"].Sum != 1 || len(phases) != 2 {
		t.Errorf("%v %+v %+v", starts, took, phases)
	}
}

// TestFiguresOfRuns: runs are counted by state, and holds are none.
func TestFiguresOfRuns(t *testing.T) {
	t.Parallel()
	m := thousandRuns(10)
	m.byProfile["held"] = newHold("held")
	m.byProfile["0"].state = stopping
	if f := m.Figures(); f.Running != 9 || f.Stopping != 1 || f.Starting != 0 || f.Totals.BytesUp != 10 {
		t.Errorf("%+v", f)
	}
}

// thousandRuns returns a manager that has so many runs, whose processes were asked just now.
func thousandRuns(n int) *Manager {
	m := &Manager{warm: newWarmRuns(), byProfile: map[string]*run{}}
	m.tally.asked = time.Now()
	for i := range n {
		id := string(rune('0' + i))
		r := newRun(id, id, "w", running)
		m.byProfile[id] = r
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
