package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"warren/proxy"
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
	values, done, err := b.checks(ctx, checkList{live: 2000}, 0, checksAtOnce, func(r checkReport) []float64 {
		return []float64{r.CPU.Seconds() * 1e6 / 2000, 2000 / r.Wall.Seconds(), float64(r.Live) / 20}
	})
	if err != nil {
		return err
	}
	defer done()
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
	values, done, err := b.checks(ctx, list, 0, 0, func(r checkReport) []float64 {
		return []float64{r.Wall.Seconds(), r.Live95.Seconds(), float64(r.Live+min(r.Dead, list.refusing+list.silent)) / 20}
	})
	if err != nil {
		return err
	}
	defer done()
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
	values, done, err := b.checks(ctx, checkList{live: 50}, roundTrip, 50, func(r checkReport) []float64 {
		return []float64{float64(r.One.Microseconds()) / 1000}
	})
	if err != nil {
		return err
	}
	defer done()
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

// checks starts a far side. values returns a role's trial, which checks that side in a process of its own.
func (b *bench) checks(ctx context.Context, n checkList, rtt time.Duration, atOnce int, read func(checkReport) []float64) (
	values func(role string) trial, done func(), err error) {
	far, err := b.role(ctx, "check-far", strconv.Itoa(n.live), strconv.Itoa(n.silent), rtt.String())
	if err != nil {
		return nil, nil, err
	}
	port := int(netip.MustParseAddrPort(far.address).Port())
	list := append(append(addresses(firstLive, n.live, port), addresses(firstRefusing, n.refusing, port)...),
		addresses(firstSilent, n.silent, port)...)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	file := filepath.Join(b.dir, "proxies.txt")
	if err := os.WriteFile(file, []byte(strings.Join(list, "\n")), 0o600); err != nil {
		return nil, nil, err
	}
	values = func(role string) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			var r checkReport
			out, err := exec.CommandContext(ctx, b.exe, role, file, strconv.Itoa(atOnce), checkTime.String()).Output()
			if err == nil {
				err = json.Unmarshal(out, &r)
			}
			if err == nil && (r.Live != n.live || r.Wrong != 0) {
				err = fmt.Errorf("%s: %d live, %d wrong, %d dead of %+v", role, r.Live, r.Wrong, r.Dead, n)
			}
			return read(r), err
		}
	}
	return values, far.stop, nil
}

// checkReport is the output of a check role, as one line of JSON.
type checkReport struct {
	Live, Wrong, Dead int
	Wall, CPU         time.Duration
	Live95            time.Duration // when 95 % of the live verdicts were known
	One               time.Duration // the duration of a live check, median
}

// checkAll runs all checks, with the concurrency of spread, and counts the results. It measures this process.
func checkAll(list []string, spread func(n int, each func(int)), check func(i int) (exit string, err error)) checkReport {
	type verdict struct {
		exit     string
		err      error
		at, took time.Duration
	}
	verdicts := make([]verdict, len(list))
	before, begun := cpu(os.Getpid()), time.Now()
	spread(len(list), func(i int) {
		start := time.Now()
		exit, err := check(i)
		verdicts[i] = verdict{exit, err, time.Since(begun), time.Since(start)}
	})
	r := checkReport{Wall: time.Since(begun), CPU: cpu(os.Getpid()) - before}
	var out, took []time.Duration
	for i, v := range verdicts {
		host, _, _ := net.SplitHostPort(list[i])
		switch {
		case v.err != nil:
			r.Dead++
		case v.exit != host:
			r.Wrong++
		default:
			r.Live++
			out, took = append(out, v.at), append(took, v.took)
		}
	}
	if len(out) > 0 {
		slices.Sort(out)
		slices.Sort(took)
		r.Live95, r.One = out[len(out)*95/100], took[len(took)/2]
	}
	return r
}

// checkArgs parses the arguments: a file with one host:port per line, the concurrency (0: the product's), the timeout
// of one check.
func checkArgs(args []string) (list []string, atOnce int, timeout time.Duration, err error) {
	if len(args) != 3 {
		return nil, 0, 0, errors.New("want a list, a number and a time")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, 0, 0, err
	}
	if atOnce, err = strconv.Atoi(args[1]); err != nil {
		return nil, 0, 0, err
	}
	timeout, err = time.ParseDuration(args[2])
	return strings.Fields(string(text)), atOnce, timeout, err
}

// checkOurs is the product: its Checker and its FairLimiter.
func checkOurs(args []string) error {
	list, atOnce, timeout, err := checkArgs(args)
	if err != nil {
		return err
	}
	proxies := make([]proxy.Proxy, len(list))
	for i, address := range list {
		if proxies[i], err = proxy.Parse("socks5://" + address); err != nil {
			return err
		}
		proxies[i].Username, proxies[i].Password = farUser, farPassword
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &proxy.Checker{URLs: []string{"http://127.0.0.1:9080/json"}, Timeout: timeout, Policy: proxy.Policy{AllowPrivate: true}}
	limiter := &proxy.FairLimiter{Slots: atOnce}
	r := checkAll(list, func(n int, each func(int)) { limiter.Run(ctx, "", n, each) }, func(i int) (string, error) {
		got := c.Check(ctx, proxies[i])
		if !got.OK {
			return "", got.Err
		}
		return got.ExitIP, nil
	})
	return json.NewEncoder(os.Stdout).Encode(r)
}

// checkFloor is a minimal checker: a pool of workers, one connection each, and only the exit is read. sequential
// waits for each answer of the handshake. Otherwise the handshake is sent in one write.
func checkFloor(sequential bool) func(args []string) error {
	return func(args []string) error {
		list, atOnce, timeout, err := checkArgs(args)
		if err != nil {
			return err
		}
		if atOnce == 0 {
			atOnce = checksAtOnce
		}
		buffers := sync.Pool{New: func() any { return new([2048]byte) }}
		r := checkAll(list, pool(atOnce), func(i int) (string, error) {
			b := buffers.Get().(*[2048]byte)
			defer buffers.Put(b)
			return floorCheck(list[i], timeout, sequential, b[:])
		})
		return json.NewEncoder(os.Stdout).Encode(r)
	}
}

// pool runs functions on a number of workers.
func pool(workers int) func(n int, each func(int)) {
	return func(n int, each func(int)) {
		next := make(chan int)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for i := range next {
					each(i)
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		all.Wait()
	}
}

func floorCheck(address string, timeout time.Duration, sequential bool, b []byte) (string, error) {
	end := time.Now().Add(timeout)
	c, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(end) //nolint:errcheck // a TCP connection takes deadlines
	messages := [][]byte{{5, 1, 2}, farLogin(), {5, 1, 0, 1, 127, 0, 0, 1, 0x23, 0x78}}
	if !sequential {
		messages = [][]byte{bytes.Join(messages, nil), nil, nil}
	}
	for i, size := range []int{2, 2, 10} {
		if messages[i] != nil {
			if _, err := c.Write(messages[i]); err != nil {
				return "", err
			}
		}
		if _, err := io.ReadFull(c, b[:size]); err != nil {
			return "", err
		}
		if want := []byte{2, 0, 0}[i]; b[1] != want {
			return "", errors.New("the SOCKS5 server refused")
		}
	}
	if _, err := io.WriteString(c, "GET /json HTTP/1.1\r\nHost: 127.0.0.1:9080\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	n, err := io.ReadFull(c, b) // up to the end of the answer, which is shorter
	_, rest, found := bytes.Cut(b[:n], []byte(`"ip":"`))
	ip, _, ends := bytes.Cut(rest, []byte(`"`))
	if !found || !ends {
		return "", fmt.Errorf("an answer of %d bytes without an address: %w", n, err)
	}
	return string(ip), nil
}
