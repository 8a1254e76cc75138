package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
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
			a := newAPI(b)
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
