package runs

import (
	"context"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/problem"
	"warren/store"
)

// Explains what a profile's pages see: the source of each setting, its mismatches, and what pages can detect.

// Explanation is the explanation of one profile.
type Explanation struct {
	ID          string                `json:"id" doc:"The profile's id."`
	Status      string                `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Effective   identity.Settings     `json:"effective" doc:"Of a running profile what its pages see, else what they would see."`
	Browser     *UsedBrowser          `json:"browser" doc:"What runs, or would run; null: none is installed."`
	Exit        *Egress               `json:"exit" doc:"Where the proxy came out at its last good check; null: no proxy. What is not known is null."`
	Consistency string                `json:"consistency" enum:"off,warn,block"`
	Findings    []identity.Mismatch   `json:"findings" doc:"What contradicts the exit. A start of now would meet it."`
	Differences []identity.Difference `json:"differences" doc:"What a page can tell apart all the same."`
	Pending     []string              `json:"pending" doc:"Members of the profile that were changed since and wait for the next start. Empty when it does not run."`
}

// Explain describes what the profile's pages see, or would see.
func (m *Manager) Explain(ctx context.Context, sees store.Scope, row store.Profile) (*Explanation, error) {
	out := Explanation{ID: row.ID, Consistency: row.Consistency, Pending: []string{}}
	var run *Info
	out.Status, run = m.Status(row.ID, StatusAtRest(row))
	env, err := m.explainBrowser(ctx, row, &out)
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
		if err := m.explainExit(ctx, sees, *proxyID, &env, &out); err != nil {
			return nil, err
		}
	}
	resolved, err := identity.Resolve(declared(row), env)
	if err != nil {
		return nil, err
	}
	values := shimIdentity(resolved.Values)
	out.Effective, out.Findings = resolved.Settings, identity.Mismatches(declared(row), env)
	if r := m.runOf(row.ID); r != nil && run != nil {
		r.mu.Lock()
		if began := r.startedWith; began != nil {
			values, out.Effective = began.Identity, began.Settings
		}
		r.mu.Unlock()
		showEffective(&out.Effective, run.Effective)
		out.Browser, out.Pending, env.Browser = &run.Browser, run.Pending, majorVersion(run.Browser.Version)
	}
	out.Differences = identity.Detectable(identityValues(values), env.Browser)
	return &out, nil
}

// explainBrowser finds the browser that would run.
func (m *Manager) explainBrowser(ctx context.Context, row store.Profile, out *Explanation) (identity.Environment, error) {
	p := &plan{row: row}
	b, err := m.chooseBrowser(ctx, p, true)
	if ctx.Err() != nil {
		return identity.Environment{}, ctx.Err()
	}
	if err != nil { // without a browser the rest is still explained
		return localEnvironment(0), nil
	}
	out.Browser = &UsedBrowser{Product: b.Product, Version: b.Version, Path: b.Path, Match: p.match}
	return localEnvironment(b.Major), nil
}

// explainExit finds the last known exit of a proxy.
func (m *Manager) explainExit(ctx context.Context, sees store.Scope, proxyID string, env *identity.Environment, out *Explanation) error {
	px, err := m.pool.Get(ctx, sees, proxyID)
	if problem.Is(err, problem.NotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	check, err := m.pool.LastGood(ctx, px)
	if err != nil {
		return err
	}
	env.Proxied, env.Exit = true, exitFrom(check)
	out.Exit = &Egress{ID: px.ID, Type: px.Type}
	if check != nil {
		out.Exit.setCheck(check)
	}
	return nil
}

// showEffective copies what pages really see into the settings.
func showEffective(s *identity.Settings, e Effective) {
	s.OS.Value, s.BrowserVersion.Value, s.Timezone.Value, s.Locale.Value = e.OS, e.BrowserVersion, e.Timezone, e.Locale
	s.Geolocation.Value, s.WebRTC.Value, s.Screen.Value = nil, e.WebRTC, nil
	json.Unmarshal(e.Geolocation, &s.Geolocation.Value) //nolint:errcheck // null where it cannot be read
	if s.Timezone.Value == "" {
		s.Timezone.Value = nil
	}
	if e.Screen != nil {
		s.Screen.Value = e.Screen
	}
}
