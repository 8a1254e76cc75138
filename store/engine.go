package store

import "context"

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

// auditTexts are the parts of the texts in which databases differ.
type auditTexts interface {
	index(name string) string // the index of the audit log, read by one of its own indexes
	ids() string              // the values of a JSON array
}
