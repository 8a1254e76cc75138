package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Kinds of error of Examine and Migrate, for errors.Is. The error that wraps one says what to do.
var (
	ErrNewer    = errors.New("the database is of a newer warren")
	ErrOlder    = errors.New("servers of an older warren use the database")
	ErrForeign  = errors.New("the database has tables of another program")
	ErrUnusable = errors.New("the database server cannot be used")
)

const (
	oldestServer = 150000            // server_version_num of PostgreSQL 15
	migrating    = int64(0x5772726e) // the key of the advisory lock
	ours         = "warren"          // the comment on schema_versions, which no other program writes
)

// State is what a database has.
type State struct {
	Version int64  // the number of its last migration; 0: none
	Since   int64  // a program that knows this version, or a later one, can use it
	Ours    bool   // its tables are ours, or it has none
	Tables  int64  // tables and views in the schema in which ours are made
	Warren  string // the version of Warren that wrote it last; "": unknown
}

// Examine returns what a database has. It changes nothing. A server that is too old, or that keeps text in another encoding than UTF-8,
// is an ErrUnusable.
func Examine(ctx context.Context, db *sql.DB) (State, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return State{}, fmt.Errorf("examine the database: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it has changed nothing
	return examine(ctx, tx)
}

func examine(ctx context.Context, tx *sql.Tx) (s State, err error) {
	if err := checkServer(ctx, tx); err != nil {
		return s, err
	}
	var versions, settings bool
	err = tx.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')),
		EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'schema_versions' AND c.relkind = 'r'
			AND obj_description(c.oid, 'pg_class') = $1),
		EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'settings' AND c.relkind = 'r')
		FROM pg_namespace n WHERE n.nspname = current_schema()`, ours).Scan(&s.Tables, &versions, &settings)
	if errors.Is(err, sql.ErrNoRows) {
		return s, fmt.Errorf("%w: none of the schemas in its search_path exists; create one, such as public", ErrUnusable)
	}
	if err != nil {
		return s, fmt.Errorf("examine the database: %w", err)
	}
	if s.Ours = versions || s.Tables == 0; !versions {
		return s, nil
	}
	// Databases of up to version 22 do not have the column.
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0), coalesce(max(coalesce((to_jsonb(v) ->> 'since')::bigint, version)), 0)
		FROM schema_versions v`).
		Scan(&s.Version, &s.Since)
	if err != nil {
		return s, fmt.Errorf("examine the database: %w", err)
	}
	if !settings {
		return s, nil
	}
	err = tx.QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM settings WHERE name = 'warren'), '')").Scan(&s.Warren)
	if err != nil {
		return s, fmt.Errorf("examine the database: %w", err)
	}
	return s, nil
}

// checkServer refuses a server on which the schema or the texts would fail.
func checkServer(ctx context.Context, tx *sql.Tx) error {
	var version int64
	var named, encoding string
	err := tx.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
		current_setting('server_encoding')`).Scan(&version, &named, &encoding)
	switch {
	case err != nil:
		return fmt.Errorf("examine the database: %w", err)
	case version < oldestServer:
		return fmt.Errorf("%w: it is PostgreSQL %s; use PostgreSQL 15 or a later one", ErrUnusable, named)
	case encoding != "UTF8":
		return fmt.Errorf("%w: it keeps text as %s; create the database with ENCODING 'UTF8' TEMPLATE template0", ErrUnusable, encoding)
	}
	return nil
}

// Migrate makes the newest schema, or completes an older one. Of several servers that call it at once, one does it and the others wait.
// Each migration is one transaction, so that a crash leaves the version before or the one after. A database of a newer version that this
// one can live with is left as it is. Migrations that a living server of an older version cannot live with are not made. A server counts
// as gone after its beat stood still for gone.
//
// The error is an ErrNewer for a database of a newer version, an ErrOlder for one that servers of an older version use. It is an
// ErrForeign for a database of another program, an ErrUnusable for a server that is not fit. None of them is changed.
func (all Schema) Migrate(ctx context.Context, db *sql.DB, log *slog.Logger, gone time.Duration) error {
	begun, first := time.Now(), int64(-1)
	watch := &beats{gone: gone, seen: map[string]beat{}}
	for {
		from, to, err := all.migrateOnce(ctx, db, log, watch)
		if errors.Is(err, errWatched) {
			err = watch.wait(ctx, log)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if first < 0 {
			first = from
		}
		if to >= all.Newest() {
			if first != to {
				log.Info("the database has this version's schema", "from", first, "to", to, "ms", time.Since(begun).Milliseconds())
			}
			return nil
		}
	}
}

// migrateOnce runs the next migration, if one is missing. It returns the versions before and after.
func (all Schema) migrateOnce(ctx context.Context, db *sql.DB, log *slog.Logger, watch *beats) (from, to int64, err error) {
	s, err := Examine(ctx, db)
	if err != nil {
		return 0, 0, err
	}
	next, err := all.next(s)
	if err != nil || next.version == 0 {
		return s.Version, s.Version, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}) // its statements see what another has just committed
	if err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it is committed by then, or its error counts
	// The lock ends with the transaction, also if this program is killed. Nothing else limits how long others wait for it.
	if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", migrating); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	if s, err = examine(ctx, tx); err != nil {
		return 0, 0, err
	}
	if next, err = all.next(s); err != nil || next.version == 0 {
		return s.Version, s.Version, err
	}
	if err := watch.check(ctx, tx, s, all.since()); err != nil {
		return 0, 0, err
	}
	if err := next.run(ctx, tx, s, log); err != nil {
		return 0, 0, fmt.Errorf("migrate: %s: %w", next.name, err)
	}
	return s.Version, next.version, nil
}

// next returns the migration that the database lacks; one of version 0: none.
func (all Schema) next(s State) (step, error) {
	switch {
	case !s.Ours:
		return step{}, fmt.Errorf("%w, %d tables; it was left as it is: give an empty database, or a schema of its own with "+
			"?search_path=NAME", ErrForeign, s.Tables)
	case s.Since > all.Newest():
		by := ""
		if s.Warren != "" {
			by = ", written by " + s.Warren
		}
		return step{}, fmt.Errorf("%w (its schema is %d, this one knows %d%s); it was left as it is: run the newer warren, or restore "+
			"a backup of before", ErrNewer, s.Version, all.Newest(), by)
	}
	for _, one := range all {
		if one.version > s.Version {
			return one, nil
		}
	}
	return step{}, nil
}

// run runs the migration with its row in schema_versions, and commits.
func (m step) run(ctx context.Context, tx *sql.Tx, s State, log *slog.Logger) error {
	begun := time.Now()
	if s.Version > 0 { // nobody waits for a new one
		log.Info("migrating the database", "step", m.name)
	}
	versions := `ALTER TABLE schema_versions ADD COLUMN IF NOT EXISTS since BIGINT NOT NULL DEFAULT 22`
	if s.Tables == 0 {
		versions = `CREATE TABLE schema_versions (version BIGINT PRIMARY KEY, at BIGINT NOT NULL, since BIGINT NOT NULL);
			COMMENT ON TABLE schema_versions IS '` + ours + `'`
	}
	if _, err := tx.ExecContext(ctx, versions); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, m.text); err != nil { // without arguments the driver sends many statements at once
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO schema_versions (version, at, since) VALUES ($1, $2, $3)", m.version,
		begun.UnixMilli(), m.since)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	log.Info("database migrated", "step", m.name, "ms", time.Since(begun).Milliseconds())
	return nil
}
