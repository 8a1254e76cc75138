package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// relays compares relays in front of a SOCKS5 server with a password: processor time and rate of downloads.
func (p *peers) relays(ctx context.Context) error {
	far, err := p.role(ctx, "far-side")
	if err != nil {
		return err
	}
	defer far.stop()
	upstream := "socks5://" + url.UserPassword(farUser, farPassword).String() + "@" + far.address
	spawn := func(program string, args ...string) func(context.Context) (*child, error) {
		return func(ctx context.Context) (*child, error) { return p.spawn(ctx, "up ", nil, program, args...) }
	}
	theirs := []struct {
		peer
		start func(context.Context) (*child, error)
	}{
		{p.glider, func(ctx context.Context) (*child, error) {
			address, err := freeAddress()
			if err != nil {
				return nil, err
			}
			return p.spawnAt(ctx, address, exec.Command(p.glider.program, "-listen", "socks5://"+address, "-forward", upstream))
		}},
		{p.gost, spawn(p.gost.program, "socks5://127.0.0.1:0", upstream)},
		{p.proxyChain, spawn("node", p.proxyChain.program, upstream)},
	}
	for _, streams := range []int{1, 50} {
		name := fmt.Sprintf("relay, %d stream(s)", streams)
		sides := []side{{"ours", p.stream(farName, streams, streamed, "relay-ours", far.address)}}
		for _, t := range theirs {
			if !p.lacks(name, t.peer) {
				sides = append(sides, side{t.name, streamThrough(farName, streams, streamed, t.start)})
			}
		}
		got, err := p.play(ctx, name, p.bench.rounds, sides...)
		if err != nil {
			return err
		}
		for _, t := range theirs {
			for i, s := range sides {
				if s.name == t.name {
					p.compare(t.peer, got[0], got[i], peerFigure{work: name + ": CPU per GiB", unit: "s"},
						peerFigure{work: "  the same: throughput", unit: "MiB/s", more: true})
				}
			}
		}
	}
	return nil
}

// checks compares checks of 2,000 live proxies, 200 at once. curl reads the exit's address as ours does.
func (p *peers) checks(ctx context.Context) error {
	const name = "check of 2,000 live proxies, 200 at once"
	p.lacks(name, p.mubeng)
	if p.lacks(name, p.curl) {
		return nil
	}
	const count = 2000
	values, done, err := p.bench.checks(ctx, checkList{live: count}, 0, checksAtOnce, func(r checkReport) []float64 {
		return []float64{r.CPU.Seconds() * 1e6 / count, count / r.Wall.Seconds()}
	})
	if err != nil {
		return err
	}
	defer done()
	got, err := p.play(ctx, name, p.bench.rounds, side{"ours", values("check-ours")}, side{"curl", p.curlOnce})
	if err != nil {
		return err
	}
	p.compare(p.curl, got[0], got[1], peerFigure{work: name + ": CPU of one", unit: "µs"},
		peerFigure{work: "  the same: rate", unit: "/s", more: true})
	return nil
}

// curlOnce checks the list of proxies with one curl.
func (p *peers) curlOnce(ctx context.Context, _ int) ([]float64, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, "proxies.txt"))
	if err != nil {
		return nil, err
	}
	list := strings.Fields(string(text))
	var config strings.Builder
	for i, address := range list {
		if i > 0 {
			config.WriteString("next\n")
		}
		fmt.Fprintf(&config, "silent\nmax-time = %v\nproxy = \"socks5://%s\"\nproxy-user = \"%s:%s\"\nurl = \"%s\"\n",
			checkTime.Seconds(), address, farUser, farPassword, "http://127.0.0.1:9080/json")
	}
	cmd := exec.CommandContext(ctx, p.curl.program, "--parallel", "--parallel-immediate", "--parallel-max", fmt.Sprint(checksAtOnce),
		"--config", "-")
	cmd.Stdin = strings.NewReader(config.String())
	return timed(cmd, list)
}

// timed runs curl and returns the processor time of one check in microseconds, and checks per second. Every proxy of the list must
// have answered with its own address.
func timed(cmd *exec.Cmd, list []string) ([]float64, error) {
	begun := time.Now()
	text, err := cmd.Output()
	took := time.Since(begun)
	if err != nil {
		return nil, err
	}
	for _, address := range list {
		host, _, _ := strings.Cut(address, ":")
		if !strings.Contains(string(text), `"ip":"`+host+`"`) {
			return nil, fmt.Errorf("curl found no exit of %s", address)
		}
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return []float64{used.Seconds() * 1e6 / float64(len(list)), float64(len(list)) / took.Seconds()}, nil
}
