package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID is the id that the first migration writes into the file's header ("Wrrn").
const applicationID = 0x5772726e

// The settings of every connection, in the DSN: a PRAGMA sent through a pool reaches one connection only.
// busy_timeout comes first, since the other settings may have to wait. synchronous(FULL) is needed because NORMAL
// loses acknowledged writes on power loss. temp_store(MEMORY) keeps sorts and savepoints off the disk. The writer's
// cache holds the index pages that a group of inserts changes.
//
// Migrations change the schema's own table, which _defensive refuses. They check no row against conditions: each new
// column would check every row against all of them, a minute and more for a million profiles. The database was checked
// before, and tests check the rows that migrations leave.
const (
	commonPragmas  = "_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&_pragma=temp_store(MEMORY)&_dqs=0"
	servingPragmas = commonPragmas + "&_defensive=1"
	migratePragmas = commonPragmas + writingPragmas + "&_pragma=ignore_check_constraints(1)"
	writerPragmas  = servingPragmas + writingPragmas
	writingPragmas = "&mode=rw&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(1000)" +
		"&_pragma=journal_size_limit(67108864)&_pragma=cache_size(-16000)&_txlock=immediate"
	readerPragmas  = servingPragmas + "&mode=ro&_pragma=query_only(1)"
	examinePragmas = "_pragma=busy_timeout(5000)&_pragma=trusted_schema(0)&mode=ro&_pragma=query_only(1)"
)

// dsn returns the URI of a database file (https://www.sqlite.org/uri.html). Without "file:" the driver would ignore
// mode=ro, and a path with "?", "#" or "%" would name another file.
func dsn(file, query string) string {
	p := filepath.ToSlash(file)
	if runtime.GOOS == "windows" && filepath.VolumeName(file) != "" {
		p = "/" + p
	}
	return "file:" + (&url.URL{Path: p}).EscapedPath() + "?" + query
}

func openPool(dsn string, size int) *sql.DB {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic(err) // only for an unknown driver name, which is a fault of the build
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db
}

// prepareFolder creates the folder (0700) and an empty database file (0600) if they are missing. SQLite would make
// the file readable for everyone. The files beside it take its mode.
func prepareFolder(dir, file string) error {
	if err := MakeFolder(dir); err != nil {
		return explainOpen(file, typedFile(err))
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return explainOpen(file, typedFile(err))
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkFile(dir, file)
	}
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	if err := f.Close(); err != nil {
		return explainOpen(file, typedFile(err))
	}
	return SyncFolder(dir)
}

// checkFile rejects what SQLite would accept. A file without write permission would be opened for reading. A database
// that lost all its bytes would count as new. The key is created after the first migration, so a database beside a
// key is never empty.
func checkFile(dir, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return explainOpen(file, typedFile(err))
	}
	if info.Mode().Perm()&0o200 == 0 {
		return explainOpen(file, fmt.Errorf("%w: the database's mode is %v", ErrReadOnly, info.Mode()))
	}
	if _, err := os.Stat(filepath.Join(dir, secretKeyName)); info.Size() > 0 || err != nil {
		return nil
	}
	return explainOpen(file, fmt.Errorf("%w: it is empty, and the key of a full one lies beside it", ErrDamaged))
}

// schemaVersion is the number of the last migration applied to a database; 0 for an empty one.
type schemaVersion int64

// examine checks the database over a read-only connection: whether it is ours, intact, and not too new. later says that
// it is large: it is still to be checked whether it is intact.
func examine(ctx context.Context, file string, o Options) (version schemaVersion, later bool, err error) {
	settings := examinePragmas
	if log, err := os.Stat(file + "-wal"); err != nil || log.Size() == 0 {
		settings += "&immutable=1" // reads only the file, so that SQLite creates no files beside it
	}
	db := openPool(dsn(file, settings), 1)
	defer db.Close()
	if version, err = examineSchema(ctx, db); err != nil {
		return 0, false, explainOpen(file, err)
	}
	newest := newestMigration()
	if version > newest {
		return 0, false, fmt.Errorf("open %s: %w (its schema is %d, this one knows %d%s); it was left as it is: "+
			"run the newer warren, or restore a backup of before", file, ErrNewer, version, newest, writtenBy(ctx, db))
	}
	if version > 0 && !o.unfinished {
		if err := checkFinished(ctx, db); err != nil {
			return 0, false, explainOpen(file, err)
		}
	}
	if version == newest && isLarge(file, o) {
		return version, true, nil
	}
	if err := checkPages(ctx, db); err != nil { // a migration changes much of the file
		return 0, false, explainOpen(file, err)
	}
	return version, false, nil
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

// newestMigration returns the number of the last file in migrations/.
func newestMigration() schemaVersion {
	names, err := migrations.ReadDir("migrations") // in order
	if err != nil {
		panic(err) // it is a part of the program
	}
	number, _, _ := strings.Cut(names[len(names)-1].Name(), "_")
	newest, _ := strconv.ParseInt(number, 10, 64) //nolint:errcheck // goose refuses a file without a number
	return schemaVersion(newest)
}

// WriteFile writes a file of the data folder whole or not at all, with mode 0600, and on the disk when it returns.
func WriteFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// MakeFolder makes a folder (0700) and those above it that are missing. A power loss leaves all of them.
func MakeFolder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := MakeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(filepath.Dir(dir))
}
