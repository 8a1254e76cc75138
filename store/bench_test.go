package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/testnet"
)

// creates lets callers insert profiles for a while, each into the next of some stores. It returns the acknowledged inserts per second, and
// how often each function was run.
func creates(b *testing.B, stores []*Store, callers int, length time.Duration) (perSecond, runs float64) {
	b.Helper()
	ctx := context.Background()
	var done, run atomic.Int64
	begun := time.Now()
	var crowd sync.WaitGroup
	for n := range callers {
		s := stores[n%len(stores)]
		crowd.Go(func() {
			for time.Since(begun) < length {
				p := AddProfileParams(aProfile("default", "benchmark"))
				err := s.Write(ctx, func(q *Queries) error {
					run.Add(1)
					return q.AddProfile(ctx, p)
				})
				if err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	crowd.Wait()
	return float64(done.Load()) / time.Since(begun).Seconds(), float64(run.Load()) / float64(done.Load())
}

// BenchmarkCreates compares group commit with a transaction per create, both at synchronous(FULL), in rounds of
// changing order. The result is the median of the rounds' ratios, since the disk's speed changes between rounds.
func BenchmarkCreates(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			stores := map[int]*Store{groupLength: openTest(b), 1: openTest(b)}
			for length, s := range stores {
				sqliteOf(b, s).writer.length = length
				ensure(b, s, "default")
			}
			var ratios, grouped, single []float64
			for b.Loop() {
				order := []int{groupLength, 1}
				if len(ratios)%2 == 1 {
					slices.Reverse(order)
				}
				perSecond := map[int]float64{}
				for _, length := range order {
					perSecond[length], _ = creates(b, []*Store{stores[length]}, callers, 250*time.Millisecond)
				}
				ratios = append(ratios, perSecond[groupLength]/perSecond[1])
				grouped, single = append(grouped, perSecond[groupLength]), append(single, perSecond[1])
			}
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(median(grouped), "grouped/s")
			b.ReportMetric(median(single), "ungrouped/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCreatesOnPostgres creates in one workspace, whose counters each create changes: the transactions meet each other. Its results
// are the creates of all servers together, and how often each was run.
func BenchmarkCreatesOnPostgres(b *testing.B) {
	for _, c := range []struct{ servers, callers int }{{1, 1}, {1, 32}, {3, 96}} {
		b.Run(fmt.Sprintf("servers=%d/callers=%d", c.servers, c.callers), func(b *testing.B) {
			url, dir := testnet.OwnPostgres(b, "fsync=on", "full_page_writes=on").NewDatabase(), b.TempDir()
			stores := []*Store{openIn(b, dir, Options{Database: url})}
			for len(stores) < c.servers {
				stores = append(stores, openIn(b, b.TempDir(), Options{Database: url, SecretKeyFile: filepath.Join(dir, secretKeyName)}))
			}
			ensure(b, stores[0], "default")
			var rates, runs []float64
			for b.Loop() {
				rate, run := creates(b, stores, c.callers, time.Second)
				rates, runs = append(rates, rate), append(runs, run)
			}
			b.ReportMetric(median(rates), "creates/s")
			b.ReportMetric(median(runs), "runs/create")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkBulk inserts 10,000 rows in one transaction, as batch-create and imports do.
func BenchmarkBulk(b *testing.B) {
	const n = 10_000
	ctx := context.Background()
	b.Run("profiles", func(b *testing.B) {
		s := openTest(b)
		ensure(b, s, "default")
		shared := sharedSettings("default")
		for b.Loop() {
			rows := make([]NewProfile, n)
			for i := range rows {
				rows[i] = NewProfile{ID: newID(), Name: fmt.Sprint("Shop ", i)}
			}
			mustWrite(b, s, func(q *Queries) error { return q.AddProfiles(ctx, shared, rows) })
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/row")
	})
	b.Run("proxies", func(b *testing.B) {
		s := openTest(b)
		ensure(b, s, "default")
		for k := 0; b.Loop(); k++ {
			rows := make([]Proxy, n)
			for i := range rows {
				rows[i] = Proxy{ID: newID(), Type: "socks5", Host: fmt.Sprintf("h%d-%d.example", k, i), Port: 1080, Tags: "[]",
					Username: "u", Password: make([]byte, 40)}
			}
			mustWrite(b, s, func(q *Queries) error {
				if found, err := q.FindAddresses(ctx, "default", nil, rows); err != nil || len(found) > 0 {
					return fmt.Errorf("%d found: %v", len(found), err)
				}
				return q.AddProxies(ctx, "default", 1, rows)
			})
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/row")
	})
}

// sharedSettings are the settings of profiles that are made at once.
func sharedSettings(workspace string) InsertProfilesParams {
	return InsertProfilesParams{WorkspaceID: workspace, OS: "linux", BrowserVersion: "156", Tags: "[]", StartURLs: "[]", Timezone: "auto",
		Locale: "auto", Geolocation: "auto", WebRTC: "proxy_only", BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn",
		FallbackProxyIDs: "[]", FallbackCountry: "same", AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Args: "[]", Passkeys: "off",
		Extensions: "[]",
		CreatedAt:  1, UpdatedAt: 1}
}
