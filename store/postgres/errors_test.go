package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"warren/testnet"
)

func TestFaultOf(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		err  error
		want Fault
	}{
		{nil, None},
		{sql.ErrNoRows, None},
		{errors.New("another"), None},
		{context.Canceled, None},
		{context.DeadlineExceeded, None},
		{state("23505"), Unique}, {state("23503"), Reference}, {state("23514"), Check}, {state("23502"), NotNull},
		{state("P0001"), Trigger}, {state("22021"), Text}, {state("22P05"), Text}, {state("54000"), TooLarge},
		{state("53100"), DiskFull}, {state("53200"), Busy}, {state("53300"), TooMany}, {state("55P03"), Busy},
		{state("57014"), Busy}, {state("57P01"), Gone}, {state("57P02"), Gone}, {state("57P03"), Gone}, {state("08006"), Gone},
		{state("08P01"), Gone}, {state("25P03"), Gone}, {state("40001"), Serialization}, {state("40P01"), Serialization},
		{state("25006"), ReadOnly}, {state("XX001"), Damaged}, {state("XX002"), Damaged}, {state("58030"), IO},
		{state("42P01"), NoSuch}, {state("42703"), NoSuch}, {state("28P01"), Refused}, {state("3D000"), Refused},
		{state("42601"), None}, {state("22012"), None},
		{&pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"}, Serialization},
		{&pgconn.PgError{Code: "0A000", Message: "cannot do that"}, None},
		{&pgconn.PgError{Code: "42704", Severity: "FATAL"}, Refused},
		{&pgconn.PgError{Code: "XX000", Severity: "FATAL"}, Gone},
		{driver.ErrBadConn, Gone}, {sql.ErrConnDone, Gone}, {pgconn.ErrConnClosed, Gone},
		{fmt.Errorf("read: %w", asLost(io.ErrUnexpectedEOF)), Gone}, {asLost(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), Gone},
		{io.EOF, None}, {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, None}, // of another connection
	} {
		if got, _, _ := FaultOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestFaultsOfStatements(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, workspace, "w")
	run(t, db, profile, "a", "w", nil, 0, nil)
	for _, c := range []struct {
		want       Fault
		constraint string
		statement  string
	}{
		{Unique, "workspaces_pkey", "INSERT INTO workspaces (id, created_at, updated_at) VALUES ('w', 1, 1)"},
		{Reference, "profiles_workspace_id_fkey", "DELETE FROM workspaces"},
		{Check, "profiles_os_check", "UPDATE profiles SET os = 'amiga'"},
		{NotNull, "", "UPDATE profiles SET os = NULL"},
		{NoSuch, "", "SELECT nothing FROM profiles"},
		{NoSuch, "", "SELECT 1 FROM nothing"},
		{TooLarge, "", "INSERT INTO settings SELECT string_agg(md5(n::text), ''), '' FROM generate_series(1, 300) n"},
		{None, "", "SELEKT"},
	} {
		_, err := db.ExecContext(t.Context(), c.statement)
		if got, constraint, said := FaultOf(err); got != c.want || constraint != c.constraint || said == "" {
			t.Errorf("%s: %v: %d, %s, want %d, %s", c.statement, err, got, constraint, c.want, c.constraint)
		}
	}
	wantFault(t, db, Text, "", "UPDATE profiles SET notes = $1", "a\x00b")
	wantFault(t, db, Text, "", "UPDATE profiles SET notes = $1", "a\xffb")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	db := open(t, testnet.Postgres(t), Settings{ReadOnly: true})
	wantFault(t, db, ReadOnly, "", "CREATE TABLE a (n BIGINT)")
}

// TestSerialization has two transactions that each read what the other writes.
func TestSerialization(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	run(t, db, "INSERT INTO settings VALUES ('a', '0'), ('b', '0')")
	var both []*sql.Tx
	for range 2 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		both = append(both, tx)
	}
	for i, name := range []string{"a", "b"} {
		one(t, both[i], "SELECT value FROM settings WHERE name = $1", name)
	}
	for i, name := range []string{"b", "a"} {
		run(t, both[i], "UPDATE settings SET value = '1' WHERE name = $1", name)
	}
	err := errors.Join(both[0].Commit(), both[1].Commit())
	if got, _, _ := FaultOf(err); got != Serialization {
		t.Errorf("%v: %d", err, got)
	}
}

func TestLockIsNotFree(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{LockTimeout: time.Millisecond})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run(t, tx, "LOCK TABLE settings")
	wantFault(t, db, Busy, "", "INSERT INTO settings VALUES ('a', 'b')")
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	db := open(t, testnet.Postgres(t), Settings{})
	for _, limit := range []time.Duration{0, 50 * time.Millisecond} {
		run(t, db, "SELECT 1") // the connection may take longer
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, err := db.ExecContext(ctx, "SELECT pg_sleep(60)")
		cancel()
		if got, _, _ := FaultOf(err); err == nil || got != None {
			t.Errorf("after %v: %v: %d", limit, err, got)
		}
	}
}

func TestBackendIsKilled(t *testing.T) {
	t.Parallel()
	db := open(t, testnet.Postgres(t), Settings{})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	run(t, db, "SELECT pg_terminate_backend($1, 10000)", one(t, tx, "SELECT pg_backend_pid()::text"))
	wantFault(t, tx, Gone, "", "SELECT 1")
	wantFault(t, tx, Gone, "", "SELECT 1")
	run(t, db, "SELECT 1")
}

func TestServerIsGone(t *testing.T) {
	t.Parallel()
	server := testnet.OwnPostgres(t, "max_connections=12", "superuser_reserved_connections=0")
	address := server.NewDatabase()
	db := open(t, address, Settings{})
	run(t, db, "CREATE TABLE a (n BIGINT)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "INSERT INTO a VALUES (1)")
	refuses := func(address string, want Fault) {
		t.Helper()
		db := open(t, address, Settings{})
		if got, _, said := FaultOf(db.PingContext(t.Context())); got != want || strings.Contains(said, "geheim") {
			t.Errorf("%d, %q, want %d", got, said, want)
		}
	}
	credentials := address[strings.Index(address, "//"):strings.Index(address, "@")]
	refuses(strings.Replace(address, credentials, "//warren:geheim", 1), Refused)
	refuses(strings.Replace(address, "?", "none?", 1), Refused)
	refuses(address+"&nothing=1", Refused)
	refuses(address+"&lock_timeout=soon", Refused)
	var held []*sql.Conn
	for {
		c, err := open(t, address, Settings{}).Conn(t.Context())
		if err != nil {
			if got, _, _ := FaultOf(err); got != TooMany {
				t.Errorf("%d connections: %v: %d", len(held), err, got)
			}
			break
		}
		held = append(held, c)
	}
	for _, c := range held {
		_ = c.Close()
	}
	server.Stop(testnet.PostgresImmediate)
	got, _, said := FaultOf(tx.Commit())
	if got != Gone {
		t.Errorf("COMMIT: %d, %s", got, said)
	}
	wantFault(t, db, Gone, "", "SELECT 1")
	refuses(address, Gone)
	server.Start()
	run(t, db, "SELECT 1")
}
