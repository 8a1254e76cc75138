package postgres

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
)

// named returns statements on a database, and a function that makes sqlc's query of a name: with SQLite's text, which must not be run.
func named(t *testing.T, db DBTX) (s *Statements, query func(name string) string) {
	t.Helper()
	texts, err := ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	return NewStatements(db, texts, true), func(name string) string {
		t.Helper()
		kind, _, ok := strings.Cut(strings.TrimPrefix(texts[name], mark), "\n")
		if !ok {
			t.Fatalf("no query %s", name)
		}
		return mark + kind + "\nSELECT ?1 FROM sqlite_schema\n"
	}
}

// TestNULIsFoundNowhere: SQLite finds no row for text that PostgreSQL refuses. Neither do Statements.
func TestNULIsFoundNowhere(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	s, query := named(t, db)
	run(t, s, query("EnsureWorkspace"), "w", "", 1)
	workspaces, nulls := `["w"]`, `["w","a\u0000b"]`
	for _, id := range []string{"a\x00b", "\x00", "a\xffb", "'"} {
		var name string
		if err := s.QueryRowContext(t.Context(), query("GetDefaults"), id).Scan(&name); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("%q: %v", id, err)
		}
		if n := rows(t, s, query("GetProfile"), id, &workspaces); len(n) != 0 {
			t.Errorf("%q: %v", id, n)
		}
		result, err := s.ExecContext(t.Context(), query("DeleteProfile"), id, nil)
		if err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		if n, err := result.RowsAffected(); n != 0 || err != nil {
			t.Errorf("%q: %d, %v", id, n, err)
		}
	}
	if got := one(t, s, query("CountWorkspaces"), &nulls); got != "1" {
		t.Errorf("%s of the list with an escaped NUL", got)
	}
	if got := rows(t, s, query("ListProxiesOf"), "w", "null", nil); len(got) != 0 {
		t.Error(got)
	}
	wantFault(t, s, Text, "", query("SetSetting"), "a", "\x00")
}

func TestBools(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	s, query := named(t, db)
	run(t, s, query("EnsureWorkspace"), "w", "", 1)
	yes := true
	for _, c := range []struct {
		enabled  bool
		headless *bool
		want     string
	}{{true, &yes, "1 1"}, {false, nil, "0 -"}} {
		run(t, s, query("InsertProfiles"), "w", "linux", "1", "[]", "", "", false, "[]", "auto", "auto", "auto", "off", nil, c.headless,
			nil, nil, "refuse", "[]", "warn", "[]", "same", "[]", "[]", "[]", c.enabled, false, nil, nil, "[]", "[]", "off", false, nil,
			nil, "", 1, 1, `[["a","A","k",null]]`)
		if got := one(t, db, "SELECT log_hosts || ' ' || coalesce(headless::text, '-') FROM profiles"); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		var logged bool
		if err := db.QueryRowContext(t.Context(), "SELECT log_hosts FROM profiles").Scan(&logged); err != nil || logged != c.enabled {
			t.Errorf("%v, %v", logged, err)
		}
		run(t, s, query("DeleteProfile"), "a", nil)
	}
}

// TestInterruptedSchedules: SQLite's json_set keeps the order of members and writes no spaces.
func TestInterruptedSchedules(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	s, query := named(t, db)
	run(t, s, query("EnsureWorkspace"), "w", "", 1)
	for id, last := range map[string]any{
		"a": `{"at":"2026","status":"running","errors":[{"status":"running"},1.50],"message":"\"status\":\"running\" é"}`,
		"b": `{"status":"done"}`, "c": nil, "d": `[]`, "e": `{"errors":{"status":"running"}}`,
	} {
		run(t, db, `INSERT INTO schedules (id, workspace_id, name, search_key, every_ms, action, tag, last_run, created_at, updated_at)
			VALUES ($1, 'w', 'n', 'n', 1, 'start', 't', $2, 1, 1)`, id, last)
	}
	run(t, s, query("InterruptSchedules"))
	got := rows(t, db, "SELECT coalesce(last_run, '-') FROM schedules ORDER BY id")
	want := []string{`{"at":"2026","status":"interrupted","errors":[{"status":"running"},1.50],"message":"\"status\":\"running\" é"}`,
		`{"status":"done"}`, "-", "[]", `{"errors":{"status":"running"}}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
