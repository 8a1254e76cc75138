package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"warren/disk"
	"warren/store/postgres"
)

// Kinds of error, for errors.Is. The error that wraps one says what to do.
var (
	ErrNewer     = errors.New("the database is of a newer warren")
	ErrOlder     = errors.New("servers of an older warren use the database")
	ErrDamaged   = errors.New("the database is damaged")
	ErrReadOnly  = errors.New("the data folder cannot be written")
	ErrDiskFull  = errors.New("the disk is full")
	ErrBusy      = errors.New("the database is locked by another program, or does not answer")
	ErrIO        = errors.New("the disk failed")
	ErrClosed    = errors.New("the store is closed")
	ErrSecretKey = errors.New("the secret key does not fit the database")
	ErrUnseal    = errors.New("the sealed value cannot be opened")
	ErrUnique    = errors.New("there is one like it already")
	ErrReference = errors.New("it is referred to, or refers to what is not there")
	ErrQuota     = errors.New("a quota of the workspace is used up") // as a *QuotaError
	ErrNoRow     = sql.ErrNoRows                                     // a query for one row found none

	// ErrUnknown is a COMMIT without an answer, of PostgreSQL alone.
	ErrUnknown = errors.New("the connection was lost at the COMMIT, so that it is not known whether the change was made")
)

// ErrorOf returns the error of a statement whose result does not matter.
func ErrorOf[T any](_ T, err error) error { return err }

// Typed wraps an error of the database with its kind: ErrDiskFull, ErrBusy, ErrIO, ErrDamaged, ErrReadOnly, ErrUnique or
// ErrReference. It returns other errors unchanged. Write calls it; callers of Read have to call it.
func Typed(err error) error {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return typedPostgres(err)
	}
	kind := kindOf(se.Code())
	if se.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER {
		if quota := quotaOf(se.Error()); quota != nil {
			return quota
		}
	}
	if lacksAName(se) {
		kind = ErrDamaged
	}
	return withKind(kind, err)
}

// withKind wraps an error with its kind; nil: it has none.
func withKind(kind, err error) error {
	if kind != nil && !errors.Is(err, kind) {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

// quotaOf reads what a trigger says of a quota (schema.sql, workspaces_quota_…). nil: it is about something else.
func quotaOf(message string) error {
	for _, quota := range []string{"profiles", "proxies"} {
		if _, rest, found := strings.Cut(message, "quota of "+quota+" of "); found {
			workspace, _, _ := strings.Cut(rest, ";")
			return &QuotaError{Quota: quota, Workspace: workspace}
		}
	}
	return nil
}

// typedPostgres is Typed for PostgreSQL.
func typedPostgres(err error) error {
	fault, _, message := postgres.FaultOf(err)
	if quota := quotaOf(message); quota != nil && fault != postgres.None {
		return quota
	}
	return withKind(kindOfFault(fault), err)
}

// kindOfFault maps what PostgreSQL refuses. What may go by is ErrBusy: a standby takes writes once it is made the primary.
func kindOfFault(fault postgres.Fault) error {
	switch fault {
	case postgres.Unique:
		return ErrUnique
	case postgres.Reference:
		return ErrReference
	case postgres.DiskFull:
		return ErrDiskFull
	case postgres.Busy, postgres.Serialization, postgres.ReadOnly, postgres.TooMany, postgres.Gone:
		return ErrBusy
	case postgres.IO:
		return ErrIO
	case postgres.Damaged, postgres.NoSuch:
		return ErrDamaged
	}
	return nil
}

// QuotaError says which quota of a workspace a write would exceed: profiles, running, diskMb or proxies.
type QuotaError struct {
	Quota     string
	Workspace string
}

// Error implements error.
func (e *QuotaError) Error() string { return ErrQuota.Error() + ": " + e.Quota }

// Is makes it an ErrQuota.
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }

// lacksAName reports whether a statement names a table or a column that the database does not have. The statements are
// constants that fit the schema, so a name that is missing was damaged in the file. SQLite has no code for it.
func lacksAName(err *sqlite.Error) bool {
	text := err.Error()
	return err.Code() == sqlite3.SQLITE_ERROR && (strings.Contains(text, "no such column") || strings.Contains(text, "no such table"))
}

// kindOf maps the result codes of https://www.sqlite.org/rescode.html. The low byte is the primary code.
func kindOf(code int) error {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return ErrUnique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return ErrReference
	case sqlite3.SQLITE_IOERR_SHMSIZE:
		return ErrDiskFull // the shared memory file could not grow
	case sqlite3.SQLITE_IOERR_CORRUPTFS:
		return ErrDamaged
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return ErrDiskFull
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrBusy
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrDamaged
	case sqlite3.SQLITE_READONLY:
		return ErrReadOnly
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return ErrIO
	}
	return nil
}

// typedFile is Typed for errors of the file system.
func typedFile(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case disk.IsFull(err):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// explainOpen adds to an error of opening what to do about it.
func explainOpen(path string, err error) error {
	err = Typed(err)
	advice := ""
	switch {
	case errors.Is(err, ErrDamaged):
		advice = "; it was left as it is: restore a backup, or move it away to begin anew"
	case errors.Is(err, ErrReadOnly):
		advice = "; give this user the right to write the folder and every file in it, or choose another with --data"
	case errors.Is(err, ErrDiskFull):
		advice = "; free some space and start again"
	case errors.Is(err, ErrBusy):
		advice = "; close the program that has it open and start again"
	}
	return fmt.Errorf("open %s: %w%s", path, err, advice)
}

// PanicError is the error of Write when its function panicked. The function's changes are rolled back.
type PanicError struct {
	Value any
	Stack []byte // for the log
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in a write: %v", e.Value) }

// CheckAddress returns why a text cannot be Options.Database, without showing it, since it may have a password.
func CheckAddress(address string) error { return postgres.CheckAddress(address) }
