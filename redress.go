package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// This file is about a profile that changes while it runs: what of it pages are told at once, and what waits for the next start.

// runRecord is what the database keeps of a run that goes on: the start's answer, without its capability, and what the run was
// started with.
type runRecord struct {
	*startJSON
	Began *startedWith `json:"began,omitempty"`
}

// startedWith is what a run was started with. What is applied since is written into it.
type startedWith struct {
	Members  map[string]string `json:"members"` // of the profile, as they were; those that identity does not have
	Identity shim.Identity     `json:"identity"`
	Settings identity.Settings `json:"settings"`
}

func (p *plan) startedWith() *startedWith {
	return &startedWith{fixedMembers(p.row), p.spec.Identity, p.resolved.Settings}
}

// fixedMembers are the settings that a browser has from its start to its end, beside what its pages are told.
func fixedMembers(row store.Profile) map[string]string {
	text := func(v any) string {
		b, _ := json.Marshal(v) //nolint:errcheck // numbers and booleans
		return string(b)
	}
	return map[string]string{"webrtc": row.WebRTC, "headless": text(row.Headless), "startUrls": row.StartURLs, "allowLocal": row.AllowLocal, "localhostVia": row.LocalhostVia,
		"backgroundTraffic": row.BackgroundTraffic, "idleTimeoutMs": text(row.IdleTimeoutMs), "maxRunMs": text(row.MaxRunMs)}
}

// pending names, in order, the members of the profile as it is now that wait for the next start. wanted is what it comes to now, zone
// this machine's time zone.
func (b *startedWith) pending(row store.Profile, wanted shim.Identity, zone string) []string {
	out := []string{}
	for name, value := range fixedMembers(row) {
		was, known := b.Members[name]
		if !known && name == "localhostVia" { // the run is from before there was one
			was = "[]"
		}
		if was != value {
			out = append(out, name)
		}
	}
	has := b.Identity
	for name, same := range map[string]bool{"os": has.OS == wanted.OS, "browserVersion": has.Version == wanted.Version,
		"timezone": cmp.Or(has.Timezone, zone) == cmp.Or(wanted.Timezone, zone), "locale": slices.Equal(has.Languages, wanted.Languages),
		"geolocation": reflect.DeepEqual(has.Geolocation, wanted.Geolocation), "screen": reflect.DeepEqual(has.Screen, wanted.Screen)} {
		if !same {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// redressTime is how long a run's process may take to tell its pages something else: longer than it waits itself for Chrome's settings (browser/languages.go)
// and for pages that are busy (browser/redress.go), so that it says what came of it also on a busy machine.
const redressTime = 12 * time.Second

// redressPatience is how long a change of a running profile waits for a new exit's check.
const redressPatience = 2 * time.Second

// insight is what a change of a run knows of its exit.
type insight int

const (
	exitAsKnown insight = iota // what is known already counts
	exitChecked                // a check has just ended
	exitWanted                 // a check is made where there is no good one of the last minutes
)

// redress tells the pages of a run what its profile, and the exit that it has now, come to, as far as that goes while it runs: time zone,
// position and languages. The rest is noted as pending.
func (s *server) redress(ctx context.Context, r *profileRun, exit insight) {
	r.swap.Lock()
	defer r.swap.Unlock()
	ctx, cancel := context.WithTimeout(ctx, redressTime)
	defer cancel()
	if err := s.redressNow(ctx, r, exit); err != nil {
		s.log.Warn("a running profile keeps what its pages are told until its next start", "profile", r.profileID, "cause", err)
	}
}

// redressNow does it. What is wanted is read while r.swap is held: of two changes at once the later one stays.
func (s *server) redressNow(ctx context.Context, r *profileRun, exit insight) error {
	r.mu.Lock()
	client, running, before, began := r.client, r.status == "running", r.answer, r.began
	r.mu.Unlock()
	if !running || before == nil || began == nil {
		return nil
	}
	row, err := s.profileRow(ctx, r.profileID, false)
	if err != nil {
		return err
	}
	check, late, err := s.exitOfRun(ctx, r, row, exit == exitWanted)
	if err != nil {
		return err
	}
	env := localEnvironment(majorOf(before.Browser.Version))
	env.Proxied, env.Exit = r.inUse() != "", exitFrom(check)
	now, err := identity.Resolve(declared(row), env)
	if err != nil {
		return err
	}
	next, refused := *began, error(nil)
	next.Identity = began.next(now, env.Zone)
	if !reflect.DeepEqual(next.Identity, began.Identity) {
		told, err := client.SetIdentity(ctx, next.Identity)
		switch refused = err; {
		case err != nil:
			next.Identity = began.Identity
		case !slices.Equal(told, next.Identity.Languages): // Chrome did not take them
			next.Identity.Languages = began.Identity.Languages
		}
	}
	answer := *before // others may hold the old one
	next.show(&answer, *began, now.Settings)
	answer.Pending = next.pending(row, told(now.Values), env.Zone)
	if answer.Pending, err = s.pendingProxies(ctx, r, row, answer.Pending); err != nil {
		return err
	}
	answer.Pending = r.pendingRules(row, answer.Pending)
	if late != nil {
		s.follow(ctx, r, late)
	}
	if p := answer.Proxy; exit != exitAsKnown && p != nil && check != nil && p.ID == *check.ID {
		filled := *p
		filled.fill(check)
		answer.Proxy = &filled
	}
	return errors.Join(refused, s.runs.noteIdentity(r, before, &answer, &next))
}

// next is what the pages of a run are to be told now. What cannot be changed while it runs stays, and so does what has to follow an exit
// that is not known: this machine's own is not shown in the middle of a run.
func (b *startedWith) next(wanted identity.Resolution, zone string) shim.Identity {
	id := b.Identity
	if !slices.Contains(wanted.Missing, "timezone") && cmp.Or(id.Timezone, zone) != cmp.Or(wanted.Values.Timezone, zone) {
		id.Timezone = cmp.Or(wanted.Values.Timezone, zone, id.Timezone) // the process was started with one: this machine's has to be named
	}
	if !slices.Contains(wanted.Missing, "geolocation") {
		id.Geolocation = told(wanted.Values).Geolocation
	}
	if len(wanted.Values.Languages) > 0 { // this machine's are known to a browser that was started with them, and to no other
		id.Languages = wanted.Values.Languages
	}
	return id
}

// show writes what has changed into the run's answer, and where it came from.
func (b *startedWith) show(answer *startJSON, before startedWith, settings identity.Settings) {
	if b.Identity.Timezone != before.Identity.Timezone {
		answer.Effective.Timezone, b.Settings.Timezone = b.Identity.Timezone, settings.Timezone
	}
	if !reflect.DeepEqual(b.Identity.Geolocation, before.Identity.Geolocation) {
		answer.Effective.Geolocation, b.Settings.Geolocation = shownPosition(b.Identity.Geolocation), settings.Geolocation
	}
	if !slices.Equal(b.Identity.Languages, before.Identity.Languages) {
		answer.Effective.Locale, b.Settings.Locale = b.Identity.Languages, settings.Locale
	}
}

// exitOfRun gives the last good check of a run's proxy; nil is not known. With look the proxy is checked when it has no good check of the last minutes.
// late is that check when it takes longer than redressPatience. r.swap is held.
func (s *server) exitOfRun(ctx context.Context, r *profileRun, row store.Profile, look bool) (check *pool.Check, late *exitLookup, err error) {
	if r.inUse() == "" {
		return nil, nil, nil
	}
	px, err := s.pool.Get(ctx, store.All(), r.inUse())
	if isNotFound(err) { // it was deleted when the profile had another already: the run goes on through it, and its exit is not known
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p := &plan{row: row, proxy: &px, preflight: "warn"}
	if look && declared(row).FollowsExit() && px.Recent() == nil {
		if err := px.Usable(); err != nil {
			return nil, nil, err
		}
		e := s.runs.lookUpExit(ctx, p)
		c, err := e.wait(ctx, redressPatience)
		if err == nil && c.OK {
			return c, nil, nil
		}
		if errors.Is(err, errStillChecking) {
			late = e
		}
	}
	check, err = s.pool.LastGood(ctx, px)
	return check, late, err
}

// noteIdentity writes what a run's pages are told now into the run, if that has changed.
func (rs *runs) noteIdentity(r *profileRun, before, answer *startJSON, began *startedWith) error {
	r.mu.Lock()
	answer.known, answer.DebuggerAddress = r.answer.known, r.answer.DebuggerAddress // what may have changed meanwhile
	same := reflect.DeepEqual(before.RunJSON, answer.RunJSON) && reflect.DeepEqual(*r.began, *began)
	if !same {
		r.answer, r.began = answer, began
	}
	text, err := json.Marshal(runRecord{answer, began})
	r.mu.Unlock()
	if same || err != nil {
		return err
	}
	defer rs.publishUpdate(r)
	return rs.record(func(ctx context.Context, q *store.Queries) error {
		_, err := q.SetRunRecord(ctx, store.SetRunRecordParams{ID: r.id, Record: string(text)})
		return err
	})
}

// followLate does for a run that has just started what its start could not wait for.
func (s *server) followLate(ctx context.Context, r *profileRun) {
	if r.late != nil && !isClosed(r.late.done) {
		s.follow(ctx, r, r.late)
	}
}

// follow redresses a run when the check of its exit is over. A check has a deadline of its own.
func (s *server) follow(ctx context.Context, r *profileRun, e *exitLookup) {
	leave, err := s.runs.enter()
	if err != nil {
		return // the server stops
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer leave()
		select {
		case <-e.done:
			s.refreshProxy(ctx, r, proxyWish{}) // its country may be known by now, and with it who stands in for it
			s.redress(ctx, r, exitChecked)
		case <-r.gone:
		case <-s.runs.ctx.Done():
		}
	}()
}

// keepFollowing brings runs to where their proxies come out now, whenever a check finds one elsewhere, until ctx ends.
func (s *server) keepFollowing(ctx context.Context) {
	for {
		moves := s.pool.AwaitMoves(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, m := range moves {
			leave, err := s.runs.enter()
			if err != nil {
				return // the server stops
			}
			go func() {
				defer leave()
				s.exitMoved(s.runs.ctx, m.Workspace, m.ProxyID)
			}()
		}
	}
}

// exitMoved redresses every run of a proxy whose exit a check has found to be another.
func (s *server) exitMoved(ctx context.Context, workspace, proxyID string) {
	ctx = s.asOurselves(ctx)
	var wg sync.WaitGroup
	for _, run := range s.runs.list(callerOf(ctx), workspace) {
		if r := s.runs.of(run.ProfileID); r != nil && run.Proxy != nil && run.Proxy.ID == proxyID {
			wg.Go(func() { s.redress(ctx, r, exitChecked) })
		}
	}
	wg.Wait()
}

// majorOf is the first number of a version.
func majorOf(version string) (n int) {
	fmt.Sscanf(version, "%d.", &n) //nolint:errcheck // none: 0
	return n
}

// valueOf is a JSON value as any other.
func valueOf(v jsontext.Value) (out any) {
	if json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}
