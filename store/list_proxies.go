package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// ProxyFilter selects proxies. Empty members do not filter.
type ProxyFilter struct {
	Workspaces  *string // those that the key may see, from Scope.Filter
	WorkspaceID string  // "": all workspaces
	Type        string
	Status      string
	Country     string   // in capitals
	Search      string   // in name, notes, host and user name, case-insensitive
	Tags        []string // all of them are required, case-insensitive
}

// ProxyList describes a page of a list of proxies.
type ProxyList struct {
	ProxyFilter
	Sort      string // "" is createdAt; or updatedAt, name, host, country, latency, checkedAt; ties by id
	Ascending bool   // default: newest first, Z to A; rows without the key are last in both directions
	After     string // as in ProfileList
	Limit     int    // -1: all
	Offset    int64
}

// ListProxies returns a page of proxies and the total. Newest first without filters comes from an index and counters.
// Other lists read a few columns of each proxy that the key may see, and sort them here. Pools have thousands of
// proxies, and an index per order and filter would slow down every write.
func (s *Store) ListProxies(ctx context.Context, l ProxyList) (Page[Proxy], error) {
	l.WorkspaceID = soleWorkspace(l.Workspaces, l.WorkspaceID)
	if l.plain() {
		return s.listPlain(ctx, l)
	}
	places, err := l.places(ctx, s.long)
	if err != nil {
		return Page[Proxy]{}, Typed(err)
	}
	page := Page[Proxy]{Rows: []Proxy{}, Total: int64(len(places))}
	if l.After != "" {
		at, err := l.after(ctx, s)
		if errors.Is(err, ErrNoRow) {
			return page, nil
		}
		if err != nil {
			return page, Typed(err)
		}
		places = slices.DeleteFunc(places, func(p Place) bool { return l.compare(p, at) <= 0 })
	}
	slices.SortFunc(places, l.compare)
	places = places[min(l.Offset, int64(len(places))):]
	if l.Limit >= 0 && len(places) > l.Limit {
		places, page.More = places[:l.Limit], true
	}
	if len(places) > 0 {
		page.Next = places[len(places)-1]
	}
	page.Rows, err = s.ProxiesAt(ctx, idsAt(places), l.Workspaces)
	return page, err
}

func (l *ProxyList) order() string { return cmp.Or(l.Sort, "createdAt") }

// after returns the position at which the list continues.
func (l *ProxyList) after(ctx context.Context, s *Store) (Place, error) {
	return s.After(ctx, l.After, l.order(), "proxy", l.Workspaces, func(id string) (Place, error) {
		return l.placeOf(ctx, s.short, id)
	})
}

// ProxyIDs returns the ids of a whole list in its order. It ignores After, Limit and Offset.
func (s *Store) ProxyIDs(ctx context.Context, l ProxyList) ([]string, error) {
	l.WorkspaceID = soleWorkspace(l.Workspaces, l.WorkspaceID)
	places, err := l.places(ctx, s.long)
	slices.SortFunc(places, l.compare)
	return idsAt(places), Typed(err)
}

// ProxiesAt returns the proxies with these ids, in this order. Proxies that have been deleted meanwhile are left out.
func (s *Store) ProxiesAt(ctx context.Context, ids []string, workspaces *string) ([]Proxy, error) {
	found, err := s.short.GetProxies(ctx, GetProxiesParams{Ids: *jsonText(ids), Workspaces: workspaces})
	if err != nil {
		return nil, Typed(err)
	}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortFunc(found, func(a, b Proxy) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return found, nil
}

// plain reports whether an index has the list in this order and without filters.
func (l *ProxyList) plain() bool {
	return l.Type == "" && l.Status == "" && l.Country == "" && l.Search == "" && len(l.Tags) == 0 &&
		(l.Sort == "" || l.Sort == "createdAt") && !l.Ascending
}

func (s *Store) listPlain(ctx context.Context, l ProxyList) (Page[Proxy], error) {
	q := s.short
	totals, err := totalsOf(ctx, q, l.Workspaces, l.WorkspaceID)
	if err != nil {
		return Page[Proxy]{}, Typed(err)
	}
	at := beforeAll(false)
	if l.After != "" {
		at, err = l.after(ctx, s)
		if errors.Is(err, ErrNoRow) {
			return Page[Proxy]{Rows: []Proxy{}, Total: totals.Proxies}, nil
		}
		if err != nil {
			return Page[Proxy]{}, Typed(err)
		}
	}
	limit := int64(l.Limit)
	if limit >= 0 {
		limit++ // tells whether there are more
	}
	var rows []Proxy
	if l.WorkspaceID == "" {
		rows, err = q.ListProxies(ctx, ListProxiesParams{AfterKey: at.Number, AfterID: at.ID, Workspaces: l.Workspaces,
			Offset: l.Offset, Limit: limit})
	} else {
		rows, err = q.ListProxiesOfWorkspace(ctx, ListProxiesOfWorkspaceParams{WorkspaceID: l.WorkspaceID,
			AfterKey: at.Number, AfterID: at.ID, Workspaces: l.Workspaces, Offset: l.Offset, Limit: limit})
	}
	page := trimPage(rows, totals.Proxies, l.Limit)
	if n := len(page.Rows); n > 0 {
		page.Next = Place{Order: l.order(), Number: page.Rows[n-1].CreatedAt, ID: page.Rows[n-1].ID}
	}
	return page, Typed(err)
}

func idsAt(places []Place) []string {
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.ID
	}
	return ids
}

// places returns the positions of the proxies that pass the filter, unsorted.
func (l *ProxyList) places(ctx context.Context, q *Queries) ([]Place, error) {
	p := PlacesOfProxiesOfWorkspaceParams{WorkspaceID: l.WorkspaceID, Sort: l.Sort, Type: optional(l.Type), Status: optional(l.Status),
		Country: optional(l.Country), Workspaces: l.Workspaces}
	if l.Search != "" {
		p.Searched = 1
	}
	if len(l.Tags) > 0 {
		p.Tagged = 1
	}
	var rows []PlacesOfProxiesOfWorkspaceRow
	var err error
	if l.WorkspaceID != "" {
		rows, err = q.PlacesOfProxiesOfWorkspace(ctx, p)
	} else {
		var all []PlacesOfProxiesRow
		all, err = q.PlacesOfProxies(ctx, PlacesOfProxiesParams{Sort: p.Sort, Searched: p.Searched, Tagged: p.Tagged, Type: p.Type,
			Status: p.Status, Country: p.Country, Workspaces: p.Workspaces})
		for _, row := range all {
			rows = append(rows, PlacesOfProxiesOfWorkspaceRow(row))
		}
	}
	if err != nil {
		return nil, err
	}
	search, tags := Fold(l.Search), foldAll(l.Tags)
	places := make([]Place, 0, len(rows))
	for _, row := range rows {
		if l.Search != "" && !strings.Contains(Fold(row.Texts), search) {
			continue
		}
		if has, err := hasTags(row.Tags, tags); err != nil {
			return nil, err
		} else if has {
			places = append(places, l.place(row.ID, row.Number, row.Word))
		}
	}
	return places, nil
}

// hasTags reports whether a row's tags, as JSON, include all of the folded tags in wanted.
func hasTags(text string, wanted []string) (bool, error) {
	if len(wanted) == 0 {
		return true, nil
	}
	var have []string
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		return false, err
	}
	have = foldAll(have)
	return !slices.ContainsFunc(wanted, func(t string) bool { return !slices.Contains(have, t) }), nil
}

// place converts a row's key to a position. A missing key is a negative number or an empty country.
func (l *ProxyList) place(id string, number int64, word string) Place {
	switch l.Sort {
	case "name", "host":
		return Place{Order: l.order(), ID: id, Text: Fold(word)}
	case "country":
		return Place{Order: l.order(), ID: id, Text: word, None: word == ""}
	}
	return Place{Order: l.order(), ID: id, Number: number, None: number < 0}
}

// placeOf returns the position of a proxy. It fails with ErrNoRow if the list's workspaces do not have the proxy.
func (l *ProxyList) placeOf(ctx context.Context, q *Queries, id string) (Place, error) {
	row, err := q.GetProxy(ctx, GetProxyParams{ID: id, Workspaces: l.Workspaces})
	if err != nil {
		return Place{}, err
	}
	if l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
		return Place{}, ErrNoRow
	}
	number, word := row.CreatedAt, ""
	switch l.Sort {
	case "name":
		word = row.Name
	case "host":
		word = row.Host
	case "country":
		word = row.Country
	case "latency":
		number = -1
		if row.LatencyMs != nil {
			number = *row.LatencyMs
		}
	case "checkedAt":
		number = cmp.Or(row.CheckedAt, -1)
	case "updatedAt":
		number = row.UpdatedAt
	}
	return l.place(id, number, word), nil
}

// compare orders positions. Those without a key are last in both directions.
func (l *ProxyList) compare(a, b Place) int {
	if a.None != b.None {
		if a.None {
			return 1
		}
		return -1
	}
	c := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text), strings.Compare(a.ID, b.ID))
	if a.None {
		c = strings.Compare(a.ID, b.ID)
	}
	if !l.Ascending {
		return -c
	}
	return c
}
