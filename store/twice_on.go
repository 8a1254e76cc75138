//go:build twice

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Runs each function given to Write for practice before it counts: once whole, and once for each of its statements, which
// fails. All of these runs are undone. A function that must not be called again then shows. PostgreSQL has one called
// again after a conflict, which may end it at any statement or at the COMMIT.

// practises says whether functions are run for practice on PostgreSQL: once whole.
const practises = true

// practise runs fn inside the savepoint of a connection, and rolls back to that. exec executes a statement on it. What fn
// returns is dropped, panics included. The returned error means that the whole transaction is lost.
func practise(conn DBTX, exec func(string) error, fn func(*Queries) error) (lost error) {
	texts, lost := rehearse(conn, exec, fn, 0)
	for n := 1; n <= texts && lost == nil; n++ {
		_, lost = rehearse(conn, exec, fn, n)
	}
	return lost
}

// rehearse runs fn once, and rolls back to the savepoint. Statements of the n-th text that fn uses fail; 0: none. It
// returns how many texts fn has used.
func rehearse(conn DBTX, exec func(string) error, fn func(*Queries) error, n int) (texts int, lost error) {
	faulty := &faultyConn{DBTX: conn, fails: n}
	stmts := newStatements(faulty, true)
	stmts.audit = new(auditQueue) // dropped with its entries
	defer stmts.close()           //nolint:errcheck // also where fn ends the goroutine
	failed := call(fn, New(stmts))
	if err := exec("ROLLBACK TO one"); err != nil {
		return 0, cmp.Or(failed, err)
	}
	if failed == nil && faulty.failed != "" {
		return 0, fmt.Errorf("the function of a write succeeded although this statement had failed: %s", faulty.failed)
	}
	return faulty.texts, nil
}

// faultyConn prepares the statements of a connection, except those of one text.
type faultyConn struct {
	DBTX
	texts  int    // that were prepared
	fails  int    // the number of the text that fails
	failed string // that text, once it was asked for
}

// failsForPractice is a statement that no connection prepares.
const failsForPractice = "SELECT fails_for_practice()"

func (f *faultyConn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if f.texts+1 == f.fails && f.failed == "" {
		f.failed = query
	}
	if query == f.failed {
		return nil, errors.New("a statement failed for practice")
	}
	f.texts++
	return f.DBTX.PrepareContext(ctx, query)
}

// QueryRowContext is called for a statement that PrepareContext has refused, since only a query makes a Row with an
// error.
func (f *faultyConn) QueryRowContext(ctx context.Context, _ string, _ ...any) *sql.Row {
	return f.DBTX.QueryRowContext(ctx, failsForPractice)
}
