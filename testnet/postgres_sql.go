package testnet

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", which is another than the product's
)

// OpenDatabase opens the database of a data folder beside its server, as another program would: file, or what DatabaseOf names. The
// driver "sqlite" is the caller's, as is the end.
func OpenDatabase(t testing.TB, dir, file string) *sql.DB {
	t.Helper()
	driver, address := "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)"
	if url := DatabaseOf(t, dir); url != "" {
		driver, address = "pgx", url
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Rewrite changes a database of OpenDatabase, and returns how many rows it changed. Parameters are ?, which PostgreSQL numbers.
func Rewrite(t testing.TB, db *sql.DB, statement string, args ...any) (rows int64) {
	t.Helper()
	if OnPostgres() {
		for n := 1; strings.Contains(statement, "?"); n++ {
			statement = strings.Replace(statement, "?", fmt.Sprint("$", n), 1)
		}
	}
	result, err := db.Exec(statement, args...)
	if err == nil {
		rows, err = result.RowsAffected()
	}
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// OpenURL opens a database of PostgreSQL. The driver "pgx" is the caller's, as is the end.
func OpenURL(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Dump returns all that PostgreSQL has of a data folder, and behind that the bytes that pg_dump writes in hexadecimal digits. Where the
// state is in SQLite there is nothing to dump.
func Dump(t testing.TB, dir string) []byte {
	t.Helper()
	url := DatabaseOf(t, dir)
	if url == "" {
		return nil
	}
	out := DumpOf(t, url)
	for _, digits := range regexp.MustCompile(`\\\\x[0-9a-f]+`).FindAll(out, -1) {
		if plain, err := hex.DecodeString(string(digits[3:])); err == nil {
			out = append(append(out, plain...), '\n')
		}
	}
	return out
}

// DumpOf returns all that a database has, as pg_dump writes it; nil: there is no such database.
func DumpOf(t testing.TB, url string) []byte {
	t.Helper()
	cmd := exec.Command(postgresHomeOf(t).program("pg_dump"), "--dbname", url)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil && bytes.Contains(faults.Bytes(), []byte("does not exist")) {
		return nil
	}
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, faults.Bytes())
	}
	return regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`).ReplaceAll(out, nil) // a random word each time
}
