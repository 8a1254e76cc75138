package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A large database that is damaged where opening it does not look is opened, and refuses every write once the check has
// found it. Reads go on, for a rescue, and the file stays as it was.
func TestLargeDatabaseIsCheckedWhileItIsUsed(t *testing.T) {
	ctx := context.Background()
	dir, file := aDatabase(t, 500)
	execIn(t, file, "PRAGMA journal_mode = DELETE") // as in a backup
	s, err := Open(ctx, dir, Options{checkedFirst: new(int64)})
	if err != nil {
		t.Fatal(err)
	}
	<-sqliteOf(t, s).check.done
	if err := s.Write(ctx, func(*Queries) error { return nil }); err != nil {
		t.Errorf("an intact database: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	damaged := leafOf(t, dir, "profiles")
	copy(b[damaged*page-page+8:], []byte("\xff\xff\xff\xff\xff\xff\xff\xff")) // where its first cells are
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	before := content(t, file)
	if s, err = Open(ctx, dir, Options{checkedFirst: new(int64)}); err != nil {
		t.Fatalf("it was not opened: %v", err)
	}
	defer s.Close()
	<-sqliteOf(t, s).check.done
	for range 2 {
		err := s.Write(ctx, func(*Queries) error { t.Error("a damaged database was written"); return nil })
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("a write: %v", err)
		}
	}
	s.ready.stale.Store(true) // otherwise its last result counts for a second
	if err := s.Ready(ctx); !errors.Is(err, ErrDamaged) {
		t.Errorf("ready: %v", err)
	}
	if _, err := s.Read().GetWorkspace(ctx, GetWorkspaceParams{ID: "default"}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if content(t, file) != before {
		t.Error("the file was changed")
	}
}

// leafOf returns the number of a table's last page of rows.
func leafOf(t *testing.T, dir, table string) (page int) {
	t.Helper()
	db := openPool(dsn(filepath.Join(dir, FileName), examinePragmas), 1)
	defer db.Close()
	if err := db.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", table).Scan(&page); err != nil {
		t.Fatal(err)
	}
	return page
}

// A store that is closed during its check is closed at once, and the check has found nothing.
func TestCloseEndsTheCheck(t *testing.T) {
	dir, _ := aDatabase(t, 500)
	for range 20 {
		s, err := Open(context.Background(), dir, Options{checkedFirst: new(int64)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-sqliteOf(t, s).check.done:
		default:
			t.Fatal("the check goes on")
		}
		if err := sqliteOf(t, s).check.error(); err != nil {
			t.Fatal(err)
		}
	}
}

// A database that is to be migrated is checked first, however large it is.
func TestOldDatabaseIsCheckedBeforeItIsMigrated(t *testing.T) {
	dir := filledDatabase(t, int64(newestMigration())-1)
	file := filepath.Join(dir, FileName)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	clear(b[leafOf(t, dir, "run_hosts")*page-page:][:page]) // no migration reads it
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	before := content(t, file)
	if _, err := Open(context.Background(), dir, Options{checkedFirst: new(int64)}); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	if content(t, file) != before {
		t.Error("the file was changed")
	}
}
