package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Checks whether a database is intact. The check reads the whole file, a second for a million profiles, so a large
// database is checked while it is already used.

// checkedFirst is the size in bytes up to which a database is checked before it is opened.
const checkedFirst = 32 << 20

// isLarge reports whether a database is checked while it is used.
func isLarge(file string, o Options) bool {
	limit := int64(checkedFirst)
	if o.checkedFirst != nil {
		limit = *o.checkedFirst
	}
	info, err := os.Stat(file)
	return err == nil && info.Size() > limit
}

// checkPages returns ErrDamaged if the database is not intact.
func checkPages(ctx context.Context, q querier) error {
	var verdict string
	if err := q.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return Typed(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, strings.ReplaceAll(verdict, "\n", " "))
	}
	return nil
}

// laterCheck is the check of a database that is in use. It reads the file as it was when the check began. The file stays
// so until the check ends: SQLite copies no newer page from the log into it while an older one can be read
// (https://www.sqlite.org/wal.html, "Concurrency").
type laterCheck struct {
	begin  chan struct{} // closed when the database is open
	cancel context.CancelFunc
	done   chan struct{} // closed when the check has ended
	failed atomic.Pointer[error]
}

// checkLater makes a check of the database as it is now, before the first write. It runs once begin is closed.
func checkLater(ctx context.Context, file string, log *slog.Logger) (*laterCheck, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &laterCheck{begin: make(chan struct{}), cancel: cancel, done: make(chan struct{})}
	db := openPool(dsn(file, examinePragmas), 1)
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil { // the first read of a transaction chooses what it sees
		_, err = examineSchema(ctx, tx)
	}
	if err != nil {
		cancel()
		return nil, errors.Join(err, db.Close())
	}
	go func() {
		defer close(c.done)
		defer db.Close()
		defer tx.Rollback() //nolint:errcheck // it only read
		select {
		case <-c.begin:
			c.run(ctx, tx, file, log)
		case <-ctx.Done():
		}
	}()
	return c, nil
}

func (c *laterCheck) run(ctx context.Context, q querier, file string, log *slog.Logger) {
	begun := time.Now()
	err := checkPages(ctx, q)
	switch {
	case ctx.Err() != nil: // the next start checks it
	case err != nil:
		err = fmt.Errorf("%w; nothing more is written to it: stop, and restore a backup, or move it away to begin anew", err)
		c.failed.Store(&err)
		log.Error("the database is refused", "file", file, "cause", err)
	default:
		log.Info("the database is intact", "ms", time.Since(begun).Milliseconds())
	}
}

// error returns why nothing may be written any more; nil while the check runs.
func (c *laterCheck) error() error {
	if c == nil {
		return nil
	}
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// stop ends the check.
func (c *laterCheck) stop() {
	if c != nil {
		c.cancel()
		<-c.done
	}
}

func examineSchema(ctx context.Context, db querier) (schemaVersion, error) {
	var id, tables, versions int64
	err := db.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'),
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version')`).Scan(&id, &tables, &versions)
	if err != nil {
		return 0, err
	}
	if id != applicationID && (tables > 0 || id != 0) {
		return 0, fmt.Errorf("%w: it is a database of another program", ErrDamaged)
	}
	if versions == 0 {
		return 0, nil
	}
	var v schemaVersion
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&v)
	return v, err
}
