package postgres

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Failure is the first error of the statements of a transaction. After it PostgreSQL refuses all further ones, so that a function which
// passes over it has not done what it believes. Its methods are safe for concurrent use.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Err returns the error; nil: no statement has failed.
func (f *Failure) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Forget is for what a ROLLBACK TO SAVEPOINT has undone.
func (f *Failure) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = nil
}

func (f *Failure) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// watching is where a connection has the Failure of its transaction.
const watching = "warren failure"

// Watch makes the statements of a connection note their errors; nil ends that.
func Watch(conn *sql.Conn, f *Failure) error {
	return conn.Raw(func(c any) error {
		known, ok := c.(*stdlib.Conn)
		if !ok {
			return errors.New("the connection is none of PostgreSQL")
		}
		known.Conn().PgConn().CustomData()[watching] = f
		return nil
	})
}

// tracer notes the errors of statements, also those that come with a later row (pgx.QueryTracer).
type tracer struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (tracer) TraceQueryEnd(_ context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	if f, ok := conn.PgConn().CustomData()[watching].(*Failure); ok && f != nil && data.Err != nil {
		f.note(data.Err)
	}
}
