package store

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"warren/tally"
)

// writeTally counts what the writer does.
type writeTally struct {
	groups, writes, lost atomic.Int64
	took                 tally.Histogram
	spans                tally.Spans // nil: nobody traces
}

// wrote counts a write that has ended.
func (t *writeTally) wrote(began time.Time, err error) {
	took := time.Since(began)
	t.took.Observe(took)
	if t.spans == nil {
		return
	}
	s := tally.Span{Name: "write", Result: "ok", Began: began, Took: took}
	if err != nil { // mostly a refusal by the function, and not a fault
		s.Result, s.Failed = "undone", isFault(err)
	}
	t.spans.Record(s)
}

// isFault reports whether a write failed through the database or its disk.
func isFault(err error) bool {
	for _, fault := range []error{ErrDiskFull, ErrIO, ErrBusy, ErrDamaged, ErrReadOnly} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

func (t *writeTally) committed(writes int) {
	t.groups.Add(1)
	t.writes.Add(int64(writes))
}

// Figures are the counts of a store since it was opened, and its sizes now.
type Figures struct {
	Groups, Writes int64           // transactions that were committed, and the writes in them
	Lost           int64           // transactions that were rolled back whole
	Waiting        int             // writes that wait for a transaction
	Took           tally.Durations // of a write, from its call to its answer
	ReadWaits      int64           // reads that waited for a connection
	ReadWait       time.Duration   // how long, all together
	Bytes, Log     int64           // of the database, and of its write-ahead log beside it
}

// fileSize returns 0 for a file that is not there.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
