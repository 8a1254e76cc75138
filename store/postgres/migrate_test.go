package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func wantState(t *testing.T, address string, want State) {
	t.Helper()
	got, err := Examine(t.Context(), open(t, address, Settings{ReadOnly: true}))
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

const tablesOfOurs = 33 // with schema_versions

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	wantState(t, address, State{Ours: true})
	var servers sync.WaitGroup
	var log strings.Builder
	told := slog.New(slog.NewTextHandler(&locked{out: &log}, nil))
	for range 8 {
		db := open(t, address, Settings{})
		servers.Go(func() {
			if err := Known().Migrate(t.Context(), db, told, time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	wantState(t, address, State{Version: Known().Newest(), Since: Known().since(), Ours: true, Tables: tablesOfOurs})
	db := open(t, address, Settings{})
	if n := strings.Count(log.String(), "database migrated"); n != len(Known()) {
		t.Errorf("migrated %d times: %s", n, log.String())
	}
	got := one(t, db, "SELECT count(*) || ' ' || min(version) FROM schema_versions WHERE at > 0")
	if got != fmt.Sprint(len(Known()), " 20") {
		t.Errorf("versions: %s", got)
	}
	run(t, db, "INSERT INTO settings VALUES ('warren', '1.2.3')")
	if err := Known().Migrate(t.Context(), db, told, time.Minute); err != nil {
		t.Error(err)
	}
	wantState(t, address, State{Version: Known().Newest(), Since: Known().since(), Ours: true, Tables: tablesOfOurs, Warren: "1.2.3"})
}

// locked is a writer that several may use.
type locked struct {
	mu  sync.Mutex
	out *strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	refuses := func(address string, want error, words string) {
		t.Helper()
		err := Known().Migrate(t.Context(), open(t, address, Settings{}), quiet(), time.Minute)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %v: %s", err, want, words)
		}
	}
	newer := testnet.Postgres(t)
	db := open(t, newer, Settings{})
	if err := Known().Migrate(t.Context(), db, quiet(), time.Minute); err != nil {
		t.Fatal(err)
	}
	run(t, db, "INSERT INTO schema_versions VALUES (99, 1, 99); INSERT INTO settings VALUES ('warren', '9.9')")
	refuses(newer, ErrNewer, fmt.Sprintf("its schema is 99, this one knows %d, written by 9.9", Known().Newest()))
	wantState(t, newer, State{Version: 99, Since: 99, Ours: true, Tables: tablesOfOurs, Warren: "9.9"})

	foreign := testnet.Postgres(t)
	db = open(t, foreign, Settings{})
	run(t, db, "CREATE TABLE schema_versions (version BIGINT, at BIGINT)") // another program may have this name
	refuses(foreign, ErrForeign, "1 tables")
	wantState(t, foreign, State{Tables: 1})
	run(t, db, "CREATE SCHEMA apart")
	wantState(t, foreign+"&search_path=apart", State{Ours: true})
	if err := Known().Migrate(t.Context(), open(t, foreign+"&search_path=apart", Settings{}), quiet(), time.Minute); err != nil {
		t.Error(err)
	}
	wantState(t, foreign+"&search_path=apart", State{Version: Known().Newest(), Since: Known().since(), Ours: true, Tables: tablesOfOurs})
	wantState(t, foreign, State{Tables: 1})
	refuses(foreign+"&search_path=nowhere", ErrUnusable, "search_path")

	run(t, db, "CREATE DATABASE old ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
	t.Cleanup(func() { _, _ = db.ExecContext(context.Background(), "DROP DATABASE old WITH (FORCE)") })
	old := foreign[:strings.LastIndex(foreign, "/")] + "/old?sslmode=disable"
	refuses(old, ErrUnusable, "keeps text as SQL_ASCII")
}

// TestMigrateIsCutOff: nothing stays of a migration that fails, or whose program gives up.
func TestMigrateIsCutOff(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	db := open(t, address, Settings{})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	state, err := examine(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	next, err := Known().next(state)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "SELECT pg_advisory_xact_lock($1)", migrating)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() { waiting <- Known().Migrate(ctx, open(t, address, Settings{}), quiet(), time.Minute) }()
	another := open(t, address, Settings{})
	for one(t, another, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'") == "0" {
	}
	cancel() // while it waits for the lock
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waits: %v", err)
	}
	run(t, tx, "CREATE TABLE settings (name TEXT)") // the file fails at this table, after twenty others
	if err := next.run(t.Context(), tx, state, quiet()); err == nil {
		t.Error("it did not fail")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantState(t, address, State{Ours: true})
	if err := Known().Migrate(t.Context(), db, quiet(), time.Minute); err != nil {
		t.Error(err)
	}
	wantState(t, address, State{Version: Known().Newest(), Since: Known().since(), Ours: true, Tables: tablesOfOurs})
}
