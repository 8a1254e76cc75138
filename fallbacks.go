package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// This file is about the proxies that stand in for a profile's own when it is dead: which they may be, and which are used.

// fallbackLeftOut is the warning that some of a profile's fallbacks are not used.
const fallbackLeftOut = "fallback_left_out"

// fallback is a proxy that may stand in, and where it came out when it was last checked well.
type fallback struct {
	upstream shim.Upstream
	exit     *identity.Exit
}

// upstream is a proxy in the words of a run's process.
func upstream(px pool.Proxy) (*shim.Upstream, error) {
	if err := px.Usable(); err != nil {
		return nil, err
	}
	a := px.Address
	return &shim.Upstream{ID: px.ID, Revision: px.Revision, Type: a.Type, Host: a.Host, Port: a.Port, Username: a.Username, Password: a.Password}, nil
}

// stringsOf reads a list of strings of the database.
func stringsOf(text string) (out []string) {
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// fallbacksOf reads the proxies that may stand in for own. What is gone is left out.
func (rs *runs) fallbacksOf(ctx context.Context, sees store.Scope, row store.Profile, own string) (out []fallback, err error) {
	q := rs.store.Read()
	for _, id := range stringsOf(row.FallbackProxyIDs) {
		px, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: sees.Filter()})
		if errors.Is(err, store.ErrNoRow) || err == nil && (px.WorkspaceID != row.WorkspaceID || id == own) {
			continue
		}
		if err != nil {
			return nil, err
		}
		opened := rs.pool.Open(px)
		u, err := upstream(opened)
		if err != nil {
			rs.log.Error("a proxy cannot stand in for another", "proxy", px.ID, "profile", row.ID, "cause", err)
			continue
		}
		exit, err := rs.pool.LastGood(ctx, opened)
		if err != nil {
			return nil, err
		}
		out = append(out, fallback{*u, exitFrom(exit)})
	}
	return out, nil
}

// chosenFallbacks are those that may be used for a proxy that came out at exit; nil: nobody knows where. A run has some already: while
// that is not known (any more), it keeps them.
func chosenFallbacks(all []fallback, country string, exit *identity.Exit, has []shim.UpstreamMark) (out []shim.Upstream, warnings []warningJSON) {
	var left []string
	for _, v := range all {
		switch mine, theirs := countryOf(exit), countryOf(v.exit); {
		case country == "any" || mine != "" && mine == theirs,
			mine == "" && slices.ContainsFunc(has, func(m shim.UpstreamMark) bool { return m.ID == v.upstream.ID }):
			out = append(out, v.upstream)
		case theirs == "":
			left = append(left, v.upstream.ID+" (no check has told its country)")
		case mine == "":
			left = append(left, v.upstream.ID+" (it comes out in "+theirs+", and no check has told the country of the profile's own proxy)")
		default:
			left = append(left, v.upstream.ID+" (it comes out in "+theirs+", the profile's own proxy in "+mine+")")
		}
	}
	if len(left) > 0 {
		warnings = []warningJSON{{fallbackLeftOut, "These of fallbackProxyIds are not used: " + strings.Join(left, ", ") + ". Check the proxies, or set fallbackCountry to any."}}
	}
	return out, warnings
}

func countryOf(x *identity.Exit) string {
	if x == nil {
		return ""
	}
	return x.Country
}

// chooseFallbacks decides which of its fallbacks a start takes along, when it is known where the profile's own proxy comes out.
func (p *plan) chooseFallbacks() {
	var warnings []warningJSON
	p.spec.Fallbacks, warnings = chosenFallbacks(p.fallbacks, p.row.FallbackCountry, p.env.Exit, nil)
	p.warnings = append(p.warnings, warnings...)
}
