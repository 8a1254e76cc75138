package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"warren/testnet"
)

// later returns the schema of a later version, which has some migrations more.
func later(t *testing.T, texts ...string) Schema {
	t.Helper()
	files := fstest.MapFS{}
	for _, one := range Known() {
		files["migrations/"+one.name] = &fstest.MapFile{Data: []byte(one.text)}
	}
	for i, text := range texts {
		files[fmt.Sprintf("migrations/%04d_later.sql", Known().Newest()+int64(i)+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	all, err := ReadSchema(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// addition is a migration that this version can live with.
func addition(table string) string {
	return fmt.Sprint("-- compatible since ", Known().Newest(), "\nCREATE TABLE ", table, " (id BIGINT PRIMARY KEY)")
}

// addNode makes the row of a server that knows a schema.
func addNode(t *testing.T, db *sql.DB, id string, schema int64) {
	t.Helper()
	run(t, db, "INSERT INTO nodes (id, name, address, version, incarnation, beat_at, started_at, schema) "+
		"VALUES ($1, 'n' || $1, 'http://127.0.0.1:1', '1.0', 'i', now_ms(), now_ms(), $2)", id, schema)
}

// beating moves the beat of a row until the test ends.
func beating(t *testing.T, db *sql.DB, id string) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(done)
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			_, _ = db.Exec("UPDATE nodes SET beat = beat + 1, beat_at = now_ms() WHERE id = $1", id) // the schema may be another by then
			select {
			case <-time.After(20 * time.Millisecond):
			case <-done:
				return
			}
		}
	}()
}

// TestOlderServerLives: what a living server of an older version can use is migrated at once, other changes are refused with its name.
// Nothing is changed then, also not by the first of several migrations.
func TestOlderServerLives(t *testing.T) {
	t.Parallel()
	address, newest := testnet.Postgres(t), Known().Newest()
	db := open(t, address, Settings{})
	if err := Known().Migrate(t.Context(), db, quiet(), time.Second); err != nil {
		t.Fatal(err)
	}
	addNode(t, db, "old", newest)
	beating(t, db, "old")
	began := time.Now()
	if err := later(t, addition("one")).Migrate(t.Context(), db, quiet(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("what the old server can use took %v", took)
	}
	one := State{Version: newest + 1, Since: newest, Ours: true, Tables: tablesOfOurs + 1}
	wantState(t, address, one)
	if err := Known().Migrate(t.Context(), db, quiet(), time.Second); err != nil { // the old server starts again
		t.Errorf("the old version on the new schema: %v", err)
	}
	if !Known().Usable(one) {
		t.Error("the old version says that it cannot use the new schema")
	}
	breaks := fmt.Sprint("-- compatible since ", newest+1, "\nCREATE TABLE three (id BIGINT PRIMARY KEY)")
	err := later(t, addition("one"), addition("two"), breaks).Migrate(t.Context(), db, quiet(), time.Minute)
	if !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "nold at http://127.0.0.1:1, version 1.0") {
		t.Errorf("%v, want ErrOlder with the server's name", err)
	}
	wantState(t, address, one)
}

// TestOlderServerIsGone: a server of an older version that did not end in order is waited for. One that knows what comes is no hindrance.
func TestOlderServerIsGone(t *testing.T) {
	t.Parallel()
	address, newest := testnet.Postgres(t), Known().Newest()
	db := open(t, address, Settings{})
	if err := Known().Migrate(t.Context(), db, quiet(), time.Second); err != nil {
		t.Fatal(err)
	}
	addNode(t, db, "crashed", newest)
	addNode(t, db, "next", newest+1)
	beating(t, db, "next")
	began := time.Now()
	const gone = 2 * time.Second
	if err := later(t, addition("one"), "CREATE TABLE two (id BIGINT PRIMARY KEY)").Migrate(t.Context(), db, quiet(), gone); err == nil ||
		!strings.Contains(err.Error(), "nnext") { // the second is compatible with nothing before it
		t.Fatalf("%v, want the one that lives alone", err)
	}
	run(t, db, "UPDATE nodes SET schema = $1 WHERE id = 'next'", newest+2)
	if err := later(t, addition("one"), "CREATE TABLE two (id BIGINT PRIMARY KEY)").Migrate(t.Context(), db, quiet(), gone); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < gone/2 {
		t.Errorf("the crashed one was waited for %v", took)
	}
	wantState(t, address, State{Version: newest + 2, Since: newest + 2, Ours: true, Tables: tablesOfOurs + 2})
	err := Known().Migrate(t.Context(), db, quiet(), gone)
	if !errors.Is(err, ErrNewer) {
		t.Errorf("the old version on a schema that it cannot use: %v", err)
	}
}

// TestTextsTakeAdditions: an older program reads and writes as before when a newer one has added columns to every table.
func TestTextsTakeAdditions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	texts, err := ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	columns := func(name, text string) (all string) {
		err := conn.Raw(func(c any) error {
			d, err := c.(*session).pg.Prepare(t.Context(), "", text, nil)
			if err != nil {
				return err
			}
			for _, column := range d.Fields {
				all += fmt.Sprint(column.Name, " ", column.DataTypeOID, ", ")
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return all
	}
	before := map[string]string{}
	for name, text := range texts {
		before[name] = columns(name, text)
	}
	for _, table := range rows(t, db, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()") {
		run(t, db, "ALTER TABLE "+table+" ADD COLUMN added_later TEXT NOT NULL DEFAULT 'x'")
	}
	for name, text := range texts {
		if after := columns(name, text); after != before[name] {
			t.Errorf("%s has %s, and had %s", name, after, before[name])
		}
	}
}
