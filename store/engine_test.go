package store

import (
	"cmp"
	"context"
	"database/sql"
	"testing"

	"warren/testnet"
)

// sqliteOf returns the engine of a store that keeps a file. A test of the file ends here on PostgreSQL.
func sqliteOf(t testing.TB, s *Store) *sqliteEngine {
	t.Helper()
	e, ok := s.engine.(*sqliteEngine)
	if !ok {
		t.Skip("of the SQLite file")
	}
	return e
}

// databaseOf returns the database past the store, to look at.
func databaseOf(s *Store) *sql.DB {
	if e, ok := s.engine.(*pgEngine); ok {
		return e.reads
	}
	return s.engine.(*sqliteEngine).readers
}

// openOnPostgres opens a store in a database of its own.
func openOnPostgres(t testing.TB, o Options) *Store {
	t.Helper()
	o.Database = testnet.Postgres(t)
	return openIn(t, t.TempDir(), o)
}

// try undoes what fn did if it fails, so that the transaction goes on: after an error PostgreSQL refuses all further statements.
func try(q *Queries, fn func() error) error {
	ctx := context.Background()
	if _, err := q.db.ExecContext(ctx, "SAVEPOINT trial"); err != nil {
		return err
	}
	err := fn()
	end := "RELEASE SAVEPOINT trial"
	if err != nil {
		end = "ROLLBACK TO SAVEPOINT trial"
	}
	_, failed := q.db.ExecContext(ctx, end)
	if s, ok := q.db.(*pgStatements); ok && err != nil && failed == nil {
		s.failure.Forget()
	}
	return cmp.Or(err, failed)
}
