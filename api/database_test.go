package api

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the tests change rows behind the server's back

	"warren/store"
)

// openDatabase opens the database of a data folder beside the server, as another program would. The caller closes it.
func openDatabase(t testing.TB, data string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, store.FileName)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// rewrite changes the database beside the server.
func (a *testAPI) rewrite(t testing.TB, statement string, args ...any) {
	t.Helper()
	db := openDatabase(t, a.dir)
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
	a.store.Forget()
}
