package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"warren/store/postgres"
)

// Copies a PostgreSQL database into a file of SQLite while servers use it, for a backup.

// CopyPostgresOptions say what is copied where.
type CopyPostgresOptions struct {
	From          string // the address of the database
	To            string // a folder without a database, which gets one
	SecretKeyFile string // the key of the database's servers
}

// CopyPostgres copies a PostgreSQL database, as it is at one moment, into a new database of SQLite. Servers may use it meanwhile. Both are
// compared. The copy says which server has the data of each profile. The errors are those of Transfer.
func CopyPostgres(ctx context.Context, o CopyPostgresOptions) error {
	_, err := Transfer(ctx, TransferOptions{From: o.From, To: o.To, SecretKeyFile: o.SecretKeyFile, live: true})
	return err
}

// readLate reads the entries of the audit log that are not in the chain at the moment of the copy. Servers take theirs into it each second.
func (t *transfer) readLate(ctx context.Context) error {
	texts, err := postgres.ReadTexts()
	if err != nil {
		return err
	}
	e := &pgEngine{texts: texts}
	if t.late, _, err = pendingEntries(ctx, New(e.statements(t.from.tx, false)), math.MaxInt32); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	return nil
}

// appendLate appends those entries to the chain of the copy, which is SQLite's.
func (t *transfer) appendLate(ctx context.Context, tx *sql.Tx) error {
	if len(t.late) == 0 {
		return nil
	}
	q := New(tx)
	chain, err := t.audit.readLast(ctx, q)
	if err != nil {
		return err
	}
	return chain.append(ctx, q, t.audit.hasher(), t.late)
}
