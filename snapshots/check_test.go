package snapshots

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"warren/packs"
	"warren/store"
)

// TestCheckOfTheAudit: a check of a data folder and of a backup finds an entry of the audit log that somebody has changed.
func TestCheckOfTheAudit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, object := range []string{"a", "b", "c"} {
		r.write(func(q *store.Queries) error { return q.Record(store.ByServer("profile.delete", "w", object, nil)) })
	}
	at := packs.Folder(t.TempDir())
	assert := func(entries int, fault string) {
		t.Helper()
		r.backup(at)
		for what, o := range map[string]CheckOptions{"folder": {Data: r.data}, "backup": {From: at}} {
			found, err := Check(t.Context(), o)
			if err != nil || found.Audit != entries || len(found.Faults) > 0 != (fault != "") ||
				!strings.Contains(strings.Join(found.Faults, ""), fault) {
				t.Errorf("%s: %+v, %v; want %d entries and %q", what, found, err, entries, fault)
			}
		}
	}
	assert(3, "")
	db := openDatabase(t, r.data)
	defer db.Close()
	for _, statement := range []string{"DROP TRIGGER audit_fixed", "UPDATE audit SET key_name = 'somebody' WHERE object_id = 'b'"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	assert(1, "entry 2 of the audit log")
}

// openDatabase opens the database of a data folder, as another program would. The caller closes it.
func openDatabase(t *testing.T, data string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, store.FileName)+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}
