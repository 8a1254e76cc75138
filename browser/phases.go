package browser

import "time"

// Phase is a part of a start and the time that it took.
type Phase struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
}

// Stopwatch divides a start into phases, one after the other. The zero value must be set before its use.
type Stopwatch struct {
	Phases []Phase
	since  time.Time
}

// Set begins the next phase.
func (w *Stopwatch) Set() { w.since = time.Now() }

// Lap ends a phase and begins the next one.
func (w *Stopwatch) Lap(name string) {
	w.Phases = append(w.Phases, Phase{name, time.Since(w.since)})
	w.Set()
}

// Phases returns the first parts of a Start that has returned nil. launch lasts until Chrome's process runs, attach until its first page
// has a session, and override until every page has its overrides.
func (b *Browser) Phases() []Phase {
	if !b.ready() {
		return nil
	}
	return b.phases.Phases
}
