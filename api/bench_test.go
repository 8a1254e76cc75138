package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWrites sends what the part create and bulk of the bench send, to a server in this process: for a profile of
// where its time goes.
func BenchmarkWrites(b *testing.B) {
	var n atomic.Int64
	for _, c := range []struct {
		name, path string
		rows       int
		body       func() string
	}{
		{"create", "/profiles", 1, func() string { return `{"name":"Shop, Berlin","os":"linux","browserVersion":"156"}` }},
		{"batch-create", "/profiles/batch-create", maxBatchCreate, func() string {
			return fmt.Sprintf(`{"count":%d,"name":"Shop {n}","os":"linux","tags":["shop","berlin"]}`, maxBatchCreate)
		}},
		{"import", "/proxies/import", maxImportLines, func() string {
			lines := make([]string, maxImportLines)
			for i := range lines {
				lines[i] = fmt.Sprintf(`"h%d.example:1080:alice:secret"`, n.Add(1))
			}
			return `{"proxies":[` + strings.Join(lines, ",") + `]}`
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := newAPI(b, onDisk(b))
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
			b.SetParallelism(map[bool]int{true: 16, false: 1}[c.rows == 1])
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					req, err := http.NewRequest("POST", a.base+Prefix+c.path, bytes.NewReader([]byte(c.body())))
					if err != nil {
						b.Error(err)
						return
					}
					req.Header.Set("Authorization", "Bearer "+a.key)
					req.Header.Set("Content-Type", "application/json")
					resp, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body) //nolint:errcheck // of this process
					resp.Body.Close()
					if resp.StatusCode >= 300 {
						b.Errorf("%s: %s", c.path, resp.Status)
					}
				}
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1000/float64(b.N*c.rows), "µs/row")
		})
	}
}

// BenchmarkAudit compares creates with their entries of the audit log and without, in rounds of changing order. The result is the
// median of the rounds' ratios, since the disk's speed changes between rounds. make bench reads the rounds from its log.
func BenchmarkAudit(b *testing.B) {
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			with, without := newAPI(b, onDisk(b)), newAPI(b, onDisk(b))
			delete(without.srv.actions, "POST "+Prefix+"/profiles")
			took := map[*testAPI][]float64{}
			var ratios []float64
			for b.Loop() {
				pair := []*testAPI{with, without}
				if len(ratios)%2 == 1 {
					slices.Reverse(pair)
				}
				for _, a := range pair {
					took[a] = append(took[a], creates(b, a, clients, 320).Seconds()*1000)
				}
				ratios = append(ratios, took[with][len(ratios)]/took[without][len(ratios)])
			}
			b.Logf("clients %d: with %.1f ms, without %.1f ms", clients, took[with], took[without])
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// onDisk has the data folder where a server's is. The tests' is in memory, where the wait for the disk is missing, which is most of a
// create.
func onDisk(b *testing.B) func(*setup) {
	b.Helper()
	dir := b.TempDir()
	return func(c *setup) { c.Data = filepath.Join(dir, "data") }
}

// creates returns how long some clients take to create profiles.
func creates(b testing.TB, a *testAPI, clients, profiles int) time.Duration {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range profiles / clients {
				resp, err := client.Do(a.request(b, "POST", "/profiles", `{"name":"Shop, Berlin","os":"linux","browserVersion":"156"}`))
				if err != nil {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body) //nolint:errcheck // of this process
				resp.Body.Close()
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
