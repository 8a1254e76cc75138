package store

import (
	"context"
	"fmt"
	"time"
)

// Keeps the index of the audit log, which lists use for their filters. Its rows are a copy of what they look for.
//
//   - A change appends to the log alone. The writer takes entries into the index when it is idle, many at a time. That dirties a page
//     for dozens of them. Indexes of the log would dirty seven pages in each change.
//   - What is not in the index yet is the tail: entries above its highest number. Lists read the tail in the log itself, so that they
//     are always complete.

const (
	// auditTail is how long the tail may grow while the writer is busy. A list reads it in some ten milliseconds.
	auditTail = 10_000
	// auditQuiet is how long the writer is idle before it turns to the index.
	auditQuiet = time.Second
	// auditIndexPart is how many entries a transaction takes into the index. Others wait for it, half a millisecond.
	auditIndexPart = 100
)

// tailQuiet returns a channel that tells when the writer has been idle for long enough; nil: there is no tail.
func (w *writer) tailQuiet() <-chan time.Time {
	if w.unindexed == 0 {
		return nil
	}
	return time.After(auditQuiet)
}

// indexAudit takes a part of the tail into the index, together with the writes that wait.
func (w *writer) indexAudit() {
	before := w.unindexed
	w.transact(&write{done: make(chan error, 1), fn: func(q *Queries) error {
		w.unindexed = 0 // after a fault, the next entry has it tried again
		n, err := q.IndexAudit(context.Background(), auditIndexPart)
		if n == auditIndexPart {
			w.unindexed = max(1, before-auditIndexPart)
		}
		return err
	}})
}

// indexTail takes the tail into the index while the writer is idle.
func (w *writer) indexTail() {
	for w.unindexed > 0 && len(w.queue) == 0 {
		w.indexAudit()
	}
}

// indexOldAudit takes all entries into the index, after an upgrade.
func (s *Store) indexOldAudit(ctx context.Context) error {
	return s.inBatches(ctx, func(ctx context.Context, q *Queries) (int, error) {
		n, err := q.IndexAudit(ctx, auditPart)
		return int(n), err
	})
}

// checkAuditIndex says where the index is not that of the log; "": nowhere.
func (s *Store) checkAuditIndex(ctx context.Context) (fault string, err error) {
	seq, err := s.long.CheckAuditIndex(ctx)
	if err != nil || seq == 0 {
		return "", Typed(err)
	}
	return fmt.Sprintf("the index of the audit log is not that of its entry %d, so that lists leave it out or show it where it does not "+
		"belong; the entries themselves are as they were written", seq), nil
}
