package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// eventRate is how many events a second the part webhooks causes. Each is a change of a profile.
	eventRate = 1000
	// eventTime is how long one side is measured per round.
	eventTime = 3 * time.Second
	// eventCallers is how many connections change profiles, and readCallers how many read one meanwhile.
	eventCallers, readCallers = 10, 4
	// slowAnswer is how long the receiver keeps each message waiting.
	slowAnswer = 3 * time.Second
)

// measureWebhooks compares the latency of the API under a thousand events a second: with a webhook whose receiver is slow, and without.
func (b *bench) measureWebhooks(ctx context.Context) error {
	with, err := b.serveEvents(ctx)
	if err != nil {
		return err
	}
	defer with.stop()
	without, err := b.serveEvents(ctx)
	if err != nil {
		return err
	}
	defer without.stop()
	address, end, err := slowReceiver()
	if err != nil {
		return err
	}
	defer end()
	var hook struct{ ID string }
	if err := with.call(ctx, "POST", "/webhooks", map[string]any{"url": address, "events": []string{"*"}}, &hook); err != nil {
		return err
	}
	if _, err := with.underEvents(ctx, 0); err != nil { // what is pending comes near its limit, so that the oldest are dropped later
		return err
	}
	got, err := b.play(ctx, "webhooks", 2*b.rounds, side{"with", with.underEvents}, side{"without", without.underEvents})
	if err != nil {
		return err
	}
	var pending struct{ Total int }
	if err := with.call(ctx, "GET", "/webhooks/"+hook.ID+"/deliveries?state=pending", nil, &pending); err != nil {
		return err
	}
	if pending.Total < eventRate {
		return fmt.Errorf("only %d deliveries are pending: the receiver was not slow, or nothing was enqueued", pending.Total)
	}
	for i, name := range []string{"read", "change"} {
		b.table = append(b.table,
			figure{name: name + " under 1,000 events/s, slow webhook, p99", unit: "ms", ours: got[0][2*i], floor: got[1][2*i], aim: 1.1},
			figure{name: "  the same: median", unit: "ms", ours: got[0][2*i+1], floor: got[1][2*i+1]})
	}
	b.table = append(b.table, figure{name: "  the same: server CPU of a second", unit: "ms", ours: got[0][4], floor: got[1][4]})
	return nil
}

// changing is a server with profiles to change, one for each caller.
type changing struct {
	*warren
	ids []string
}

func (b *bench) serveEvents(ctx context.Context) (*changing, error) {
	w, err := b.serveEmpty(ctx, "WARREN_WEBHOOK_ALLOW_PRIVATE=yes")
	if err != nil {
		return nil, err
	}
	c := &changing{warren: w}
	for i := range eventCallers {
		id, err := w.create(ctx, map[string]any{"name": fmt.Sprint("p", i)})
		if err != nil {
			w.stop()
			return nil, err
		}
		c.ids = append(c.ids, id)
	}
	return c, nil
}

// underEvents changes and reads profiles for a while. It returns the 99th percentile and the median of reads and of changes, in ms, and
// the server's processor time per second.
func (c *changing) underEvents(ctx context.Context, round int) ([]float64, error) {
	var all errgroup.Group
	reads, changes := make([][]float64, readCallers), make([][]float64, eventCallers)
	before, begun := cpu(c.pid()), time.Now()
	each := eventTime * eventCallers / (eventRate * eventTime / time.Second)
	for i := range eventCallers {
		text := func(n int) []byte {
			return request("PUT", c.address, "/api/v1/profiles/"+c.ids[i], c.key, fmt.Sprintf(`{"notes":"%d.%d"}`, round, n))
		}
		all.Go(func() (err error) {
			changes[i], err = paced(ctx, c.address, begun.Add(each*time.Duration(i)/eventCallers), each, text)
			return err
		})
	}
	for i := range readCallers {
		text := func(int) []byte { return request("GET", c.address, "/api/v1/profiles/"+c.ids[i], c.key, "") }
		all.Go(func() (err error) {
			reads[i], err = paced(ctx, c.address, begun, each, text)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	used := cpu(c.pid()) - before
	var out []float64
	for _, kind := range [][][]float64{reads, changes} {
		sorted := slices.Sorted(slices.Values(slices.Concat(kind...)))
		out = append(out, sorted[len(sorted)*99/100], sorted[len(sorted)/2])
	}
	return append(out, milliseconds(used)/time.Since(begun).Seconds()), nil
}

// paced sends one request after another at fixed times on a connection, or later if the answer before is late. It returns how long each
// took, in ms.
func paced(ctx context.Context, address string, from time.Time, each time.Duration, text func(n int) []byte) (took []float64, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 32<<10)
	for n, due := 0, from; due.Before(from.Add(eventTime)); n, due = n+1, due.Add(each) {
		time.Sleep(time.Until(due))
		sent := time.Now()
		if _, err := conn.Write(text(n)); err != nil {
			return nil, err
		}
		if err := readAnswer(in, http.StatusOK); err != nil {
			return nil, err
		}
		took = append(took, milliseconds(time.Since(sent)))
	}
	return took, ctx.Err()
}

// slowReceiver serves an endpoint that keeps every message waiting, until end is called.
func slowReceiver() (address string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		err := http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // for this program alone
			select {
			case <-time.After(slowAnswer):
				w.WriteHeader(http.StatusNoContent)
			case <-r.Context().Done():
			}
		}))
		if !errors.Is(err, net.ErrClosed) {
			progress("the slow receiver: %v\n", err)
		}
	}()
	return "http://" + l.Addr().String(), func() { l.Close() }, nil
}
