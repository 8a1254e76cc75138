package runs

import (
	"errors"
	"sync"
	"time"

	"warren/cgroup"
	"warren/problem"
	"warren/shim"
	"warren/tally"
)

// Counts starts and ends, and sums up what the processes of runs report.

// runTally counts starts and ends. The sums of runs come from their processes' reports.
type runTally struct {
	starts, ends tally.Counts
	phases       tally.Histograms
	took, queued tally.Histogram
	spans        tally.Spans // nil: nobody traces

	mu     sync.Mutex
	living map[*run]shim.Stats // the last report of each run
	ended  Totals              // of runs that have ended
	asked  time.Time           // when all runs were last asked
	used   cgroup.Usage        // of the groups of runs that have ended: what only grows
}

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
}

// add sums up the counters of a report.
func (t *Totals) add(s shim.Stats) {
	t.BytesUp += s.BytesUp
	t.BytesDown += s.BytesDown
	t.RefusedByRules += s.ByRules
	t.MessagesIn += s.MessagesIn
	t.MessagesOut += s.MessagesOut
	t.ClientBytesIn += s.ClientIn
	t.ClientBytesOut += s.ClientOut
	t.Frames += s.Frames
	if s.CPUMs != nil {
		t.CPUMs += *s.CPUMs
	}
}

// addGauges sums up what a report says of now.
func (t *Totals) addGauges(s shim.Stats) {
	for _, m := range []struct {
		from *int64
		to   *int64
	}{{s.MemoryBytes, &t.MemoryBytes}, {s.OwnBytes, &t.OwnBytes}} {
		if m.from != nil {
			*m.to += *m.from
		}
	}
	if s.Processes != nil {
		t.Processes += *s.Processes
	}
	t.Connections += s.Connections
	t.Clients += s.Clients
	t.Watchers += s.Viewers
}

// began counts a run among the living.
func (t *runTally) began(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.living == nil {
		t.living = map[*run]shim.Stats{}
	}
	t.living[r] = shim.Stats{}
}

// report keeps the last report of a run that goes on.
func (t *runTally) report(r *run, s shim.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.living[r]; ok {
		t.living[r] = s
	}
}

// addUsed adds what the group of a run had used when it ended.
func (t *runTally) addUsed(of cgroup.Usage) {
	of.MemoryBytes, of.PeakBytes, of.PIDs = nil, nil, nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used.Add(of)
}

// end counts the end of a run. What it has used stays in the sums.
func (t *runTally) end(r *run, reason string, e shim.End) {
	t.ends.Add(reason, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.living[r]
	if !ok {
		return
	}
	delete(t.living, r)
	last.BytesUp, last.BytesDown = max(last.BytesUp, e.BytesUp), max(last.BytesDown, e.BytesDown)
	last.ByRules = max(last.ByRules, e.ByRules)
	if e.Served.MessagesIn >= last.MessagesIn && e.Served.Frames >= last.Frames { // a process that was killed reports none
		last.Served = e.Served
	}
	t.ended.add(last)
}

// totals sums up the last reports of all runs.
func (t *runTally) totals() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.ended
	for _, s := range t.living {
		sum.add(s)
		sum.addGauges(s)
	}
	return sum
}

// trace records the span of a start that has just ended. Its phases say when it began.
func (t *runTally) trace(result string, phases []shim.Phase) {
	if t.spans == nil {
		return
	}
	s := tally.Span{Name: "start", Result: result, Failed: result != "ok"}
	for _, p := range phases {
		s.Parts = append(s.Parts, tally.Part{Name: p.Name, Took: p.Took})
		s.Took += p.Took
	}
	s.Began = time.Now().Add(-s.Took)
	t.spans.Record(s)
}

// started counts the result of a start. phases are those that it has come through.
func (t *runTally) started(err error, phases []shim.Phase) {
	if err != nil {
		code := "internal"
		if p, ok := errors.AsType[*problem.Error](err); ok {
			code = p.Code
		}
		t.starts.Add(code, 1)
		t.trace(code, phases)
		return
	}
	t.starts.Add("ok", 1)
	t.trace("ok", phases)
	var all time.Duration
	for _, p := range phases {
		t.phases.Observe(p.Name, p.Took)
		all += p.Took
	}
	t.took.Observe(all)
}
