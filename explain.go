package main

import (
	"context"
	"errors"

	"warren/store"
)

// This file explains what a profile's pages see: where each setting came from, what contradicts, and what can be told apart all the same.

// explainJSON is the explanation of one profile.
type explainJSON struct {
	ID          string           `json:"id" doc:"The profile's id."`
	Status      string           `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Effective   settingsJSON     `json:"effective" doc:"Of a running profile what its pages see, else what they would see."`
	Browser     *browserJSON     `json:"browser" doc:"What runs, or would run; null: none is installed."`
	Exit        *exitJSON        `json:"exit" doc:"Where the proxy came out at its last good check; null: no proxy. What is not known is null."`
	Consistency string           `json:"consistency" enum:"off,warn,block"`
	Findings    []findingJSON    `json:"findings" doc:"What contradicts the exit. A start of now would meet it."`
	Differences []differenceJSON `json:"differences" doc:"What a page can tell apart all the same."`
	Pending     []string         `json:"pending" doc:"Members of the profile that were changed since and wait for the next start. Empty when it does not run."`
}

func (s *server) explainProfile(ctx context.Context, in *struct{ ProfilePath }) (*struct{ Body explainJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out := explainJSON{ID: row.ID, Consistency: row.Consistency, Pending: []string{}}
	var run *RunJSON
	out.Status, run = s.runs.look(row.ID, atRest(row))
	around, err := s.explainBrowser(ctx, row, &out)
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
		if err := s.explainExit(ctx, *proxyID, &around, &out); err != nil {
			return nil, err
		}
	}
	resolved, err := resolve(row, around)
	if err != nil {
		return nil, err
	}
	identity := resolved.identity
	out.Effective, out.Findings = resolved.settings, findings(row, around)
	if r := s.runs.of(row.ID); r != nil && run != nil {
		r.mu.Lock()
		if began := r.began; began != nil {
			identity, out.Effective = began.Identity, began.Settings
		}
		r.mu.Unlock()
		out.Effective.shows(run.Effective)
		out.Browser, out.Pending, around.major = &run.Browser, run.Pending, majorOf(run.Browser.Version)
	}
	out.Differences = differences(identity, around.major)
	return &struct{ Body explainJSON }{out}, nil
}

// explainBrowser says which browser would run.
func (s *server) explainBrowser(ctx context.Context, row store.Profile, out *explainJSON) (surroundings, error) {
	p := &plan{row: row}
	b, err := s.runs.choose(ctx, p, true)
	if ctx.Err() != nil {
		return surroundings{}, ctx.Err()
	}
	if err != nil { // that none is there is no reason not to explain the rest
		return here(0), nil
	}
	out.Browser = &browserJSON{Product: b.Product, Version: b.Version, Path: b.Path, Match: p.match}
	return here(b.Major), nil
}

// explainExit says where a proxy comes out, as far as it is known.
func (s *server) explainExit(ctx context.Context, proxyID string, around *surroundings, out *explainJSON) error {
	px, err := s.store.Read().GetProxy(ctx, store.GetProxyParams{ID: proxyID, Workspaces: callerOf(ctx).filter})
	if errors.Is(err, store.ErrNoRow) {
		return nil // it has just gone
	}
	if err != nil {
		return err
	}
	around.proxied = true
	if around.exit, err = knownExit(ctx, s.store.Read(), px); err != nil {
		return err
	}
	out.Exit = &exitJSON{ID: px.ID, Type: px.Type}
	if around.exit != nil {
		out.Exit.fill(around.exit)
	}
	return nil
}

// shows takes over what pages really see.
func (s *settingsJSON) shows(e effectiveJSON) {
	s.OS.Value, s.BrowserVersion.Value, s.Timezone.Value, s.Locale.Value = e.OS, e.BrowserVersion, nilIfEmpty(e.Timezone), e.Locale
	s.Geolocation.Value, s.WebRTC.Value, s.Screen.Value = valueOf(e.Geolocation), e.WebRTC, nil
	if e.Screen != nil {
		s.Screen.Value = e.Screen
	}
}
