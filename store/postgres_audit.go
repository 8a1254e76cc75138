package store

import (
	"context"
	"database/sql"
)

// Keeps the audit log in PostgreSQL. Each entry of the chain depends on the one before, so that transactions which appended to it would
// all meet one another. They leave their entries in a table, from which one server at a time takes them into the chain.

// chainLock is the advisory lock of the audit log's ends ("Wrrn", 1).
const chainLock = applicationID<<8 | 1

type pgAudit struct{}

func (pgAudit) index(string) string { return "audit_index" }

func (pgAudit) ids() string {
	return "(SELECT json_array_elements_text(CAST(CAST(? AS TEXT) AS JSON)))"
}

func (e *pgEngine) audit() auditTexts { return pgAudit{} }

// pendingColumns are what an entry has before it is in the chain.
const pendingColumns = "at, key_id, key_name, parent, workspace_id, action, object_id, result, remote, request_id, detail"

const insertPending = "INSERT INTO audit_pending (" + pendingColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

const removePending = "DELETE FROM audit_pending WHERE n IN " +
	"(SELECT CAST(json_array_elements_text(CAST(CAST(? AS TEXT) AS JSON)) AS BIGINT))"

// keepEntries leaves the entries of a transaction to be taken into the chain.
func (e *pgEngine) keepEntries(ctx context.Context, q *Queries, entries []AuditEntry) error {
	for _, a := range entries {
		if _, err := q.db.ExecContext(ctx, insertPending, a.At, a.KeyID, a.KeyName, a.Parent, a.WorkspaceID, a.Action, a.ObjectID, a.Result,
			a.Remote, a.RequestID, a.Detail); err != nil {
			return err
		}
	}
	return nil
}

// lockChain waits for the lock of the chain, which ends with the transaction. What the transaction sees may be older than that; its
// COMMIT fails then, and it is run again.
func (e *pgEngine) lockChain(ctx context.Context, q *Queries) error {
	return ErrorOf(q.db.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?)", chainLock))
}

// chainUp takes what transactions have left into the chain.
func (e *pgEngine) chainUp(ctx context.Context) error {
	e.chaining.Lock()
	defer e.chaining.Unlock()
	for {
		var left bool
		if err := e.reads.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM audit_pending)").Scan(&left); err != nil || !left {
			return Typed(err)
		}
		if err := e.chainPart(ctx); err != nil {
			return Typed(err)
		}
	}
}

// chainPart appends a part. Each of its statements sees what was committed before it, so that nothing is older than the lock.
func (e *pgEngine) chainPart(ctx context.Context) error {
	tx, err := e.writes.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing
	q := New(e.statements(tx, false))
	if err := e.lockChain(ctx, q); err != nil {
		return err
	}
	entries, numbers, err := pendingEntries(ctx, q, auditPart)
	if err != nil || len(entries) == 0 { // another server was first
		return err
	}
	chain, err := e.store.audit.readLast(ctx, q)
	if err != nil {
		return err
	}
	if err := chain.append(ctx, q, e.store.audit.hasher(), entries); err != nil {
		return err
	}
	if _, err := q.IndexAudit(ctx, auditPart); err != nil {
		return err
	}
	if _, err := q.db.ExecContext(ctx, removePending, *jsonText(numbers)); err != nil {
		return err
	}
	return tx.Commit()
}

// pendingEntries returns the oldest entries that are not in the chain, and their numbers. There are limit at most.
func pendingEntries(ctx context.Context, q *Queries, limit int) (entries []AuditEntry, numbers []int64, err error) {
	rows, err := q.db.QueryContext(ctx, "SELECT n, "+pendingColumns+" FROM audit_pending ORDER BY n LIMIT ?", limit)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var a AuditEntry
		if err := rows.Scan(&n, &a.At, &a.KeyID, &a.KeyName, &a.Parent, &a.WorkspaceID, &a.Action, &a.ObjectID, &a.Result, &a.Remote,
			&a.RequestID, &a.Detail); err != nil {
			return nil, nil, err
		}
		entries, numbers = append(entries, a), append(numbers, n)
	}
	return entries, numbers, rows.Err()
}
