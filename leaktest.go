package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"warren/leaks"
	"warren/shim"
	"warren/store"
)

// This file finds out what a profile's settings let out: a page that tries every way, in a throw-away profile, against canaries of
// our own. What the page can do a site can do; what the canaries see was seen, not believed.

// How long the page of a leak test may take, once its browser takes commands.
const (
	leakTestTime    = time.Minute
	minLeakTestTime = 10 * time.Second
	maxLeakTestTime = 2 * time.Minute
)

// leakTestGrace is how long a throw-away browser goes on when its server has died.
const leakTestGrace = 2 * time.Second

// leakTestJSON is what a leak test saw.
type leakTestJSON struct {
	Passed     bool              `json:"passed" doc:"Every channel passed."`
	Isolation  isolationJSON     `json:"isolation"`
	Channels   []leakChannelJSON `json:"channels"`
	Warnings   []warningJSON     `json:"warnings"`
	StartedAt  time.Time         `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64             `json:"durationMs"`
}

// leakChannelJSON is one way out.
type leakChannelJSON struct {
	Channel string `json:"channel" example:"stun_udp"`
	Passed  bool   `json:"passed" doc:"false also when it could not be tried."`
	Seen    string `json:"seen" doc:"What was seen, in one line, for people."`
}

// leakTest runs the page with a profile's settings. It is no run of the profile: nobody sees it, and it ends with the caller's
// patience or the server's life.
func (rs *runs) leakTest(ctx context.Context, row store.Profile, key asker, limit time.Duration) (*leakTestJSON, error) {
	p, err := rs.plan(ctx, row, options{AllowDowngrade: true, Asker: key}) // its folder is a new one, which no browser has opened
	if err != nil {
		return nil, err
	}
	p.row.Consistency = "off" // it is no start: what it declares may contradict what it likes
	leave, err := rs.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(rs.ctx, cancel)()
	select { // one at a time: two pages would make each other late
	case rs.testing <- struct{}{}:
		defer func() { <-rs.testing }()
	case <-ctx.Done():
		return nil, rs.givenUp(ctx)
	}
	if err := rs.enterQueue(nil); err != nil {
		return nil, err
	}
	release, err := rs.takeTurn(ctx, nil, p)
	if err != nil {
		return nil, errors.Join(rs.givenUp(ctx), err)
	}
	defer release()
	spec := p.spec
	spec.ProfileDir = filepath.Join(rs.cfg.Data, "profiles", erasedPrefix+"leaktest-"+spec.Name) // should we die, the next server removes it
	spec.ForOnce, spec.Grace, spec.MaxRun = true, leakTestGrace, rs.cfg.StartTimeout+limit+StopTime
	began := time.Now()
	state, channels, err := runLeakTest(ctx, rs.exe, spec, limit, release)
	if gone := rs.givenUp(ctx); gone != nil {
		return nil, gone
	}
	if err != nil {
		return nil, startProblem(err)
	}
	run := p.answer(state)
	out := &leakTestJSON{Passed: true, Isolation: run.Isolation, Warnings: run.Warnings, StartedAt: run.StartedAt, DurationMs: time.Since(began).Milliseconds()}
	for _, c := range channels {
		out.Passed = out.Passed && c.Passed
		out.Channels = append(out.Channels, leakChannelJSON{c.Name, c.Passed, c.Seen})
	}
	rs.log.Info("leak test", "profile", p.row.ID, "passed", out.Passed, "ms", out.DurationMs)
	return out, nil
}

// givenUp says why a leak test is over before its end: the caller went away, or the server stops.
func (rs *runs) givenUp(ctx context.Context) error {
	if rs.ctx.Err() != nil {
		return stoppingProblem()
	}
	return ctx.Err()
}

// runLeakTest runs the page in the browser of spec, whose folder it removes, and judges what the canaries saw. launched is called when the
// browser has started, or has not.
func runLeakTest(ctx context.Context, exe string, spec shim.Spec, limit time.Duration, launched func()) (state *shim.State, out []leaks.Channel, err error) {
	canaries, err := leaks.Open(leaks.Options{Budget: limit * 2 / 3})
	if err != nil {
		launched()
		return nil, nil, err
	}
	defer canaries.Close()
	spec.Headless, spec.DebugPort, spec.StartURLs, spec.TrustSPKI = true, false, canaries.Pages(), canaries.SPKI()
	spec.Resolver = canaries.Resolver() // of ours, so that it is seen when the browser resolves a name by itself
	for _, w := range canaries.Bypasses() {
		spec.Bypasses = append(spec.Bypasses, shim.Bypass(w))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(spec.ProfileDir)) }()
	client, state, err := shim.Launch(ctx, exe, spec)
	launched()
	if err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	gone := make(chan struct{})
	go func() { // a browser that is gone reports nothing more
		defer close(gone)
		select {
		case <-client.Done():
			cancel()
		case <-waiting.Done():
		}
	}()
	canaries.Wait(waiting) //nolint:errcheck // what was not reported has not passed
	ended := isClosed(client.Done())
	cancel()
	<-gone
	err = endThrowaway(client, spec)
	out = canaries.Channels()
	for i := range out {
		out[i].Undecided = out[i].Undecided && !ended // a browser that ended by itself shows no more with more time
	}
	return state, out, err
}

// endThrowaway ends a run of which nothing is kept.
func endThrowaway(client *shim.Client, spec shim.Spec) error {
	ctx, cancel := context.WithTimeout(context.Background(), StopTime)
	defer cancel()
	if _, err := client.Stop(ctx, true); err != nil {
		if err := client.Kill(); err != nil {
			return err
		}
		<-client.Done()
	}
	shim.Forget(spec.RunDir, spec.Name)
	return nil
}
