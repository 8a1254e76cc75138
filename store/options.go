package store

import (
	"log/slog"
	"time"

	"warren/store/postgres"
	"warren/tally"
)

// Options are the operator's choices.
type Options struct {
	// Database is the address of a PostgreSQL that servers share, as postgres://user:password@host/name
	// (https://www.postgresql.org/docs/15/libpq-connect.html, 34.1.1.2). Empty: a SQLite file in the data folder.
	Database string
	// SecretKeyFile holds the key that seals secrets, as 64 hexadecimal digits. It must exist. Empty: "secret.key" in
	// the data folder, which is created if it is missing.
	SecretKeyFile string
	// Logger gets migrations and reconnects. Nil: no log.
	Logger *slog.Logger
	// Spans takes the spans of writes. Nil: nobody traces.
	Spans tally.Spans
	// Warren is the version of this program. The database keeps it, so that the refusal of an older version names it.
	// Empty: the database keeps what it has.
	Warren string
	// Guard is asked before the first change of a database that has an older schema. Nil: nobody is.
	Guard Guard

	checkedFirst *int64          // replaces the constant, in tests
	schema       postgres.Schema // replaces that of this version, in tests
	silence      time.Duration   // replaces silentFor, in tests
	unfinished   bool            // a copy that is not complete is no fault: Transfer goes on with it
}
