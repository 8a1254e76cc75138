package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	checksAtOnce = 200
	checkTime    = 2 * time.Second
	roundTrip    = 50 * time.Millisecond
)

// measureCheck compares checks of proxies: CPU, rate, the duration of a list with silent proxies, and round trips.
func (b *bench) measureCheck(ctx context.Context) error {
	if !canMeasureProcesses { // only Linux has all of 127.0.0.0/8
		return nil
	}
	if err := b.measureLiveChecks(ctx); err != nil {
		return err
	}
	if err := b.measureMixedChecks(ctx); err != nil {
		return err
	}
	return b.measureRoundTrips(ctx)
}

// measureLiveChecks checks 2,000 live proxies, in a new process per round.
func (b *bench) measureLiveChecks(ctx context.Context) error {
	run, done, err := b.checks(ctx, checkList{live: 2000}, 0, checksAtOnce)
	if err != nil {
		return err
	}
	defer done()
	values := func(role string) func(context.Context, int) ([]float64, error) {
		return func(ctx context.Context, _ int) ([]float64, error) {
			r, err := run(ctx, role)
			return []float64{r.CPU.Seconds() * 1e6 / 2000, 2000 / r.Wall.Seconds(), float64(r.Live) / 20}, err
		}
	}
	got, err := b.play(ctx, "check, live", 2*b.rounds, side{"ours", values("check-ours")},
		side{"floor, one write", values("check-floor-write")}, side{"floor, in turn", values("check-floor-turn")})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "check: CPU of one, beside the floor in turn", unit: "µs", ours: got[0][0], floor: got[2][0], aim: 1.25},
		figure{name: "  the same, beside the floor in one write", unit: "µs", ours: got[0][0], floor: got[1][0]},
		figure{name: "check, 200 at once: beside the floor in turn", unit: "/s", ours: got[0][1], floor: got[2][1],
			aim: 0.85, atLeast: true},
		figure{name: "  the same, beside the floor in one write", unit: "/s", ours: got[0][1], floor: got[1][1]},
		figure{name: "  verdicts that are right", unit: "%", ours: got[0][2], floor: got[1][2], aim: 1, atLeast: true})
	return nil
}

// measureMixedChecks checks a realistic list: some proxies refuse, and some accept and stay silent. The product
// chooses its concurrency.
func (b *bench) measureMixedChecks(ctx context.Context) error {
	list := checkList{live: 1400, refusing: 400, silent: 200}
	run, done, err := b.checks(ctx, list, 0, 0)
	if err != nil {
		return err
	}
	defer done()
	values := func(role string) func(context.Context, int) ([]float64, error) {
		return func(ctx context.Context, _ int) ([]float64, error) {
			r, err := run(ctx, role)
			return []float64{r.Wall.Seconds(), r.Live95.Seconds(), float64(r.Live+min(r.Dead, list.refusing+list.silent)) / 20}, err
		}
	}
	got, err := b.play(ctx, "check, mixed", max(1, b.rounds/2), side{"ours", values("check-ours")},
		side{"floor, in turn", values("check-floor-turn")})
	if err != nil {
		return err
	}
	timeouts := slices.Repeat([]float64{checkTime.Seconds()}, len(got[0][0]))
	b.table = append(b.table,
		figure{name: "check, 2,000 mixed: all done, in timeouts", unit: "s", ours: got[0][0], floor: timeouts, aim: 1.1},
		figure{name: "  beside the floor, 200 at once", unit: "s", ours: got[0][0], floor: got[1][0]},
		figure{name: "  95 % of the live verdicts out, in timeouts", unit: "s", ours: got[0][1], floor: timeouts, aim: 0.3},
		figure{name: "  beside the floor, 200 at once", unit: "s", ours: got[0][1], floor: got[1][1]},
		figure{name: "  verdicts that are right", unit: "%", ours: got[0][2], floor: got[1][2], aim: 1, atLeast: true})
	return nil
}

// measureRoundTrips delays each answer by a round trip: the duration of a check counts its round trips.
func (b *bench) measureRoundTrips(ctx context.Context) error {
	run, done, err := b.checks(ctx, checkList{live: 50}, roundTrip, 50)
	if err != nil {
		return err
	}
	defer done()
	values := func(role string) func(context.Context, int) ([]float64, error) {
		return func(ctx context.Context, _ int) ([]float64, error) {
			r, err := run(ctx, role)
			return []float64{float64(r.One.Microseconds()) / 1000}, err
		}
	}
	got, err := b.play(ctx, "check, round trips", b.rounds, side{"ours", values("check-ours")},
		side{"floor, in turn", values("check-floor-turn")}, side{"floor, one write", values("check-floor-write")})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "check over 50 ms: beside the floor in turn", unit: "ms", ours: got[0][0], floor: got[1][0], aim: 0.55},
		figure{name: "  the same, beside the floor in one write", unit: "ms", ours: got[0][0], floor: got[2][0]})
	return nil
}

// checks starts a far side, and returns a function that checks it in a process of its own.
func (b *bench) checks(ctx context.Context, n checkList, rtt time.Duration, atOnce int) (
	run func(context.Context, string) (checkReport, error), done func(), err error) {
	far, err := b.role(ctx, "check-far", strconv.Itoa(n.live), strconv.Itoa(n.silent), rtt.String())
	if err != nil {
		return nil, nil, err
	}
	_, portText, _ := strings.Cut(far.address, ":")
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, nil, err
	}
	list := append(append(addresses(firstLive, n.live, port), addresses(firstRefusing, n.refusing, port)...),
		addresses(firstSilent, n.silent, port)...)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	file := filepath.Join(b.dir, "proxies.txt")
	if err := os.WriteFile(file, []byte(strings.Join(list, "\n")), 0o600); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, role string) (r checkReport, err error) {
		out, err := exec.CommandContext(ctx, b.exe, role, file, strconv.Itoa(atOnce), checkTime.String()).Output()
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err == nil && (r.Live != n.live || r.Wrong != 0) {
			err = fmt.Errorf("%s: %d live, %d wrong, %d dead of %+v", role, r.Live, r.Wrong, r.Dead, n)
		}
		return r, err
	}, far.stop, nil
}
