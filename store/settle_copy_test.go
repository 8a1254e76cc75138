package store

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSettleCopy: a copy gets what its log has, loses what was not committed, and is refused if it is damaged.
func TestSettleCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	original := filepath.Join(dir, "original")
	db, err := sql.Open("sqlite", dsn(original, "_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{"CREATE TABLE a (n)", "INSERT INTO a VALUES (1), (2)", "CREATE INDEX by_n ON a (n)"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(dir, "copied")
	for _, ending := range []string{"", "-wal"} {
		text, err := os.ReadFile(original + ending)
		if err == nil {
			err = os.WriteFile(copied+ending, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := SettleCopy(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(copied + "-*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	var sum int
	settled := openPool(dsn(copied, "mode=ro"), 1)
	if err := settled.QueryRowContext(t.Context(), "SELECT sum(n) FROM a").Scan(&sum); err != nil || sum != 3 {
		t.Errorf("the copy has %d, %v", sum, err)
	}
	if err := settled.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	page := len(text) / 3 // a schema, a table and an index have one each
	clear(text[2*page:])
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SettleCopy(t.Context(), copied); !errors.Is(err, ErrDamaged) {
		t.Errorf("without its index it is settled: %v", err)
	}
}
