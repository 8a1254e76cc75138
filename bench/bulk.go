package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// bulkSize is how many rows one request makes: the most that the product takes.
const bulkSize = 10_000

// measureBulk compares profiles and proxies made per second by one caller, 10,000 in a request. Both sides answer when
// all are on disk (synchronous FULL). The floor's request has only the number of rows, and its answer only ids.
func (b *bench) measureBulk(ctx context.Context) error {
	ours, floor, err := b.serveWriters(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	defer floor.stop()
	profiles := func() string {
		return fmt.Sprintf(`{"count":%d,"name":"Shop {n}","os":"linux","browserVersion":"156","tags":["shop","berlin"]}`, bulkSize)
	}
	bulk := func(server *child, path string, want int, body func() string) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			message := request("POST", server.address, path, ours.key, body())
			before, begun := cpu(server.pid()), time.Now()
			n, err := loadOne(ctx, server.address, begun, want, func() []byte { return message })
			l := loaded{n * bulkSize, time.Since(begun), cpu(server.pid()) - before}
			return []float64{l.perSecond(), l.cpuMicros()}, err
		}
	}
	nothing := func() string { return "{}" }
	made, err := b.play(ctx, "batch-create", b.rounds, side{"ours", bulk(ours.child, "/api/v1/profiles/batch-create", 201, profiles)},
		side{"floor", bulk(floor, "/api/v1/bulk/profiles", 200, nothing)})
	if err != nil {
		return err
	}
	imported, err := b.play(ctx, "import", b.rounds, side{"ours", bulk(ours.child, "/api/v1/proxies/import", 200, newLines())},
		side{"floor", bulk(floor, "/api/v1/bulk/proxies", 200, nothing)})
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		got  [][][]float64
	}{{"batch-create, 10,000 in a request: profiles", made}, {"import, 10,000 in a request: proxies", imported}} {
		b.table = append(b.table, figure{name: part.name, unit: "/s", ours: part.got[0][0], floor: part.got[1][0]})
		if canMeasureProcesses {
			b.table = append(b.table, figure{name: "  the same: server CPU of one", unit: "µs", ours: part.got[0][1],
				floor: part.got[1][1]})
		}
	}
	return nil
}

// newLines returns a function that makes a list of bulkSize proxies, none of which was in an earlier list.
func newLines() func() string {
	lists := 0
	return func() string {
		lists++
		lines := make([]string, bulkSize)
		for i := range lines {
			lines[i] = fmt.Sprintf(`"h%d-%d.example:1080:alice:secret"`, lists, i)
		}
		return `{"proxies":[` + strings.Join(lines, ",") + `]}`
	}
}
