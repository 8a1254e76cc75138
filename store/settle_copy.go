package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// settlePragmas are for a copy that nobody else has open. It is lost with its folder if the machine stops, so it waits for no disk.
const settlePragmas = "_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=synchronous(OFF)&mode=rw"

// SettleCopy makes a copy of another program's database whole by itself. The copy was taken with the journal or the log that lay
// beside the original (file-journal, file-wal) at one moment. SettleCopy rolls back what was unfinished, moves the log into the
// file, and reads every page and index. The error is ErrDamaged if the copy is not whole, or needs what only that program has.
func SettleCopy(ctx context.Context, file string) error {
	db := openPool(dsn(file, settlePragmas), 1)
	var verdict string
	err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict) // the first read rolls back
	switch {
	case err != nil:
		if err = Typed(err); isOwn(err) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	case verdict != "ok":
		err = fmt.Errorf("%w: %s", ErrDamaged, strings.ReplaceAll(verdict, "\n", " "))
	default:
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // nothing, without a log
		err = Typed(err)
	}
	return errors.Join(err, Typed(db.Close())) // the last to close removes an empty log
}

// isOwn reports whether a database has something that is a part of its program, such as an index by a function of its own.
func isOwn(err error) bool {
	se, ok := errors.AsType[*sqlite.Error](err)
	return ok && se.Code() == sqlite3.SQLITE_ERROR
}

// CheckPages reads every page of a copy of another program's database, as SettleCopy takes it. It rolls back what was unfinished. The
// error is ErrDamaged if pages are damaged. What only that program has, such as a function, and rows that break its rules are no damage.
func CheckPages(ctx context.Context, file string) error {
	db := openPool(dsn(file, settlePragmas), 1)
	err := quickCheck(ctx, db)
	if err = Typed(err); isOwn(err) {
		err = nil
	}
	return errors.Join(err, Typed(db.Close()))
}

func quickCheck(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "PRAGMA quick_check(100)")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var verdict string
		if err := rows.Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" && !isRule(verdict) {
			return fmt.Errorf("%w: %s", ErrDamaged, strings.ReplaceAll(verdict, "\n", " "))
		}
	}
	return rows.Err()
}

// isRule reports whether a verdict of quick_check is about a row that breaks a rule of its table, not about a page.
func isRule(verdict string) bool {
	return strings.Contains(verdict, " value in ") || strings.HasPrefix(verdict, "CHECK constraint failed")
}
