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
	living map[*run]*report
	sums   Totals    // of the living, and what stays of those that have ended
	asked  time.Time // when all runs were last asked
}

// began counts a run among the living.
func (t *runTally) began(r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.living == nil {
		t.living = map[*run]*report{}
	}
	t.living[r] = new(report)
}

// report keeps the last report of a run that goes on.
func (t *runTally) report(r *run, s shim.Stats) {
	t.change(r, func(have *report) { have.stats = s })
}

// used keeps what the group of a run that goes on has used.
func (t *runTally) used(r *run, u cgroup.Usage) {
	t.change(r, func(have *report) { have.used = have.used.grow(u) })
}

// change changes what is known of a run that goes on, and the sums with it. It does nothing to one that has ended.
func (t *runTally) change(r *run, to func(*report)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.living[r]; have != nil {
		t.sums.add(have, -1)
		to(have)
		t.sums.add(have, 1)
	}
}

// end counts the end of a run. What it has used stays in the sums.
func (t *runTally) end(r *run, reason string, e shim.End, u cgroup.Usage) {
	t.ends.Add(reason, 1)
	t.change(r, func(have *report) {
		last := &have.stats
		last.BytesUp, last.BytesDown = max(last.BytesUp, e.BytesUp), max(last.BytesDown, e.BytesDown)
		last.ByRules = max(last.ByRules, e.ByRules)
		if e.Served.MessagesIn >= last.MessagesIn && e.Served.Frames >= last.Frames { // a process that was killed reports none
			last.Served = e.Served
		}
		have.used = have.used.grow(u)
		*have = *have.last()
		delete(t.living, r)
	})
}

// totals returns the sums over the last reports of all runs.
func (t *runTally) totals() Totals {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sums
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
