package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemaOf describes a database. Equal descriptions mean equal behaviour. The stored text of a table is not compared,
// since SQLite rewrites it when a migration alters the table.
func schemaOf(t *testing.T, db *sql.DB) []string {
	t.Helper()
	out := list(t, db, "SELECT 'application_id', application_id FROM pragma_application_id")
	for _, table := range list(t, db, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
		AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`) {
		about := func(kind, query string) {
			for _, line := range list(t, db, query, table) {
				out = append(out, table+" "+kind+" "+line)
			}
		}
		about("table", "SELECT type, 'columns', ncol, 'without rowid', wr, 'strict', strict FROM pragma_table_list WHERE name = ?")
		about("column", `SELECT name, type, 'not null', "notnull", 'default', dflt_value, 'pk', pk, 'hidden', hidden `+
			`FROM pragma_table_xinfo(?)`)
		about("foreign key", `SELECT id, seq, "table", "from", "to", on_update, on_delete, "match" FROM pragma_foreign_key_list(?)`)
		about("index", `SELECT iif(l.name LIKE 'sqlite_autoindex%', '-', l.name), 'unique', l."unique", l.origin, 'partial', l.partial,
			group_concat(x.name || ' ' || x.desc || ' ' || x.coll, ',' ORDER BY x.seqno)
			FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x WHERE x.key GROUP BY l.name`)
		for _, text := range list(t, db, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", table) {
			for _, kind := range []string{"CHECK (", "AS ("} { // conditions, generated columns
				for _, inside := range balanced(text, kind) {
					out = append(out, table+" "+kind+inside+")")
				}
			}
			for _, column := range collated.FindAllStringSubmatch(normal(text), -1) {
				out = append(out, table+" collation "+column[1]+" "+column[2])
			}
		}
	}
	for _, text := range list(t, db, `SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL`) {
		out = append(out, normal(text)) // indexes (expressions, conditions), triggers, views: rewritten only by a rename
	}
	slices.Sort(out)
	return out
}

// list runs a query and joins the columns of each row.
func list(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values := make([]any, len(columns))
		texts := make([]sql.NullString, len(columns))
		for i := range values {
			values[i] = &texts[i]
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, text := range texts {
			line = append(line, text.String)
		}
		out = append(out, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// collated finds the columns that name a collation, which no PRAGMA tells without an index.
var collated = regexp.MustCompile(`(\w+) TEXT[^,]* COLLATE (\w+)`)

var comments = regexp.MustCompile(`--[^\n]*`)

func normal(text string) string {
	return strings.Join(strings.Fields(comments.ReplaceAllString(text, "")), " ")
}

// balanced returns the texts between an opening such as "CHECK (" and its closing parenthesis.
func balanced(table, opening string) []string {
	text := normal(table)
	var out []string
	for {
		_, rest, found := strings.Cut(text, opening)
		if !found {
			return out
		}
		depth, end := 1, 0
		for ; end < len(rest) && depth > 0; end++ {
			switch rest[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		out = append(out, rest[:end-1])
		text = rest[end:]
	}
}

// schemaFromFile describes the database that the text of schema.sql creates.
func schemaFromFile(t *testing.T, text string) []string {
	t.Helper()
	db := openPool(dsn(filepath.Join(t.TempDir(), "schema.db"), commonPragmas+"&_pragma=journal_mode(MEMORY)&_pragma=synchronous(OFF)"), 1)
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, db)
}

func difference(a, b []string) []string {
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "+ "+line)
		}
	}
	return out
}

func TestSchemaFileEqualsMigrations(t *testing.T) {
	text, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	migrated := schemaOf(t, sqliteOf(t, openTest(t)).readers)
	if d := difference(migrated, schemaFromFile(t, string(text))); d != nil {
		t.Fatalf("migrations (-) and schema.sql (+) differ:\n%s", strings.Join(d, "\n"))
	}
	// The comparison detects each kind of drift.
	for _, drift := range [][2]string{
		{"CHECK (length(id) BETWEEN 1 AND 64)", ""},
		{"BETWEEN 1 AND 65535", "BETWEEN 1 AND 65536"},
		{"CHECK (proxy_id IS NULL OR proxy_missing = 0)", "CHECK (proxy_id IS NULL OR proxy_missing = 1)"},
		{") STRICT;", ");"},
		{") STRICT, WITHOUT ROWID;", ") STRICT;"},
		{"NOT NULL COLLATE NOCASE", "NOT NULL"},
		{"(workspace_id, trashed, created_at, id)", "(workspace_id COLLATE NOCASE, trashed, created_at, id)"},
		{"(workspace_id, trashed, created_at, id)", "(workspace_id, trashed, id, created_at)"},
		{"(workspace_id, trashed, created_at, id)", "(workspace_id, trashed, created_at DESC, id)"},
		{"(workspace_id, trashed, created_at, id)", "(workspace_id, trashed, created_at + 1, id)"},
		{"AS (trashed_at IS NOT NULL)", "AS (trashed_at IS NULL)"},
		{"ON runs (started_at, id) WHERE ended_at IS NULL", "ON runs (started_at, id)"},
		{"REFERENCES proxies (id) ON DELETE CASCADE", "REFERENCES proxies (id)"},
		{"REFERENCES workspaces (id)", ""},
		{"DEFAULT 'proxy_only'", "DEFAULT 'off'"},
		{"hint         TEXT    NOT NULL", "hint         TEXT"},
		{"hint         TEXT ", "hint         BLOB "},
		{"NOT NULL UNIQUE CHECK", "NOT NULL CHECK"},
		{"UNIQUE (workspace_id, type, host, port, username)", "UNIQUE (workspace_id, type, host, port)"},
		{"profile_count = profile_count + 1", "profile_count = profile_count + 2"},
		{"AFTER UPDATE OF trashed_at ON", "AFTER UPDATE ON"},
		{"CREATE INDEX keys_created ON keys (created_at, id);", ""},
		{"created_at   INTEGER NOT NULL,\n    revoked_at   INTEGER", "revoked_at   INTEGER,\n    created_at   INTEGER NOT NULL, more TEXT"},
		{"0x5772726e", "0x57"},
	} {
		drifted := strings.Replace(string(text), drift[0], drift[1], 1)
		if drifted == string(text) {
			t.Errorf("schema.sql has no %q", drift[0])
		} else if difference(migrated, schemaFromFile(t, drifted)) == nil {
			t.Errorf("%q for %q is not seen", drift[1], drift[0])
		}
	}
}

// A column that a later migration adds equals one that schema.sql has from the start.
func TestSchemaComparisonAcceptsAlter(t *testing.T) {
	altered := schemaFromFile(t, "CREATE TABLE a (x TEXT NOT NULL) STRICT; "+
		"ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 1 CHECK (y > 0);")
	whole := schemaFromFile(t, "CREATE TABLE a (\n  x TEXT NOT NULL, -- one\n  y INTEGER NOT NULL DEFAULT 1 CHECK (y > 0)\n) STRICT;")
	if d := difference(altered, whole); d != nil {
		t.Error(strings.Join(d, "\n"))
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a", "b")
	proxy := aProxy("a", "host")
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, proxy); return err })
	row := putProfile(t, s, aProfile("a", "p"))
	for _, statement := range []string{
		"UPDATE profiles SET status = 'sleeping'",
		"UPDATE profiles SET os = 'amiga'",
		"UPDATE profiles SET name = ''",
		"UPDATE profiles SET tags = '{}'",
		"UPDATE profiles SET tags = 'x'",
		`UPDATE profiles SET tags = '["a"]'`, // without tags_key
		"UPDATE profiles SET search_key = ''",
		"UPDATE profiles SET locale = 'de'",
		"UPDATE profiles SET geolocation = '[]'",
		"UPDATE profiles SET screen = '[]'",
		"UPDATE profiles SET webrtc = 'on'",
		"UPDATE profiles SET background_traffic = 'on'",
		"UPDATE profiles SET consistency = 'refuse'",
		"UPDATE profiles SET passkeys = 'on'",
		"UPDATE profiles SET allow_local = 'localhost:1'",
		"UPDATE profiles SET created_at = 'yesterday'",
		"UPDATE profiles SET workspace_id = 'b'",
		"UPDATE profiles SET workspace_id = 'none'",
		fmt.Sprintf("UPDATE profiles SET proxy_missing = 1, proxy_id = '%s'", proxy.ID),
		"UPDATE proxies SET workspace_id = 'b'",
		"UPDATE proxies SET port = 0",
		"UPDATE proxies SET port = 65536",
		"UPDATE proxies SET type = 'ftp'",
		"UPDATE proxies SET last_check = 'x'",
		"DELETE FROM workspaces WHERE id = 'a'",
		fmt.Sprintf("INSERT INTO runs (id, profile_id, workspace_id, started_at, record) VALUES ('r', '%s', 'a', 1, 'x')", row.ID),
		"INSERT INTO runs (id, profile_id, workspace_id, started_at, record) VALUES ('r', 'none', 'a', 1, '{}')",
		"INSERT INTO keys (id, name, hash, hint, scopes, created_at) VALUES ('k', '', x'00', '', '[]', 1)",
		"INSERT INTO keys (id, name, hash, hint, scopes, created_at) VALUES ('k', '', zeroblob(32), '', '{}', 1)",
		"INSERT INTO workspaces (id, created_at, updated_at) VALUES ('', 1, 1)",
	} {
		err := s.Write(ctx, func(q *Queries) error { _, err := q.db.ExecContext(ctx, statement); return err })
		if err == nil {
			t.Errorf("accepted: %s", statement)
		}
	}
}
