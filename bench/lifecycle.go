package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lifecycleAim is the whole of a session with a warm browser in milliseconds, the median of a hundred.
const lifecycleAim = 224.0

// lifecycleParts are the parts of a session, as computesdk's public measure of browser sessions has them.
func lifecycleParts() []string { return []string{"create", "connect", "navigate", "release"} }

// lifecycle makes sessions in turn: ours through the API with a profile of its own, and a bare browser with a new folder.
// Both are behind a SOCKS5 proxy. A bare browser cannot log in to one, so that a relay does it.
type lifecycle struct {
	*starts
	plan  bareStart
	relay string
	n     int // sessions of the floor so far
}

// measureLifecycle compares sessions: create, connect, navigate, release. It takes medians of about a hundred.
func (b *bench) measureLifecycle(ctx context.Context) error {
	s, err := b.newStarts(ctx, 1)
	if s == nil {
		return err
	}
	defer s.server.stop()
	_, err = b.playSessions(ctx, s, "session: ", func(context.Context) error { return nil })
	return err
}

// playSessions adds the figures of a server's sessions beside a bare browser's, and returns how long ours took. before is
// called before each of ours.
func (b *bench) playSessions(ctx context.Context, s *starts, title string, before func(context.Context) error) (all []float64, err error) {
	relay, err := b.role(ctx, "relay-floor", s.far)
	if err != nil {
		return nil, err
	}
	defer relay.stop()
	l := &lifecycle{starts: s, relay: relay.address}
	if l.plan, err = s.prepareBare(ctx, s.profiles[0]); err != nil {
		return nil, err
	}
	ours := func(ctx context.Context, round int) ([]float64, error) {
		if err := before(ctx); err != nil {
			return nil, err
		}
		return l.ours(ctx, round)
	}
	got, err := b.play(ctx, "sessions", 14*b.rounds, side{"ours", ours}, side{"floor", l.bare})
	if err != nil {
		return nil, err
	}
	names := append(lifecycleParts(), "all")
	for i, name := range names {
		b.table = append(b.table, figure{name: title + name, unit: "ms", ours: got[0][i], floor: got[1][i]})
	}
	return got[0][len(names)-1], nil
}

// session runs the parts and returns the milliseconds of each, and of all.
func session(ctx context.Context, create func() (address string, err error), release func() error) ([]float64, error) {
	var took []float64
	begun := time.Now()
	last := begun
	lap := func() {
		now := time.Now()
		took = append(took, milliseconds(now.Sub(last)))
		last = now
	}
	address, err := create()
	if err != nil {
		return nil, err
	}
	lap()
	p, err := connect(ctx, address)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	lap()
	err = p.navigate(ctx, "http://"+farName+"/")
	lap()
	p.socket.CloseNow() //nolint:errcheck // the session ends
	if err := errors.Join(err, release()); err != nil {
		return nil, err
	}
	lap()
	return append(took, milliseconds(time.Since(begun))), nil
}

// navigate opens an address in the page, and waits until it is loaded.
func (p *page) navigate(ctx context.Context, address string) error {
	var went struct{ ErrorText string }
	if err := p.call(ctx, p.session, "Page.navigate", map[string]any{"url": address}, &went); err != nil || went.ErrorText != "" {
		return errors.Join(err, fmt.Errorf("navigate: %s", went.ErrorText))
	}
	const loaded = `new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", () => done()))`
	return p.do(ctx, "Runtime.evaluate", map[string]any{"expression": loaded, "awaitPromise": true})
}

// ours is a session with a new profile, which is deleted at the end.
func (l *lifecycle) ours(ctx context.Context, _ int) ([]float64, error) {
	var id string
	create := func() (string, error) {
		var err error
		if id, err = l.server.create(ctx, map[string]any{"name": "session", "proxyId": l.proxy}); err != nil {
			return "", err
		}
		var run startedRun
		err = l.server.call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, &run)
		return run.WsEndpoint, err
	}
	return session(ctx, create, func() error {
		return errors.Join(l.stop(ctx, id), l.server.call(ctx, "DELETE", "/profiles/"+id, nil, nil))
	})
}

// bare is a session with a browser of its own.
func (l *lifecycle) bare(ctx context.Context, _ int) ([]float64, error) {
	l.n++
	folder := filepath.Join(l.dir, fmt.Sprint("s", l.n))
	var args []string
	for _, a := range l.plan.args {
		key, _, _ := strings.Cut(a, "=")
		switch key {
		case "--user-data-dir":
			a = key + "=" + folder
		case "--proxy-server":
			a = key + "=socks5://" + l.relay
		}
		args = append(args, a)
	}
	plan := bareStart{args: append(args, "about:blank"), env: l.plan.env}
	var end func() error
	create := func() (string, error) {
		cmd, address, err := listeningBare(l.browser, plan)
		if err != nil {
			return "", err
		}
		end = func() error {
			d, err := dialDevTools(ctx, address)
			if err == nil {
				err = d.call(ctx, "", "Browser.close", nil, nil)
			}
			cmd.Wait() //nolint:errcheck // the exit code does not matter
			return err
		}
		return address, nil
	}
	took, err := session(ctx, create, func() error { return end() })
	return took, errors.Join(err, os.RemoveAll(folder))
}
