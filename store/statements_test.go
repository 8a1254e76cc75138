package store

import "testing"

// Numbers are dropped only where SQLite numbers the parameters in the same way.
func TestUnnumbered(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1": "SELECT 1",
		"INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)": "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"SELECT ?":                      "SELECT ?",
		"SELECT ?2, ?1":                 "SELECT ?2, ?1",
		"SELECT ?1, ?1":                 "SELECT ?1, ?1",
		"SELECT ?1 WHERE ?1 = ?2":       "SELECT ?1 WHERE ?1 = ?2",
		"SELECT ?1, ?3":                 "SELECT ?1, ?3",
		"SELECT ?11":                    "SELECT ?11",
		"SELECT ?01":                    "SELECT ?01",
		"SELECT 'why?' WHERE ?1 = x":    "SELECT 'why?' WHERE ?1 = x",
		"SELECT x WHERE ?1 = x -- and?": "SELECT x WHERE ?1 = x -- and?",
	} {
		if got := unnumbered(query); got != want {
			t.Errorf("%s becomes %s", query, got)
		}
	}
}
