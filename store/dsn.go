package store

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"runtime"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

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

// querier is a database, or one connection of it.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
