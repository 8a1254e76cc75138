package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"warren/proxy"
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
			side{"ours", b.stream(farName, streams, streamed, "relay-ours", far.address)},
			side{"floor", b.stream(farName, streams, streamed, "relay-floor", far.address)})
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

// openTunnel connects to the target through a relay: by SOCKS5, or by CONNECT if its address begins with "http://".
func openTunnel(relay, target string) (*net.TCPConn, error) {
	address, connects := strings.CutPrefix(relay, "http://")
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // a TCP connection takes deadlines
	dial := dialThrough
	if connects {
		dial = connectThrough
	}
	if err := dial(c, target, false); err != nil {
		c.Close()
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// connectThrough asks an HTTP proxy without a password for a target (RFC 9110, 9.3.6).
func connectThrough(c io.ReadWriter, target string, _ bool) error {
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return errors.New("the HTTP proxy refused: " + r.Status)
	}
	return nil
}

// stream downloads total bytes from the target through a relay in its own process. It returns CPU seconds per GiB and
// MiB/s. relay is the relay's role with its arguments.
func (b *bench) stream(target string, streams int, total int64, relay ...string) trial {
	return streamThrough(target, streams, total, func(ctx context.Context) (*child, error) { return b.role(ctx, relay...) })
}

// streamThrough is stream through any relay. start starts it.
func streamThrough(target string, streams int, total int64, start func(context.Context) (*child, error)) trial {
	return func(ctx context.Context, _ int) ([]float64, error) {
		relay, err := start(ctx)
		if err != nil {
			return nil, err
		}
		defer relay.stop()
		if err := download(relay.address, target, 1, total/64); err != nil { // warms up the relay
			return nil, err
		}
		before, begun := cpu(relay.pid()), time.Now()
		if err := download(relay.address, target, streams, total); err != nil {
			return nil, err
		}
		took, gib := time.Since(begun), float64(total)/(1<<30)
		return []float64{(cpu(relay.pid()) - before).Seconds() / gib, gib * 1024 / took.Seconds()}, nil
	}
}

// download reads total bytes from the target through a number of concurrent tunnels.
func download(relay, target string, streams int, total int64) error {
	var all errgroup.Group
	for range streams {
		all.Go(func() error {
			c, err := openTunnel(relay, target)
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
func (b *bench) idle(role, far string) trial {
	return func(ctx context.Context, _ int) (out []float64, err error) {
		relay, err := b.role(ctx, role, far)
		if err != nil {
			return nil, err
		}
		defer relay.stop()
		if err := download(relay.address, farName, 1, 1<<20); err != nil {
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
			c, err := openTunnel(relay.address, farName)
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

// floorTunnel serves a minimal relay: SOCKS5 without a password in, SOCKS5 with one out, and io.Copy in both
// directions, which is splice(2) between TCP connections on Linux. It checks no target, counts no bytes and has no
// timeouts. args: the upstream's address.
func floorTunnel(c *net.TCPConn, args []string) error {
	if err := greetAnyone(c); err != nil {
		return err
	}
	target, err := readSOCKSRequest(c)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	up := conn.(*net.TCPConn)
	if err := dialThrough(up, target, true); err != nil {
		return err
	}
	if _, err := c.Write(socksDone()); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		io.Copy(up, c)  //nolint:errcheck // the end is passed on either way
		up.CloseWrite() //nolint:errcheck // the connection may be closed
		close(done)
	}()
	io.Copy(c, up) //nolint:errcheck // the end is passed on either way
	c.CloseWrite() //nolint:errcheck // the connection may be closed
	<-done
	return nil
}

// dialThrough asks a SOCKS5 server for a target, with or without the password. It waits for each answer.
func dialThrough(c io.ReadWriter, target string, password bool) error {
	method := byte(0)
	if password {
		method = 2
	}
	if err := ask(c, []byte{5, 1, method}, 2, method); err != nil {
		return err
	}
	if password {
		if err := ask(c, farLogin(), 2, 0); err != nil {
			return err
		}
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return err
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		return err
	}
	request := append([]byte{5, 1, 0, 3, byte(len(host))}, host...)
	return ask(c, append(request, byte(n>>8), byte(n)), 10, 0)
}

// ask writes a message and reads an answer of size bytes, the second of which must be want.
func ask(c io.ReadWriter, message []byte, size int, want byte) error {
	if _, err := c.Write(message); err != nil {
		return err
	}
	var b [10]byte
	if _, err := io.ReadFull(c, b[:size]); err != nil {
		return err
	}
	if b[1] != want {
		return errors.New("the SOCKS5 server refused")
	}
	return nil
}

// relayOurs is the product's relay in its own process, like a shim's. args: the upstream's address, and allowed
// targets on this machine.
func relayOurs(args []string) error {
	upstream, err := proxy.Parse("socks5://" + args[0])
	if err != nil {
		return err
	}
	upstream.Username, upstream.Password = farUser, farPassword
	l, err := listenFree()
	if err != nil {
		return err
	}
	policy := proxy.Policy{AllowPrivate: true, Exempt: args[1:]}
	return proxy.NewRelay(&proxy.Dialer{Upstream: &upstream, Policy: policy}, nil).Serve(l)
}
