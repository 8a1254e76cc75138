package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/store/postgres"
	"warren/testnet"
)

// fullDatabase is a stopped server's data folder with rows in every table.
func fullDatabase(t *testing.T) (dir string) {
	t.Helper()
	dir = filledDatabase(t, int64(newestMigration())) // its audit log is none that a server has written
	fillMore(t, dir)
	return dir
}

// usedDatabase is a stopped server's data folder with some rows that it has written itself.
func usedDatabase(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	fillMore(t, dir)
	return dir
}

func fillMore(t *testing.T, dir string) {
	t.Helper()
	s := openIn(t, dir, Options{Warren: "1.2.3"})
	ensure(t, s, "other")
	for i := range 20 {
		p := aProfile("other", fmt.Sprint("Straße \\x41 % 🦊 \u200d\ufffd\x01\x7f ", i))
		p.Notes = "line\r\nline\t'\"\\"
		putProfile(t, s, p)
	}
	record(t, s, entryOf(1), entryOf(2))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// sqliteDump returns all rows of a data folder's database, with generated columns.
func sqliteDump(t *testing.T, dir string) map[string][]string {
	t.Helper()
	db := openPool(dsn(filepath.Join(dir, FileName), examinePragmas), 1)
	defer db.Close()
	return dump(t, db, func(table string) []string { return list(t, db, "SELECT name FROM pragma_table_xinfo(?)", table) })
}

// asCopied makes a dump of PostgreSQL what its copy has: profiles and packs lie on no server yet.
func asCopied(dump map[string][]string) map[string][]string {
	out := maps.Clone(dump)
	out["profiles"] = slices.Clone(dump["profiles"])
	for i, row := range dump["profiles"] {
		out["profiles"][i] = strings.Replace(row, `node_id=string "n"`, `node_id=<nil> "<nil>"`, 1)
	}
	out["packs"] = slices.Clone(dump["packs"])
	for i, row := range dump["packs"] {
		out["packs"][i] = strings.Replace(row, `node_id=string "n"`, `node_id=string ""`, 1)
	}
	return out
}

// ofNoServer makes a dump what each copy has: nothing is under way on a server.
func ofNoServer(dump map[string][]string) map[string][]string {
	out := maps.Clone(dump)
	for _, table := range []string{"schedules", "idempotency"} {
		out[table] = slices.Clone(dump[table])
		for i, row := range dump[table] {
			out[table][i] = strings.Replace(row, `node_id=string "n"`, `node_id=string ""`, 1)
		}
	}
	return out
}

// postgresDump is the same of a PostgreSQL database.
func postgresDump(t *testing.T, url string) map[string][]string {
	t.Helper()
	db := postgresDB(t, url)
	return dump(t, db, func(table string) []string {
		return list(t, db, "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 ORDER BY attnum", table)
	})
}

func postgresDB(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := postgres.Open(url, 2, postgres.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func dump(t *testing.T, db *sql.DB, columns func(table string) []string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, table := range copiedTables() {
		table.columns, table.where = columns(table.name), ""
		out[table.name] = []string{}
		if err := each(t.Context(), db, table.rows(""), nil, func(row []any) error {
			var line strings.Builder
			for i, v := range row {
				fmt.Fprintf(&line, "%s=%T %q ", table.columns[i], v, fmt.Sprint(v))
			}
			out[table.name] = append(out[table.name], line.String())
			return nil
		}); err != nil {
			t.Fatal(table.name, err)
		}
	}
	return out
}

func assertSame(t *testing.T, what string, got, want map[string][]string) {
	t.Helper()
	for table, rows := range want {
		if len(rows) == 0 {
			t.Errorf("%s: the test has no row of %s", what, table)
		}
		if !slices.Equal(got[table], rows) {
			t.Errorf("%s: %s: %v", what, table, difference(got[table], rows))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d tables, want %d", what, len(got), len(want))
	}
}

func mustTransfer(t *testing.T, o TransferOptions) *Transferred {
	t.Helper()
	done, err := Transfer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// A transfer copies every table of the schema but nodes, each after those that its rows refer to.
func TestTransferredTables(t *testing.T) {
	t.Parallel()
	db := openPool(dsn(filepath.Join(filledDatabase(t, int64(newestMigration())), FileName), examinePragmas), 1)
	defer db.Close()
	var all, before []string
	for _, table := range copiedTables() {
		all = append(all, table.name)
		if key := list(t, db, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table.name); !slices.Equal(key, table.key) {
			t.Errorf("the key of %s is %v, not %v", table.name, key, table.key)
		}
		for _, other := range list(t, db, `SELECT "table" FROM pragma_foreign_key_list(?)`, table.name) {
			if !slices.Contains(before, other) {
				t.Errorf("%s comes before %s, to which its rows refer", table.name, other)
			}
		}
		before = append(before, table.name)
	}
	has := list(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'")
	all = append(all, "nodes", "duties", "tickets", "deals") // the servers of a database stay, and what is valid for minutes
	if slices.Sort(all); !slices.Equal(all, slices.Sorted(slices.Values(has))) {
		t.Errorf("tables: %v", difference(all, has))
	}
}

// A database is the same after a transfer to PostgreSQL, and after one back, and goes on with its key.
func TestTransferThereAndBack(t *testing.T) {
	t.Parallel()
	dir, url := fullDatabase(t), testnet.Postgres(t)
	want := ofNoServer(sqliteDump(t, dir))
	meter := new(TransferMeter)
	done := mustTransfer(t, TransferOptions{From: dir, To: url, Meter: meter})
	assertSame(t, "PostgreSQL", postgresDump(t, url), want)
	if done.Resumed || done.KeyFile != filepath.Join(dir, secretKeyName) || len(done.Tables) != len(want) {
		t.Errorf("%+v", done)
	}
	for _, table := range done.Tables {
		if table.Rows != int64(len(want[table.Name])) || len(table.SHA256) != 64 {
			t.Errorf("%+v, want %d rows", table, len(want[table.Name]))
		}
	}
	if step, rows := meter.Now(); step != "verifying deleted" || rows != int64(len(want["deleted"])) {
		t.Errorf("the meter shows %q, %d", step, rows)
	}
	db := postgresDB(t, url)
	next := list(t, db, "INSERT INTO proxy_checks (proxy_id, at, ok, result) VALUES ('x', 1, 1, '{}') RETURNING seq")
	if want := list(t, db, "SELECT max(seq) FROM proxy_checks"); !slices.Equal(next, want) {
		t.Errorf("the next check has the number %v, the highest is %v", next, want)
	}
	mustExec(t, db, "DELETE FROM proxy_checks WHERE seq = (SELECT max(seq) FROM proxy_checks)")
	if off := list(t, db, "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'O'"); len(off) > 0 {
		t.Errorf("triggers are off: %v", off)
	}
	if n := list(t, db, "SELECT count(*) FROM changes WHERE id <> 'x'"); n[0] != "0" {
		t.Errorf("%s rows are noted as changed", n[0])
	}

	other, back := testnet.Postgres(t), filepath.Join(t.TempDir(), "new")
	mustTransfer(t, TransferOptions{From: url, To: other, SecretKeyFile: done.KeyFile})
	assertSame(t, "another PostgreSQL", postgresDump(t, other), asCopied(want))
	mustTransfer(t, TransferOptions{From: url, To: back, SecretKeyFile: done.KeyFile})
	assertSame(t, "SQLite", sqliteDump(t, back), asCopied(want))
	s := openIn(t, back, Options{SecretKeyFile: done.KeyFile})
	assertWhole(t, s)
	fresh := openIn(t, t.TempDir(), Options{})
	if got, want := schemaOf(t, sqliteOf(t, s).readers), schemaOf(t, sqliteOf(t, fresh).readers); !slices.Equal(got, want) {
		t.Errorf("the schema: %v", difference(got, want))
	}
}

// An interrupted transfer goes on where it was, at whatever table, and no server opens what it left.
func TestTransferGoesOn(t *testing.T) {
	t.Parallel()
	dir, url := fullDatabase(t), testnet.Postgres(t)
	want := ofNoServer(sqliteDump(t, dir))
	back, key := filepath.Join(t.TempDir(), "new"), filepath.Join(dir, secretKeyName)
	for _, o := range []TransferOptions{{From: dir, To: url}, {From: url, To: back, SecretKeyFile: key}} {
		o.batch = 1
		for _, table := range copiedTables() {
			ctx, cancel := context.WithCancel(t.Context())
			o.copied = func(now string) {
				if now == table.name {
					cancel()
				}
			}
			_, err := Transfer(ctx, o)
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("to %s, cancelled in %s: %v", o.To, table.name, err)
			}
		}
		if o.To == back {
			if _, err := Open(t.Context(), back, Options{SecretKeyFile: key}); !errors.Is(err, ErrUnfinished) {
				t.Errorf("a server opens half a copy: %v", err)
			}
		} else if err := checkFinished(t.Context(), postgresDB(t, url)); !errors.Is(err, ErrUnfinished) {
			t.Errorf("half a copy: %v", err)
		}
		o.copied = func(table string) {
			if table != "deleted" {
				t.Errorf("%s is copied again", table)
			}
		}
		if _, err := Transfer(t.Context(), TransferOptions{From: o.To, To: t.TempDir(), SecretKeyFile: key}); err == nil {
			t.Error("half a copy is copied")
		}
		if done := mustTransfer(t, o); !done.Resumed {
			t.Error("the transfer has begun anew")
		}
		if o.To == url {
			assertSame(t, "PostgreSQL", postgresDump(t, url), want)
		}
	}
	assertSame(t, "SQLite", sqliteDump(t, back), asCopied(want))
}

// A server of PostgreSQL that dies in the middle costs a repetition of the command.
func TestTransferToAServerThatDies(t *testing.T) {
	t.Parallel()
	dir, server := fullDatabase(t), testnet.OwnPostgres(t)
	o := TransferOptions{From: dir, To: server.NewDatabase(), batch: 3}
	o.copied = func(table string) {
		if table == "profiles" {
			server.Kill()
		}
	}
	if _, err := Transfer(t.Context(), o); err == nil {
		t.Fatal("nothing failed")
	}
	server.Start()
	o.copied = nil
	if done := mustTransfer(t, o); !done.Resumed {
		t.Error("the transfer has begun anew")
	}
	assertSame(t, "PostgreSQL", postgresDump(t, o.To), ofNoServer(sqliteDump(t, dir)))
}

// The owner of a database who is no superuser can copy into it, as on managed servers.
func TestTransferByAnOwner(t *testing.T) {
	t.Parallel()
	dir, server := fullDatabase(t), testnet.OwnPostgres(t)
	server.Exec("CREATE ROLE app LOGIN PASSWORD 'secret'")
	server.Exec("CREATE DATABASE mine OWNER app")
	url := strings.Replace(server.URL("mine"), "postgres://warren:", "postgres://app:secret@", 1)
	user, rest, _ := strings.Cut(url, "@")
	_, host, _ := strings.Cut(rest, "@")
	url = user + "@" + host
	mustTransfer(t, TransferOptions{From: dir, To: url})
	assertSame(t, "PostgreSQL", postgresDump(t, url), ofNoServer(sqliteDump(t, dir)))
}

// A target with other data, or with a copy of something else, is refused and stays as it is.
func TestTransferRefusesTargets(t *testing.T) {
	t.Parallel()
	dir, other, url := fullDatabase(t), fullDatabase(t), testnet.Postgres(t)
	key := filepath.Join(dir, secretKeyName)
	refused := func(what string, o TransferOptions, want error, words string) {
		t.Helper()
		_, err := Transfer(t.Context(), o)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "sslmode") {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustTransfer(t, TransferOptions{From: dir, To: url})
	if err := os.WriteFile(filepath.Join(other, secretKeyName), []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	before, others := postgresDump(t, url), sqliteDump(t, other)
	refused("a whole copy", TransferOptions{From: dir, To: url}, ErrOtherData, "workspaces")
	refused("a whole copy, anew", TransferOptions{From: dir, To: url, Anew: true}, ErrOtherData, "workspaces")
	refused("a folder in use", TransferOptions{From: url, To: other, SecretKeyFile: key}, ErrOtherData, "of the source")
	if err := os.Remove(filepath.Join(other, secretKeyName)); err != nil {
		t.Fatal(err)
	}
	refused("a folder with data", TransferOptions{From: url, To: other, SecretKeyFile: key}, ErrOtherData, "workspaces")
	refused("folder to folder", TransferOptions{From: dir, To: t.TempDir()}, ErrUnfit, "warren backup")
	refused("no key", TransferOptions{From: url, To: t.TempDir()}, ErrSecretKey, "--secret-key-file")
	refused("no key there", TransferOptions{From: url, To: t.TempDir(), SecretKeyFile: "/no/file"}, ErrSecretKey, "/no/file")
	assertSame(t, "PostgreSQL", postgresDump(t, url), before)
	assertSame(t, "SQLite", sqliteDump(t, other), others)

	foreign := testnet.Postgres(t)
	mustExec(t, postgresDB(t, foreign), "CREATE TABLE customers (id TEXT)")
	refused("another program's", TransferOptions{From: dir, To: foreign}, ErrOtherData, "another program")
	refused("no server", TransferOptions{From: dir, To: "postgres://a:secret@127.0.0.1:1/b"}, syscall.ECONNREFUSED, "127.0.0.1:1/b")

	wrong := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(wrong, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := testnet.Postgres(t)
	refused("a wrong key", TransferOptions{From: dir, To: empty, SecretKeyFile: wrong}, ErrSecretKey, "put back the key")
	refused("an old source", TransferOptions{From: filledDatabase(t, 18), To: empty}, ErrUnfit, "start its server once")
	assertEmpty(t, empty)
}

// assertEmpty fails if anything was written to a PostgreSQL database.
func assertEmpty(t *testing.T, url string) {
	t.Helper()
	if s, err := postgres.Examine(t.Context(), postgresDB(t, url)); err != nil || s.Tables > 0 {
		t.Errorf("%+v, %v; want an empty database", s, err)
	}
}

// Texts that PostgreSQL cannot keep are all named before anything is written.
func TestTransferOfUnfitTexts(t *testing.T) {
	t.Parallel()
	dir, url := fullDatabase(t), testnet.Postgres(t)
	change := func(statement string, args ...any) {
		t.Helper()
		db := openPool(dsn(filepath.Join(dir, FileName), writerPragmas), 1)
		defer db.Close()
		mustExec(t, db, statement, args...)
	}
	change("UPDATE profiles SET notes = 'a' || char(0) || 'b' WHERE id = 'p'")
	change("UPDATE proxies SET name = CAST(x'ff' AS TEXT) WHERE id = 'x'")
	_, err := Transfer(t.Context(), TransferOptions{From: dir, To: url})
	for _, want := range []string{"2 of its texts", `profiles "p": notes has the character NUL`, `proxies "x": name is not UTF-8`} {
		if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	assertEmpty(t, url)

	random := make([]byte, 4000) // PostgreSQL indexes up to 2,704 bytes
	rand.Read(random)
	change("UPDATE profiles SET notes = 'a' WHERE id = 'p'")
	change("UPDATE proxies SET name = 'a', username = ? WHERE id = 'x'", hex.EncodeToString(random))
	if _, err := Transfer(t.Context(), TransferOptions{From: dir, To: url}); err == nil || !strings.Contains(err.Error(),
		`copy proxies: the row "x": `) {
		t.Errorf("a row that is too large: %v", err)
	}
	change("UPDATE proxies SET username = 'a' WHERE id = 'x'")
	if _, err := Transfer(t.Context(), TransferOptions{From: dir, To: url}); !errors.Is(err, ErrDifferent) {
		t.Errorf("a source that has changed: %v", err)
	}
	mustTransfer(t, TransferOptions{From: dir, To: url, Anew: true})
	assertSame(t, "PostgreSQL", postgresDump(t, url), ofNoServer(sqliteDump(t, dir)))
}

// The comparison at the end finds a row that is another one, and the copy stays marked. It can be begun anew.
func TestTransferIsVerified(t *testing.T) {
	t.Parallel()
	dir, url := fullDatabase(t), testnet.Postgres(t)
	db := postgresDB(t, url)
	o := TransferOptions{From: dir, To: url}
	o.copied = func(table string) {
		if table == "deleted" { // the last one
			mustExec(t, db, "UPDATE profiles SET notes = notes || '.' WHERE id = 'p'")
			_, err := Transfer(t.Context(), TransferOptions{From: dir, To: url, patience: time.Second})
			if !errors.Is(err, ErrOtherData) || !strings.Contains(err.Error(), "another warren store copy") {
				t.Errorf("a second transfer at once: %v", err)
			}
		}
	}
	_, err := Transfer(t.Context(), o)
	if !errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), "profiles has") || strings.Contains(err.Error(), "proxies has") {
		t.Errorf("a row was changed: %v", err)
	}
	if err := checkFinished(t.Context(), db); !errors.Is(err, ErrUnfinished) {
		t.Errorf("the mark: %v", err)
	}
	_, err = Transfer(t.Context(), TransferOptions{From: fullDatabase(t), To: url})
	if !errors.Is(err, ErrOtherData) {
		t.Errorf("another source: %v", err)
	}
	mustTransfer(t, TransferOptions{From: dir, To: url, Anew: true})
	assertSame(t, "PostgreSQL", postgresDump(t, url), ofNoServer(sqliteDump(t, dir)))
}

// Entries of the audit log that wait for their place in the chain are not left behind.
func TestTransferOfPendingAudit(t *testing.T) {
	t.Parallel()
	dir, url := usedDatabase(t), testnet.Postgres(t)
	o := TransferOptions{From: url, To: filepath.Join(t.TempDir(), "new"), SecretKeyFile: filepath.Join(dir, secretKeyName)}
	mustTransfer(t, TransferOptions{From: dir, To: url})
	db := postgresDB(t, url)
	mustExec(t, db, "INSERT INTO audit_pending (at, key_id, key_name, action, remote, request_id) VALUES (1, 'k', 'Key', 'a.b', '', '')")
	nothing := func(context.Context, *sql.DB, auditKey) error { return nil }
	_, err := transferWith(t.Context(), o, nothing)
	if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "1 entries of the audit log") {
		t.Errorf("an entry waits: %v", err)
	}
	if _, err := os.Stat(o.To); err == nil {
		t.Error("the refusal has made the folder")
	}
	mustTransfer(t, o)
	s := openIn(t, o.To, Options{SecretKeyFile: o.SecretKeyFile})
	entries, err := strconv.Atoi(list(t, db, "SELECT count(*) FROM audit")[0])
	if err != nil || entries != 3 {
		t.Fatal(entries, err)
	}
	assertAudit(t, s, entries, "")
}

// A server goes on with a copy in PostgreSQL, and one that is not complete it leaves alone.
func TestServerOnATransfer(t *testing.T) {
	t.Parallel()
	dir, url := usedDatabase(t), testnet.Postgres(t)
	o := TransferOptions{From: dir, To: url, batch: 1}
	ctx, cancel := context.WithCancel(t.Context())
	o.copied = func(string) { cancel() }
	if _, err := Transfer(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	server := Options{Database: url, SecretKeyFile: filepath.Join(dir, secretKeyName)}
	if s, err := Open(t.Context(), t.TempDir(), server); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a server opens half a copy: %v, %v", s, err)
	}
	o.copied = nil
	mustTransfer(t, o)
	there, here := openIn(t, t.TempDir(), server), openIn(t, dir, Options{})
	if got, want := listed(t, there), listed(t, here); len(want) < 20 || !maps.EqualFunc(got, want, func(a, b Profile) bool {
		return reflect.DeepEqual(a, b)
	}) {
		t.Errorf("profiles: %v, want %v", got, want)
	}
	n, fault, err := here.CheckAudit(t.Context())
	if err != nil || fault != "" {
		t.Fatal(n, fault, err)
	}
	assertAudit(t, there, n, "")
	assertCounters(t, there)
	putProfile(t, there, aProfile("other", "new"))
	record(t, there, entryOf(7))
	assertAudit(t, there, n+1, "")
}
