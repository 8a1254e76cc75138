package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"warren/store/postgres"
)

// The two databases of a transfer, and how those of SQLite and of PostgreSQL differ.

// sqlDialect says which database it is.
type sqlDialect struct{ postgres bool }

// param is the n-th parameter of a statement, from 1. A statement has them in order.
func (d sqlDialect) param(n int) string {
	if d.postgres {
		return "$" + strconv.Itoa(n)
	}
	return "?" // numbers it by itself; the driver is slow with a number
}

// params are some parameters from the first on, in parentheses.
func (d sqlDialect) params(first, count int) string {
	parts := make([]string, count)
	for i := range parts {
		parts[i] = d.param(first + i)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// isolation is that of a transaction which reads everything as of one moment.
func (d sqlDialect) isolation() sql.IsolationLevel {
	if d.postgres {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault // SQLite knows no other
}

// keepsNoNUL reports whether texts must be UTF-8 without NUL.
func (d sqlDialect) keepsNoNUL() bool { return d.postgres }

// rowsAtOnce is how many rows a statement inserts.
func (d sqlDialect) rowsAtOnce(columns int) int { return max(1, transferParams/columns) }

// nodeColumn is the column of the server that has something, such as a profile's data. A copy of the database goes to other servers.
const nodeColumn = "node_id"

// keepsPlaces reports whether the copy says which server has a profile's data and a pack. One of PostgreSQL goes to servers with other
// disks, but for a backup. SQLite has such servers only where it was restored from one: they still have the data.
func (t *transfer) keepsPlaces() bool { return t.live || !t.from.postgres }

// columns returns the columns of a table but for those that are generated or not copied, in the order of the table. places says that
// the servers of profiles and packs are copied.
func (d sqlDialect) columns(ctx context.Context, on DBTX, table string, places bool) (out []string, err error) {
	query := "SELECT name FROM pragma_table_xinfo('" + table + "') WHERE hidden = 0 ORDER BY cid"
	if d.postgres {
		query = "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('" + table + "') AND attnum > 0 " +
			"AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
	}
	err = each(ctx, on, query, nil, func(row []any) error {
		name := row[0].(string) //nolint:forcetypeassert // a text
		if name != nodeColumn || places && (table == "profiles" || table == "packs") {
			out = append(out, name)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%w: it has no table %s", ErrDamaged, table)
	}
	return out, err
}

// quiet turns the triggers of a table off for the transaction. loud turns them on again; a transaction that is rolled back needs no loud.
// References are still checked. Only the table's owner may do that, but it need not be a superuser.
func (d sqlDialect) quiet(ctx context.Context, tx *sql.Tx, table string) (loud func() error, err error) {
	if d.postgres {
		_, err := tx.ExecContext(ctx, "ALTER TABLE "+names([]string{table})+" DISABLE TRIGGER USER")
		return func() error {
			_, err := tx.ExecContext(ctx, "ALTER TABLE "+names([]string{table})+" ENABLE TRIGGER USER")
			return err
		}, err
	}
	var triggers, texts []string
	err = each(ctx, tx, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '"+table+"' ORDER BY rowid", nil,
		func(row []any) error {
			triggers, texts = append(triggers, row[0].(string)), append(texts, row[1].(string)) //nolint:forcetypeassert // texts
			return nil
		})
	for _, name := range triggers {
		if err == nil {
			_, err = tx.ExecContext(ctx, "DROP TRIGGER "+names([]string{name}))
		}
	}
	return func() error {
		for _, text := range texts {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// complete makes a copy ready to be used. PostgreSQL numbers new rows behind the copied ones, and knows what the tables have, for its
// plans. SQLite reads all references once more.
func (d sqlDialect) complete(ctx context.Context, tx *sql.Tx, tables []copiedTable) error {
	if d.postgres {
		_, err := tx.ExecContext(ctx, "SELECT setval(pg_get_serial_sequence('proxy_checks', 'seq'), coalesce(max(seq), 0) + 1, false) "+
			"FROM proxy_checks")
		for _, table := range tables {
			if err == nil {
				_, err = tx.ExecContext(ctx, "ANALYZE "+names([]string{table.name}))
			}
		}
		return err
	}
	return each(ctx, tx, "PRAGMA foreign_key_check", nil, func(row []any) error {
		return fmt.Errorf("%w: a row of %v refers to %v, where there is none", ErrUnfit, row[0], row[2])
	})
}

// transferSource is where a transfer reads.
type transferSource struct {
	sqlDialect
	name string
	pool *sql.DB
	tx   *sql.Tx // reads all of one moment
}

func (s *transferSource) close() error {
	_ = s.tx.Rollback() // it has only read; it ends with its context, too
	return s.pool.Close()
}

// renew reads the database as it is now from here on.
func (s *transferSource) renew(ctx context.Context) (err error) {
	if s.tx != nil {
		_ = s.tx.Rollback() // as above
	}
	if s.tx, err = s.pool.BeginTx(ctx, &sql.TxOptions{Isolation: s.isolation(), ReadOnly: true}); err != nil {
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	return nil
}

// openSource opens a database for reading. Its schema must be the newest.
func openSource(ctx context.Context, where string) (*transferSource, error) {
	if postgres.IsAddress(where) {
		return openPostgresSource(ctx, where)
	}
	path := filepath.Join(where, FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s in %s: name the data folder of a server", FileName, where)
	}
	version, _, err := examine(ctx, path, Options{unfinished: true})
	if err != nil {
		return nil, err
	}
	if version != newestMigration() {
		return nil, fmt.Errorf("%w: the schema of %s is %d, this version's %d; start its server once with this version, which upgrades it",
			ErrUnfit, where, version, newestMigration())
	}
	s := &transferSource{name: where, pool: openPool(dsn(path, readerPragmas), 1)}
	if err := s.renew(ctx); err != nil {
		return nil, errors.Join(explainOpen(path, err), s.pool.Close())
	}
	return s, nil
}

const (
	patientTransfer = 24 * time.Hour   // how long a transaction of the source waits while the target is made ready
	lockPatience    = 15 * time.Second // PostgreSQL needs ten seconds to notice that a client has gone in the middle of a statement
)

func openPostgresSource(ctx context.Context, address string) (*transferSource, error) {
	s := &transferSource{sqlDialect: sqlDialect{true}, name: shownAddress(address)}
	db, state, err := examinePostgres(ctx, address, lockPatience)
	if err != nil {
		return nil, err
	}
	s.pool = db
	if state.Version != postgres.Known().Newest() {
		return nil, errors.Join(fmt.Errorf("%w: the schema of %s is %d, this version's %d; start a server of this version on it once, "+
			"which upgrades it", ErrUnfit, s.name, state.Version, postgres.Known().Newest()), db.Close())
	}
	if err := s.renew(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// examinePostgres opens a database and refuses one of a newer version or of another program. Statements wait for locks up to patience.
func examinePostgres(ctx context.Context, address string, patience time.Duration) (*sql.DB, postgres.State, error) {
	db, err := postgres.Open(address, 3, postgres.Settings{IdleInTransaction: patientTransfer, LockTimeout: patience})
	if err != nil {
		return nil, postgres.State{}, err
	}
	name := shownAddress(address)
	state, err := postgres.Examine(ctx, db)
	switch {
	case err != nil:
		err = fmt.Errorf("open %s: %w", name, err)
	case !state.Ours:
		err = fmt.Errorf("%w: %s is a database of another program, and was left as it is", ErrOtherData, name)
	case state.Version > postgres.Known().Newest():
		err = fmt.Errorf("open %s: %w (its schema is %d, this one knows %d); run the newer warren", name, ErrNewer, state.Version,
			postgres.Known().Newest())
	default:
		return db, state, nil
	}
	return nil, state, errors.Join(err, db.Close())
}

// transferTarget is where a transfer writes.
type transferTarget struct {
	sqlDialect
	name string
	mark *transferMark // what an earlier transfer left; nil: the database is empty

	path string        // of SQLite's file
	from schemaVersion // of that file
	pool *sql.DB       // nil: SQLite's before prepare
	conn *sql.Conn     // nil before prepare
}

// close closes what was opened.
func (t *transferTarget) close() (err error) {
	if t.conn != nil {
		if err = t.conn.Close(); errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
			err = nil // the server ended it, or the end of the context
		}
	}
	if t.pool != nil {
		err = errors.Join(err, t.pool.Close())
	}
	return err
}

// lookAtTarget examines the target and changes nothing. A database with data of its own is ErrOtherData.
func lookAtTarget(ctx context.Context, where string, patience time.Duration) (t *transferTarget, err error) {
	if postgres.IsAddress(where) {
		t = &transferTarget{sqlDialect: sqlDialect{true}, name: shownAddress(where)}
		db, state, err := examinePostgres(ctx, where, patience)
		if err != nil {
			return nil, err
		}
		t.pool = db
		if state.Version == postgres.Known().Newest() {
			t.mark, err = t.look(ctx, db, copiedTables())
		}
		if err == nil && state.Version != 0 && state.Version != postgres.Known().Newest() {
			err = fmt.Errorf("%w: the schema of %s is of an older warren; give an empty database", ErrOtherData, t.name)
		}
		if err != nil {
			err = errors.Join(err, db.Close())
		}
		return t, err
	}
	t = &transferTarget{name: where, path: filepath.Join(where, FileName)}
	if info, err := os.Stat(t.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return t, nil
	}
	if t.from, _, err = examine(ctx, t.path, Options{unfinished: true}); err != nil || t.from == 0 {
		return t, err
	}
	if t.from != newestMigration() {
		return nil, fmt.Errorf("%w: %s is a database of an older warren; name another folder", ErrOtherData, t.path)
	}
	db := openPool(dsn(t.path, readerPragmas), 1)
	t.mark, err = t.look(ctx, db, copiedTables())
	return t, errors.Join(err, db.Close())
}

// look returns the mark of a database of the newest schema; nil: it is empty. ErrOtherData: it has data and no mark.
func (t *transferTarget) look(ctx context.Context, on DBTX, tables []copiedTable) (*transferMark, error) {
	mark, err := markOf(ctx, on)
	if err != nil || mark != nil {
		return mark, err
	}
	table, err := hasRows(ctx, on, tables)
	if err == nil && table != "" {
		err = fmt.Errorf("%w: %s has rows in %s and is no copy that was interrupted; it was left as it is: give an empty database",
			ErrOtherData, t.name, table)
	}
	return nil, err
}

// transferLock is the key of the advisory lock that keeps a second transfer away from a target.
const transferLock = int64(0x5772726e1)

// prepare makes the newest schema and opens the connection that writes.
func (t *transferTarget) prepare(ctx context.Context, log *slog.Logger) (err error) {
	if t.postgres {
		if err := postgres.Known().Migrate(ctx, t.pool, log, NodeGone); err != nil {
			return fmt.Errorf("prepare %s: %w", t.name, err)
		}
	} else {
		if err := prepareFolder(filepath.Dir(t.path), t.path); err != nil {
			return err
		}
		if err := migrate(ctx, t.path, t.from, Options{Logger: log}); err != nil {
			return explainOpen(t.path, err)
		}
		t.pool = openPool(dsn(t.path, writerPragmas), 1)
	}
	if t.conn, err = t.pool.Conn(ctx); err != nil || !t.postgres {
		return err
	}
	// The connection of one that was interrupted may end a little later, so this waits (lock_timeout).
	_, err = t.conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", transferLock)
	if fault, _, _ := postgres.FaultOf(err); fault == postgres.Busy {
		return fmt.Errorf("%w: another warren store copy writes to %s now", ErrOtherData, t.name)
	}
	return err
}

// transact runs fn in a transaction.
func (t *transferTarget) transact(ctx context.Context, fn func(tx *sql.Tx) error) error {
	o := &sql.TxOptions{}
	if t.postgres {
		o.Isolation = sql.LevelReadCommitted // nobody else writes
	}
	tx, err := t.conn.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed by then, or its error counts
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
