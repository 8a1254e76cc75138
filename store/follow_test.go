package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
)

// A row whose further pages are damaged is followed like another: SQLite tells of it, and cannot read it.
func TestDamagedRowIsFollowed(t *testing.T) {
	dir, file := aDatabase(t, 1)
	execIn(t, file, "INSERT INTO workspaces (id, created_at, updated_at) VALUES ('w', 1, 1)",
		"INSERT INTO proxies (id, workspace_id, type, host, port, notes, created_at, updated_at) VALUES ('a', 'w', 'http', 'h', 1, '"+
			strings.Repeat("n", 20_000)+"', 1, 1)",
		"PRAGMA wal_checkpoint(TRUNCATE)")
	damageFurtherPages(t, file)

	db := openPool(dsn(file, writerPragmas), 1)
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f := newFollower(&Store{})
	if err := f.attach(conn); err != nil {
		t.Fatal(err)
	}
	if _, err = conn.ExecContext(context.Background(), "DELETE FROM proxies"); err != nil && !errors.Is(Typed(err), ErrDamaged) {
		t.Errorf("delete: got %v, want ErrDamaged", err)
	}
	if got := len(f.tables["proxies"].deleted); got != 1 {
		t.Errorf("%d rows were noted, want 1", got)
	}
	if _, err := Open(context.Background(), dir, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("open: got %v, want ErrDamaged: the test has damaged nothing", err)
	}
}

// damageFurtherPages makes each page that continues a row of the letter n point to a page that does not exist
// (https://www.sqlite.org/fileformat.html#ovflpgs).
func damageFurtherPages(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := 0; at < len(content); at += 4096 {
		if page := content[at : at+4096]; bytes.Count(page[4:], []byte("n")) > 4000 {
			binary.BigEndian.PutUint32(page, 1<<30)
			damaged++
		}
	}
	if damaged == 0 {
		t.Fatal("no page continues a row")
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
