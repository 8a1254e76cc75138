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
			nil, nil, "", 1, 1, `[["a","A","k",null]]`)
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
	run(t, s, query("InterruptSchedules"), "n")
	got := rows(t, db, "SELECT coalesce(last_run, '-') FROM schedules ORDER BY id")
	want := []string{`{"at":"2026","status":"interrupted","errors":[{"status":"running"},1.50],"message":"\"status\":\"running\" é"}`,
		`{"status":"done"}`, "-", "[]", `{"errors":{"status":"running"}}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestTextsOfRareRows has what random values seldom meet.
func TestTextsOfRareRows(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	s, query := named(t, db)
	run(t, s, query("EnsureWorkspace"), "w", "", 1)

	for id, times := range map[string][2]any{"a": {1, nil}, "b": {8, 9}, "c": {3, nil}, "d": {1, 5}} { // created, revoked
		run(t, db, `INSERT INTO keys (id, name, hash, hint, scopes, created_at, revoked_at, parent)
			VALUES ($1, '', $2, '', '[]', $3, $4, 'p')`, id, []byte(strings.Repeat(id, 32)), times[0], times[1])
	}
	run(t, db, "UPDATE keys SET last_used_at = 4 WHERE id = 'a'")
	if got := rows(t, s, query("TrimSessions"), "p", 2); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"b", "d"}) {
		t.Errorf("of the sessions these went: %v", got)
	}
	if got := rows(t, s, query("TrimSessions"), "p", 1); !slices.Equal(got, []string{"c"}) { // a was used later
		t.Errorf("of the sessions these went: %v", got)
	}

	hook := "INSERT INTO webhooks (id, url, secret, events, failing_since, failed_at, off_reason, created_at, updated_at) " +
		"VALUES ('h', '', '', '[]', 3, 4, 'gone', 1, 1)"
	run(t, db, hook)
	for _, c := range []struct {
		enabled bool
		want    string
	}{{true, "1 3 4 "}, {false, "0 - - "}} {
		rows(t, s, query("UpdateWebhook"), []byte("u"), []byte("s"), nil, nil, "[]", c.enabled, 1, "h",
			one(t, db, "SELECT revision FROM webhooks"), nil)
		got := one(t, db, `SELECT enabled || ' ' || coalesce(failing_since::text, '-') || ' ' || coalesce(failed_at::text, '-') || ' ' ||
			off_reason FROM webhooks`)
		if got != c.want {
			t.Errorf("enabled %v: %q, want %q", c.enabled, got, c.want)
		}
	}

	run(t, db, `INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, next_at, planned_at, created_at)
		VALUES ('h', 'a', '', '', '', 150, 100, 1), ('h', 'b', '', '', '', 50, 100, 1), ('h', 'c', '', '', '', 60, 10, 1)`)
	run(t, s, query("ReplanDeliveries"), 20, "h", 30)
	got := one(t, db, "SELECT string_agg(id || next_at || ' ' || planned_at, ', ' ORDER BY id) FROM webhook_deliveries")
	if want := "a70 20, b20 20, c60 10"; got != want { // a pause is never below 0
		t.Errorf("deliveries: %s, want %s", got, want)
	}

	run(t, s, query("InsertProxy"), "p", "w", "http", "h", 1, "", nil, "", "[]", "", "", nil, 1, 1)
	run(t, s, query("SetProxyCheck"), "alive", "{}", "1.1.1.1", "DE", nil, 5, "", "p", 1)
	for id, own := range map[string]any{"a": "on", "b": "off", "c": nil} {
		run(t, db, profile, id, "w", "p", 0, nil)
		run(t, db, "UPDATE profiles SET snapshots = $1 WHERE id = $2", own, id)
	}
	if got := rows(t, s, query("ListProfilesAtExit"), "w", "1.1.1.1", 9); len(got) != 3 {
		t.Errorf("at the exit: %v", got)
	}
	for due, want := range map[any]string{nil: "a0 b0 c0", "off": "a1 b0 c0", "on": "a1 b0 c1"} {
		run(t, db, "UPDATE profiles SET snapshot_due = 0")
		for _, id := range []string{"a", "b", "c"} {
			run(t, s, query("SetProfileStatus"), "stopped", nil, nil, nil, due, id, "")
		}
		if got := one(t, db, "SELECT string_agg(id || snapshot_due, ' ' ORDER BY id) FROM profiles"); got != want {
			t.Errorf("due %v: %s, want %s", due, got, want)
		}
	}
}
