package tally

import "time"

// Span is something that has ended, for traces. Its words are out of small sets: no ids, addresses or secrets.
type Span struct {
	Name   string // start, check, write
	Result string // ok, or a code
	Failed bool
	Began  time.Time
	Took   time.Duration
	Parts  []Part // one after another
}

// Part is a part of a span.
type Part struct {
	Name string
	Took time.Duration
}

// Spans takes spans. A nil Spans takes none: callers make no span for it. Record must not wait.
type Spans interface{ Record(Span) }
