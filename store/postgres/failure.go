package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Failure is the first error of the statements of a transaction. After it PostgreSQL refuses all further ones, so that a function which
// passes over it has not done what it believes. Its methods are safe for concurrent use, and for a nil Failure.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Err returns the error; nil: no statement has failed.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
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

type failureKey struct{}

// in makes the statements of a context note their errors.
func (f *Failure) in(ctx context.Context) context.Context {
	if f == nil {
		return ctx
	}
	return context.WithValue(ctx, failureKey{}, f)
}

// tracer notes the errors of statements, also those that come with a later row (pgx.QueryTracer).
type tracer struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if f, ok := ctx.Value(failureKey{}).(*Failure); ok && data.Err != nil {
		f.note(data.Err)
	}
}
