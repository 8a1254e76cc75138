package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
)

// Keeps the store in a file of the data folder.

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

type sqliteAudit struct{}

func (sqliteAudit) index(name string) string { return "audit_index INDEXED BY " + name }

func (sqliteAudit) ids() string { return "(SELECT value FROM json_each(?))" }

// open runs the steps of Open that change the file. On failure it closes everything it opened.
func open(ctx context.Context, dir, path string, found schemaVersion, later bool, o Options) (s *Store, err error) {
	s = newStore(o)
	e := &sqliteEngine{file: path}
	s.engine = e
	defer func() {
		if err != nil {
			_ = s.close()
			s = nil
		}
	}()
	follow := newFollower(s)
	e.writer = newWriter(openPool(dsn(path, writerPragmas), 1), o.Logger, follow, s.tally)
	if err := migrate(ctx, path, found, o); err != nil {
		return s, err
	}
	e.readers = openPool(dsn(path, readerPragmas), min(max(runtime.GOMAXPROCS(0)*2, 4), 8))
	if err := e.readers.PingContext(ctx); err != nil {
		return s, fmt.Errorf("open for reading: %w", err)
	}
	e.prepared = []*statements{newStatements(e.readers, true), newStatements(e.readers, false)}
	s.short, s.long = New(e.prepared[0]), New(e.prepared[1])
	follow.committed = e.prepared[0]
	if err := e.writer.start(ctx); err != nil {
		return s, fmt.Errorf("open for writing: %w", err)
	}
	if later { // after the file has its log, since a backup has none and could not get one while the check reads
		if e.check, err = checkLater(ctx, path, o.Logger); err != nil {
			return s, err
		}
	}
	if err := s.Ready(ctx); err != nil {
		return s, err
	}
	if err := s.openKeys(ctx, dir, o.SecretKeyFile); err != nil {
		return s, err
	}
	e.writer.auditKey = s.audit // read with the first entry, which is written later
	if err := errors.Join(s.keepVersion(ctx, o.Warren), s.runPendingSteps(ctx, path)); err != nil {
		return s, err
	}
	if later {
		close(e.check.begin)
	}
	return s, nil
}
