package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// farName is the target of tunnels. The far side serves any name.
const farName = "target.bench.test:80"

const (
	streamed = 1 << 30 // bytes per measurement
	tunnels  = 1000
)

// measureRelay compares CPU per byte and memory per idle tunnel.
func (b *bench) measureRelay(ctx context.Context) error {
	if !canMeasureProcesses {
		return nil
	}
	far, err := b.role(ctx, "far-side")
	if err != nil {
		return err
	}
	defer far.stop()
	for _, streams := range []int{1, 50} {
		got, err := b.play(ctx, fmt.Sprintf("relay, %d streams", streams), 2*b.rounds,
			side{"ours", b.stream("relay-ours", far.address, streams)}, side{"floor", b.stream("relay-floor", far.address, streams)})
		if err != nil {
			return err
		}
		b.table = append(b.table,
			figure{name: fmt.Sprintf("relay, %d stream(s): CPU per GiB", streams), unit: "s", ours: got[0][0], floor: got[1][0], aim: 1.05},
			figure{name: fmt.Sprintf("relay, %d stream(s): throughput", streams), unit: "MiB/s", ours: got[0][1], floor: got[1][1]})
	}
	got, err := b.play(ctx, "relay, idle tunnels", b.rounds,
		side{"ours", b.idle("relay-ours", far.address)}, side{"floor", b.idle("relay-floor", far.address)})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "relay: memory of 1,000 idle tunnels", unit: "MiB", ours: got[0][0], floor: got[1][0]},
		figure{name: "relay: descriptors per idle tunnel", unit: "fds", ours: got[0][1], floor: got[1][1]})
	return nil
}

// openTunnel connects to the target through a relay.
func openTunnel(relay string) (*net.TCPConn, error) { return openTunnelTo(relay, farName) }

func openTunnelTo(relay, target string) (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", relay, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // a TCP connection takes deadlines
	if err := dialThrough(c, target, false); err != nil {
		c.Close()
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// stream downloads through a relay in its own process and returns CPU seconds per GiB and MiB/s.
func (b *bench) stream(role, far string, streams int) func(context.Context, int) ([]float64, error) {
	return func(ctx context.Context, _ int) ([]float64, error) {
		relay, err := b.role(ctx, role, far)
		if err != nil {
			return nil, err
		}
		defer relay.stop()
		if err := download(relay.address, 1, 16<<20); err != nil { // warms up the relay
			return nil, err
		}
		before, begun := cpu(relay.pid()), time.Now()
		if err := download(relay.address, streams, streamed); err != nil {
			return nil, err
		}
		took, gib := time.Since(begun), float64(streamed)/(1<<30)
		return []float64{(cpu(relay.pid()) - before).Seconds() / gib, gib * 1024 / took.Seconds()}, nil
	}
}

// download reads total bytes through a number of concurrent tunnels.
func download(relay string, streams int, total int64) error {
	return downloadFrom(relay, farName, streams, total)
}

func downloadFrom(relay, target string, streams int, total int64) error {
	var all errgroup.Group
	for range streams {
		all.Go(func() error {
			c, err := openTunnelTo(relay, target)
			if err != nil {
				return err
			}
			defer c.Close()
			want := total / int64(streams)
			if _, err := fmt.Fprintf(c, "GET /bytes/%d HTTP/1.1\r\nHost: %s\r\n\r\n", want, target); err != nil {
				return err
			}
			buffer := make([]byte, 256<<10)
			for got := int64(0); got < want; { // by count, since the end may arrive late
				n, err := c.Read(buffer)
				if err != nil {
					return err
				}
				got += int64(n)
			}
			return nil
		})
	}
	return all.Wait()
}

// idle opens tunnels through a relay in its own process and uses each once. It returns the relay's memory (MiB) and
// descriptors per tunnel.
func (b *bench) idle(role, far string) func(context.Context, int) ([]float64, error) {
	return func(ctx context.Context, _ int) (out []float64, err error) {
		relay, err := b.role(ctx, role, far)
		if err != nil {
			return nil, err
		}
		defer relay.stop()
		if err := download(relay.address, 1, 1<<20); err != nil {
			return nil, err
		}
		rss, fds := memory(relay.pid()), descriptors(relay.pid())
		held := make([]net.Conn, 0, tunnels)
		defer func() {
			for _, c := range held {
				err = errors.Join(err, c.Close())
			}
		}()
		for range tunnels {
			c, err := openTunnel(relay.address)
			if err != nil {
				return nil, err
			}
			held = append(held, c)
			if err := useOnce(c); err != nil {
				return nil, err
			}
		}
		if err := awaitIdle(ctx, relay.pid()); err != nil {
			return nil, err
		}
		return []float64{float64(memory(relay.pid())-rss) / (1 << 20), float64(descriptors(relay.pid())-fds) / tunnels}, nil
	}
}

// awaitIdle waits until the process has used no CPU for a while.
func awaitIdle(ctx context.Context, pid int) error {
	last, quiet := cpu(pid), 0
	for range 40 {
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		now := cpu(pid)
		if quiet++; now != last {
			last, quiet = now, 0
		}
		if quiet == 4 {
			break
		}
	}
	return nil
}

func useOnce(c net.Conn) error {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+farName+"\r\n\r\n"); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close())
}
