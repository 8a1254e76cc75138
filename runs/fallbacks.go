package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"warren/identity"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// Chooses the fallback proxies that replace a profile's own proxy when it is dead.

// fallbackLeftOut is the warning that some of a profile's fallbacks are not used.
const fallbackLeftOut = "fallback_left_out"

// fallback is a proxy that may replace another, and its exit at its last good check.
type fallback struct {
	upstream shim.Upstream
	exit     *identity.Exit
}

// upstream converts a proxy into what the run's process gets.
func upstream(px pool.Proxy) (*shim.Upstream, error) {
	if err := px.Usable(); err != nil {
		return nil, err
	}
	a := px.Address
	return &shim.Upstream{ID: px.ID, Revision: px.Revision, Type: a.Type, Host: a.Host, Port: a.Port, Username: a.Username,
		Password: a.Password}, nil
}

// loadFallbacks reads the profile's fallbacks for the proxy own. Deleted and unreadable ones are left out.
func (m *Manager) loadFallbacks(ctx context.Context, sees store.Scope, row store.Profile, own string) (out []fallback, err error) {
	q := m.store.Read()
	for _, id := range StringsOf(row.FallbackProxyIDs) {
		px, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: sees.Filter()})
		if errors.Is(err, store.ErrNoRow) || err == nil && (px.WorkspaceID != row.WorkspaceID || id == own) {
			continue
		}
		if err != nil {
			return nil, err
		}
		opened := m.pool.Open(px)
		u, err := upstream(opened)
		if err != nil {
			m.log.Error("a proxy cannot be used as a fallback", "proxy", px.ID, "profile", row.ID, "cause", err)
			continue
		}
		exit, err := m.pool.LastGood(ctx, opened)
		if err != nil {
			return nil, err
		}
		out = append(out, fallback{*u, exitFrom(exit)})
	}
	return out, nil
}

// chosenFallbacks returns the fallbacks that may replace a proxy with this exit; nil: not known. has are the run's
// current ones, which stay while the exit is unknown.
func chosenFallbacks(all []fallback, country string, exit *identity.Exit, has []shim.UpstreamMark) (out []shim.Upstream,
	warnings []Warning) {
	var left []string
	for _, v := range all {
		switch mine, theirs := exitCountry(exit), exitCountry(v.exit); {
		case country == "any" || mine != "" && mine == theirs,
			mine == "" && slices.ContainsFunc(has, func(m shim.UpstreamMark) bool { return m.ID == v.upstream.ID }):
			out = append(out, v.upstream)
		case theirs == "":
			left = append(left, v.upstream.ID+" (no check has found its country)")
		case mine == "":
			left = append(left, v.upstream.ID+" (it comes out in "+theirs+
				", and no check has found the country of the profile's own proxy)")
		default:
			left = append(left, v.upstream.ID+" (it comes out in "+theirs+", the profile's own proxy in "+mine+")")
		}
	}
	if len(left) > 0 {
		warnings = []Warning{{fallbackLeftOut, "These of fallbackProxyIds are not used: " + strings.Join(left, ", ") +
			". Check the proxies, or set fallbackCountry to any."}}
	}
	return out, warnings
}

func exitCountry(x *identity.Exit) string {
	if x == nil {
		return ""
	}
	return x.Country
}

// chooseFallbacks decides which fallbacks the start uses, once the exit of the profile's own proxy is known.
func (p *plan) chooseFallbacks() {
	var warnings []Warning
	p.spec.Fallbacks, warnings = chosenFallbacks(p.fallbacks, p.row.FallbackCountry, p.env.Exit, nil)
	p.warnings = append(p.warnings, warnings...)
}
