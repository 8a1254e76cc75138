package store

import (
	"os"
	"sync/atomic"
	"time"

	"warren/tally"
)

// writeTally counts what the writer does.
type writeTally struct {
	groups, writes, lost atomic.Int64
	took                 tally.Histogram
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
	Bytes, Log     int64           // of the database's file and of its write-ahead log
}

// Figures returns what the store has counted. It reads the sizes of two files, and no table.
func (s *Store) Figures() Figures {
	readers, t := s.readers.Stats(), s.writer.tally
	return Figures{Groups: t.groups.Load(), Writes: t.writes.Load(), Lost: t.lost.Load(),
		Waiting: len(s.writer.queue), Took: t.took.Read(), ReadWaits: readers.WaitCount, ReadWait: readers.WaitDuration,
		Bytes: fileSize(s.file), Log: fileSize(s.file + "-wal")}
}

// fileSize returns 0 for a file that is not there.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
