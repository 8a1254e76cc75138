package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/runs"
	"warren/store"
)

// Gives many profiles proxies: new ones, and those of a batch.

// proxiesInput says where the profiles of one request get their proxies from.
type proxiesInput struct {
	Each bool
	From *dealFrom
	IDs  []string
}

// dealFrom is the proxies with a tag. Each: none is given twice; else Pick says which ones are.
type dealFrom struct {
	Tag  string `json:"tag"`
	Pick string `json:"pick"`
	Each bool   `json:"each"`
}

// UnmarshalJSON takes "each", an object or a list of ids.
func (c *proxiesInput) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == `"each"`:
		c.Each = true
		return nil
	case len(b) > 0 && b[0] == '[':
		return json.Unmarshal(b, &c.IDs)
	}
	c.From = new(dealFrom)
	return json.Unmarshal(b, c.From, json.RejectUnknownMembers(true))
}

// MarshalJSON writes the shape that UnmarshalJSON has read.
func (c proxiesInput) MarshalJSON() ([]byte, error) {
	switch {
	case c.Each:
		return []byte(`"each"`), nil
	case c.From != nil && c.From.Each:
		return json.Marshal(map[string]any{"tag": c.From.Tag, "each": true}, json.Deterministic(true))
	case c.From != nil:
		return json.Marshal(map[string]any{"tag": c.From.Tag, "pick": c.From.Pick}, json.Deterministic(true))
	}
	return json.Marshal(c.IDs)
}

// normalizeTag normalises the tag of the proxies to choose from.
func (c *proxiesInput) normalizeTag(f *faults) {
	if c.From != nil {
		c.From.Tag = f.plain("body.proxies.tag", c.From.Tag, 1, 64)
	}
}

// Schema is one of the four shapes, or null.
func (proxiesInput) Schema(huma.Registry) *huma.Schema {
	from := func(member string, s *huma.Schema) *huma.Schema {
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"tag", member},
			Properties: map[string]*huma.Schema{"tag": {Type: huma.TypeString, MinLength: new(1), MaxLength: new(64)}, member: s}}
	}
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Enum: []any{"each"}},
		from("pick", &huma.Schema{Type: huma.TypeString, Enum: []any{"random", "leastUsed", "roundRobin"}}),
		from("each", &huma.Schema{Type: huma.TypeBoolean, Enum: []any{true}}),
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MinItems: new(1), MaxItems: new(maxBatchCreate)},
		nullSchema(),
	}, Examples: []any{"each"}}
}

// deal is profiles of one workspace that get proxies.
type deal struct {
	workspace string
	count     int
	fallbacks []string         // proxies that none of them can have
	taken     map[string]int64 // profiles that get a proxy from a deal under way, by the proxy
}

// choose returns a proxy for each profile, and notes what is wrong with the choice. None stands in for itself: fallbacks of
// the profiles are left out, and refused in a list.
func (c *proxiesInput) choose(ctx context.Context, q *store.Queries, by *caller, d deal, f *faults) ([]string, error) {
	switch {
	case c.Each:
		except := slices.AppendSeq(slices.Clone(d.fallbacks), maps.Keys(d.taken))
		ids, err := q.ListUnusedProxies(ctx, store.ListUnusedProxiesParams{WorkspaceID: d.workspace, Workspaces: by.Sees.Filter(),
			Except: jsonList(except), Limit: int64(d.count)})
		if err == nil && len(ids) < d.count {
			f.add("body.proxies", fmt.Sprintf("Not enough free proxies: %d are needed, and the workspace has %d, so %d are missing. "+
				"Proxies that are dead or in use do not count.", d.count, len(ids), d.count-len(ids)), nil)
			return nil, nil
		}
		return ids, err
	case c.From != nil:
		return c.From.choose(ctx, q, by, d, f)
	}
	return c.IDs[:min(d.count, len(c.IDs))], c.checkIDs(ctx, q, by, d.workspace, d.fallbacks, f)
}

func (c *dealFrom) choose(ctx context.Context, q *store.Queries, by *caller, d deal, f *faults) ([]string, error) {
	rows, err := q.ListProxiesToPick(ctx, store.ListProxiesToPickParams{WorkspaceID: d.workspace, Workspaces: by.Sees.Filter()})
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row store.ListProxiesToPickRow) bool {
		return !runs.HasTag(row.Tags, c.Tag) || slices.Contains(d.fallbacks, row.ID)
	})
	switch have := len(rows); {
	case have == 0:
		f.add("body.proxies.tag", "No proxy in this workspace has this tag. Dead ones do not count.", nil)
		return nil, nil
	case c.Each && have < d.count:
		f.add("body.proxies", fmt.Sprintf("Not enough proxies with this tag: %d are needed, and the workspace has %d, so %d are missing. "+
			"Dead ones do not count. Add some, or let profiles share them: give pick instead of each.", d.count, have, d.count-have), nil)
		return nil, nil
	}
	for i := range rows {
		rows[i].ProfileCount += d.taken[rows[i].ID]
	}
	if c.Each {
		byUse(rows)
		ids := make([]string, d.count)
		for i := range ids {
			ids[i] = rows[i].ID
		}
		return ids, nil
	}
	return spread(rows, c.Pick, d.count), nil
}

// checkIDs notes the ids of no proxy of the workspace, and those of fallbacks.
func (c *proxiesInput) checkIDs(ctx context.Context, q *store.Queries, by *caller, workspace string, fallbacks []string, f *faults) error {
	there, err := proxiesOf(ctx, q, by, workspace, c.IDs)
	if err != nil {
		return err
	}
	for i, id := range c.IDs {
		f.require(there[id], element("body.proxies", i), notInWorkspace)
		f.require(!slices.Contains(fallbacks, id), element("body.proxies", i), isFallback)
	}
	return nil
}

// proxiesOf returns those of some ids that are proxies of a workspace.
func proxiesOf(ctx context.Context, q *store.Queries, by *caller, workspace string, ids []string) (map[string]bool, error) {
	known, err := q.ListProxiesOf(ctx, store.ListProxiesOfParams{WorkspaceID: workspace, Workspaces: by.Sees.Filter(), Ids: jsonList(ids)})
	there := make(map[string]bool, len(known))
	for _, id := range known {
		there[id] = true
	}
	return there, err
}

// byUse sorts proxies, those with the fewest profiles first.
func byUse(rows []store.ListProxiesToPickRow) {
	slices.SortStableFunc(rows, func(a, b store.ListProxiesToPickRow) int { return cmp.Compare(a.ProfileCount, b.ProfileCount) })
}

// spread gives n profiles one of rows each. rows has one at least, oldest first.
func spread(rows []store.ListProxiesToPickRow, pick string, n int) []string {
	ids := make([]string, 0, n)
	switch pick {
	case "leastUsed":
		byUse(rows)
		for used := rows[0].ProfileCount; len(ids) < n; used++ { // each proxy that has so many profiles gets one more
			for i := 0; i < len(rows) && rows[i].ProfileCount <= used && len(ids) < n; i++ {
				ids = append(ids, rows[i].ID)
			}
		}
	case "roundRobin":
		for i := range n {
			ids = append(ids, rows[i%len(rows)].ID)
		}
	default:
		for range n {
			ids = append(ids, rows[rand.IntN(len(rows))].ID)
		}
	}
	return ids
}

// dealAll deals in each workspace by itself: a profile's proxy is of its own.
func (c *proxiesInput) dealAll(ctx context.Context, q *store.Queries, by *caller, to []store.ProfileID, taken map[string]int64,
	f *faults) ([]string, error) {
	if c.IDs != nil && len(c.IDs) != len(to) {
		f.add("body.proxies", fmt.Sprintf("Give one proxy for each profile: there are %d proxies for %d profiles.", len(c.IDs), len(to)),
			nil)
		return nil, nil
	}
	places, ids := map[string][]int{}, make([]string, len(to))
	for i, p := range to {
		if p.Workspace != "" {
			places[p.Workspace] = append(places[p.Workspace], i)
		}
	}
	for _, workspace := range slices.Sorted(maps.Keys(places)) {
		at := places[workspace]
		part := *c
		if c.IDs != nil {
			there, err := proxiesOf(ctx, q, by, workspace, c.IDs)
			if err != nil {
				return nil, err
			}
			for _, i := range at {
				f.require(there[c.IDs[i]], element("body.proxies", i), notInWorkspace)
				ids[i] = c.IDs[i]
			}
			continue
		}
		dealt, err := part.choose(ctx, q, by, deal{workspace: workspace, count: len(at), taken: taken}, f)
		if err != nil {
			return nil, err
		}
		for k, id := range dealt {
			ids[at[k]] = id
		}
		if err := swapFallbacks(ctx, q, by, to, at[:len(dealt)], ids); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// swapFallbacks exchanges proxies of profiles at some places: none gets one of its fallbacks, which a change of it refuses. If
// that is not possible, the profile fails by itself.
func swapFallbacks(ctx context.Context, q *store.Queries, by *caller, to []store.ProfileID, at []int, ids []string) error {
	names := make([]string, len(at))
	for k, i := range at {
		names[k] = to[i].ID
	}
	rows, err := q.ListFallbacksOfProfiles(ctx, store.ListFallbacksOfProfilesParams{Ids: jsonList(names), Workspaces: by.Sees.Filter()})
	if err != nil || len(rows) == 0 {
		return err
	}
	fallbacks := map[string][]string{}
	for _, row := range rows {
		fallbacks[row.ID] = runs.StringsOf(row.FallbackProxyIDs)
	}
	fits := func(i int, proxy string) bool { return !slices.Contains(fallbacks[to[i].ID], proxy) }
	for _, i := range at {
		if fits(i, ids[i]) {
			continue
		}
		if k := slices.IndexFunc(at, func(j int) bool { return fits(i, ids[j]) && fits(j, ids[i]) }); k >= 0 {
			ids[i], ids[at[k]] = ids[at[k]], ids[i]
		}
	}
	return nil
}
