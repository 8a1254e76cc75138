package api

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the tests change rows behind the server's back

	"warren/store"
	"warren/testnet"
)

// openDatabase opens the database of a data folder beside the server, as another program would. The caller closes it.
func openDatabase(t testing.TB, data string) *sql.DB {
	t.Helper()
	return testnet.OpenDatabase(t, data, filepath.Join(data, store.FileName))
}

// rewrite changes the database beside the server.
func (a *testAPI) rewrite(t testing.TB, statement string, args ...any) {
	t.Helper()
	db := openDatabase(t, a.dir)
	defer db.Close()
	testnet.Rewrite(t, db, statement, args...)
	a.store.Forget()
}
