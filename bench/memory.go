package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// quiet is how long browsers are idle before their memory is measured.
const quiet = 15 * time.Second

// measureMemory compares idle runs with bare browsers: what our processes need in addition, and all processes
// together.
func (b *bench) measureMemory(ctx context.Context) error {
	if !canMeasureProcesses {
		return nil
	}
	server, err := b.serveEmpty(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	s := &starts{bench: b, server: server}
	for i := range 2 * b.browsers {
		id, err := server.create(ctx, map[string]any{"name": fmt.Sprint("idle ", i)})
		if err != nil {
			return err
		}
		s.profiles = append(s.profiles, id)
	}
	got, err := b.play(ctx, "memory", 1, side{"ours", s.idleRuns}, side{"floor", s.idleBare})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d idle runs: ", b.browsers)
	b.table = append(b.table,
		figure{name: title + "server and shims, beside bare browsers", unit: "MiB", ours: got[0][0], floor: got[1][1], aim: 0.05},
		figure{name: "  the same: all processes", unit: "MiB", ours: got[0][1], floor: got[1][1]},
		figure{name: "  the same: less of the machine available", unit: "MiB", ours: got[0][2], floor: got[1][2]},
		figure{name: "  one shim", unit: "MiB", ours: got[0][3]}, figure{name: "  the server", unit: "MiB", ours: got[0][4]})
	return nil
}

// idleRuns returns five values in MiB. They are PSS of the server with its shims, PSS of all processes, the decrease of
// available memory, PSS of one shim, and PSS of the server.
func (s *starts) idleRuns(ctx context.Context, _ int) ([]float64, error) {
	before := available()
	mine := s.profiles[:s.browsers]
	if _, err := atOnce(mine, func(_ int, id string) error { return s.start(ctx, id, "off") }); err != nil {
		return nil, err
	}
	time.Sleep(quiet)
	var shims, chromes int64
	for _, shim := range childrenOf(s.server.pid()) {
		shims += pss(shim)
		for _, browser := range childrenOf(shim) {
			chromes += pssOfTree(browser)
		}
	}
	server := pss(s.server.pid())
	out := []float64{mebibytes(server + shims), mebibytes(server + shims + chromes), mebibytes(before - available()),
		mebibytes(shims) / float64(len(mine)), mebibytes(server)}
	_, err := atOnce(mine, func(_ int, id string) error { return s.stop(ctx, id) })
	return out, err
}

// idleBare returns the same for bare browsers, of which no process is ours.
func (s *starts) idleBare(ctx context.Context, _ int) ([]float64, error) {
	plans, err := s.prepareAll(ctx, s.profiles[s.browsers:])
	if err != nil {
		return nil, err
	}
	before := available()
	browsers := make([]*bare, len(plans))
	var all errgroup.Group
	all.SetLimit(4)
	for i, p := range plans {
		all.Go(func() (err error) {
			browsers[i], err = s.startBare(ctx, p)
			return err
		})
	}
	err = all.Wait()
	time.Sleep(quiet)
	var sum int64
	for _, b := range browsers {
		if b != nil {
			sum += pssOfTree(b.cmd.Process.Pid)
		}
	}
	out := []float64{0, mebibytes(sum), mebibytes(before - available()), 0, 0}
	return out, errors.Join(err, stopAll(browsers))
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// pssOfTree returns the sum of a process and all its descendants.
func pssOfTree(pid int) int64 {
	sum := pss(pid)
	for _, child := range childrenOf(pid) {
		sum += pssOfTree(child)
	}
	return sum
}
