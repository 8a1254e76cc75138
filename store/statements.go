package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// statements stands below the generated queries and keeps each one prepared: unprepared statements cost a third more.
// It is done here rather than by sqlc because generated prepared statements run with the caller's context, and a
// cancelled statement inside a shared transaction would roll back everyone's.
type statements struct {
	on     DBTX // the readers' pool, or the writer's one connection
	detach bool // statements run to their end whatever becomes of the context

	mu    sync.RWMutex
	known map[string]*sql.Stmt // by text; bounded, since the texts are the constants of the generated code
}

func newStatements(on DBTX, detach bool) *statements {
	return &statements{on: on, detach: detach, known: map[string]*sql.Stmt{}}
}

func (s *statements) context(ctx context.Context) context.Context {
	if s.detach {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// PrepareContext gives the statement that is kept. Nobody but close closes it.
func (s *statements) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.known[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.known[query]; stmt != nil {
		return stmt, nil
	}
	// Kept for later callers, so this caller's end must not spoil it.
	stmt, err := s.on.PrepareContext(context.WithoutCancel(ctx), query)
	if err == nil {
		s.known[query] = stmt
	}
	return stmt, err
}

func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(s.context(ctx), args...)
}

func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(s.context(ctx), args...)
}

func (s *statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return s.on.QueryRowContext(s.context(ctx), query, args...) // a Row with an error can only be had this way
	}
	return stmt.QueryRowContext(s.context(ctx), args...)
}

// close closes the statements. A connection with an open statement does not end: it keeps its locks, and its transaction.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.known {
		errs = append(errs, stmt.Close())
	}
	clear(s.known)
	return errors.Join(errs...)
}
