package pool

import (
	"time"

	"warren/tally"
)

// poolTally counts checks and rotations.
type poolTally struct {
	checks    tally.Counts
	took      tally.Histogram
	rotations tally.Counts
	spans     tally.Spans // nil: nobody traces
}

// check counts a check by its result: alive, or the code of its error.
func (t *poolTally) check(c *Check) {
	result := "alive"
	if c.Error != nil {
		result = c.Error.Code
	}
	t.checks.Add(result, 1)
	took := time.Duration(c.DurationMs) * time.Millisecond
	t.took.Observe(took)
	if t.spans != nil {
		t.spans.Record(tally.Span{Name: "check", Result: result, Failed: !c.OK, Began: time.Now().Add(-took), Took: took,
			Parts: c.Timings.parts()})
	}
}

// parts are the stages of a check that it has come to.
func (t *Timings) parts() (out []tally.Part) {
	for _, p := range []struct {
		name string
		took *int64
	}{{"resolve", t.ResolveMs}, {"connect", t.ConnectMs}, {"tls", t.TLSMs}, {"handshake", t.HandshakeMs}, {"first_byte", t.FirstByteMs}} {
		if p.took != nil {
			out = append(out, tally.Part{Name: p.name, Took: time.Duration(*p.took) * time.Millisecond})
		}
	}
	return out
}

// rotation counts a rotation by its result: changed, same or failed.
func (t *poolTally) rotation(r *Rotation, err error) {
	switch {
	case err != nil:
		t.rotations.Add("failed", 1)
	case r.Changed:
		t.rotations.Add("changed", 1)
	default:
		t.rotations.Add("same", 1)
	}
}

// Figures are the counts of a pool since it was made.
type Figures struct {
	Checks    map[string]int64 // by result: alive, or the code of the error
	Took      tally.Durations  // of checks
	Rotations map[string]int64 // by result: changed, same, failed
}

// Figures returns what the pool has counted.
func (p *Pool) Figures() Figures {
	return Figures{Checks: p.tally.checks.All(), Took: p.tally.took.Read(), Rotations: p.tally.rotations.All()}
}
