package main

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/store"
)

// This file explains what a profile's pages see: where each setting came from, what contradicts, and what can be told apart all the same.

// explainJSON is the explanation of one profile.
type explainJSON struct {
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

func (s *server) explainProfile(ctx context.Context, in *struct{ ProfilePath }) (*struct{ Body explainJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out := explainJSON{ID: row.ID, Consistency: row.Consistency, Pending: []string{}}
	var run *RunJSON
	out.Status, run = s.runs.look(row.ID, atRest(row))
	env, err := s.explainBrowser(ctx, row, &out)
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
		if err := s.explainExit(ctx, *proxyID, &env, &out); err != nil {
			return nil, err
		}
	}
	resolved, err := identity.Resolve(declared(row), env)
	if err != nil {
		return nil, err
	}
	values := told(resolved.Values)
	out.Effective, out.Findings = resolved.Settings, identity.Mismatches(declared(row), env)
	if r := s.runs.of(row.ID); r != nil && run != nil {
		r.mu.Lock()
		if began := r.began; began != nil {
			values, out.Effective = began.Identity, began.Settings
		}
		r.mu.Unlock()
		showEffective(&out.Effective, run.Effective)
		out.Browser, out.Pending, env.Browser = &run.Browser, run.Pending, majorOf(run.Browser.Version)
	}
	out.Differences = identity.Detectable(untold(values), env.Browser)
	return &struct{ Body explainJSON }{out}, nil
}

// explainBrowser says which browser would run.
func (s *server) explainBrowser(ctx context.Context, row store.Profile, out *explainJSON) (identity.Environment, error) {
	p := &plan{row: row}
	b, err := s.runs.choose(ctx, p, true)
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
func (s *server) explainExit(ctx context.Context, proxyID string, env *identity.Environment, out *explainJSON) error {
	px, err := s.pool.Get(ctx, callerOf(ctx).Sees, proxyID)
	if isNotFound(err) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	check, err := s.pool.LastGood(ctx, px)
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
