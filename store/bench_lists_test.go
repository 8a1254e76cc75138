package store

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// benchRows is how many profiles the list benchmarks have: WARREN_BENCH_ROWS, for a million, or few.
func benchRows(b *testing.B) int {
	text := os.Getenv("WARREN_BENCH_ROWS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// filled gives a store with many profiles in one workspace and a few in another.
func filled(b *testing.B, dir string) (s *Store, ids []string) {
	b.Helper()
	s = openIn(b, dir, Options{})
	ctx := context.Background()
	ensure(b, s, "big", "small")
	n := benchRows(b)
	for len(ids) < n {
		mustWrite(b, s, func(q *Queries) error {
			for range min(200, n-len(ids)) {
				i := len(ids)
				p := aProfile("big", fmt.Sprint("profile ", i*7919%n))
				if i%1000 == 0 {
					p.WorkspaceID = "small"
				}
				p.CreatedAt, p.UpdatedAt = int64(i), int64(i)
				if _, err := q.InsertProfile(ctx, p); err != nil {
					return err
				}
				ids = append(ids, p.ID)
			}
			return nil
		})
	}
	return s, ids
}

// BenchmarkLists shows that a page costs the same wherever it lies and however many profiles there are, and what the
// exceptions are: a deep offset, and filters.
func BenchmarkLists(b *testing.B) {
	dir := b.TempDir()
	s, ids := filled(b, dir)
	ctx := context.Background()
	middle := ids[len(ids)/2+1]
	for name, l := range map[string]ProfileList{
		"first page":            {},
		"after the middle":      {After: middle},
		"of a small workspace":  {ProfileFilter: ProfileFilter{WorkspaceID: "small"}},
		"by name":               {Order: ByName, Ascending: true},
		"by name, middle":       {Order: ByName, Ascending: true, After: middle},
		"never started, middle": {Order: ByStarted, After: middle},
		"offset to the middle":  {Offset: int64(len(ids) / 2)},
		"running ones":          {ProfileFilter: ProfileFilter{Status: "running"}},
		"search":                {ProfileFilter: ProfileFilter{Search: "PROFILE 77"}},
		"empty trash":           {ProfileFilter: ProfileFilter{Trashed: true}},
	} {
		l.Limit = 20
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.ListProfiles(ctx, l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("one by id", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i = (i + 7919) % len(ids)
			if _, err := s.Read().GetProfile(ctx, GetProfileParams{ID: ids[i]}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) { // mostly quick_check, which reads the whole file
		for b.Loop() {
			again, err := Open(ctx, dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := again.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	if info, err := os.Stat(dir + "/" + FileName); err == nil {
		b.Logf("%d profiles, %d MiB", len(ids), info.Size()>>20)
	}
}
