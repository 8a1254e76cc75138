package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestWrittenBy: the database keeps the version that opened it last. An older schema is shown before its first change, and an error then
// leaves the file as it was. A version that dies between two steps is named, too.
func TestWrittenBy(t *testing.T) {
	ctx := t.Context()
	all := versions(t)
	newest, last, older := all[len(all)-1], all[len(all)-2], all[len(all)-3]
	dir := oldDatabase(t, older, func(db *sql.DB, _ keyring) {
		mustExec(t, db, "INSERT INTO settings (name, value) VALUES ('warren', '1.0')")
	})
	file := filepath.Join(dir, FileName)
	before, no := content(t, file), errors.New("no")
	refusing := &witness{answer: no}
	_, err := Open(ctx, dir, Options{Warren: "2.0", Guard: refusing})
	if !errors.Is(err, no) || !slices.Equal(refusing.asked, []Migration{{older, newest}}) || content(t, file) != before {
		t.Errorf("%v, %+v, want what the guard says, and the file unchanged", err, refusing.asked)
	}
	db := openPool(dsn(file, migratePragmas), 1)
	if err := stepTo(ctx, db, last); err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, fmt.Sprintf("CREATE TRIGGER full BEFORE INSERT ON goose_db_version WHEN new.version_id = %d "+
		"BEGIN SELECT raise(ABORT, 'no step more'); END", newest)) // the last step fails
	if _, err := Open(ctx, dir, Options{Warren: "2.0"}); err == nil || writtenBy(ctx, db) != "; warren 2.0 wrote it" {
		t.Errorf("after a step that failed with %v: %q", err, writtenBy(ctx, db))
	}
	mustExec(t, db, "DROP TRIGGER full")
	agreeing := new(witness)
	for version, want := range map[string]string{"2.0": "2.0", "": "2.0"} {
		assertOpens(t, dir, version, want, agreeing)
	}
	assertOpens(t, dir, "2.1", "2.1", agreeing)
	if !slices.Equal(agreeing.asked, []Migration{{last, newest}}) {
		t.Errorf("asked before %+v", agreeing.asked)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// assertOpens opens a database as a version, and compares what it keeps.
func assertOpens(t *testing.T, dir, version, want string, guard Guard) {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{Warren: version, Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read().GetSetting(t.Context(), versionSetting); got != want || err != nil {
		t.Errorf("opened by %q: %q, %v", version, got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// witness is a guard that gives one answer.
type witness struct {
	answer error
	asked  []Migration
}

// BeforeMigration is of Guard.
func (w *witness) BeforeMigration(_ context.Context, m Migration) error {
	w.asked = append(w.asked, m)
	return w.answer
}
