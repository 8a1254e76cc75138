package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// quiet is how long browsers are left alone before their memory counts.
const quiet = 15 * time.Second

// measureMemory compares idle runs with bare browsers: what our processes take beside the browsers, and all of them together.
func (b *bench) measureMemory(ctx context.Context) error {
	if !seesProcesses {
		return nil
	}
	data, err := b.data()
	if err != nil {
		return err
	}
	s := &starts{bench: b}
	if s.server, err = b.serve(ctx, data); err != nil {
		return err
	}
	defer s.server.stop()
	var made struct{ ID string }
	for i := range 2 * b.browsers {
		if err := s.server.call(ctx, "POST", "/profiles", map[string]any{"name": fmt.Sprint("idle ", i)}, &made); err != nil {
			return err
		}
		s.profiles = append(s.profiles, made.ID)
	}
	got, err := b.play(ctx, "memory", 1, side{"ours", s.idleRuns}, side{"floor", s.idleBare})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d idle runs: ", b.browsers)
	b.table = append(b.table, figure{name: title + "server and shims, beside bare browsers", unit: "MiB", ours: got[0][0], floor: got[1][1], aim: 0.05},
		figure{name: "  the same: all processes", unit: "MiB", ours: got[0][1], floor: got[1][1]},
		figure{name: "  the same: less of the machine available", unit: "MiB", ours: got[0][2], floor: got[1][2]},
		figure{name: "  one shim", unit: "MiB", ours: got[0][3]}, figure{name: "  the server", unit: "MiB", ours: got[0][4]})
	return nil
}

// idleRuns gives, in MiB, the share of the server and its shims, that of all processes, what the machine has less, the share of one shim, and the
// server's.
func (s *starts) idleRuns(ctx context.Context, _ int) ([]float64, error) {
	before := available()
	var all errgroup.Group
	mine := s.profiles[:s.browsers]
	for _, id := range mine {
		all.Go(func() error { return s.start(ctx, id, "off") })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	time.Sleep(quiet)
	var shims, chromes int64
	for _, shim := range childrenOf(s.server.pid()) {
		shims += share(shim)
		for _, browser := range childrenOf(shim) {
			chromes += shareOfTree(browser)
		}
	}
	server := share(s.server.pid())
	out := []float64{mebibytes(server + shims), mebibytes(server + shims + chromes), mebibytes(before - available()), mebibytes(shims) / float64(len(mine)), mebibytes(server)}
	for _, id := range mine {
		all.Go(func() error { return s.stop(ctx, id) })
	}
	return out, all.Wait()
}

// idleBare gives the same of bare browsers; nothing of it is ours.
func (s *starts) idleBare(ctx context.Context, _ int) ([]float64, error) {
	var plans []bareStart
	for _, id := range s.profiles[s.browsers:] {
		p, err := s.prepareBare(ctx, id)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	before := available()
	browsers := make([]*bare, len(plans))
	var all errgroup.Group
	all.SetLimit(4)
	for i, p := range plans {
		all.Go(func() (err error) {
			browsers[i], err = startBare(ctx, s.browser, p.args, p.env)
			return err
		})
	}
	err := all.Wait()
	time.Sleep(quiet)
	var sum int64
	for _, b := range browsers {
		if b != nil {
			sum += shareOfTree(b.cmd.Process.Pid)
		}
	}
	out := []float64{0, mebibytes(sum), mebibytes(before - available()), 0, 0}
	for _, b := range browsers {
		if b != nil {
			all.Go(b.stop)
		}
	}
	return out, errors.Join(err, all.Wait())
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// shareOfTree adds up the shares of a process and all that descend from it.
func shareOfTree(pid int) int64 {
	sum := share(pid)
	for _, child := range childrenOf(pid) {
		sum += shareOfTree(child)
	}
	return sum
}
