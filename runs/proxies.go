package runs

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/pool"
	"warren/shim"
	"warren/store"
)

// Picks a proxy by its tag for a start. Chooses the fallback proxies that replace a profile's own proxy when it is dead.

// chooseProxy returns the id of the proxy that a start names or picks; nil: none.
func (m *Manager) chooseProxy(ctx context.Context, p *plan, o Options) (*string, error) {
	choice := o.Proxy.Value
	switch {
	case choice == ProxyChoice{}: // a direct connection
		return nil, nil
	case choice.Pick == nil:
		return &choice.ID, nil
	}
	id, moved, err := m.pickProxy(ctx, o.Asker.Sees, p.row, *choice.Pick, o.DryRun)
	if moved {
		p.warn(Warning{"proxy_changed", "The proxy that this profile had for the tag is dead or gone. It now has " +
			"another one, with another exit."})
	}
	return &id, err
}

// runsPerProxy counts the runs of each proxy: this server's, pending starts included, and the open ones of a workspace on other servers.
func (m *Manager) runsPerProxy(ctx context.Context, workspace string) (map[string]int, error) {
	count := map[string]int{}
	if m.cfg.Node != "" {
		others, err := m.store.Read().ListProxiesOfRunsElsewhere(ctx, store.ListProxiesOfRunsElsewhereParams{NodeID: m.cfg.Node,
			WorkspaceID: workspace})
		if err != nil {
			return nil, err
		}
		for _, id := range others {
			count[id]++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for profileID, r := range m.byProfile {
		id := m.pickedProxies[profileID]
		r.mu.Lock()
		if r.answer != nil && r.answer.Proxy != nil {
			id = r.answer.Proxy.ID
		}
		r.mu.Unlock()
		if id != "" {
			count[id]++
		}
	}
	return count, nil
}

// pickProxy picks a proxy of the profile's workspace with the tag that is not known to be dead. A dry pick is not
// recorded. moved reports that a sticky pick differs from the last one.
func (m *Manager) pickProxy(ctx context.Context, sees store.Scope, profile store.Profile, from Pick, dry bool) (id string,
	moved bool, err error) {
	m.pickMu.Lock() // concurrent starts of this server see each other's pick
	defer m.pickMu.Unlock()
	for {
		c, err := m.choosePick(ctx, sees, profile, from)
		if err != nil || dry {
			return c.row.ID, c.moved, err
		}
		m.mu.Lock()
		m.pickedProxies[profile.ID] = c.row.ID // until the run is released
		m.mu.Unlock()
		if recorded, err := m.recordPick(ctx, profile.ID, c); err != nil || recorded {
			return c.row.ID, c.moved, err
		}
	}
}

// pick is a proxy that was chosen for a start.
type pick struct {
	row    store.ListProxiesToPickRow
	tag    string // folded; "": it is not sticky
	moved  bool   // a sticky pick differs from the last one
	latest int64  // when one of the proxies was picked last, in milliseconds
}

// choosePick chooses from what the database says at the moment.
func (m *Manager) choosePick(ctx context.Context, sees store.Scope, profile store.Profile, from Pick) (c pick, err error) {
	q := m.store.Read()
	rows, err := q.ListProxiesToPick(ctx, store.ListProxiesToPickParams{WorkspaceID: profile.WorkspaceID, Workspaces: sees.Filter()})
	if err != nil {
		return c, err
	}
	for _, row := range rows {
		c.latest = max(c.latest, row.PickedAt)
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesToPickRow) bool { return !HasTag(row.Tags, from.Tag) })
	if len(rows) == 0 {
		return c, NoProxyToPick()
	}
	last := ""
	if from.How == "sticky" {
		c.tag = store.Fold(from.Tag)
		last, err = q.GetPick(ctx, store.GetPickParams{ProfileID: profile.ID, Tag: c.tag})
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return c, err
		}
	}
	var used map[string]int
	if from.How == "leastUsed" {
		if used, err = m.runsPerProxy(ctx, profile.WorkspaceID); err != nil {
			return c, err
		}
	}
	c.row = choosePicked(rows, from.How, last, used)
	c.moved = last != "" && c.row.ID != last
	return c, nil
}

// recordPick records a pick. It returns false if another start has picked the proxy since it was chosen, at this server or at another one,
// or if the proxy is gone.
func (m *Manager) recordPick(ctx context.Context, profileID string, c pick) (recorded bool, err error) {
	at := max(time.Now().UnixMilli(), c.latest+1) // two picks in the same millisecond keep their order
	err = m.store.Write(ctx, func(q *store.Queries) error {
		n, err := q.SetPicked(ctx, store.SetPickedParams{ID: c.row.ID, PickedAt: at, Seen: c.row.PickedAt})
		if recorded = n > 0; err != nil || !recorded || c.tag == "" {
			return err
		}
		return q.KeepPick(ctx, store.KeepPickParams{ProfileID: profileID, Tag: c.tag, ProxyID: c.row.ID})
	})
	return recorded, err
}

// choosePicked picks one of rows, which is not empty. last is the last sticky pick, which may be gone; "" none. used are the runs of each
// proxy, for leastUsed.
func choosePicked(rows []store.ListProxiesToPickRow, how, last string, used map[string]int) store.ListProxiesToPickRow {
	switch how {
	case "sticky":
		if i := slices.IndexFunc(rows, func(row store.ListProxiesToPickRow) bool { return row.ID == last }); i >= 0 {
			return rows[i]
		}
	case "roundRobin":
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int { return cmp.Compare(a.PickedAt, b.PickedAt) })
	case "leastUsed":
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int {
			return cmp.Or(cmp.Compare(used[a.ID], used[b.ID]), cmp.Compare(a.ProfileCount, b.ProfileCount),
				cmp.Compare(a.PickedAt, b.PickedAt))
		})
	}
	return rows[rand.IntN(len(rows))]
}

// HasTag reports whether a column with a JSON list of tags contains one, ignoring case.
func HasTag(tags, tag string) bool {
	var list []string
	return json.Unmarshal([]byte(tags), &list) == nil &&
		slices.ContainsFunc(list, func(t string) bool { return store.Fold(t) == store.Fold(tag) })
}

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
