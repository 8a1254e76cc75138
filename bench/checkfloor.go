package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"warren/proxy"
)

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
	login := append([]byte{1, byte(len(farUser))}, farUser...)
	login = append(append(login, byte(len(farPassword))), farPassword...)
	messages := [][]byte{{5, 1, 2}, login, {5, 1, 0, 1, 127, 0, 0, 1, 0x23, 0x78}}
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
	n := 0
	for err == nil && n < len(b) {
		k := 0
		k, err = c.Read(b[n:])
		n += k
	}
	_, rest, found := bytes.Cut(b[:n], []byte(`"ip":"`))
	ip, _, ends := bytes.Cut(rest, []byte(`"`))
	if !found || !ends {
		return "", fmt.Errorf("an answer of %d bytes without an address: %w", n, err)
	}
	return string(ip), nil
}
