package store

import (
	"context"
	"database/sql"
	"errors"
)

// engine is the database below the queries: a SQLite file (sqlite.go) or a PostgreSQL that several servers share (postgres.go).
// Its methods are safe for concurrent use.
type engine interface {
	// write is Store.Write without its figures.
	write(ctx context.Context, fn func(*Queries) error) error
	// probe fails if the database cannot be written now.
	probe(ctx context.Context) error
	// catchUp brings what lies in memory in step with all that was committed before the call, by this server or another.
	catchUp(ctx context.Context) error
	// chainUp appends the entries of committed transactions to the audit log, where their own transactions did not.
	chainUp(ctx context.Context) error
	// lockChain keeps every other server from the ends of the audit log until the transaction of q ends.
	lockChain(ctx context.Context, q *Queries) error
	// audit has the texts of the lists of the audit log, which sqlc cannot make.
	audit() auditTexts
	// figures adds what the engine has counted.
	figures(f *Figures)
	close() error
}

// sqliteEngine is a file of the data folder. It belongs to one server.
type sqliteEngine struct {
	file     string // the database
	readers  *sql.DB
	prepared []*statements
	writer   *writer
	check    *laterCheck // nil: the database was checked before
}

func (e *sqliteEngine) write(ctx context.Context, fn func(*Queries) error) error {
	if err := e.check.error(); err != nil {
		return err
	}
	return e.writer.write(ctx, fn)
}

// probe writes as much as a large row takes, and waits until that is on the disk, since only a write detects a full disk.
func (e *sqliteEngine) probe(ctx context.Context) error {
	return e.write(ctx, func(q *Queries) error { return q.SetSetting(ctx, SetSettingParams{Name: "ready", Value: probeText()}) })
}

// catchUp does nothing: the writer brings everything in step before it answers (follow.go).
func (e *sqliteEngine) catchUp(context.Context) error { return nil }

// chainUp does nothing: each transaction appends its own entries.
func (e *sqliteEngine) chainUp(context.Context) error { return nil }

// lockChain makes the entries of the transaction read the ends anew.
func (e *sqliteEngine) lockChain(_ context.Context, q *Queries) error {
	audit, err := q.auditQueue()
	if err == nil {
		audit.moved = true
	}
	return err
}

func (e *sqliteEngine) audit() auditTexts { return sqliteAudit{} }

func (e *sqliteEngine) figures(f *Figures) {
	readers := e.readers.Stats()
	f.Waiting, f.ReadWaits, f.ReadWait = len(e.writer.queue), readers.WaitCount, readers.WaitDuration
	f.Bytes, f.Log = fileSize(e.file), fileSize(e.file+"-wal")
}

func (e *sqliteEngine) close() error {
	e.check.stop() // it reads
	var errs []error
	for _, statements := range e.prepared {
		errs = append(errs, statements.close())
	}
	if e.readers != nil {
		errs = append(errs, e.readers.Close()) // first, since the last connection to close checkpoints the log, and readers cannot
	}
	if e.writer != nil {
		errs = append(errs, e.writer.close())
	}
	return errors.Join(errs...)
}
