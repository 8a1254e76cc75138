package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
)

// A database of the first version keeps its values, and columns of later versions get their defaults.
func TestUpgradeFromTheFirst(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "warren.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO workspaces (id, created_at, updated_at) VALUES ('default', 1, 1)",
		"INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, webrtc, created_at, updated_at) " +
			"VALUES ('p', 'default', 'old', 'linux', '150', 'old', 'off', 1, 1)",
		"INSERT INTO proxies (id, workspace_id, type, host, port, last_check, created_at, updated_at) " +
			"VALUES ('x', 'default', 'socks5', 'h', 1, '{\"latencyMs\":40}', 1, 1)",
		`INSERT INTO proxy_checks (proxy_id, at, ok, result) ` +
			`VALUES ('x', 5, 1, '{"exitIp":"192.0.2.1","country":"DE","latencyMs":40}'), ('x', 7, 0, '{"exitIp":null,"latencyMs":null}')`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, dir, Options{})
	row, err := s.Read().GetProfile(ctx, GetProfileParams{ID: "p"})
	if err != nil || row.Name != "old" || row.WebRTC != "off" || row.BackgroundTraffic != "refuse" || row.AllowLocal != "[]" ||
		row.Consistency != "warn" {
		t.Errorf("%+v, %v", row, err)
	}
	if row.FallbackProxyIDs != "[]" || row.FallbackCountry != "same" || row.AllowHosts != "[]" || row.LogHosts {
		t.Errorf("%+v", row)
	}
	px, err := s.Read().GetProxy(ctx, GetProxyParams{ID: "x"})
	if err != nil || px.ExitIP != "192.0.2.1" || px.Country != "DE" || px.LatencyMs == nil || *px.LatencyMs != 40 ||
		px.CheckedAt != 7 || px.Recent != "40 -" {
		t.Errorf("%+v, %v", px, err)
	}
}

// versions returns the numbers of the migrations, in order. A number that PostgreSQL alone has is missing.
func versions(t *testing.T) (all []int64) {
	t.Helper()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		var version int64
		if _, err := fmt.Sscanf(name, "migrations/%d_", &version); err != nil {
			t.Fatal(name, err)
		}
		all = append(all, version)
	}
	return all
}

// rowsSince holds the rows and values that each version could first have. Together they fill every table, and every
// column that a later migration added with another value than its default. A migration that creates a table adds its
// rows here. It has an entry for each version and reads best as one table.
func rowsSince() map[int64][]string {
	return map[int64][]string{
		1: {
			"INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ('team', 'Team', 1, 2)",
			"INSERT INTO keys (id, name, hash, hint, scopes, workspaces, expires_at, last_used_at, created_at, revoked_at) " +
				"VALUES ('k1', 'Key', zeroblob(32), 'wr_1', '[\"run\"]', '[\"team\"]', 9, 8, 7, NULL), ('k2', 'Old', randomblob(32), " +
				"'wr_2', '[\"admin\"]', NULL, NULL, NULL, 7, 8)",
			"INSERT INTO proxies (id, workspace_id, type, host, port, username, password, name, tags, notes, rotate_url, status, " +
				"last_check, created_at, updated_at) " +
				"VALUES ('x', 'team', 'socks5', 'h', 1, 'u', x'00', 'Proxy', '[\"t\"]', 'note', 'https://r.example/', 'alive', " +
				"'{\"latencyMs\":40}', 1, 1)",
			`INSERT INTO proxy_checks (proxy_id, at, ok, result) ` +
				`VALUES ('x', 5, 1, '{"exitIp":"192.0.2.1","country":"DE","latencyMs":40}'), ('x', 7, 0, ` +
				`'{"exitIp":null,"latencyMs":null}')`,
			`INSERT INTO profiles (id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id,
				start_urls, timezone, locale, geolocation, webrtc, screen, headless, idle_timeout_ms, max_run_ms, status, last_run,
				last_started_at, disk_bytes, revision, created_at, updated_at)
				VALUES ('p', 'team', 'old', 'mac', '150', '["t"]', char(10)||'t'||char(10), 'note', 'old'||char(10)||'note', 'x',
				'["https://a.example/"]', 'Asia/Tokyo', '["ja"]', 'off', 'off', '{"width":1}', 1, 2, 3, 'failed',
				'{"id":"r"}', 4, 5, 6, 7, 8)`,
			"INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, proxy_missing, created_at, updated_at, " +
				"trashed_at) VALUES ('q', 'team', 'gone', 'win', '', 'gone'||char(10), 1, 1, 1, 5)",
			`INSERT INTO runs (id, profile_id, workspace_id, started_at, ended_at, outcome, record) ` +
				`VALUES ('r', 'p', 'team', 1, 2, 'stopped', '{"a":1}'), ('s', 'p', 'team', 3, NULL, '', '{}')`,
		},
		2: {`UPDATE profiles SET background_traffic = 'allow', allow_local = '["localhost:1"]' WHERE id = 'p'`},
		3: {"UPDATE profiles SET consistency = 'block' WHERE id = 'p'"},
		4: {
			`UPDATE profiles SET fallback_proxy_ids = '["x"]', fallback_country = 'any', allow_hosts = '["a.example"]', deny_hosts = ` +
				`'["b.example"]', localhost_via = '["c.example"]', log_hosts = 1 WHERE id = 'p'`,
			"UPDATE proxies SET exit_ip = '192.0.2.9', country = 'FR', latency_ms = 3, checked_at = 4, recent = '3', rotated_at = 5, " +
				"picked_at = 6 WHERE id = 'x'",
			`INSERT INTO run_hosts (run_id, hosts) VALUES ('r', '["a.example"]')`,
			"INSERT INTO traffic (run_id, proxy_id, day, profile_id, workspace_id, bytes_up, bytes_down, connections) " +
				"VALUES ('r', 'x', 1, 'p', 'team', 2, 3, 4)",
			"INSERT INTO picks (profile_id, tag, proxy_id) VALUES ('p', 't', 'x')",
			`INSERT INTO audit (id, at, key_id, key_name, workspace_id, action, object_id, remote, request_id, detail) ` +
				`VALUES ('a', 1, 'k1', 'Key', 'team', 'profile.start', 'p', '127.0.0.1', 'rq', '{"b":2}')`,
		},
		7: {"INSERT INTO deleted (id, kind, workspace_id, at) VALUES ('d', 'profile', 'team', 1)"},
		11: {
			"UPDATE workspaces SET pack_secret = x'00' WHERE id = 'team'",
			"UPDATE profiles SET temporary = 1, snapshots = 'off', head_id = 'sn', snapshot_due = 1 WHERE id = 'p'",
			"INSERT INTO snapshots (id, profile_id, workspace_id, parent, reason, name, pinned, browser, bytes, new_bytes, created_at) " +
				"VALUES ('sn', 'p', 'team', 'before', 'asked', 'Snapshot', 1, '156.0.1.2', 3, 2, 1)",
			"INSERT INTO packs (name, workspace_id, bytes, state, seen_at) VALUES ('pk', 'team', 2, 'there', 1)",
			"INSERT INTO snapshot_packs (snapshot_id, pack) VALUES ('sn', 'pk')",
		},
		12: {
			`UPDATE workspaces SET defaults = '{"os":"mac"}', revision = 2 WHERE id = 'team'`,
			`UPDATE profiles SET template_id = 'tp', args = '["--disable-gpu"]', sources = '{"os":"template"}' WHERE id = 'p'`,
			"INSERT INTO templates (id, workspace_id, name, search_key, settings, revision, created_at, updated_at) " +
				`VALUES ('tp', 'team', 'Template', 'template', '{"os":"win"}', 3, 1, 2)`,
			"INSERT INTO deleted (id, kind, workspace_id, at) VALUES ('dt', 'template', 'team', 2)",
		},
		13: {
			`UPDATE profiles SET extensions = '[{"id":"e","enabled":true}]' WHERE id = 'p'`,
			"INSERT INTO extensions (id, workspace_id, extension_id, name, description, version, minimum_chrome, sha256, bytes, files, " +
				"rules, permissions, optional_permissions, hosts, optional_hosts, created_at) VALUES ('e', 'team', 'abcdefghijklmnop' || " +
				"'abcdefghijklmnop', 'Blocker', 'text', '1.2', '120', hex(zeroblob(32)), 3, 2, 1, '[\"tabs\"]', '[]', '[]', '[]', 5)",
		},
		14: {`UPDATE profiles SET passkeys = 'ask' WHERE id = 'p'`},
		15: {
			"UPDATE profiles SET start_with_server = 1 WHERE id = 'p'",
			"INSERT INTO schedules (id, workspace_id, name, search_key, enabled, cron, time_zone, action, profile_ids, start_urls, " +
				"max_run_ms, catch_up, next_at, planned_at, last_run, missed, missed_at, skipped, skipped_at, revision, created_at, " +
				`updated_at) VALUES ('sc', 'team', 'Mornings', 'mornings', 0, '0 9 * * 1-5', 'Europe/Berlin', 'start', '["p"]', ` +
				`'["https://a.example/"]', 60000, 1, 5, 4, '{"status":"failed"}', 3, 2, 1, 1, 7, 1, 2)`,
			"INSERT INTO schedules (id, workspace_id, name, search_key, every_ms, action, proxy_ids, created_at, updated_at) " +
				`VALUES ('sd', 'team', 'Checks', 'checks', 60000, 'check', '["x"]', 1, 2)`,
		},
		16: {
			"INSERT INTO webhooks (id, workspace_id, url, secret, old_secret, old_until, events, enabled, off_reason, failing_since, " +
				"failed_at, dropped, dropped_at, revision, created_at, updated_at) VALUES ('wh', 'team', x'01', x'02', x'03', 4, " +
				`'["*"]', 0, 'gone', 5, 6, 7, 8, 9, 1, 2)`,
			"INSERT INTO webhook_deliveries (webhook_id, id, event_id, type, body, state, attempts, tries, next_at, " +
				`planned_at, created_at) VALUES ('wh', 'd', 'e', 'run.ended', '{}', 'failed', 3, '[{"status":500}]', 4, 5, 6)`,
		},
		17: {`UPDATE profiles SET limits = '{"memoryMb":512}' WHERE id = 'p'`},
		18: {
			"UPDATE workspaces SET quota_profiles = 10, quota_running = 3, quota_disk_mb = 100, quota_proxies = 7 WHERE id = 'team'",
			"INSERT INTO audit (seq, id, at, key_id, key_name, parent, workspace_id, action, object_id, result, remote, " +
				"request_id, hash) VALUES (2, 'b', 2, 'k1', 'Key', 'k0', 'team', 'profile.update', 'p', 'forbidden', '127.0.0.1', 'rq', " +
				"x'01')",
			"INSERT INTO audit_index (seq, at, key_id, workspace_id, action, object_id, result) " +
				"SELECT seq, at, key_id, workspace_id, action, object_id, result FROM audit",
		},
		19: {"INSERT INTO webhooks (id, url, secret, events, created_at, updated_at) VALUES ('ws', x'01', x'02', '[\"*\"]', 1, 2)"},
		20: {"UPDATE profiles SET freeze_after = 600 WHERE id = 'p'"},
		21: {
			"UPDATE profiles SET node_id = 'n' WHERE id = 'p'",
			"INSERT INTO nodes (id, name, address, version, incarnation, beat, beat_at, started_at, stopped, capacity, running, " +
				"browsers, labels, draining) VALUES ('n', 'Node', 'http://127.0.0.1:7777', '1.0', 'i', 2, 3, 4, 1, 5, 6, " +
				`'[{"version":"156"}]', '{"zone":"a"}', 1)`,
		},
		22: {"UPDATE nodes SET schema = 22 WHERE id = 'n'"},
		23: {
			"UPDATE schedules SET node_id = 'n'", "UPDATE idempotency SET node_id = 'n'",
			"INSERT INTO duties (name, holder, until) VALUES ('d', 'h', 1)",
			"INSERT INTO tickets (hash, key, path, until) VALUES (zeroblob(32), 'k1', '/', 1)",
		},
		24: {
			`UPDATE profiles SET placement = '{"labels":{"zone":"a"}}' WHERE id = 'p'`,
			"UPDATE nodes SET pressure = 40 WHERE id = 'n'",
		},
		25: {"UPDATE packs SET node_id = 'n'"},
		26: {`INSERT INTO deals (id, node_id, proxies) VALUES ('d', 'n', '{"x":1}')`},
	}
}

// filledDatabase is a database of a version with rows in every table.
func filledDatabase(t *testing.T, version int64) (dir string) {
	t.Helper()
	return oldDatabase(t, version, func(db *sql.DB, sealer keyring) {
		answer, err := sealer.seal("idempotency", "answer", "k1\ni\n"+"POST /x", []byte("the answer"))
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO idempotency (key_id, idem_key, target, body_hash, object, status, answer, created_at) "+
			"VALUES ('k1', 'i', 'POST /x', x'01', 'p', 200, ?, 1)", answer)
		for v := int64(1); v <= version; v++ {
			for _, statement := range rowsSince()[v] {
				mustExec(t, db, statement)
			}
		}
		for table, rows := range snapshot(t, db) {
			if len(rows) == 0 {
				t.Errorf("version %d has a table %s, and the test no row for it", version, table)
			}
		}
	})
}

// snapshot returns every row of every table by its columns. A blob is its length, since sealing is random.
func snapshot(t *testing.T, db *sql.DB) map[string][]map[string]string {
	t.Helper()
	out := map[string][]map[string]string{}
	for _, table := range list(t, db,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'") {
		out[table] = []map[string]string{}
		columns := list(t, db, "SELECT name FROM pragma_table_xinfo(?)", table)
		text := make([]string, len(columns))
		for i, c := range columns {
			text[i] = fmt.Sprintf("iif(typeof(%[1]s) = 'blob', 'blob of ' || length(%[1]s), quote(%[1]s))", c)
		}
		rows, err := db.Query("SELECT " + strings.Join(text, ", ") + " FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			values, into := make([]string, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			row := map[string]string{}
			for i, c := range columns {
				row[c] = values[i]
			}
			out[table] = append(out[table], row)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	isPending := func(row map[string]string) bool { return row["name"] == "'"+pendingSteps+"'" }
	out["settings"] = slices.DeleteFunc(out["settings"], isPending)
	return out
}

// remade returns the columns that a migration changes on purpose. Another test checks their new values.
func remade() []string {
	return []string{"idempotency.target", "idempotency.answer", "proxies.rotate_url", "audit.hash", "audit_chain.last_seq",
		"audit_chain.last_hash", "audit_chain.seal"}
}

// A database of every past version keeps all its values.
func TestUpgradeFromEveryVersion(t *testing.T) {
	fresh := t.TempDir()
	s := openIn(t, fresh, Options{})
	schema := schemaOf(t, sqliteOf(t, s).readers)
	for _, version := range versions(t) {
		if raceDetector && version%5 > 0 {
			continue // make test tries each; the code that could race is the same
		}
		t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			dir := filledDatabase(t, version)
			db := openPool(dsn(filepath.Join(dir, FileName), examinePragmas), 1)
			before := snapshot(t, db)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s := openIn(t, dir, Options{})
			if got := schemaOf(t, sqliteOf(t, s).readers); !slices.Equal(got, schema) {
				t.Errorf("the schema: %v", difference(got, schema))
			}
			assertWhole(t, s)
			after := snapshot(t, sqliteOf(t, s).readers)
			for table, rows := range before {
				if len(after[table]) != len(rows) && table != "settings" { // later versions have more settings
					t.Errorf("%s: %d rows, there were %d", table, len(after[table]), len(rows))
				}
				for _, row := range rows {
					if !slices.ContainsFunc(after[table], func(now map[string]string) bool { return kept(table, row, now) }) {
						t.Errorf("%s: there is no %v, but %v", table, row, after[table])
					}
				}
			}
		})
	}
}

// kept reports whether a row has all of its former values.
func kept(table string, had, has map[string]string) bool {
	for column, value := range had {
		if has[column] != value && !slices.Contains(remade(), table+"."+column) {
			return false
		}
	}
	return true
}
