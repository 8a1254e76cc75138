package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"warren/browser"
	"warren/proxy"
)

// measureIsolation compares a start in a namespace with one without, with the same code and flags. The two folders
// change sides. Both run as an ordinary user, since root cannot start a browser without a namespace.
func (b *bench) measureIsolation(ctx context.Context) error {
	if err := browser.CheckIsolation(); err != nil {
		progress("")
		fmt.Fprintln(os.Stderr, "isolation: skipped,", err)
		return nil
	}
	found, err := browser.Find(ctx, "")
	if err != nil {
		return err
	}
	dir, err := b.shortDir("wbi")
	if err != nil {
		return err
	}
	exe := filepath.Join(dir, "bench") // readable for the other user
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(exe, b.exe)); err != nil {
		return err
	}
	one := func(network string, which int) trial {
		return func(ctx context.Context, round int) ([]float64, error) {
			return startOnce(ctx, exe, network, found.Path, filepath.Join(dir, "u"), strconv.Itoa((which+round)%2))
		}
	}
	for round := range 2 { // warms both folders
		if _, err := one(browser.InNamespace, 0)(ctx, round); err != nil {
			return err
		}
	}
	got, err := b.play(ctx, "isolation", 6*b.rounds, side{"namespace", one(browser.InNamespace, 0)},
		side{"loopback", one(browser.OnLoopback, 1)})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "start in a namespace, against without", unit: "ms", ours: got[0][0],
		floor: got[1][0], aim: 1.05})
	return nil
}

// startOnce starts a browser from an ordinary user's process, and returns its milliseconds.
func startOnce(ctx context.Context, exe string, args ...string) ([]float64, error) {
	cmd := exec.CommandContext(ctx, exe, append([]string{"start-once"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+args[2], "TMPDIR=/tmp")
	if err := asNobody(cmd, args[2]); err != nil {
		return nil, err
	}
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, words.String())
	}
	ms, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return []float64{ms}, err
}

// startOnceRole starts a browser with an isolation in a profile folder below dir. It prints the time from the first
// step to a browser that takes commands.
func startOnceRole(args []string) error {
	if len(args) != 4 {
		return errors.New("start-once NETWORK BROWSER DIR FOLDER")
	}
	ctx := context.Background()
	begun := time.Now()
	run, shut, err := startOffline(ctx, browser.Spec{Path: args[1], UserDataDir: filepath.Join(args[2], args[3]),
		TempDir: filepath.Join(args[2], "t"+args[3]), Headless: true, Network: args[0], Files: filesOf(args[0])})
	if err != nil {
		return err
	}
	took := time.Since(begun)
	if got := run.Isolation().Network; got != args[0] {
		err = fmt.Errorf("the run is isolated by %s, not by %s", got, args[0])
	}
	run.Stop(ctx, false)
	if err := errors.Join(err, shut()); err != nil {
		return err
	}
	_, err = fmt.Println(milliseconds(took))
	return err
}

// startOffline starts a browser behind a relay with a dead upstream: no request leaves the machine.
func startOffline(ctx context.Context, s browser.Spec) (run *browser.Browser, shut func() error, err error) {
	if run, err = browser.Open(s); err != nil {
		return nil, nil, err
	}
	upstream := &proxy.Proxy{Type: proxy.SOCKS5, Host: "127.0.0.1", Port: 1}
	relay := proxy.NewRelay(&proxy.Dialer{Upstream: upstream, Policy: proxy.Policy{AllowPrivate: true}}, nil)
	relay.Admit(run.Admit)
	go relay.Serve(run.Listener()) //nolint:errcheck // ends with Close
	shut = func() error { return errors.Join(relay.Close(), run.Close()) }
	if err := run.Start(ctx); err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	return run, shut, nil
}

// filesOf returns the isolation of files: without namespaces it works by refusing commands.
func filesOf(network string) string {
	if network == browser.OnLoopback {
		return browser.FilesByGuard
	}
	return browser.FilesInNamespace
}

func copyFile(to, from string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755) //nolint:gosec // a program
}
