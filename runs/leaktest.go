package runs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"warren/leaks"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// Tests what a profile's settings leak. A page in a throw-away profile tries every channel against our own canaries. A
// site can do what the page can, and canaries record what really arrives.

// How long the page of a leak test may take, once its browser takes commands.
const (
	LeakTestTime    = time.Minute
	minLeakTestTime = 10 * time.Second
	maxLeakTestTime = 2 * time.Minute
)

// LeakTestGrace is how long a throw-away browser lives without its server.
const LeakTestGrace = 2 * time.Second

// LeakTest is the result of a leak test.
type LeakTest struct {
	Passed     bool          `json:"passed" doc:"Every channel passed."`
	Isolation  Isolation     `json:"isolation"`
	Channels   []LeakChannel `json:"channels"`
	Warnings   []Warning     `json:"warnings"`
	StartedAt  time.Time     `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64         `json:"durationMs"`
}

// LeakChannel is one way out of the browser.
type LeakChannel struct {
	Channel string `json:"channel" example:"stun_udp"`
	Passed  bool   `json:"passed" doc:"false also when it could not be tried."`
	Seen    string `json:"seen" doc:"What was seen, in one line, for people."`
}

// LeakTest runs the page with a profile's settings. It is no run of the profile and is not listed. It ends early with
// ctx or with the server.
func (m *Manager) LeakTest(ctx context.Context, row store.Profile, key Asker, limit time.Duration) (*LeakTest, error) {
	if err := m.fetchPackages(ctx, row); err != nil {
		return nil, err
	}
	p, err := m.plan(ctx, row, Options{AllowDowngrade: true, Asker: key}) // its new folder was never opened by a browser
	if err != nil {
		return nil, err
	}
	p.row.Consistency = "off" // mismatches must not prevent the test
	leave, err := m.beginWork()
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	select { // one at a time: two pages would slow each other down
	case m.leakTestSem <- struct{}{}:
		defer func() { <-m.leakTestSem }()
	case <-ctx.Done():
		return nil, m.leakTestCancelled(ctx)
	}
	if err := m.enterStartQueue(nil); err != nil {
		return nil, err
	}
	release, err := m.takeTurn(ctx, nil, p)
	if err != nil {
		return nil, errors.Join(m.leakTestCancelled(ctx), err)
	}
	defer release()
	spec := p.spec
	// If this server dies, the next one removes the folder.
	spec.ProfileDir = filepath.Join(m.cfg.Data, "profiles", erasedPrefix+leakTestPrefix+spec.Name)
	spec.ForOnce, spec.Grace, spec.MaxRun = true, LeakTestGrace, m.cfg.StartTimeout+limit+StopTime
	startedAt := time.Now()
	state, channels, err := RunLeakTest(ctx, m.exe, spec, limit, release)
	if err := m.leakTestCancelled(ctx); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, m.startProblem(err)
	}
	run := p.answer(state)
	out := &LeakTest{Passed: true, Isolation: run.Isolation, Warnings: run.Warnings, StartedAt: run.StartedAt,
		DurationMs: time.Since(startedAt).Milliseconds()}
	for _, c := range channels {
		out.Passed = out.Passed && c.Passed
		out.Channels = append(out.Channels, LeakChannel{c.Name, c.Passed, c.Seen})
	}
	m.log.Info("leak test", "profile", p.row.ID, "passed", out.Passed, "ms", out.DurationMs)
	return out, nil
}

// leakTestCancelled returns why a leak test was cancelled: the server stops, or the caller went away. nil: it was not.
func (m *Manager) leakTestCancelled(ctx context.Context) error {
	if m.ctx.Err() != nil {
		return pool.Stopping()
	}
	return ctx.Err()
}

// RunLeakTest runs the page in the browser of spec and evaluates what the canaries saw. It removes spec's profile
// folder. It calls launched when the launch has succeeded or failed.
func RunLeakTest(ctx context.Context, exe string, spec shim.Spec, limit time.Duration, launched func()) (state *shim.State,
	out []leaks.Channel, err error) {
	canaries, err := leaks.Open(leaks.Options{Budget: limit * 2 / 3})
	if err != nil {
		launched()
		return nil, nil, err
	}
	defer canaries.Close()
	spec.Headless, spec.DebugPort, spec.StartURLs, spec.TrustSPKI = true, false, canaries.Pages(), canaries.SPKI()
	spec.Resolver = canaries.Resolver() // our resolver shows whether the browser resolves names by itself
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
	watched := make(chan struct{})
	go func() { // a browser that has ended reports nothing more
		defer close(watched)
		select {
		case <-client.Done():
			cancel()
		case <-waiting.Done():
		}
	}()
	canaries.Wait(waiting) //nolint:errcheck // channels without a report have not passed
	ended := isClosed(client.Done())
	cancel()
	<-watched
	err = endThrowaway(client, spec)
	out = canaries.Channels()
	for i := range out {
		out[i].Undecided = out[i].Undecided && !ended // if the browser has ended, more time would show no more
	}
	return state, out, err
}

// endThrowaway ends a throw-away run and deletes its files.
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
