package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// statements caches a prepared statement for each generated query: unprepared statements cost a third more. sqlc's
// own prepared statements run with the caller's context. A cancelled statement inside a shared transaction would roll
// back all of its functions.
type statements struct {
	on     DBTX        // the readers' pool, or the writer's one connection
	audit  *auditQueue // nil: not the writer's
	detach bool        // statements ignore the end of the caller's context

	mu    sync.RWMutex
	known map[string]*sql.Stmt // by text; bounded, since the texts are constants of the generated code
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

// auditQueue implements recorder.
func (s *statements) auditQueue() *auditQueue { return s.audit }

// PrepareContext returns the cached statement. Only close closes it.
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
	// Later callers use the statement too, so this caller's context must not end it.
	stmt, err := s.on.PrepareContext(context.WithoutCancel(ctx), unnumbered(query))
	if err == nil {
		s.known[query] = stmt
	}
	return stmt, err
}

// unnumbered replaces the parameters ?1, ?2, … by ?, if each stands in the text once and in this order. SQLite numbers
// them the same way (https://www.sqlite.org/lang_expr.html#varparam). The driver looks up the name of each numbered
// parameter, which takes a tenth of an insert of thirty columns.
func unnumbered(query string) string {
	var out strings.Builder
	for n, rest := 1, query; ; n++ {
		before, after, found := strings.Cut(rest, "?")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		rest = strings.TrimLeft(after, "0123456789")
		if after[:len(after)-len(rest)] != strconv.Itoa(n) {
			return query
		}
		out.WriteByte('?')
	}
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
		return s.on.QueryRowContext(s.context(ctx), query, args...) // only QueryRowContext can return a Row with an error
	}
	return stmt.QueryRowContext(s.context(ctx), args...)
}

// close closes the statements. A connection with an open statement would stay open, with its locks and its
// transaction.
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
