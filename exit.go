package main

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

// This file is what a start learns of the place where its proxy comes out, and what it makes of it.

// patience is how long a start waits for the exit once its browser is ready, when preflight only warns.
const patience = 2 * time.Second

// identityPatience is how long a start waits for the exit before it launches, when something that pages are told follows it.
const identityPatience = 5 * time.Second

// requireExit refuses a start whose proxy does not work now, when preflight requires that. The check is made anew: a good one of
// before says nothing of now.
func (rs *runs) requireExit(ctx context.Context, p *plan) error {
	if p.preflight != "require" || p.proxy == nil {
		return nil
	}
	c, err := rs.pool.Check(ctx, *p.proxy)
	switch {
	case ctx.Err() != nil:
		return cancelledStart()
	case err != nil:
		return err
	case !c.OK:
		return problem.New(problem.Upstream, "proxy_unreachable", "The profile's proxy does not work, so the browser was not started: "+c.Error.Message+".").With(c)
	}
	p.checked = c
	return nil
}

// exitLookup is a check under way beside a launch.
type exitLookup struct {
	rs     *runs
	done   chan struct{}
	result *pool.Check
	err    error
	waited bool // for as long as a start may: it does not wait again
}

// lookUpExit begins to find out where a proxy comes out: by the last good check when it is recent, else by a check, but not with preflight off.
func (rs *runs) lookUpExit(ctx context.Context, px *pool.Proxy, preflight string) *exitLookup {
	e := &exitLookup{rs: rs, done: make(chan struct{})}
	if px == nil || preflight == "off" {
		close(e.done)
		return e
	}
	if e.result = px.Recent(); e.result != nil {
		close(e.done)
		return e
	}
	go func() {
		defer close(e.done)
		e.result, e.err = rs.pool.Check(context.WithoutCancel(ctx), *px)
	}()
	return e
}

// wait returns the check's result, or why there is none within d.
func (e *exitLookup) wait(ctx context.Context, d time.Duration) (*pool.Check, error) {
	if isClosed(e.done) {
		return e.result, e.err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-e.done:
		return e.result, e.err
	case <-t.C:
		return nil, errStillChecking
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errStillChecking = errors.New("the check goes on")

// fill writes what is known of the exit into a start's answer.
func (e *exitLookup) fill(ctx context.Context, a *startJSON) {
	if a.Proxy == nil {
		return
	}
	left := patience
	if e.waited {
		left = 0
	}
	c, err := e.wait(ctx, left)
	switch {
	case ctx.Err() != nil: // so has the start
	case err != nil || c != nil && !c.OK:
		if err != nil && !errors.Is(err, errStillChecking) {
			e.rs.log.Warn("a proxy's exit was not found out at a start", "proxy", a.Proxy.ID, "cause", err)
		}
		w := e.warning(c, err)
		if !slices.ContainsFunc(a.Warnings, func(have warningJSON) bool { return have.Code == w.Code }) {
			a.Warnings = append(a.Warnings, w)
		}
	case c == nil: // nobody looked
	default:
		a.Proxy.fill(c)
	}
}

// fill writes a good check into what a run says of its proxy.
func (x *exitJSON) fill(c *pool.Check) {
	x.ExitIP, x.Country, x.Timezone, x.LatencyMs, x.CheckedAt = c.ExitIP, c.Country, c.Timezone, c.LatencyMs, &c.CheckedAt
}

// warning says why a check did not tell the exit.
func (e *exitLookup) warning(c *pool.Check, err error) warningJSON {
	switch {
	case errors.Is(err, errStillChecking):
		return warningJSON{"exit_unknown", "The proxy's exit was not known in time; the check goes on. The browser runs behind the proxy all the same."}
	case err != nil:
		return warningJSON{"exit_unknown", "The proxy's exit is not known: its check failed inside warren, not at the proxy. The log has the cause. The browser runs behind the proxy all the same."}
	}
	return warningJSON{"proxy_unreachable", "The proxy does not work now: " + c.Error.Message + ". Pages fail until it does; nothing goes around it."}
}

// settleIdentity decides what pages are told, and refuses a start that contradicts its exit when the profile wants that. What follows
// the exit has to be known before the browser is launched, since the time zone and the languages are set for the whole process. With
// look the exit is looked up, else only what is known already counts.
func (rs *runs) settleIdentity(ctx context.Context, p *plan, look bool) (err error) {
	if look && p.checked == nil {
		p.exit = rs.lookUpExit(ctx, p.proxy, p.preflight)
	} else {
		p.exit = &exitLookup{rs: rs, result: p.checked, done: make(chan struct{})}
		close(p.exit.done)
	}
	if err := rs.placeExit(ctx, p); err != nil {
		return err
	}
	if p.resolved, err = identity.Resolve(declared(p.row), p.env); err != nil {
		return err
	}
	p.spec.Identity = told(p.resolved.Values)
	for _, w := range exitWarnings(p.resolved, p.env.Exit) {
		p.warn(w)
	}
	if p.row.Consistency == "block" {
		if found := identity.Mismatches(declared(p.row), p.env); len(found) > 0 {
			return identityMismatch(found)
		}
	}
	return nil
}

// placeExit finds out where the proxy of a plan comes out: by the check that is under way, when something needs it, else by the last good one.
func (rs *runs) placeExit(ctx context.Context, p *plan) error {
	if p.proxy == nil {
		return nil
	}
	if declared(p.row).FollowsExit() && !isClosed(p.exit.done) {
		c, err := p.exit.wait(ctx, identityPatience)
		p.exit.waited = true
		if ctx.Err() != nil {
			return cancelledStart()
		}
		if err != nil {
			p.warnings = append(p.warnings, p.exit.warning(c, err))
		}
	}
	if isClosed(p.exit.done) && p.exit.result != nil && p.exit.result.OK {
		p.env.Exit = exitFrom(p.exit.result)
		return nil
	}
	known, err := rs.pool.LastGood(ctx, *p.proxy)
	p.env.Exit = exitFrom(known)
	return err
}

// exitWarnings say which settings follow an exit that is old, and which could not follow one.
func exitWarnings(r identity.Resolution, exit *identity.Exit) (out []warningJSON) {
	if exit != nil && len(r.Followed) > 0 && time.Since(exit.CheckedAt) > pool.MaxCheckAge {
		out = append(out, warningJSON{"exit_old", listed(r.Followed) + " follow the exit as it was at " + exit.CheckedAt.UTC().Format("2006-01-02T15:04:05.000Z") + ", by the last check that was good. Check the proxy, and start again if it has moved."})
	}
	if len(r.Missing) > 0 {
		out = append(out, warningJSON{"exit_unknown", listed(r.Missing) + " cannot follow the exit, since no check has told enough of it. Pages see this machine's time zone and languages, and ask for a position as Chrome does. Check the proxy with a service that tells country and time zone (--check-url, --geoip), or declare them."})
	}
	return out
}

func listed(members []string) string {
	if n := len(members); n > 1 {
		return strings.Join(members[:n-1], ", ") + " and " + members[n-1]
	}
	return strings.Join(members, "")
}
