package main

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/problem"
	"warren/store"
)

// Explains what a profile's pages see: where each setting came from, what contradicts, and what can be told apart all the same.

// explanation is the explanation of one profile.
type explanation struct {
	ID          string                `json:"id" doc:"The profile's id."`
	Status      string                `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Effective   identity.Settings     `json:"effective" doc:"Of a running profile what its pages see, else what they would see."`
	Browser     *browserJSON          `json:"browser" doc:"What runs, or would run; null: none is installed."`
	Exit        *exitJSON             `json:"exit" doc:"Where the proxy came out at its last good check; null: no proxy. What is not known is null."`
	Consistency string                `json:"consistency" enum:"off,warn,block"`
	Findings    []identity.Mismatch   `json:"findings" doc:"What contradicts the exit. A start of now would meet it."`
	Differences []identity.Difference `json:"differences" doc:"What a page can tell apart all the same."`
	Pending     []string              `json:"pending" doc:"Members of the profile that were changed since and wait for the next start. Empty when it does not run."`
}

// explain says what the profile's pages see, or would see.
func (rs *runs) explain(ctx context.Context, sees store.Scope, row store.Profile) (*explanation, error) {
	out := explanation{ID: row.ID, Consistency: row.Consistency, Pending: []string{}}
	var run *RunJSON
	out.Status, run = rs.look(row.ID, atRest(row))
	env, err := rs.explainBrowser(ctx, row, &out)
	if err != nil {
		return nil, err
	}
	proxyID := row.ProxyID
	if run != nil {
		if proxyID = nil; run.Proxy != nil {
			proxyID = &run.Proxy.ID
		}
	}
	if proxyID != nil {
		if err := rs.explainExit(ctx, sees, *proxyID, &env, &out); err != nil {
			return nil, err
		}
	}
	resolved, err := identity.Resolve(declared(row), env)
	if err != nil {
		return nil, err
	}
	values := told(resolved.Values)
	out.Effective, out.Findings = resolved.Settings, identity.Mismatches(declared(row), env)
	if r := rs.of(row.ID); r != nil && run != nil {
		r.mu.Lock()
		if began := r.began; began != nil {
			values, out.Effective = began.Identity, began.Settings
		}
		r.mu.Unlock()
		showEffective(&out.Effective, run.Effective)
		out.Browser, out.Pending, env.Browser = &run.Browser, run.Pending, majorOf(run.Browser.Version)
	}
	out.Differences = identity.Detectable(untold(values), env.Browser)
	return &out, nil
}

// explainBrowser says which browser would run.
func (rs *runs) explainBrowser(ctx context.Context, row store.Profile, out *explanation) (identity.Environment, error) {
	p := &plan{row: row}
	b, err := rs.choose(ctx, p, true)
	if ctx.Err() != nil {
		return identity.Environment{}, ctx.Err()
	}
	if err != nil { // that none is there is no reason not to explain the rest
		return localEnvironment(0), nil
	}
	out.Browser = &browserJSON{Product: b.Product, Version: b.Version, Path: b.Path, Match: p.match}
	return localEnvironment(b.Major), nil
}

// explainExit says where a proxy comes out, as far as it is known.
func (rs *runs) explainExit(ctx context.Context, sees store.Scope, proxyID string, env *identity.Environment, out *explanation) error {
	px, err := rs.pool.Get(ctx, sees, proxyID)
	if problem.Is(err, problem.NotFound) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	check, err := rs.pool.LastGood(ctx, px)
	if err != nil {
		return err
	}
	env.Proxied, env.Exit = true, exitFrom(check)
	out.Exit = &exitJSON{ID: px.ID, Type: px.Type}
	if check != nil {
		out.Exit.fill(check)
	}
	return nil
}

// showEffective writes what pages really see into the settings.
func showEffective(s *identity.Settings, e effectiveJSON) {
	s.OS.Value, s.BrowserVersion.Value, s.Timezone.Value, s.Locale.Value = e.OS, e.BrowserVersion, e.Timezone, e.Locale
	s.Geolocation.Value, s.WebRTC.Value, s.Screen.Value = valueOf(e.Geolocation), e.WebRTC, nil
	if s.Timezone.Value == "" {
		s.Timezone.Value = nil
	}
	if e.Screen != nil {
		s.Screen.Value = e.Screen
	}
}

// valueOf is a JSON value as any other.
func valueOf(v jsontext.Value) (out any) {
	if json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}
