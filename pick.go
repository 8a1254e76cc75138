package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// This file picks a proxy by its tag for a start.

// proxyChoice is the proxyId of a start: an id, or what to pick from.
type proxyChoice struct {
	ID   string
	From *pickFrom
}

// pickFrom says which proxies there are to pick from, and how.
type pickFrom struct {
	Tag  string `json:"tag"`
	Pick string `json:"pick"`
}

// UnmarshalJSON takes an id or an object.
func (c *proxyChoice) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.ID)
	}
	c.From = new(pickFrom)
	return json.Unmarshal(b, c.From, json.RejectUnknownMembers(true))
}

// Schema is either shape, or null.
func (proxyChoice) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString},
		{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"tag", "pick"}, Properties: map[string]*huma.Schema{
			"tag": {Type: huma.TypeString, MinLength: ptr(1), MaxLength: ptr(64)}, "pick": {Type: huma.TypeString, Enum: []any{"random", "leastUsed", "roundRobin", "sticky"}}}},
		nullSchema(),
	}, Examples: []any{exampleProxyID}}
}

// chooseProxy gives the proxy that a start names, nil for none.
func (s *server) chooseProxy(ctx context.Context, p *plan, in *startInput) (*string, error) {
	choice := in.ProxyID.Value
	switch {
	case !in.ProxyID.given():
		return nil, nil
	case choice.From == nil:
		return &choice.ID, nil
	}
	id, moved, err := s.pickProxy(ctx, p.row, *choice.From, in.DryRun)
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
func (s *server) pickProxy(ctx context.Context, profile store.Profile, from pickFrom, dry bool) (id string, moved bool, err error) {
	s.runs.picking.Lock() // two starts at once see each other's choice
	defer s.runs.picking.Unlock()
	q, c := s.store.Read(), callerOf(ctx)
	rows, err := q.ListProxiesToPick(ctx, store.ListProxiesToPickParams{WorkspaceID: profile.WorkspaceID, Workspaces: c.scope.Filter()})
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
	if from.Pick == "sticky" {
		if last, err = q.GetPick(ctx, store.GetPickParams{ProfileID: profile.ID, Tag: tag}); err != nil && !errors.Is(err, store.ErrNoRow) {
			return "", false, err
		}
	}
	id = s.runs.choosePick(rows, from.Pick, last)
	moved = last != "" && id != last
	if dry {
		return id, moved, nil
	}
	s.runs.noteChosen(profile.ID, id)
	return id, moved, s.store.Write(ctx, func(q *store.Queries) error {
		if from.Pick == "sticky" && id != last {
			if err := q.KeepPick(ctx, store.KeepPickParams{ProfileID: profile.ID, Tag: tag, ProxyID: id}); err != nil {
				return err
			}
		}
		_, err := q.SetPicked(ctx, store.SetPickedParams{ID: id, PickedAt: max(now(), latest+1)}) // two in one millisecond keep their order
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
