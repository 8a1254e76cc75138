package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"warren/testnet"
)

// newDatabase returns a pool of a database with the newest schema, which is empty.
func newDatabase(t *testing.T, o Settings) *sql.DB {
	t.Helper()
	db := open(t, testnet.Postgres(t), o)
	if err := Known().Migrate(t.Context(), db, slog.New(slog.DiscardHandler), time.Minute); err != nil {
		t.Fatal(err)
	}
	return db
}

func open(t *testing.T, address string, o Settings) *sql.DB {
	t.Helper()
	db, err := Open(address, 8, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// run runs a statement that has to work.
func run(t *testing.T, db DBTX, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// one returns the columns of one row as a text.
func one(t *testing.T, db DBTX, statement string, args ...any) string {
	t.Helper()
	all := rows(t, db, statement, args...)
	if len(all) != 1 {
		t.Fatalf("%s: %d rows", statement, len(all))
	}
	return all[0]
}

// rows returns rows as texts.
func rows(t *testing.T, db DBTX, statement string, args ...any) (out []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(values...))
	}
	if err := found.Err(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return out
}

// wantFault runs a statement that has to fail.
func wantFault(t *testing.T, db DBTX, want Fault, message, statement string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(context.Background(), statement, args...)
	if fault, _, said := FaultOf(err); fault != want || message != "" && said != message {
		t.Errorf("%s: %v (%d, %q), want %d, %q", statement, err, fault, said, want, message)
	}
}
