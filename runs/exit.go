package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"warren/identity"
	"warren/pool"
	"warren/problem"
)

// Looks up the exit IP of a start's proxy and resolves the identity that follows it.

// exitWait is how long a start waits for the exit once its browser is ready.
const exitWait = 2 * time.Second

// identityExitWait is how long a start waits for the exit before its launch, if its identity follows the exit.
const identityExitWait = 5 * time.Second

// requireExit refuses a start whose proxy fails a fresh check, if preflight is require.
func (m *Manager) requireExit(ctx context.Context, p *plan) error {
	if p.preflight != "require" || p.proxy == nil {
		return nil
	}
	c, err := m.pool.Check(ctx, *p.proxy)
	switch {
	case ctx.Err() != nil:
		return m.cancelledStart()
	case err != nil:
		return err
	case !c.OK:
		return problem.New(problem.Upstream, "proxy_unreachable",
			"The profile's proxy does not work, so the browser was not started: "+c.Error.Message+".").With(c)
	}
	p.checked = c
	return nil
}

// exitLookup is an exit check that runs beside a launch.
type exitLookup struct {
	m      *Manager
	done   chan struct{}
	result *pool.Check
	err    error
	waited bool // identityExitWait was used up, so the start does not wait again
}

// lookUpExit starts to look up a proxy's exit. It uses the last good check if that is recent, else it checks the proxy.
// With preflight off it does nothing.
func (m *Manager) lookUpExit(ctx context.Context, px *pool.Proxy, preflight string) *exitLookup {
	if px == nil || preflight == "off" {
		return m.knownExit(nil)
	}
	if c := px.Recent(); c != nil {
		return m.knownExit(c)
	}
	e := &exitLookup{m: m, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.result, e.err = m.pool.Check(context.WithoutCancel(ctx), *px)
	}()
	return e
}

// knownExit is a lookup that has ended. c is nil if nothing was looked up.
func (m *Manager) knownExit(c *pool.Check) *exitLookup {
	e := &exitLookup{m: m, result: c, done: make(chan struct{})}
	close(e.done)
	return e
}

// wait returns the check's result. It fails with errStillChecking after d.
func (e *exitLookup) wait(ctx context.Context, d time.Duration) (*pool.Check, error) {
	if isClosed(e.done) {
		return e.result, e.err
	}
	select {
	case <-e.done:
		return e.result, e.err
	case <-time.After(d):
		return nil, errStillChecking
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errStillChecking = errors.New("the check is still running")

// fillAnswer writes the exit, or a warning that it is unknown, into a start's answer.
func (e *exitLookup) fillAnswer(ctx context.Context, a *Started) {
	if a.Proxy == nil {
		return
	}
	timeout := exitWait
	if e.waited {
		timeout = 0
	}
	c, err := e.wait(ctx, timeout)
	switch {
	case ctx.Err() != nil: // the start is cancelled
	case err != nil || c != nil && !c.OK:
		if err != nil && !errors.Is(err, errStillChecking) {
			e.m.log.Warn("a proxy's exit could not be looked up for a start", "proxy", a.Proxy.ID, "cause", err)
		}
		w := e.warning(c, err)
		if !slices.ContainsFunc(a.Warnings, func(have Warning) bool { return have.Code == w.Code }) {
			a.Warnings = append(a.Warnings, w)
		}
	case c == nil: // no lookup: preflight is off
	default:
		a.Proxy.setCheck(c)
	}
}

// setCheck fills in the exit that a good check found.
func (x *Egress) setCheck(c *pool.Check) {
	x.ExitIP, x.Country, x.Timezone, x.LatencyMs, x.CheckedAt = c.ExitIP, c.Country, c.Timezone, c.LatencyMs, &c.CheckedAt
}

// warning explains why the exit is unknown.
func (e *exitLookup) warning(c *pool.Check, err error) Warning {
	switch {
	case errors.Is(err, errStillChecking):
		return Warning{"exit_unknown", "The proxy's exit was not known in time; the check goes on. The browser runs behind the " +
			"proxy all the same."}
	case err != nil:
		return Warning{"exit_unknown", "The proxy's exit is not known: its check failed inside warren, not at the proxy. The " +
			"log has the cause. The browser runs behind the proxy all the same."}
	}
	return Warning{"proxy_unreachable", "The proxy does not work now: " + c.Error.Message +
		". Pages fail until it does; nothing goes around it."}
}

// resolveIdentity decides the identity that pages see. It refuses a start that contradicts its exit if consistency is
// block. The exit must be known before the launch, because time zone and languages are set for the whole process.
//
// With look the exit is looked up, otherwise only the last good check counts.
func (m *Manager) resolveIdentity(ctx context.Context, p *plan, look bool) (err error) {
	p.exit = m.knownExit(p.checked)
	if look && p.checked == nil {
		p.exit = m.lookUpExit(ctx, p.proxy, p.preflight)
	}
	if err := m.resolveExit(ctx, p); err != nil {
		return err
	}
	if p.resolved, err = identity.Resolve(declared(p.row), p.env); err != nil {
		return err
	}
	p.spec.Identity = shimIdentity(p.resolved.Values)
	for _, w := range exitWarnings(p.resolved, p.env.Exit) {
		p.warn(w)
	}
	if p.row.Consistency == "block" {
		if found := identity.Mismatches(declared(p.row), p.env); len(found) > 0 {
			return IdentityMismatch(found)
		}
	}
	return nil
}

// resolveExit determines the exit of the plan's proxy. It waits for the check under way if a setting follows the exit,
// and falls back to the last good check.
func (m *Manager) resolveExit(ctx context.Context, p *plan) error {
	if p.proxy == nil {
		return nil
	}
	if declared(p.row).FollowsExit() && !isClosed(p.exit.done) {
		c, err := p.exit.wait(ctx, identityExitWait)
		p.exit.waited = true
		if ctx.Err() != nil {
			return m.cancelledStart()
		}
		if err != nil {
			p.warnings = append(p.warnings, p.exit.warning(c, err))
		}
	}
	if isClosed(p.exit.done) && p.exit.result != nil && p.exit.result.OK {
		p.env.Exit = exitFrom(p.exit.result)
		return nil
	}
	known, err := m.pool.LastGood(ctx, *p.proxy)
	p.env.Exit = exitFrom(known)
	return err
}

// exitWarnings warns of settings that follow an outdated exit, and of settings that could not follow one.
func exitWarnings(r identity.Resolution, exit *identity.Exit) (out []Warning) {
	if exit != nil && len(r.Followed) > 0 && time.Since(exit.CheckedAt) > pool.MaxCheckAge {
		out = append(out, Warning{"exit_old", joinNames(r.Followed) + " follow the exit as it was at " +
			exit.CheckedAt.UTC().Format("2006-01-02T15:04:05.000Z") +
			", by the last check that was good. Check the proxy, and start again if it has moved."})
	}
	if len(r.Missing) > 0 {
		out = append(out, Warning{"exit_unknown", joinNames(r.Missing) + " cannot follow the exit, since no check has found enough " +
			"about it. Pages see this machine's time zone and languages, and ask for a position as Chrome does. Check the proxy " +
			"with a service that reports country and time zone (--check-url, --geoip), or declare them."})
	}
	return out
}

func joinNames(members []string) string {
	if n := len(members); n > 1 {
		return strings.Join(members[:n-1], ", ") + " and " + members[n-1]
	}
	return strings.Join(members, "")
}
