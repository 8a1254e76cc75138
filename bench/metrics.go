package main

import (
	"context"
	"io"
	"net/http"
	"time"
)

// What a scrape may cost: milliseconds of processor time, and kilobytes.
const (
	scrapeAim     = 2.0
	scrapeSizeAim = 100.0
)

// measureScrapes measures GET /metrics of a server that gathers anew each time. Its runs are none: BenchmarkFigures of package
// runs reads those of a thousand.
func (b *bench) measureScrapes(ctx context.Context) error {
	ours, err := b.serveEmpty(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	const perRound = 5
	scrape := func(ctx context.Context, _ int) ([]float64, error) {
		var used time.Duration
		var size int64
		for range perRound {
			select {
			case <-time.After(600 * time.Millisecond): // what was gathered before is old then
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			before := cpu(ours.pid())
			n, err := ours.scrape(ctx)
			if err != nil {
				return nil, err
			}
			used, size = used+cpu(ours.pid())-before, n
		}
		return []float64{float64(used.Microseconds()) / 1000 / perRound, float64(size) / 1000}, nil
	}
	got, err := b.play(ctx, "scrapes", b.rounds, side{"ours", scrape})
	if err != nil {
		return err
	}
	if canMeasureProcesses {
		b.table = append(b.table, figure{name: "scrape of /metrics: server CPU", unit: "ms", ours: got[0][0],
			floor: constant(scrapeAim, len(got[0][0])), aim: 1})
	}
	b.table = append(b.table, figure{name: "scrape of /metrics: size", unit: "kB", ours: got[0][1],
		floor: constant(scrapeSizeAim, len(got[0][1])), aim: 1})
	return nil
}

// scrape reads the metrics once, and returns how many bytes they have.
func (w *warren) scrape(ctx context.Context) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return io.Copy(io.Discard, answer.Body)
}
