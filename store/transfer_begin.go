package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// Makes the target of a transfer ready, and decides whether an interrupted one goes on.

// begin makes the target ready: the newest schema, and the mark. resumed says that an earlier transfer has begun it.
func (t *transfer) begin(ctx context.Context) (resumed bool, err error) {
	if t.to.mark != nil && !t.Anew {
		if err := t.sameSource(t.to.mark); err != nil {
			return false, err
		}
	}
	if err := t.to.prepare(ctx, t.Logger); err != nil {
		return false, err
	}
	for _, table := range t.tables {
		columns, err := t.to.columns(ctx, t.to.conn, table.name, t.keepsPlaces())
		if err != nil {
			return false, err
		}
		if want := slices.Sorted(slices.Values(table.columns)); !slices.Equal(slices.Sorted(slices.Values(columns)), want) {
			return false, fmt.Errorf("%w: the table %s has the columns %v there, and %v in the source; use this version of warren for both",
				ErrUnfit, table.name, columns, table.columns)
		}
	}
	err = t.to.transact(ctx, func(tx *sql.Tx) error { // another transfer may have begun it meanwhile
		mark, err := t.to.look(ctx, tx, t.tables)
		if err != nil {
			return err
		}
		if mark != nil && !t.Anew {
			resumed = true
			return t.sameSource(mark)
		}
		return t.setMark(ctx, tx)
	})
	return resumed, err
}

// sameSource refuses to go on with a copy of another source, or of the same one before it changed.
func (t *transfer) sameSource(mark *transferMark) error {
	begun := mark.Begun.UTC().Format(time.RFC3339)
	if mark.Source != t.id {
		return fmt.Errorf("%w: a copy of another database was begun in %s at %s; complete that, or begin this one anew (--anew)",
			ErrOtherData, t.to.name, begun)
	}
	if !maps.Equal(mark.Tables, t.sums) {
		return fmt.Errorf("%w, at %s: keep its server stopped, and begin the copy anew (--anew)", ErrDifferent, begun)
	}
	return nil
}

// setMark empties the target and sets the mark.
func (t *transfer) setMark(ctx context.Context, tx *sql.Tx) error {
	for _, table := range slices.Backward(t.tables) {
		loud, err := t.to.quiet(ctx, tx, table.name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+names([]string{table.name})); err != nil {
			return err
		}
		if err := loud(); err != nil {
			return err
		}
	}
	value, err := json.Marshal(transferMark{Source: t.id, Begun: time.Now(), Tables: t.sums}, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO settings (name, value) VALUES ("+t.to.param(1)+", "+t.to.param(2)+")", copyingSetting,
		string(value))
	return err
}

// freshRows are the rows that the migrations make: conditions for those that a fresh database may have.
func freshRows() map[string]string {
	return map[string]string{
		"audit_chain": "id = 1 AND last_seq = 0 AND length(seal) = 0",
		"settings":    "name = '" + pendingSteps + "'",
	}
}

// hasRows returns a table of the target with rows that no migration made; "": there is none.
func hasRows(ctx context.Context, on DBTX, tables []copiedTable) (string, error) {
	fresh := freshRows()
	for _, table := range tables {
		where := "true"
		if made := fresh[table.name]; made != "" {
			where = "NOT (" + made + ")"
		}
		var n int64
		err := on.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+names([]string{table.name})+" WHERE "+where+
			" LIMIT 1) AS found").Scan(&n)
		if err != nil || n > 0 {
			return table.name, err
		}
	}
	return "", nil
}
