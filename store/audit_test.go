package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// entryOf is an entry with its number in the object.
func entryOf(n int) AuditEntry {
	return AuditEntry{At: int64(n), KeyID: "k", KeyName: "Key", WorkspaceID: "default", Action: "profile.update",
		ObjectID: fmt.Sprint(n), Result: "ok", Remote: "127.0.0.1", RequestID: "r", Detail: "{}"}
}

func record(t testing.TB, s *Store, entries ...AuditEntry) {
	t.Helper()
	if err := s.Write(t.Context(), func(q *Queries) error {
		for _, e := range entries {
			if err := q.Record(e); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func assertAudit(t testing.TB, s *Store, entries int, fault string) {
	t.Helper()
	n, got, err := s.CheckAudit(t.Context())
	if err != nil || n != entries || !strings.Contains(got, fault) || (fault == "") != (got == "") {
		t.Errorf("%d entries, fault %q, %v; want %d and %q", n, got, err, entries, fault)
	}
}

// TestAuditAndTheClock: a clock that jumps breaks no chain and hides no entry. One that was written while the clock was ahead keeps those
// behind it from being removed, since nobody knows how old they are.
func TestAuditAndTheClock(t *testing.T) {
	s := openTest(t)
	record(t, s, entryOf(300), entryOf(100), entryOf(200))
	assertAudit(t, s, 3, "")
	page, err := s.ListAudit(t.Context(), AuditList{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for _, row := range page.Rows {
		seqs = append(seqs, row.Seq)
	}
	if !slices.Equal(seqs, []int64{1, 3, 2}) {
		t.Errorf("listed as %v", seqs)
	}
	for _, c := range []struct {
		before int64
		left   int
	}{{250, 3}, {301, 0}} {
		if err := s.RemoveAudit(t.Context(), time.UnixMilli(c.before)); err != nil {
			t.Fatal(err)
		}
		assertAudit(t, s, c.left, "")
	}
}

// An entry is there if and only if the change is that it belongs to, also of writes that share a transaction.
func TestAuditGoesWithItsChange(t *testing.T) {
	s := openTest(t)
	refused := errors.New("refused")
	var all sync.WaitGroup
	for n := range 60 {
		all.Go(func() {
			err := s.Write(t.Context(), func(q *Queries) error {
				if err := q.Record(entryOf(n)); err != nil {
					return err
				}
				if n%3 == 0 {
					return refused
				}
				return q.SetSetting(t.Context(), SetSettingParams{Name: fmt.Sprint("n", n), Value: "x"})
			})
			if (n%3 == 0) != errors.Is(err, refused) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	assertAudit(t, s, 40, "")
	page, err := s.ListAudit(t.Context(), AuditList{Limit: 100})
	if err != nil || page.Total != 40 || len(page.Rows) != 40 {
		t.Fatalf("%d of %d, %v", len(page.Rows), page.Total, err)
	}
	for _, row := range page.Rows {
		if _, err := s.Read().GetSetting(t.Context(), "n"+row.ObjectID); err != nil {
			t.Errorf("entry %s: %v", row.ObjectID, err)
		}
	}
	if err := s.Read().Record(entryOf(1)); err == nil {
		t.Error("an entry outside a write is lost without an error")
	}
}

// What somebody does to the log with another program is found, and the first broken entry is named. No step of the store mends it.
func TestTornAudit(t *testing.T) {
	const untied = "DROP TRIGGER audit_fixed; DROP TRIGGER audit_kept; DROP TRIGGER audit_chain_grows; DROP TRIGGER audit_chain_kept; "
	const appended = `INSERT INTO audit (seq, id, at, key_id, key_name, action, remote, request_id, hash)
		SELECT seq + 1, 'forged', at, key_id, 'Forged', action, remote, request_id, hash FROM audit WHERE seq = 10; `
	for name, c := range map[string]struct {
		statements, fault string
		entries           int
	}{
		"nothing":       {"", "", 10},
		"changed":       {untied + `UPDATE audit SET key_name = 'Other' WHERE seq = 4`, "entry 4 ", 3},
		"removed":       {untied + `DELETE FROM audit WHERE seq = 4`, "no entry 4:", 3},
		"first removed": {untied + `DELETE FROM audit WHERE seq = 1`, "no entry 1:", 0},
		"reordered": {untied + `UPDATE audit SET seq = -seq WHERE seq IN (4, 5);
			UPDATE audit SET seq = 9 + seq WHERE seq < 0`, "entry 4 ", 3},
		"last removed": {untied + `DELETE FROM audit WHERE seq > 8`, "ends at entry 8", 8},
		"last removed, sealed": {untied + `DELETE FROM audit WHERE seq > 8;
			UPDATE audit_chain SET last_seq = 8, last_hash = (SELECT hash FROM audit WHERE seq = 8)`, "ends at entry 8", 8},
		"appended": {appended, "entry 11 ", 10},
		"appended, sealed": {appended + `UPDATE audit_chain SET last_seq = 11,
			last_hash = (SELECT hash FROM audit WHERE seq = 11)`, "entry 11 ", 10},
		"anchored": {`UPDATE audit_chain SET anchor_seq = 4, anchor_hash = (SELECT hash FROM audit WHERE seq = 4);
			DELETE FROM audit WHERE seq < 5`, "ends", 6},
		"unsealed": {untied + `UPDATE audit SET hash = x'', key_name = 'Other'; UPDATE audit_chain SET last_hash = x'';
			INSERT INTO settings VALUES ('refit', 'audit')`, "entry 1 ", 0},
		"no chain": {untied + `DELETE FROM audit_chain`, "lost", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openIn(t, dir, Options{})
			for n := range 10 {
				record(t, s, entryOf(n))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			execIn(t, filepath.Join(dir, FileName), c.statements)
			s = openIn(t, dir, Options{})
			assertAudit(t, s, c.entries, c.fault)
			if name == "no chain" {
				return
			}
			// The server goes on, and seals nothing that it has not written.
			record(t, s, entryOf(11))
			if err := s.RemoveAudit(t.Context(), time.UnixMilli(0)); err != nil {
				t.Fatal(err)
			}
			if c.fault == "" {
				assertAudit(t, s, 11, "")
				return
			}
			if _, fault, err := s.CheckAudit(t.Context()); err != nil || fault == "" {
				t.Errorf("after another entry: %q, %v", fault, err)
			}
		})
	}
}

// The schema lets nobody change the log, and removes only its oldest entries, up to an anchor.
func TestAuditOnlyGrows(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, Options{})
	for n := range 10 {
		record(t, s, entryOf(n))
	}
	for _, statement := range []string{"UPDATE audit SET key_name = 'x' WHERE seq = 3", "DELETE FROM audit WHERE seq = 10",
		"DELETE FROM audit", "DELETE FROM audit_chain", "UPDATE audit_chain SET last_seq = 1"} {
		err := s.Write(t.Context(), func(q *Queries) error { return ErrorOf(q.db.ExecContext(t.Context(), statement)) })
		if err == nil || !strings.Contains(err.Error(), "only appended") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := s.RemoveAudit(t.Context(), time.UnixMilli(4)); err != nil {
		t.Fatal(err)
	}
	assertAudit(t, s, 6, "")
	record(t, s, entryOf(20))
	assertAudit(t, s, 7, "")
	if err := s.RemoveAudit(t.Context(), time.UnixMilli(1000)); err != nil {
		t.Fatal(err)
	}
	assertAudit(t, s, 0, "")
	record(t, s, entryOf(30))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openIn(t, dir, Options{})
	record(t, s, entryOf(31))
	assertAudit(t, s, 2, "")
	page, err := s.ListAudit(t.Context(), AuditList{Limit: 10})
	if err != nil || len(page.Rows) != 2 || page.Rows[0].Seq != 12+1 {
		t.Errorf("%+v %v", page.Rows, err)
	}
}

// Entries of an older version are chained by the upgrade.
func TestOldAuditIsChained(t *testing.T) {
	dir := oldDatabase(t, 15, func(db *sql.DB, _ keyring) {
		for n := range 2500 {
			if _, err := db.ExecContext(t.Context(), `INSERT INTO audit (id, at, key_id, key_name, action, remote, request_id)
				VALUES (?, ?, 'k', 'Key', 'proxy.secret', '', '')`, fmt.Sprint("id", n), 5000-n); err != nil {
				t.Fatal(err)
			}
		}
	})
	s := openIn(t, dir, Options{})
	assertAudit(t, s, 2500, "")
	record(t, s, entryOf(1))
	assertAudit(t, s, 2501, "")
	page, err := s.ListAudit(t.Context(), AuditList{Action: "proxy.*", Limit: 1})
	if err != nil || page.Total != 2500 || page.Rows[0].ID != "id0" {
		t.Errorf("%+v %v", page, err)
	}
}

// Each filter has its index, and no list sorts more than the tail. Lists are the same whatever is in the index, also after clocks that
// jumped.
func TestAuditFilters(t *testing.T) {
	s := openTest(t)
	for i := range 30 {
		n := i * 7 % 30
		e := entryOf(n)
		e.KeyID, e.ObjectID = fmt.Sprint("k", n%3), fmt.Sprint("o", n%5)
		e.Action = []string{"profile.create", "profile.update", "proxy.secret"}[n%3]
		e.Result = map[bool]string{true: "ok", false: "forbidden"}[n%10 != 9]
		e.WorkspaceID = fmt.Sprint("w", n%2)
		record(t, s, e)
	}
	for _, indexed := range []int64{0, 13, 30} {
		t.Run(fmt.Sprint(indexed, " in the index"), func(t *testing.T) {
			if err := s.Write(t.Context(), func(q *Queries) error {
				return errors.Join(ErrorOf(q.RemoveAuditIndex(t.Context(), 30)), ErrorOf(q.IndexAudit(t.Context(), indexed)))
			}); err != nil {
				t.Fatal(err)
			}
			assertAuditFilters(t, s)
		})
	}
	if _, err := s.ListAudit(t.Context(), AuditList{After: "unknown", Limit: 1}); err != nil {
		t.Error(err)
	}
}

// assertAuditFilters lists the thirty entries of TestAuditFilters with every filter.
func assertAuditFilters(t *testing.T, s *Store) {
	t.Helper()
	only := Only([]string{"w0"})
	bad := regexp.MustCompile(`SCAN audit(?:_index)?(?:;|$)|B-TREE.*RIGHT|B-TREE.*B-TREE`)
	for _, c := range []struct {
		list  AuditList
		index string
		want  func(n int) bool
	}{
		{AuditList{}, "audit_time", func(int) bool { return true }},
		{AuditList{From: time.UnixMilli(5), To: time.UnixMilli(9)}, "audit_time", func(n int) bool { return n >= 5 && n < 9 }},
		{AuditList{KeyID: "k1"}, "audit_of_key", func(n int) bool { return n%3 == 1 }},
		{AuditList{KeyID: "k1", From: time.UnixMilli(5)}, "audit_of_key", func(n int) bool { return n%3 == 1 && n >= 5 }},
		{AuditList{ObjectID: "o2", KeyID: "k0"}, "audit_of_object", func(n int) bool { return n%5 == 2 && n%3 == 0 }},
		{AuditList{Action: "profile.update"}, "audit_of_action", func(n int) bool { return n%3 == 1 }},
		{AuditList{Action: "profile.*"}, "audit_of_kind", func(n int) bool { return n%3 != 2 }},
		{AuditList{Result: "refused"}, "audit_refused", func(n int) bool { return n%10 == 9 }},
		{AuditList{Result: "forbidden", KeyID: "k0"}, "audit_refused", func(n int) bool { return n%10 == 9 && n%3 == 0 }},
		{AuditList{Result: "ok", Action: "profile.*"}, "audit_of_kind", func(n int) bool { return n%10 != 9 && n%3 != 2 }},
		{AuditList{Workspaces: only.Filter()}, "audit_time", func(n int) bool { return n%2 == 0 }},
	} {
		var want, got []int
		for n := 29; n >= 0; n-- {
			if c.want(n) {
				want = append(want, n)
			}
		}
		l := c.list
		l.Limit = 4
		for {
			page, err := s.ListAudit(t.Context(), l)
			if err != nil || int(page.Total) != len(want) {
				t.Fatalf("%+v: %d, %v; want %d", c.list, page.Total, err, len(want))
			}
			for _, row := range page.Rows {
				got = append(got, int(row.At))
			}
			if !page.More {
				break
			}
			if l.After = page.Next.String(); len(got)%8 == 0 {
				l.After = page.Next.ID // as clients may, too
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: got %v, want %v", c.list, got, want)
		}
		where, _ := c.list.conditions(sqliteAudit{})
		index := sqliteAudit{}.index(c.list.index())
		for _, query := range []string{countAudit(index, where), pageOfAudit(index, where)} {
			n := 0
			numbered := regexp.MustCompile(`\?`).ReplaceAllStringFunc(query, func(string) string { n++; return fmt.Sprint("?", n) })
			steps := plan(t, s, numbered)
			if !strings.Contains(steps, " INDEX "+c.index) || !strings.Contains(steps, "INTEGER PRIMARY KEY") || bad.MatchString(steps) {
				t.Errorf("%s: %s", query, steps)
			}
		}
	}
}

// The writer takes entries into the index when it is idle, and when they are many. Other writes go on meanwhile.
func TestAuditIsIndexed(t *testing.T) {
	s := openTest(t)
	_ = sqliteOf(t, s) // its writer
	tail := func() (n int) {
		t.Helper()
		if err := databaseOf(s).QueryRow("SELECT count(*) FROM " + auditTailFrom + "true").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 12 { // one transaction each
		record(t, s, slices.Repeat([]AuditEntry{entryOf(1)}, auditTail/10)...)
	}
	if n := tail(); n == 0 || n == auditTail*12/10 {
		t.Errorf("%d entries are in no index while the writer is busy", n)
	}
	testnet.Eventually(t, "all entries are in the index", func() bool { return tail() == 0 })
	record(t, s, entryOf(2))
	if n := tail(); n != 1 {
		t.Errorf("%d entries in the tail after a change", n)
	}
	assertAudit(t, s, auditTail*12/10+1, "")
	for statement, fault := range map[string]string{
		"DELETE FROM audit_index WHERE seq = 7":                                                     "entry 7,",
		"UPDATE audit_index SET object_id = 'other' WHERE seq = 5":                                  "entry 5,",
		"INSERT INTO audit_index SELECT 1 << 40, at, '', '', '', '', 'ok' FROM audit_index LIMIT 1": "entry",
	} {
		var seq int64
		err := s.Write(t.Context(), func(q *Queries) (err error) {
			if err := ErrorOf(q.db.ExecContext(t.Context(), statement)); err != nil {
				return err
			}
			seq, err = q.CheckAuditIndex(t.Context())
			return cmp.Or(err, errUndo)
		})
		if text := fmt.Sprintf("entry %d,", seq); !errors.Is(err, errUndo) || seq == 0 || !strings.HasPrefix(text, fault) {
			t.Errorf("%s: %s, %v", statement, text, err)
		}
	}
}

// A quota is exact under parallel writes, counts what is restored, and refuses a statement of many rows as a whole.
func TestQuotas(t *testing.T) {
	ctx := context.Background()
	s := openTest(t)
	ten := int64(10)
	if err := s.Write(ctx, func(q *Queries) error {
		return ErrorOf(q.InsertWorkspace(ctx, InsertWorkspaceParams{ID: "small", QuotaProfiles: &ten, QuotaProxies: &ten}))
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			p := AddProfileParams(aProfile("small", "x"))
			err := s.Write(ctx, func(q *Queries) error { return q.AddProfile(ctx, p) })
			if quota, _ := errors.AsType[*QuotaError](err); err != nil && (quota == nil || *quota != QuotaError{"profiles", "small"}) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	get := func() Workspace {
		row, err := s.Read().GetWorkspace(ctx, GetWorkspaceParams{ID: "small"})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	if row := get(); row.ProfileCount != 10 {
		t.Errorf("%d profiles", row.ProfileCount)
	}
	assertCounters(t, s)
}
