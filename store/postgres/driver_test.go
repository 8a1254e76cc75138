package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// TestValuesComeBack: values come back as they went, with statements that are prepared and without.
func TestValuesComeBack(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	for _, more := range []string{"", "&prepared_statements=off"} {
		db := open(t, address+more, Settings{})
		type row struct {
			whole *int64
			real  *float64
			yes   *bool
			text  *string
			bytes []byte
		}
		whole, real, yes, text := int64(math.MinInt64), 0.1, true, "\\ \" ' {a,b} \u00fc \U0001f600\n"
		for _, want := range []row{{&whole, &real, &yes, &text, []byte{0, 1, 0xff, '\\'}}, {}, {bytes: []byte{}}} {
			var got row
			err := db.QueryRowContext(t.Context(), "SELECT $1::bigint, $2::double precision, $3::boolean, $4::text, $5::bytea", want.whole,
				want.real, want.yes, want.text, want.bytes).Scan(&got.whole, &got.real, &got.yes, &got.text, &got.bytes)
			same := fmt.Sprint(deref(got.whole), deref(got.real), deref(got.yes), deref(got.text)) ==
				fmt.Sprint(deref(want.whole), deref(want.real), deref(want.yes), deref(want.text))
			if err != nil || !same || !bytes.Equal(got.bytes, want.bytes) || (got.bytes == nil) != (want.bytes == nil) {
				t.Errorf("%q: %+v, %v, want %+v", more, got, err, want)
			}
		}
		list := []string{text, "", "NULL", `}`, `\`}
		if got := rows(t, db, "SELECT unnest($1::text[])", list); !slices.Equal(got, list) {
			t.Errorf("%q: %q, want %q", more, got, list)
		}
		if got := one(t, db, "SELECT 1::smallint + 2::integer, 3.50, 'x'::name, true"); got != "33.50xtrue" {
			t.Errorf("%q: %s", more, got)
		}
	}
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// TestStatementsOfAConnection: a connection forgets the oldest of very many statements, and prepares one anew whose columns are others.
func TestStatementsOfAConnection(t *testing.T) {
	t.Parallel()
	db := open(t, testnet.Postgres(t), Settings{})
	db.SetMaxOpenConns(1)
	run(t, db, "CREATE TABLE a (x BIGINT); INSERT INTO a VALUES (1), (2)") // two at once
	for i := range 2*mostPrepared + 10 {
		if got := one(t, db, fmt.Sprintf("SELECT sum(x) + %d FROM a WHERE x > $1", i), 0); got != fmt.Sprint(3+i) {
			t.Fatal(got)
		}
	}
	if got := one(t, db, "SELECT count(*) <= $1 FROM pg_prepared_statements", mostPrepared); got != "true" {
		t.Error("the server has all of them")
	}
	const all = "SELECT * FROM a WHERE x > $1 ORDER BY x"
	if got := rows(t, db, all, 0); !slices.Equal(got, []string{"1", "2"}) {
		t.Error(got)
	}
	run(t, db, "ALTER TABLE a ADD COLUMN y TEXT NOT NULL DEFAULT 'new'")
	_, err := db.QueryContext(t.Context(), all, 0) //nolint:rowserrcheck,sqlclosecheck // it has to fail
	if fault, _, _ := FaultOf(err); fault != Serialization {
		t.Errorf("the first statement with other columns: %v", err)
	}
	if got := rows(t, db, all, 0); len(got) != 2 || !strings.Contains(got[0], "new") {
		t.Error(got)
	}
}

// TestTransactionEnds: a transaction with a statement that failed is not committed, and its connection is fit for the next.
func TestTransactionEnds(t *testing.T) {
	t.Parallel()
	db := open(t, testnet.Postgres(t), Settings{})
	db.SetMaxOpenConns(1)
	run(t, db, "CREATE TABLE a (x BIGINT PRIMARY KEY)")
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	if got := one(t, tx, "SHOW transaction_isolation"); got != "serializable" {
		t.Error(got)
	}
	run(t, tx, "INSERT INTO a VALUES ($1)", 1)
	wantFault(t, tx, Unique, "", "INSERT INTO a VALUES ($1)", 1)
	if err := tx.Commit(); !errors.Is(err, errRolledBack) {
		t.Errorf("the COMMIT: %v", err)
	}
	if got := one(t, db, "SELECT count(*) FROM a"); got != "0" {
		t.Errorf("%s rows", got)
	}
	tx, err = db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, tx, ReadOnly, "", "INSERT INTO a VALUES ($1)", 1)
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if _, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelLinearizable}); err == nil {
		t.Error("an isolation level that PostgreSQL does not have")
	}
}

// TestReadsGoOn: a pool that only reads asks again on another connection when PostgreSQL was restarted.
func TestReadsGoOn(t *testing.T) {
	t.Parallel()
	server := testnet.OwnPostgres(t)
	db := open(t, server.NewDatabase(), Settings{ReadOnly: true})
	var held []*sql.Conn
	for range 8 {
		c, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		one(t, c, "SELECT $1::bigint", 1)
		_ = c.Close()
	}
	server.Kill()
	server.Start()
	for range 20 {
		one(t, db, "SELECT $1::bigint", 1)
	}
}

// TestSilence: a statement that gets no answer for the time gives its connection up. One that listens may wait for longer.
func TestSilence(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	const silence = 300 * time.Millisecond
	db := open(t, address, Settings{Silence: silence})
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan struct{}, 10), make(chan error)
	go func() { ended <- Listen(ctx, db, "channel", func() { heard <- struct{}{} }) }()
	<-heard // it listens
	_, err := db.ExecContext(t.Context(), "SELECT pg_sleep(60)")
	if fault, _, said := FaultOf(err); fault != Gone || !strings.Contains(said, "has said nothing for 300ms") || Lost(err) {
		t.Errorf("a statement without an answer: %v", err)
	}
	run(t, open(t, address, Settings{}), "SELECT pg_sleep(0.7)") // more than the time
	run(t, db, "NOTIFY channel")
	select {
	case <-heard:
	case err := <-ended:
		t.Fatalf("it listens no more: %v", err)
	}
	cancel()
	<-ended
}
