package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

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

func loadOne(ctx context.Context, address string, until time.Time, want int, next func() []byte) (n int64, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(until.Add(20 * time.Second)) //nolint:errcheck // a TCP connection takes deadlines
	in := bufio.NewReaderSize(c, 32<<10)
	for time.Now().Before(until) {
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
