package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"warren/store"
)

// loadTime is how long one side is under load per round.
const loadTime = 700 * time.Millisecond

// measureReads compares the server's CPU for reading one profile and a page of profiles.
func (b *bench) measureReads(ctx context.Context) error {
	data, err := b.filled(ctx)
	if err != nil {
		return err
	}
	ours, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer ours.stop()
	floor, err := b.role(ctx, "api-floor", "-db", filepath.Join(data, store.FileName), "-key", ours.key)
	if err != nil {
		return err
	}
	defer floor.stop()
	ids, err := someIDs(ctx, ours)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		aim  float64
		path func() string
	}{
		{"get one of %d profiles", 1.15, func() string { return "/api/v1/profiles/" + ids[rand.IntN(len(ids))] }},
		{"list page 1 (20) of %d profiles", 0.7, func() string { return "/api/v1/profiles?workspaceId=default&page=1&limit=20" }},
	} {
		name := fmt.Sprintf(c.name, b.rows)
		read := func(server *child, prefix string) trial {
			return func(ctx context.Context, _ int) ([]float64, error) {
				l, err := load(ctx, server, loadTime, 200, func(int) []byte {
					return request("GET", server.address, prefix+c.path(), ours.key, "")
				})
				return []float64{l.cpuMicros(), l.perSecond()}, err
			}
		}
		got, err := b.play(ctx, name, 3*b.rounds, side{"ours", read(ours.child, "")}, side{"floor", read(floor, "")},
			side{"floor, whole profiles", read(floor, "/whole")})
		if err != nil {
			return err
		}
		if canMeasureProcesses {
			b.table = append(b.table, figure{name: name + ": server CPU", unit: "µs", ours: got[0][0], floor: got[1][0], aim: c.aim},
				figure{name: "  the same, floor with whole profiles", unit: "µs", ours: got[0][0], floor: got[2][0]})
		}
		b.table = append(b.table, figure{name: name + ": requests", unit: "/s", ours: got[0][1], floor: got[1][1]})
	}
	return nil
}

// someIDs returns ids of profiles from all over the database.
func someIDs(ctx context.Context, w *warren) (ids []string, err error) {
	for range 50 {
		var page struct{ Data []struct{ ID string } }
		if err := w.call(ctx, "GET", fmt.Sprintf("/profiles?limit=200&page=%d", 1+rand.IntN(4)+len(ids)/50), nil, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Data {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// serveWriters starts both sides on empty databases of the same schema, with the same key. The caller stops them.
func (b *bench) serveWriters(ctx context.Context) (ours *warren, floor *child, err error) {
	dir, err := b.data()
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, store.FileName)
	if err := newDatabase(ctx, dir); err != nil {
		return nil, nil, err
	}
	if err := fill(ctx, file, 1); err != nil {
		return nil, nil, err
	}
	if ours, err = b.serveEmpty(ctx); err != nil {
		return nil, nil, err
	}
	floor, err = b.role(ctx, "api-floor", "-db", file, "-key", ours.key)
	return ours, floor, err
}

// createAim is the processor time of a create in microseconds.
const createAim = 130.0

// measureCreates compares profiles created per second. Both sides answer when the profile is on disk (synchronous
// FULL): ours commits in groups, the floor one by one.
func (b *bench) measureCreates(ctx context.Context) error {
	ours, floor, err := b.serveWriters(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	defer floor.stop()
	create := func(server *child) trial {
		message := request("POST", server.address, "/api/v1/profiles", ours.key,
			`{"name":"Shop, Berlin","os":"linux","browserVersion":"156"}`)
		return func(ctx context.Context, _ int) ([]float64, error) {
			l, err := load(ctx, server, loadTime, 201, func(int) []byte { return message })
			return []float64{l.perSecond(), l.cpuMicros()}, err
		}
	}
	got, err := b.play(ctx, "create", 2*b.rounds, side{"ours", create(ours.child)}, side{"floor", create(floor)})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "create, 32 callers, on disk before the answer", unit: "/s", ours: got[0][0], floor: got[1][0]})
	if canMeasureProcesses {
		b.table = append(b.table, figure{name: "  the same: server CPU", unit: "µs", ours: got[0][1], floor: got[1][1]},
			figure{name: "  beside the aim", unit: "µs", ours: got[0][1], floor: constant(createAim, len(got[0][1])), aim: 1})
	}
	return nil
}

// callers is the number of keep-alive connections. Each one sends a request after the answer to its last.
const callers = 32

// loaded is the result of a load.
type loaded struct {
	requests int64
	took     time.Duration
	cpu      time.Duration // of the server
}

func (l loaded) perSecond() float64 { return float64(l.requests) / l.took.Seconds() }
func (l loaded) cpuMicros() float64 { return float64(l.cpu.Nanoseconds()) / 1000 / float64(l.requests) }

// load sends requests for a while. next returns the bytes of a caller's next request. want is the expected status.
func load(ctx context.Context, server *child, d time.Duration, want int, next func(caller int) []byte) (loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	var total atomic.Int64
	var all errgroup.Group
	before, begun := cpu(server.pid()), time.Now()
	for i := range callers {
		all.Go(func() error {
			n, err := loadOne(ctx, server.address, begun.Add(d), want, func() []byte { return next(i) })
			total.Add(n)
			return err
		})
	}
	err := all.Wait()
	return loaded{total.Load(), time.Since(begun), cpu(server.pid()) - before}, err
}

// loadOne sends one request after another on a connection until a time, and at least one.
func loadOne(ctx context.Context, address string, until time.Time, want int, next func() []byte) (n int64, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(until.Add(20 * time.Second)) //nolint:errcheck // a TCP connection takes deadlines
	in := bufio.NewReaderSize(c, 32<<10)
	for n == 0 || time.Now().Before(until) {
		if _, err := c.Write(next()); err != nil {
			return n, err
		}
		if err := readAnswer(in, want); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func readAnswer(in *bufio.Reader, want int) error {
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != want {
		text, _ := io.ReadAll(r.Body)
		return fmt.Errorf("answered %s: %s", r.Status, text)
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// request returns a request's bytes.
func request(method, host, path, key, body string) []byte {
	kind := ""
	if body != "" {
		kind = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	host = strings.TrimPrefix(host, "http://")
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n%s", method, path, host, key, kind, body)
}
