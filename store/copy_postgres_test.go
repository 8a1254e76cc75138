package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"warren/testnet"
)

// TestCopyPostgres: a copy has everything that the database has, with the servers of the profiles, and goes back to PostgreSQL so.
func TestCopyPostgres(t *testing.T) {
	t.Parallel()
	dir, url, to, other := fullDatabase(t), testnet.Postgres(t), t.TempDir(), testnet.Postgres(t)
	key := filepath.Join(dir, secretKeyName)
	mustTransfer(t, TransferOptions{From: dir, To: url})
	if err := CopyPostgres(t.Context(), CopyPostgresOptions{From: url, To: to, SecretKeyFile: key}); err != nil {
		t.Fatal(err)
	}
	want := ofNoServer(sqliteDump(t, dir))
	assertSame(t, "the copy", sqliteDump(t, to), want)
	mustTransfer(t, TransferOptions{From: to, To: other, SecretKeyFile: key})
	assertSame(t, "PostgreSQL", postgresDump(t, other), want)
}

// TestCopyPostgresLate: entries of the audit log that no server has taken into the chain yet are in the copy's.
func TestCopyPostgresLate(t *testing.T) {
	t.Parallel()
	dir, url, to := usedDatabase(t), testnet.Postgres(t), t.TempDir()
	mustTransfer(t, TransferOptions{From: dir, To: url})
	mustExec(t, postgresDB(t, url), "INSERT INTO audit_pending (at, key_id, key_name, action, remote, request_id) "+
		"SELECT n, 'k', 'Key', 'a.b', '', '' FROM generate_series(1, 2500) AS n")
	o := TransferOptions{From: url, To: to, SecretKeyFile: filepath.Join(dir, secretKeyName), live: true}
	nothing := func(context.Context, *sql.DB, auditKey) error { return nil }
	if _, err := transferWith(t.Context(), o, nothing); err != nil {
		t.Fatal(err)
	}
	assertAudit(t, openIn(t, to, Options{SecretKeyFile: o.SecretKeyFile}), 2502, "")
}

// TestCopyPostgresInUse: a copy is of one moment while servers write.
func TestCopyPostgresInUse(t *testing.T) {
	t.Parallel()
	dir, url := usedDatabase(t), testnet.Postgres(t)
	mustTransfer(t, TransferOptions{From: dir, To: url})
	o := Options{Database: url, SecretKeyFile: filepath.Join(dir, secretKeyName)}
	server := openIn(t, t.TempDir(), o)
	writing, stop := context.WithCancel(t.Context())
	began := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; writing.Err() == nil; i++ {
				mustWrite(t, server, func(q *Queries) error {
					row, err := q.InsertProfile(t.Context(), aProfile("other", fmt.Sprint("new ", w, " ", i)))
					if err != nil {
						return err
					}
					a := entryOf(i)
					a.ObjectID = row.ID
					return q.Record(a)
				})
				if w == 0 && i == 0 {
					close(began)
				}
			}
		})
	}
	<-began
	last := 0
	for range 3 {
		to := t.TempDir()
		if err := CopyPostgres(t.Context(), CopyPostgresOptions{From: url, To: to, SecretKeyFile: o.SecretKeyFile}); err != nil {
			t.Error(err)
			continue
		}
		s := openIn(t, to, Options{SecretKeyFile: o.SecretKeyFile})
		count, err := strconv.Atoi(list(t, sqliteOf(t, s).readers, "SELECT count(*) FROM profiles WHERE name LIKE 'new%'")[0])
		if err != nil || count <= last {
			t.Errorf("%d new profiles after %d, %v", count, last, err)
		}
		last = count
		assertAudit(t, s, 2+count, "") // each profile was made in one transaction with its entry
		assertWhole(t, s)
	}
	stop()
	writers.Wait()
	t.Logf("%d profiles were made meanwhile", last)
}

// TestOnlyServerSettles: a server that has the database for itself settles what all servers have left there, one of several its own. The
// first one finds such rows after a restore.
func TestOnlyServerSettles(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	ensure(t, s, "a")
	for node, want := range map[string]int{"": 1, "n": 1, "other": 0} {
		p := putProfile(t, s, aProfile("a", "p"+node))
		run := "r" + node
		mustWrite(t, s, func(q *Queries) error {
			_, err := q.PlaceProfile(t.Context(), PlaceProfileParams{ID: p.ID, NodeID: "n"})
			if err == nil {
				_, err = q.SetProfileStatus(t.Context(), SetProfileStatusParams{ID: p.ID, Status: "starting"})
			}
			if err == nil {
				err = q.InsertRun(t.Context(), InsertRunParams{ID: run, ProfileID: p.ID, Record: "{}"})
			}
			return err
		})
		open, err := s.Read().ListOpenRuns(t.Context(), node)
		if err != nil || len(open) != want {
			t.Errorf("%q: %+v, %v", node, open, err)
		}
		n := rows(t, s, func(q *Queries) (int64, error) {
			return q.ResetStatus(t.Context(), ResetStatusParams{FromStatus: "starting", ToStatus: "stopped", NodeID: node})
		})
		if n != int64(want) {
			t.Errorf("%q: %d profiles", node, n)
		}
		mustWrite(t, s, func(q *Queries) error {
			return ErrorOf(q.EndRun(t.Context(), EndRunParams{ID: run, EndedAt: 9, Outcome: "stopped", Record: "{}"}))
		})
		rows(t, s, func(q *Queries) (int64, error) { return q.DeleteProfile(t.Context(), DeleteProfileParams{ID: p.ID}) })
	}
}
