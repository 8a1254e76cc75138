package store

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
)

// benchRows is the number of profiles in the list benchmarks: WARREN_BENCH_ROWS (a million, say), or few.
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

// manyProfiles inserts profiles first to last in one statement: a million calls of InsertProfile would take minutes.
const manyProfiles = `WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, created_at, updated_at)
SELECT printf('%08x-0000-7000-8000-%012x', i, i), iif(i % 1000 = 0, 'small', 'big'), 'Profile ' || (i * 7919 % ?3), 'linux', '156',
	'profile ' || (i * 7919 % ?3), i, i FROM n`

// filled returns a store with many profiles in one workspace and a few in another, and the ids of some.
func filled(b *testing.B, dir string) (s *Store, ids []string) {
	b.Helper()
	s = openIn(b, dir, Options{})
	ensure(b, s, "big", "small")
	n := benchRows(b)
	const step = 50_000
	for first := 1; first <= n; first += step {
		mustWrite(b, s, func(q *Queries) error {
			_, err := q.db.ExecContext(context.Background(), manyProfiles, first, min(first+step-1, n), n)
			return err
		})
	}
	for i := 1; i <= n; i += n / 1000 {
		ids = append(ids, fmt.Sprintf("%08x-0000-7000-8000-%012x", i, i))
	}
	assertCounters(b, s)
	return s, ids
}

// BenchmarkLists shows that the cost of a page depends neither on its position nor on the number of profiles. The
// exceptions are a deep offset, and filters.
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
		"offset to the middle":  {Offset: int64(benchRows(b) / 2)},
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
			i = (i + 7) % len(ids)
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
		b.Logf("%d profiles, %d MiB", benchRows(b), info.Size()>>20)
	}
}

// BenchmarkProxyLists reads pages of ten thousand proxies: the plain list from an index, other orders and filters in
// memory.
func BenchmarkProxyLists(b *testing.B) {
	s := openTest(b)
	all := pool(b, s, 10000)
	for what, l := range map[string]ProxyList{"as it is": {}, "by latency": {Sort: "latency", Ascending: true}, "by name": {Sort: "name"},
		"by name, after the middle": {Sort: "name", After: all[5000].ID}, "alive": {ProxyFilter: ProxyFilter{Status: "alive"}},
		"two tags": {ProxyFilter: ProxyFilter{Tags: []string{"work", "ärger"}}}, "search": {ProxyFilter: ProxyFilter{Search: "über"}}} {
		l.Limit = 20
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if page, err := s.ListProxies(b.Context(), l); err != nil || len(page.Rows) != 20 {
					b.Fatalf("%d rows, %v", len(page.Rows), err)
				}
			}
		})
	}
}
