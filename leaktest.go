package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"warren/leaks"
	"warren/shim"
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

type leakTestInput struct {
	TimeoutMs int64 `json:"timeoutMs,omitempty" nullable:"true" minimum:"10000" maximum:"120000" doc:"How long the page may take once its browser takes commands. Default: 60000."`
}

// leakTestJSON is what a leak test saw.
type leakTestJSON struct {
	Passed     bool              `json:"passed" doc:"Every channel passed."`
	Isolation  isolationJSON     `json:"isolation"`
	Channels   []leakChannelJSON `json:"channels"`
	Warnings   []warningJSON     `json:"warnings"`
	StartedAt  timestamp         `json:"startedAt"`
	DurationMs int64             `json:"durationMs"`
}

// leakChannelJSON is one way out.
type leakChannelJSON struct {
	Channel string `json:"channel" example:"stun_udp"`
	Passed  bool   `json:"passed" doc:"false also when it could not be tried."`
	Seen    string `json:"seen" doc:"What was seen, in one line, for people."`
}

func (s *server) leakTest(ctx context.Context, in *struct {
	ProfilePath
	Body *leakTestInput `required:"false"`
}) (*struct{ Body leakTestJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	limit := leakTestTime
	if in.Body != nil && in.Body.TimeoutMs != 0 {
		limit = time.Duration(in.Body.TimeoutMs) * time.Millisecond
	}
	p, err := s.plan(ctx, row, &startInput{AllowDowngrade: true}) // its folder is a new one, which no browser has opened
	if err != nil {
		return nil, err
	}
	p.row.Consistency = "off" // it is no start: what it declares may contradict what it likes
	answer, err := s.runs.leakTest(ctx, p, limit)
	if err != nil {
		return nil, err
	}
	return &struct{ Body leakTestJSON }{*answer}, nil
}

// leakTest runs the page with a plan's settings. It is no run of the profile: nobody sees it, and it ends with the caller's
// patience or the server's life.
func (rs *runs) leakTest(ctx context.Context, p *plan, limit time.Duration) (*leakTestJSON, error) {
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
	if err := rs.takeTurn(ctx, nil, p); err != nil {
		return nil, errors.Join(rs.givenUp(ctx), err)
	}
	spec := p.spec
	spec.ProfileDir = filepath.Join(rs.cfg.Data, "profiles", erasedPrefix+"leaktest-"+spec.Name) // should we die, the next server removes it
	spec.ForOnce, spec.Grace, spec.MaxRun = true, leakTestGrace, rs.cfg.StartTimeout+limit+stopTime
	began := time.Now()
	state, channels, err := runLeakTest(ctx, rs.exe, spec, limit, func() { <-rs.slots })
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
	for _, w := range canaries.Ways() {
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
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
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

// leakFindings are the channels of a leak test without a server: direct, in a temporary folder.
func (d *doctorCommand) leakFindings(ctx context.Context) (out []finding, err error) {
	fail := func(err error) ([]finding, error) {
		return []finding{{Name: "leaks", Detail: "could not be looked for: " + err.Error()}}, errors.New("the leak test did not run")
	}
	private()
	installed, err := new(shim.Catalog).Default(ctx, d.places())
	if err != nil {
		return fail(err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(shortTemp(), "warren-leaks-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	channels, err := untilShown(leakTestTime, func(limit time.Duration) ([]leaks.Channel, error) {
		id := newID()
		spec := shim.Spec{RunID: id, ProfileID: id, Name: runName(id), BrowserPath: installed.Path, ProfileDir: filepath.Join(dir, "profile"), RunDir: filepath.Join(dir, "run"),
			ForOnce: true, Private: true, Protected: []string{dir}, Timeout: leakTestTime, Grace: leakTestGrace, MaxRun: leakTestTime + limit + stopTime}
		_, channels, err := runLeakTest(ctx, exe, spec, limit, func() {})
		return channels, err
	})
	if err != nil {
		return fail(err)
	}
	var failed []string
	for _, c := range channels {
		f := finding{Name: c.Name, OK: c.Passed, Detail: c.Seen}
		if !c.Passed {
			failed = append(failed, c.Name)
		}
		out = append(out, f)
	}
	if len(failed) > 0 {
		return out, errors.New("not closed: " + strings.Join(failed, ", "))
	}
	return out, nil
}

// longestDoctorTest is how long the page of doctor's leak test may take at most.
const longestDoctorTest = 8 * time.Minute

// untilShown tries with a limit, and with twice as much again where time ran out before a channel showed anything: the machine is busy. It gives the last
// judgement.
func untilShown(limit time.Duration, try func(limit time.Duration) ([]leaks.Channel, error)) ([]leaks.Channel, error) {
	for ; ; limit *= 2 {
		channels, err := try(limit)
		short := slices.ContainsFunc(channels, func(c leaks.Channel) bool { return c.Undecided })
		if err != nil || !short || 2*limit > longestDoctorTest {
			return channels, err
		}
	}
}
