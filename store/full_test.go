package store

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// full writes until the disk is full. It checks that acknowledged rows exist, failed ones do not, and reads still
// work.
func full(t *testing.T, s *Store) (acknowledged []string) {
	t.Helper()
	ctx := context.Background()
	refusals := 0
	for i := 0; refusals < 5; i++ {
		if i == 10_000 {
			t.Fatal("the disk does not get full")
		}
		p := aProfile("default", "p")
		p.Notes = strings.Repeat("x", 10_000)
		err := s.Write(ctx, func(q *Queries) error { _, err := q.InsertProfile(ctx, p); return err })
		if err == nil {
			acknowledged = append(acknowledged, p.ID)
			continue
		}
		if refusals++; !errors.Is(err, ErrDiskFull) {
			t.Fatalf("after %d writes: got %v, want ErrDiskFull", i, err)
		}
		if there(s, p.ID) {
			t.Error("a write failed, and its row is there")
		}
	}
	t.Logf("%d writes until the disk was full", len(acknowledged))
	for _, id := range acknowledged {
		if !there(s, id) {
			t.Errorf("acknowledged, and not there: %s", id)
		}
	}
	return acknowledged
}

func assertWhole(t *testing.T, s *Store) {
	t.Helper()
	var verdict string
	if err := sqliteOf(t, s).readers.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
	assertCounters(t, s)
}

// SQLite's own limit of pages simulates a full disk on every system.
func TestDatabaseThatMayNotGrow(t *testing.T) {
	s := openIn(t, newDatabase(t), Options{})
	ensure(t, s, "default")
	limit := func(pages string) {
		mustWrite(t, s, func(q *Queries) error {
			_, err := q.db.ExecContext(context.Background(), "PRAGMA max_page_count = "+pages)
			return err
		})
	}
	limit("200")
	acknowledged := full(t, s)
	var deleted int64
	mustWrite(t, s, func(q *Queries) (err error) { // a write that needs no room works
		deleted, err = q.DeleteProfile(context.Background(), DeleteProfileParams{ID: acknowledged[0]})
		return err
	})
	if deleted != 1 {
		t.Errorf("deleted %d rows, want 1", deleted)
	}
	limit("1000000")
	putProfile(t, s, aProfile("default", "after there was room again"))
	assertWhole(t, s)
}

// A function that fills the disk fails; the others in its group do not.
func TestGroupWithOneThatFillsTheDisk(t *testing.T) {
	s := openIn(t, newDatabase(t), Options{})
	ensure(t, s, "default")
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.db.ExecContext(context.Background(), "PRAGMA max_page_count = 100")
		return err
	})
	before, beforeID := inserts("default")
	after, afterID := inserts("default")
	big := aProfile("default", "big")
	big.Notes = strings.Repeat("x", 1_000_000)
	got := oneGroup(t, s, before, func(q *Queries) error { _, err := q.InsertProfile(context.Background(), big); return err }, after)
	if got[0] != nil || !errors.Is(got[1], ErrDiskFull) || got[2] != nil {
		t.Errorf("got %v, want nil, ErrDiskFull, nil", got)
	}
	if !there(s, beforeID) || there(s, big.ID) || !there(s, afterID) {
		t.Error("the rows are not those that were acknowledged")
	}
	assertWhole(t, s)
}
