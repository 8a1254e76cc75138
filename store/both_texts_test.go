package store

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"warren/store/postgres"
	"warren/testnet"
)

// bothTexts are the queries of sqlc with their texts for PostgreSQL, and empty databases of both.
type bothTexts struct {
	sqlite, postgres *sql.DB
	texts            postgres.Texts
}

func newBothTexts(t *testing.T) bothTexts {
	t.Helper()
	db, err := postgres.Open(testnet.Postgres(t), 2, postgres.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := postgres.Known().Migrate(t.Context(), db, slog.New(slog.DiscardHandler), NodeGone); err != nil {
		t.Fatal(err)
	}
	texts, err := postgres.ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	lite := openPool(dsn(filepath.Join(t.TempDir(), FileName), commonPragmas), 1)
	t.Cleanup(func() { _ = lite.Close() })
	if _, err := lite.ExecContext(t.Context(), string(schema)); err != nil {
		t.Fatal(err)
	}
	return bothTexts{sqlite: lite, postgres: db, texts: texts}
}

// described returns what PostgreSQL says of a statement.
func (b bothTexts) described(t *testing.T, text string) (d *pgconn.StatementDescription, err error) {
	t.Helper()
	conn, err := b.postgres.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return d, conn.Raw(func(c any) error {
		prepared, err := c.(interface{ PgConn() *pgconn.PgConn }).PgConn().Prepare(t.Context(), "", text, nil)
		d = prepared
		return err
	})
}

// difference says how the two texts of a query differ; "": in nothing that its callers see.
func (b bothTexts) difference(t *testing.T, query string) string {
	t.Helper()
	text, ok := b.texts.Of(query)
	if !ok {
		return "it has no text for PostgreSQL"
	}
	if first, _, _ := strings.Cut(query, "\n"); !strings.HasPrefix(text, first+"\n") {
		return "it is of another kind: " + text
	}
	if lite, other := orders(query), orders(text); !slices.Equal(lite, other) {
		return fmt.Sprintf("the order is %q, for PostgreSQL %q", lite, other)
	}
	d, err := b.described(t, text)
	if err != nil {
		return err.Error()
	}
	if n := highestParameter(t, query); n != len(d.ParamOIDs) {
		return fmt.Sprintf("%d parameters, %d for PostgreSQL", n, len(d.ParamOIDs))
	}
	types := map[uint32]string{pgtype.Int8OID: "INTEGER", pgtype.TextOID: "TEXT", pgtype.ByteaOID: "BLOB"}
	for i, oid := range d.ParamOIDs {
		if types[oid] == "" {
			return fmt.Sprintf("parameter %d has the type %d of PostgreSQL", i+1, oid)
		}
	}
	columns := b.columns(t, query)
	if len(columns) != len(d.Fields) {
		return fmt.Sprintf("%d columns, %d for PostgreSQL", len(columns), len(d.Fields))
	}
	for i, c := range columns {
		f := d.Fields[i]
		named := regexp.MustCompile(`^\w+$`).MatchString(c.Name()) // an expression is called otherwise by each
		kind := types[f.DataTypeOID]
		if named && c.Name() != f.Name || kind == "" || c.DatabaseTypeName() != "" && c.DatabaseTypeName() != kind {
			return fmt.Sprintf("column %d is %s %s, for PostgreSQL %s %s", i+1, c.Name(), c.DatabaseTypeName(), f.Name, kind)
		}
	}
	return ""
}

// orders returns what a query sorts by.
func orders(query string) (out []string) {
	query = strings.NewReplacer("greatest(", "max(", "ORDER BY n)", ")").Replace(query) // the members of a JSON object, as they are
	for _, m := range regexp.MustCompile(`ORDER BY (.+?)\s*(?:\n|LIMIT|OFFSET|$)`).FindAllStringSubmatch(query, -1) {
		out = append(out, strings.TrimRight(m[1], ")"))
	}
	return out
}

func highestParameter(t *testing.T, query string) (highest int) {
	t.Helper()
	for _, number := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(query, -1) {
		n, err := strconv.Atoi(number[1])
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	return highest
}

// columns returns those of a query in SQLite. One that inserts would need values that fit, so it is asked for what it returns alone.
func (b bothTexts) columns(t *testing.T, query string) []*sql.ColumnType {
	t.Helper()
	if m := regexp.MustCompile(`(?s)\nINSERT INTO (\w+).*RETURNING (.*)`).FindStringSubmatch(query); m != nil {
		query = "SELECT " + m[2] + " FROM " + m[1]
	} else if kind, _, _ := strings.Cut(query, "\n"); strings.Contains(kind, " :exec") {
		return nil
	}
	args := make([]any, highestParameter(t, query))
	for i := range args {
		args[i] = 1 // also a list in JSON, and a limit
	}
	rows, err := b.sqlite.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

// TestBothTexts: each query has the same parameters and the same columns in both databases, so that the code of sqlc fits both.
func TestBothTexts(t *testing.T) {
	t.Parallel()
	b := newBothTexts(t)
	queries := queriesByName(t)
	for name, query := range queries {
		if d := b.difference(t, query); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if len(queries) != len(b.texts) {
		t.Errorf("%d queries, %d texts for PostgreSQL", len(queries), len(b.texts))
	}
	for text, want := range map[string]string{ // what the comparison finds
		"SELECT record, id FROM runs WHERE id = $1":                "column 1 is id TEXT, for PostgreSQL record TEXT",
		"SELECT id, ended_at FROM runs WHERE id = $1":              "column 2 is record TEXT, for PostgreSQL ended_at INTEGER",
		"SELECT id, record FROM runs WHERE id = $1 ORDER BY id":    `the order is [], for PostgreSQL ["id"]`,
		"SELECT id FROM runs WHERE id = $1":                        "2 columns, 1 for PostgreSQL",
		"SELECT id, record FROM runs WHERE id = $1 OR id = $2":     "1 parameters, 2 for PostgreSQL",
		"SELECT id, record FROM runs WHERE id::int = $1":           "parameter 1 has the type 23 of PostgreSQL",
		"SELECT id, (record = '')::int AS r FROM runs WHERE id=$1": "column 2 is record TEXT, for PostgreSQL r ",
	} {
		b.texts["Sample"] = "-- name: Sample :one\n" + text
		if d := b.difference(t, "-- name: Sample :one\nSELECT id, record FROM runs WHERE id = ?1"); d != want {
			t.Errorf("%s: %q, want %q", text, d, want)
		}
	}
}

// TestBothSchemas: the tables have the same columns in the same order, and the same indexes.
func TestBothSchemas(t *testing.T) {
	t.Parallel()
	b := newBothTexts(t)
	lite := list(t, b.sqlite, `SELECT 'column', t.name, c.cid, c.name, c.type, 'not null', c."notnull" OR c.pk > 0
		FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
		WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'goose_db_version'
		UNION ALL SELECT 'index', tbl_name, name, '', '', '', '' FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
		UNION ALL SELECT 'trigger', tbl_name, name, '', '', '', '' FROM sqlite_schema WHERE type = 'trigger'`)
	other := list(t, b.postgres, `SELECT 'column', c.relname, a.attnum - 1, a.attname,
			CASE format_type(a.atttypid, -1) WHEN 'bigint' THEN 'INTEGER' WHEN 'text' THEN 'TEXT' WHEN 'bytea' THEN 'BLOB' ELSE '?' END,
			'not null', a.attnotnull::int
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
		UNION ALL SELECT 'index', tablename, 0, indexname, '', '', 0 FROM pg_indexes WHERE schemaname = current_schema()
		UNION ALL SELECT 'trigger', tgrelid::regclass::text, 0, tgname, '', '', 0 FROM pg_trigger WHERE NOT tgisinternal`)
	short := func(lines []string) (out []string) {
		for _, line := range lines {
			if fields := strings.Fields(line); fields[0] != "column" { // the columns that fill the row up are empty
				line = fields[0] + " " + fields[1] + " " + strings.Trim(strings.Join(fields[2:], " "), "0 ")
			}
			out = append(out, line)
		}
		return out
	}
	lite, other = short(lite), short(other)
	if len(lite) < 250 {
		t.Fatalf("SQLite has %d", len(lite))
	}
	for _, line := range lite {
		const merged = "trigger profiles profiles_inserted_with_proxy" // in profiles_inserted
		if !slices.Contains(other, line) && line != merged {
			t.Errorf("PostgreSQL lacks: %s", line)
		}
	}
	for _, line := range other {
		name := strings.Fields(line)
		ofSQLite := slices.ContainsFunc(lite, func(l string) bool { return strings.Fields(l)[1] == name[1] })
		if name[0] == "column" && ofSQLite && !slices.Contains(lite, line) {
			t.Errorf("SQLite lacks: %s", line)
		}
	}
}
