package runs

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// Picks a proxy by its tag for a start.

// chooseProxy returns the id of the proxy that a start names or picks; nil: none.
func (m *Manager) chooseProxy(ctx context.Context, p *plan, o Options) (*string, error) {
	choice := o.Proxy.Value
	switch {
	case choice.direct():
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

// rememberPick stores which proxy a pending start has picked. release deletes it.
func (m *Manager) rememberPick(profileID, proxyID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pickedProxies[profileID] = proxyID
}

// runsPerProxy counts the runs of each proxy, pending starts included.
func (m *Manager) runsPerProxy() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := map[string]int{}
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
	return count
}

// pickProxy picks a proxy of the profile's workspace with the tag that is not known to be dead. A dry pick is not
// recorded. moved reports that a sticky pick differs from the last one.
func (m *Manager) pickProxy(ctx context.Context, sees store.Scope, profile store.Profile, from Pick, dry bool) (id string,
	moved bool, err error) {
	m.pickMu.Lock() // concurrent starts see each other's pick
	defer m.pickMu.Unlock()
	q := m.store.Read()
	rows, err := q.ListProxiesToPick(ctx, store.ListProxiesToPickParams{WorkspaceID: profile.WorkspaceID, Workspaces: sees.Filter()})
	if err != nil {
		return "", false, err
	}
	latest := int64(0)
	for _, row := range rows {
		latest = max(latest, row.PickedAt)
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesToPickRow) bool { return !HasTag(row.Tags, from.Tag) })
	if len(rows) == 0 {
		return "", false, NoProxyToPick()
	}
	tag, last := store.Fold(from.Tag), ""
	if from.How == "sticky" {
		if last, err = q.GetPick(ctx, store.GetPickParams{ProfileID: profile.ID, Tag: tag}); err != nil && !errors.Is(err, store.ErrNoRow) {
			return "", false, err
		}
	}
	id = m.choosePicked(rows, from.How, last)
	moved = last != "" && id != last
	if dry {
		return id, moved, nil
	}
	m.rememberPick(profile.ID, id)
	return id, moved, m.store.Write(ctx, func(q *store.Queries) error {
		if from.How == "sticky" && id != last {
			if err := q.KeepPick(ctx, store.KeepPickParams{ProfileID: profile.ID, Tag: tag, ProxyID: id}); err != nil {
				return err
			}
		}
		// two picks in the same millisecond keep their order
		_, err := q.SetPicked(ctx, store.SetPickedParams{ID: id, PickedAt: max(time.Now().UnixMilli(), latest+1)})
		return err
	})
}

// choosePicked picks one of rows, which is not empty. last is the last sticky pick, which may be gone; "" none.
func (m *Manager) choosePicked(rows []store.ListProxiesToPickRow, pick, last string) string {
	switch pick {
	case "sticky":
		if slices.ContainsFunc(rows, func(row store.ListProxiesToPickRow) bool { return row.ID == last }) {
			return last
		}
	case "roundRobin":
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int { return cmp.Compare(a.PickedAt, b.PickedAt) }).ID
	case "leastUsed":
		used := m.runsPerProxy()
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int {
			return cmp.Or(cmp.Compare(used[a.ID], used[b.ID]), cmp.Compare(a.ProfileCount, b.ProfileCount),
				cmp.Compare(a.PickedAt, b.PickedAt))
		}).ID
	}
	return rows[rand.IntN(len(rows))].ID
}

// HasTag reports whether a column with a JSON list of tags contains one, ignoring case.
func HasTag(tags, tag string) bool {
	var list []string
	return json.Unmarshal([]byte(tags), &list) == nil &&
		slices.ContainsFunc(list, func(t string) bool { return store.Fold(t) == store.Fold(tag) })
}
