package postgres

import (
	"fmt"
	"strings"
	"testing"
)

// TestEveryTextPrepares holds each text against the schema.
func TestEveryTextPrepares(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	texts, err := ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		stmt, err := db.PrepareContext(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := stmt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTextIsOfBytes: what has another collation would be sorted otherwise than SQLite does it.
func TestTextIsOfBytes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	for _, column := range rows(t, db, `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`) {
		t.Errorf("%s has no COLLATE \"C\"", column)
	}
}

const profile = "INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, proxy_id, disk_bytes, trashed_at, " +
	"created_at, updated_at) VALUES ($1, $2, $1, 'linux', '1', 'k', $3, $4, $5, 1, 1)"

const proxy = "INSERT INTO proxies (id, workspace_id, type, host, port, created_at, updated_at) VALUES ($1, $2, 'http', $1, 1, 1, 1)"

const workspace = "INSERT INTO workspaces (id, created_at, updated_at) VALUES ($1, 1, 1)"

func TestCounters(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, proxy, "p", "w")
	run(t, db, proxy, "q", "w")
	counts := func(step, want string) {
		t.Helper()
		got := one(t, db, `SELECT profile_count || ' ' || trashed_count || ' ' || proxy_count || ' ' || data_bytes || ' ' ||
			(SELECT string_agg(id || profile_count, ' ' ORDER BY id) FROM proxies) FROM workspaces WHERE id = 'w'`)
		if got != want {
			t.Errorf("%s: %s, want %s", step, got, want)
		}
	}
	counts("proxies", "0 0 2 0 p0 q0")
	run(t, db, profile, "a", "w", "p", 5, nil)
	run(t, db, profile, "b", "w", "p", 0, 7)
	run(t, db, profile, "c", "w", nil, 2, nil)
	counts("profiles", "2 1 2 7 p1 q0")
	run(t, db, `INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, proxy_id, disk_bytes, created_at, updated_at)
		SELECT 'm' || n, 'w', 'n', 'linux', '1', 'k', CASE WHEN n % 2 = 0 THEN 'q' END, 1, 1, 1 FROM generate_series(1, 10) AS n`)
	counts("ten at once", "12 1 2 17 p1 q5")
	run(t, db, "DELETE FROM profiles WHERE id LIKE 'm%'")
	counts("deleted at once", "2 1 2 7 p1 q0")
	run(t, db, "UPDATE profiles SET trashed_at = 9 WHERE id = 'a'")
	counts("to the trash", "1 2 2 7 p0 q0")
	run(t, db, "UPDATE profiles SET trashed_at = 9 WHERE id = 'a'")
	counts("there already", "1 2 2 7 p0 q0")
	run(t, db, "UPDATE profiles SET trashed_at = NULL, proxy_id = 'q' WHERE id = 'a'")
	counts("back with another proxy", "2 1 2 7 p0 q1")
	run(t, db, "UPDATE profiles SET proxy_id = 'p', disk_bytes = 11 WHERE id = 'a'")
	counts("swapped and measured", "2 1 2 13 p1 q0")
	wantFault(t, db, Reference, "", "DELETE FROM proxies WHERE id = 'p'")
	run(t, db, "UPDATE profiles SET proxy_id = NULL WHERE id = 'a'")
	run(t, db, "DELETE FROM proxies WHERE id = 'p'")
	counts("a proxy less", "2 1 1 13 q0")
	if got := one(t, db, "SELECT coalesce(proxy_id, 'none') || proxy_missing FROM profiles WHERE id = 'b'"); got != "none1" {
		t.Errorf("the trashed profile: %s", got)
	}
	run(t, db, "INSERT INTO packs (name, workspace_id, bytes, state, seen_at) VALUES ('k', 'w', 100, 'there', 0)")
	counts("a pack", "2 1 1 113 q0")
	run(t, db, "DELETE FROM profiles")
	counts("no profile", "0 0 1 100 q0")
	run(t, db, "DELETE FROM proxies")
	run(t, db, "DELETE FROM workspaces")
	run(t, db, workspace, "w")
	if got := one(t, db, "SELECT data_bytes FROM workspaces"); got != "100" {
		t.Errorf("a new workspace has %s bytes of packs", got)
	}
	run(t, db, "DELETE FROM packs")
	if got := one(t, db, "SELECT data_bytes FROM workspaces"); got != "0" {
		t.Errorf("%s bytes of packs are left", got)
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, "UPDATE workspaces SET quota_profiles = 1, quota_proxies = 1")
	run(t, db, profile, "a", "w", nil, 0, nil)
	wantFault(t, db, Check, "quota of profiles of w;", profile, "b", "w", nil, 0, nil)
	run(t, db, profile, "c", "w", nil, 0, 5)
	wantFault(t, db, Check, "quota of profiles of w;", "UPDATE profiles SET trashed_at = NULL WHERE id = 'c'")
	run(t, db, proxy, "p", "w")
	wantFault(t, db, Check, "quota of proxies of w;", proxy, "q", "w")
	run(t, db, "UPDATE workspaces SET quota_profiles = 0") // what is above stays
	run(t, db, "UPDATE profiles SET trashed_at = 5 WHERE id = 'a'")
	if got := one(t, db, "SELECT profile_count || ' ' || trashed_count || ' ' || proxy_count FROM workspaces"); got != "0 2 1" {
		t.Error(got)
	}
	_, err := db.ExecContext(t.Context(), proxy, "q", "w")
	if _, constraint, _ := FaultOf(err); constraint != "quota" {
		t.Errorf("the constraint is %q", constraint)
	}
}

func TestChecksAreTrimmed(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, proxy, "p", "w")
	run(t, db, proxy, "q", "w")
	for i := range 103 {
		run(t, db, "INSERT INTO proxy_checks (proxy_id, at, ok, result) VALUES ('p', $1, $2, '{}')", i, i%2)
	}
	run(t, db, "INSERT INTO proxy_checks (proxy_id, at, ok, result) VALUES ('q', 1, 1, '{}')")
	counts := func() string {
		return one(t, db, `SELECT string_agg(id || ' ' || checks_total || ' ' || checks_ok || ' ' || (SELECT count(*) || ' ' || min(at)
			FROM proxy_checks WHERE proxy_id = proxies.id), ', ' ORDER BY id) FROM proxies`)
	}
	if got, want := counts(), "p 100 50 100 3, q 1 1 1 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	run(t, db, "DELETE FROM proxy_checks WHERE proxy_id = 'p' AND at < 13")
	if got, want := counts(), "p 90 45 90 13, q 1 1 1 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	run(t, db, "DELETE FROM proxies WHERE id = 'p'")
	if got := one(t, db, "SELECT count(*) FROM proxy_checks"); got != "1" {
		t.Errorf("%s checks are left", got)
	}
	run(t, db, "INSERT INTO proxy_checks (seq, proxy_id, at, ok, result) VALUES (1000, 'q', 1, 1, '{}')") // a copy names numbers
}

func TestWorkspacesAreFixed(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, workspace, "v")
	run(t, db, proxy, "p", "w")
	run(t, db, profile, "a", "w", nil, 0, nil)
	run(t, db, "INSERT INTO templates VALUES ('t', 'w', 'n', 'n', '{}', 1, 1, 1)")
	run(t, db, "INSERT INTO webhooks (id, url, secret, events, created_at, updated_at) VALUES ('h', '', '', '[]', 1, 1)")
	run(t, db, "INSERT INTO schedules (id, workspace_id, name, search_key, every_ms, action, tag, created_at, updated_at) "+
		"VALUES ('s', 'w', 'n', 'n', 1, 'start', 't', 1, 1)")
	for _, table := range []string{"proxies", "profiles", "templates", "webhooks", "schedules"} {
		wantFault(t, db, Trigger, "workspace_id never changes", "UPDATE "+table+" SET workspace_id = 'v'")
		run(t, db, "UPDATE "+table+" SET workspace_id = workspace_id")
	}
}

func TestDeletedAreRemembered(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, proxy, "p", "w")
	run(t, db, profile, "a", "w", nil, 0, nil)
	run(t, db, "INSERT INTO runs (id, profile_id, workspace_id, started_at, record) VALUES ('r', 'a', 'w', 1, '{}')")
	run(t, db, "INSERT INTO templates VALUES ('t', 'w', 'n', 'n', '{}', 1, 1, 1)")
	run(t, db, "INSERT INTO webhooks (id, url, secret, events, created_at, updated_at) VALUES ('h', '', '', '[]', 1, 1)")
	run(t, db, "INSERT INTO schedules (id, workspace_id, name, search_key, every_ms, action, tag, created_at, updated_at) "+
		"VALUES ('s', 'w', 'n', 'n', 1, 'start', 't', 1, 1)")
	for i, workspaces := range []any{`["w","v"]`, `[]`, nil} {
		run(t, db, "INSERT INTO keys (id, name, hash, hint, scopes, workspaces, created_at) VALUES ($1, '', $2, '', '[]', $3, 1)",
			fmt.Sprint("k", i), []byte(strings.Repeat(fmt.Sprint(i), 32)), workspaces)
	}
	run(t, db, "INSERT INTO deleted VALUES ('a', 'profile', 'before', 0)")
	for _, table := range []string{"profiles", "proxies", "templates", "webhooks", "schedules", "keys", "workspaces"} {
		run(t, db, "DELETE FROM "+table)
	}
	got := strings.Join(rows(t, db, "SELECT id || ' ' || kind || ' ' || workspace_id FROM deleted ORDER BY kind, id"), ", ")
	want := "k0 key w, k1 key , k2 key , a profile w, p proxy w, r run w, s schedule w, t template w, h webhook , w workspace w"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := one(t, db, "SELECT count(*) FROM deleted WHERE at BETWEEN now_ms() - 600000 AND now_ms()"); got != "10" {
		t.Errorf("%s have the time", got)
	}
}

func TestPacksAreLetGo(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, profile, "a", "w", nil, 0, nil)
	run(t, db, "INSERT INTO snapshots (id, profile_id, workspace_id, reason, bytes, new_bytes, created_at) "+
		"VALUES ('s', 'a', 'w', 'stop', 1, 1, 1)")
	run(t, db, "INSERT INTO packs VALUES ('k', 'w', 1, 'there', 5), ('l', 'w', 1, 'there', 5)")
	run(t, db, "INSERT INTO snapshot_packs VALUES ('s', 'k')")
	wantFault(t, db, Reference, "", "DELETE FROM packs WHERE name = 'k'")
	run(t, db, "DELETE FROM profiles")
	got := one(t, db, "SELECT string_agg(name || (seen_at > 5), ' ' ORDER BY name) || (SELECT count(*) FROM snapshot_packs) FROM packs")
	if got != "ktrue lfalse0" {
		t.Error(got)
	}
}

func TestAuditIsAppendedTo(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	const entry = "INSERT INTO audit (seq, id, at, key_id, key_name, action, remote, request_id, hash) " +
		"VALUES ($1, '', 1, '', '', $2, '', '', $3)"
	const refused = "the audit log is only appended to"
	for i, action := range []string{"proxy.secret", "login", ".x", "a.b.c"} {
		run(t, db, entry, i+1, action, []byte("h"))
	}
	run(t, db, entry, 5, "x.y", []byte{})
	if got := strings.Join(rows(t, db, "SELECT kind FROM audit ORDER BY seq"), ","); got != "proxy,,,a,x" {
		t.Errorf("the kinds are %s", got)
	}
	run(t, db, "UPDATE audit SET hash = 'h' WHERE seq = 5")
	wantFault(t, db, Trigger, refused, "UPDATE audit SET hash = 'i' WHERE seq = 5")
	wantFault(t, db, Trigger, refused, "DELETE FROM audit WHERE seq = 1")
	run(t, db, "UPDATE audit_chain SET anchor_seq = 2, last_seq = 5")
	run(t, db, "DELETE FROM audit WHERE seq <= 2")
	wantFault(t, db, Trigger, refused, "DELETE FROM audit WHERE seq <= 3")
	wantFault(t, db, Trigger, refused, "UPDATE audit_chain SET anchor_seq = 1")
	wantFault(t, db, Trigger, refused, "UPDATE audit_chain SET last_seq = 4")
	wantFault(t, db, Trigger, refused, "DELETE FROM audit_chain")
	wantFault(t, db, Trigger, refused, "TRUNCATE audit")
	wantFault(t, db, Trigger, refused, "TRUNCATE audit_chain")
	wantFault(t, db, Check, "", "INSERT INTO audit_chain VALUES (2, 0, '', 0, '', '')")
}

func TestJSONIsChecked(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	for value, want := range map[string]string{`[]`: "true false true", `{"a":"\u0000"}`: "false true true", `{`: "false false false",
		`"a"`: "false false true", ``: "false false false", `["\ud800"]`: "true false true", `[1e999]`: "true false true",
		`{"a":1} x`: "false false false", strings.Repeat("[", 100_000): "false false false"} {
		got := one(t, db, "SELECT is_json($1, 'array') || ' ' || is_json($1, 'object') || ' ' || is_json($1)", value)
		if got != want {
			t.Errorf("%.20s: %s, want %s", value, got, want)
		}
	}
	run(t, db, workspace, "w")
	wantFault(t, db, Check, "", "UPDATE workspaces SET defaults = '[]'")
	wantFault(t, db, Check, "", "UPDATE workspaces SET defaults = '{'")
}

func TestChangesAreNoted(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	noted := func(change func(tx DBTX)) string {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		change(tx)
		xid := one(t, tx, "SELECT pg_current_xact_id()::text")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(rows(t, db, `SELECT kind || ' ' || id FROM changes WHERE xid = $1::text::xid8 AND at > 0
			ORDER BY kind, id`, xid), ", ")
	}
	for _, c := range []struct{ want, statements string }{
		{"", "INSERT INTO workspaces (id, created_at, updated_at) VALUES ('w', 1, 1)"},
		{"proxies p", `INSERT INTO proxies (id, workspace_id, type, host, port, created_at, updated_at)
			VALUES ('p', 'w', 'http', 'h', 1, 1, 1)`},
		{"profiles a, profiles b, proxies p", `INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, proxy_id,
			created_at, updated_at) VALUES ('a', 'w', 'a', 'linux', '1', 'k', 'p', 1, 1), ('b', 'w', 'a', 'linux', '1', 'k', NULL, 1, 1)`},
		{"profiles a", "UPDATE profiles SET notes = 'x' WHERE id = 'a'; UPDATE profiles SET notes = 'y' WHERE id = 'a'"},
		{"", "UPDATE profiles SET notes = 'x' WHERE id = 'none'"},
		{"proxies p", "INSERT INTO proxy_checks (proxy_id, at, ok, result) VALUES ('p', 1, 1, '{}')"},
		{"profiles a, profiles b, proxies p", "DELETE FROM profiles"},
	} {
		if got := noted(func(tx DBTX) { run(t, tx, c.statements) }); got != c.want {
			t.Errorf("%s: %s, want %s", c.statements, got, c.want)
		}
	}
	if got := one(t, db, "SELECT below::text FROM changes_removed"); got != "0" {
		t.Error(got)
	}
}
