package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// Picks a proxy by its tag for a start.

// pick says which proxies there are to pick from, and how: random, leastUsed, roundRobin or sticky.
type pick struct{ Tag, How string }

// chooseProxy gives the id of the proxy that a start names or picks; nil is none.
func (rs *runs) chooseProxy(ctx context.Context, p *plan, o options) (*string, error) {
	choice := o.Proxy.Value
	switch {
	case choice.direct():
		return nil, nil
	case choice.Pick == nil:
		return &choice.ID, nil
	}
	id, moved, err := rs.pickProxy(ctx, o.Asker.Sees, p.row, *choice.Pick, o.DryRun)
	if moved {
		p.warn(warningJSON{"proxy_changed", "The proxy that this profile was given for the tag before is dead or gone: it has another one now, and comes out elsewhere."})
	}
	return &id, err
}

// noteChosen remembers for a start under way which proxy it took, until its run is gone.
func (rs *runs) noteChosen(profileID, proxyID string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.chosen[profileID] = proxyID
}

// inUse counts the runs of each proxy, starts under way included.
func (rs *runs) inUse() map[string]int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	count := map[string]int{}
	for profileID, r := range rs.byProfile {
		id := rs.chosen[profileID]
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

// pickProxy takes one of the proxies of the profile's workspace that have the tag and are not known to be dead. With dry it leaves no trace.
// moved says that sticky had to take another one than last time.
func (rs *runs) pickProxy(ctx context.Context, sees store.Scope, profile store.Profile, from pick, dry bool) (id string, moved bool, err error) {
	rs.picking.Lock() // two starts at once see each other's choice
	defer rs.picking.Unlock()
	q := rs.store.Read()
	rows, err := q.ListProxiesToPick(ctx, store.ListProxiesToPickParams{WorkspaceID: profile.WorkspaceID, Workspaces: sees.Filter()})
	if err != nil {
		return "", false, err
	}
	latest := int64(0)
	for _, row := range rows {
		latest = max(latest, row.PickedAt)
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesToPickRow) bool { return !hasTag(row.Tags, from.Tag) })
	if len(rows) == 0 {
		return "", false, noProxyToPick()
	}
	tag, last := store.Fold(from.Tag), ""
	if from.How == "sticky" {
		if last, err = q.GetPick(ctx, store.GetPickParams{ProfileID: profile.ID, Tag: tag}); err != nil && !errors.Is(err, store.ErrNoRow) {
			return "", false, err
		}
	}
	id = rs.choosePick(rows, from.How, last)
	moved = last != "" && id != last
	if dry {
		return id, moved, nil
	}
	rs.noteChosen(profile.ID, id)
	return id, moved, rs.store.Write(ctx, func(q *store.Queries) error {
		if from.How == "sticky" && id != last {
			if err := q.KeepPick(ctx, store.KeepPickParams{ProfileID: profile.ID, Tag: tag, ProxyID: id}); err != nil {
				return err
			}
		}
		_, err := q.SetPicked(ctx, store.SetPickedParams{ID: id, PickedAt: max(time.Now().UnixMilli(), latest+1)}) // two in one millisecond keep their order
		return err
	})
}

func noProxyToPick() *problem.Error {
	return problem.New(problem.Conflict, "no_proxy_to_pick", "No proxy of the profile's workspace has this tag and is not known to be dead. Check them again, or name another tag; nothing is started directly.")
}

// choosePick takes one of at least one. last is the one that sticky took before; "" none, and it may be gone.
func (rs *runs) choosePick(rows []store.ListProxiesToPickRow, pick, last string) string {
	switch pick {
	case "sticky":
		if slices.ContainsFunc(rows, func(row store.ListProxiesToPickRow) bool { return row.ID == last }) {
			return last
		}
	case "roundRobin":
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int { return cmp.Compare(a.PickedAt, b.PickedAt) }).ID
	case "leastUsed":
		used := rs.inUse()
		return slices.MinFunc(rows, func(a, b store.ListProxiesToPickRow) int {
			return cmp.Or(cmp.Compare(used[a.ID], used[b.ID]), cmp.Compare(a.ProfileCount, b.ProfileCount), cmp.Compare(a.PickedAt, b.PickedAt))
		}).ID
	}
	return rows[rand.IntN(len(rows))].ID
}

// hasTag says whether a list of tags, as the database has it, holds one, whatever its case.
func hasTag(tags, tag string) bool {
	var list []string
	return json.Unmarshal([]byte(tags), &list) == nil && slices.ContainsFunc(list, func(t string) bool { return store.Fold(t) == store.Fold(tag) })
}
