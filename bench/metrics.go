package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// What a scrape may cost: milliseconds of processor time, and kilobytes.
const (
	scrapeAim     = 2.0
	scrapeSizeAim = 100.0
)

const (
	// scrapePause is how long what was gathered is used again.
	scrapePause = 600 * time.Millisecond
	// reportPause is how long the reports of runs are used again, and reportTime how long asking all of them may take.
	reportPause, reportTime = 16 * time.Second, 4 * time.Second
)

// measureScrapes measures GET /metrics of a server with a thousand runs, which gathers anew each time.
func (b *bench) measureScrapes(ctx context.Context) error {
	ours, err := b.servePretended(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	got, err := b.play(ctx, "scrapes", b.rounds, side{"ours", ours.scrapes})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("scrape of /metrics, %d runs: ", pretended)
	b.table = append(b.table, figure{name: name + "size", unit: "kB", ours: got[0][1], floor: constant(scrapeSizeAim, len(got[0][1])),
		aim: 1})
	if !canMeasureProcesses {
		return nil
	}
	b.table = append(b.table, figure{name: name + "server CPU", unit: "ms", ours: got[0][0], floor: constant(scrapeAim, len(got[0][0])),
		aim: 1})
	asking, err := b.play(ctx, "reports", max(1, b.rounds/3), side{"ours", ours.reports})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "  asking the runs meanwhile, at most every 15 s: server CPU", unit: "ms", ours: asking[0][0]})
	return nil
}

// scrapes returns the processor time of a scrape in ms, and its kilobytes.
func (w *warren) scrapes(ctx context.Context, _ int) ([]float64, error) {
	const perRound = 5
	var used time.Duration
	var size int
	for range perRound {
		if err := pause(ctx, scrapePause); err != nil {
			return nil, err
		}
		before := cpu(w.pid())
		text, err := w.scrape(ctx)
		if err != nil {
			return nil, err
		}
		used, size = used+cpu(w.pid())-before, len(text)
	}
	return []float64{milliseconds(used) / perRound, float64(size) / 1000}, nil
}

// reports returns the processor time in ms that a scrape has the server use afterwards, when the runs' reports are old.
func (w *warren) reports(ctx context.Context, _ int) ([]float64, error) {
	var used [2]time.Duration
	for i, wait := range []time.Duration{reportPause, 0} {
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		before := cpu(w.pid())
		if _, err := w.scrape(ctx); err != nil {
			return nil, err
		}
		if err := pause(ctx, reportTime); err != nil {
			return nil, err
		}
		used[i] = cpu(w.pid()) - before
	}
	return []float64{milliseconds(used[0] - used[1])}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scrape reads the metrics once.
func (w *warren) scrape(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address+"/metrics", nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET /metrics: %s: %s", answer.Status, text)
	}
	return string(text), err
}
