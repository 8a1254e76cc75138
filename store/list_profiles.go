package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// Order is the sort order of a list of profiles. Ties are sorted by id in the same direction.
type Order int

// The orders. The first is the default.
const (
	ByCreated Order = iota
	ByUpdated
	ByName // A to Z equal a to z
	ByStarted
)

// ProfileFilter selects profiles. Empty members do not filter.
type ProfileFilter struct {
	Workspaces  *string // those that the key may see, from Scope.Filter
	WorkspaceID string
	Trashed     bool // profiles in the trash instead of those outside
	Search      string
	Tags        []string // all of them are required
	Status      string
	ProxyID     string
	OS          string
}

// ProfileList describes a page of a list of profiles.
type ProfileList struct {
	ProfileFilter
	Order     Order
	Ascending bool   // default: newest first, Z to A
	After     string // an id or a Place; the page starts behind it; an unknown one gives no rows
	Limit     int
	Offset    int64 // rows to skip; each one costs as much as a row
}

// ListProfiles returns a page of profiles and the total. Without filters the total comes from counters and the rows
// from an index, so that the cost does not depend on the number of profiles. A filter by proxy, or by a status other
// than stopped, costs as much as there are such profiles. Other filters scan, and end with ctx.
func (s *Store) ListProfiles(ctx context.Context, l ProfileList) (Page[Profile], error) {
	l.WorkspaceID = soleWorkspace(l.Workspaces, l.WorkspaceID)
	if l.narrow() {
		page, err := s.listNarrow(ctx, l)
		return page, Typed(err)
	}
	q := s.short
	if l.filtered() {
		q = s.long
	}
	total, err := l.total(ctx, q)
	if err != nil {
		return Page[Profile]{}, Typed(err)
	}
	p, err := l.start(ctx, s)
	if errors.Is(err, ErrNoRow) {
		return Page[Profile]{Rows: []Profile{}, Total: total}, nil
	}
	if err != nil {
		return Page[Profile]{}, Typed(err)
	}
	found, err := l.walk(ctx, q, p)
	if err != nil {
		return Page[Profile]{}, Typed(err)
	}
	part := trimPage(found, total, l.Limit)
	rows, err := s.rowsAt(ctx, part.Rows, l.ProfileFilter)
	return Page[Profile]{Rows: rows, Total: part.Total, More: part.More, Next: l.next(rows)}, Typed(err)
}

// name returns the name of an order in a Place.
func (o Order) name() string {
	return [...]string{ByCreated: "createdAt", ByUpdated: "updatedAt", ByName: "name", ByStarted: "lastStartedAt"}[o]
}

// next returns the place of the last row. Rows that were deleted since they were found are not among rows. If all
// were deleted, the next page starts where this one did.
func (l *ProfileList) next(rows []Profile) Place {
	if len(rows) == 0 {
		p, _ := parsePlace(l.After)
		return p
	}
	return l.placeOf(rows[len(rows)-1])
}

func (l *ProfileList) placeOf(row Profile) Place {
	return l.place(PlacesOfStatusRow{ID: row.ID, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Name: row.Name,
		LastStartedAt: row.LastStartedAt})
}

func (f *ProfileFilter) filtered() bool {
	return f.Search != "" || len(f.Tags) > 0 || f.Status != "" || f.ProxyID != "" || f.OS != ""
}

// params returns the parameters of the list queries. The generated types differ only in their names.
func (f *ProfileFilter) params() ListProfilesOfWorkspaceByCreatedDescParams {
	p := ListProfilesOfWorkspaceByCreatedDescParams{WorkspaceID: f.WorkspaceID, Workspaces: f.Workspaces, Trashed: f.Trashed,
		Status: optional(f.Status), ProxyID: optional(f.ProxyID), OS: optional(f.OS), Search: optional(Fold(f.Search))}
	if len(f.Tags) > 0 {
		p.Tags = jsonText(foldAll(f.Tags))
	}
	return p
}

func (l *ProfileList) total(ctx context.Context, q *Queries) (int64, error) {
	p := l.params()
	if l.filtered() && l.WorkspaceID == "" {
		return q.CountProfiles(ctx, CountProfilesParams{Trashed: p.Trashed, Workspaces: p.Workspaces, Search: p.Search, Tags: p.Tags,
			Status: p.Status, ProxyID: p.ProxyID, OS: p.OS})
	}
	if l.filtered() {
		return q.CountProfilesOfWorkspace(ctx, CountProfilesOfWorkspaceParams{WorkspaceID: p.WorkspaceID, Trashed: p.Trashed,
			Workspaces: p.Workspaces, Search: p.Search, Tags: p.Tags, Status: p.Status, ProxyID: p.ProxyID, OS: p.OS})
	}
	totals, err := totalsOf(ctx, q, l.Workspaces, l.WorkspaceID)
	if l.Trashed {
		return totals.Trashed, err
	}
	return totals.Profiles, err
}

// start returns the position at which the list begins. It fails with ErrNoRow if After was never in the list. A row
// that was moved to the trash meanwhile keeps its position.
func (l *ProfileList) start(ctx context.Context, s *Store) (Place, error) {
	if l.After == "" {
		return beforeAll(l.Ascending), nil
	}
	return s.After(ctx, l.After, l.Order.name(), "profile", l.Workspaces, func(id string) (Place, error) {
		row, err := s.short.GetProfileAny(ctx, GetProfileAnyParams{ID: id, Workspaces: l.Workspaces})
		if err == nil && l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
			err = ErrNoRow
		}
		return l.placeOf(row), err
	})
}

// walk finds one row more than the limit, which tells whether there are more.
func (l *ProfileList) walk(ctx context.Context, q *Queries, at Place) ([]place, error) {
	p := l.params()
	p.AfterKey, p.AfterID, p.Limit, p.Offset = at.Number, at.ID, int64(l.Limit)+1, l.Offset
	if l.WorkspaceID == "" {
		return l.walkAll(ctx, q, at.Text, p)
	}
	return l.walkWorkspace(ctx, q, at.Text, p)
}

// direction is an order with its direction. Each has its own query, since SQL takes neither as a parameter.
type direction struct {
	order     Order
	ascending bool
}

func (l *ProfileList) walkAll(ctx context.Context, q *Queries, name string, w ListProfilesOfWorkspaceByCreatedDescParams) ([]place, error) {
	p := ListProfilesByCreatedDescParams{Trashed: w.Trashed, AfterKey: w.AfterKey, AfterID: w.AfterID, Workspaces: w.Workspaces,
		Search: w.Search, Tags: w.Tags, Status: w.Status, ProxyID: w.ProxyID, OS: w.OS, Offset: w.Offset, Limit: w.Limit}
	n := ListProfilesByNameDescParams{Trashed: w.Trashed, AfterKey: name, AfterID: w.AfterID, Workspaces: w.Workspaces,
		Search: w.Search, Tags: w.Tags, Status: w.Status, ProxyID: w.ProxyID, OS: w.OS, Offset: w.Offset, Limit: w.Limit}
	switch (direction{l.Order, l.Ascending}) {
	case direction{ByCreated, true}:
		return places(q.ListProfilesByCreatedAsc(ctx, ListProfilesByCreatedAscParams(p)))
	case direction{ByUpdated, false}:
		return places(q.ListProfilesByUpdatedDesc(ctx, ListProfilesByUpdatedDescParams(p)))
	case direction{ByUpdated, true}:
		return places(q.ListProfilesByUpdatedAsc(ctx, ListProfilesByUpdatedAscParams(p)))
	case direction{ByStarted, false}:
		return places(q.ListProfilesByStartedDesc(ctx, ListProfilesByStartedDescParams(p)))
	case direction{ByStarted, true}:
		return places(q.ListProfilesByStartedAsc(ctx, ListProfilesByStartedAscParams(p)))
	case direction{ByName, false}:
		return places(q.ListProfilesByNameDesc(ctx, n))
	case direction{ByName, true}:
		return places(q.ListProfilesByNameAsc(ctx, ListProfilesByNameAscParams(n)))
	}
	return places(q.ListProfilesByCreatedDesc(ctx, p))
}

func (l *ProfileList) walkWorkspace(ctx context.Context, q *Queries, name string,
	p ListProfilesOfWorkspaceByCreatedDescParams) ([]place, error) {
	n := ListProfilesOfWorkspaceByNameDescParams{WorkspaceID: p.WorkspaceID, Trashed: p.Trashed, AfterKey: name, AfterID: p.AfterID,
		Workspaces: p.Workspaces, Search: p.Search, Tags: p.Tags, Status: p.Status, ProxyID: p.ProxyID, OS: p.OS,
		Offset: p.Offset, Limit: p.Limit}
	switch (direction{l.Order, l.Ascending}) {
	case direction{ByCreated, true}:
		return places(q.ListProfilesOfWorkspaceByCreatedAsc(ctx, ListProfilesOfWorkspaceByCreatedAscParams(p)))
	case direction{ByUpdated, false}:
		return places(q.ListProfilesOfWorkspaceByUpdatedDesc(ctx, ListProfilesOfWorkspaceByUpdatedDescParams(p)))
	case direction{ByUpdated, true}:
		return places(q.ListProfilesOfWorkspaceByUpdatedAsc(ctx, ListProfilesOfWorkspaceByUpdatedAscParams(p)))
	case direction{ByStarted, false}:
		return places(q.ListProfilesOfWorkspaceByStartedDesc(ctx, ListProfilesOfWorkspaceByStartedDescParams(p)))
	case direction{ByStarted, true}:
		return places(q.ListProfilesOfWorkspaceByStartedAsc(ctx, ListProfilesOfWorkspaceByStartedAscParams(p)))
	case direction{ByName, false}:
		return places(q.ListProfilesOfWorkspaceByNameDesc(ctx, n))
	case direction{ByName, true}:
		return places(q.ListProfilesOfWorkspaceByNameAsc(ctx, ListProfilesOfWorkspaceByNameAscParams(n)))
	}
	return places(q.ListProfilesOfWorkspaceByCreatedDesc(ctx, p))
}

// Lists the profiles of one status or of one proxy. These are few among many, and walking the list's order until a
// page is full would take seconds with a million profiles. So an index gives the candidates, and they are sorted
// here.

// narrow reports whether an index gives few candidates.
func (f *ProfileFilter) narrow() bool {
	return f.ProxyID != "" || f.Status != "" && f.Status != "stopped"
}

func (s *Store) listNarrow(ctx context.Context, l ProfileList) (Page[Profile], error) {
	places, err := l.candidates(ctx, s.long)
	if err != nil {
		return Page[Profile]{}, err
	}
	page := Page[Profile]{Rows: []Profile{}, Total: int64(len(places))}
	at, err := l.start(ctx, s)
	if errors.Is(err, ErrNoRow) {
		return page, nil
	}
	if err != nil {
		return page, err
	}
	places = slices.DeleteFunc(places, func(p candidate) bool { return l.compare(p.Place, at) <= 0 })
	slices.SortFunc(places, func(a, b candidate) int { return l.compare(a.Place, b.Place) })
	places = places[min(l.Offset, int64(len(places))):]
	if len(places) > l.Limit {
		places, page.More = places[:l.Limit], true
	}
	found := make([]place, len(places))
	for i, p := range places {
		found[i] = place{ID: p.ID, Version: p.version}
	}
	page.Rows, err = s.rowsAt(ctx, found, l.ProfileFilter)
	page.Next = l.next(page.Rows)
	return page, err
}

// candidate is a row that an index has given, and its position in the list.
type candidate struct {
	Place
	version int64
}

// candidates queries the index that gives fewer rows. Profiles that are not stopped are limited by what the machine
// can run, and by those that failed.
func (l *ProfileList) candidates(ctx context.Context, q *Queries) ([]candidate, error) {
	p := l.params()
	var rows []PlacesOfStatusRow
	var err error
	if l.Status != "" && l.Status != "stopped" {
		rows, err = q.PlacesOfStatus(ctx, PlacesOfStatusParams{Status: l.Status, Trashed: p.Trashed, WorkspaceID: optional(l.WorkspaceID),
			Workspaces: p.Workspaces, Search: p.Search, Tags: p.Tags, ProxyID: p.ProxyID, OS: p.OS})
	} else {
		var ofProxy []PlacesOfProxyRow
		ofProxy, err = q.PlacesOfProxy(ctx, PlacesOfProxyParams{ProxyID: l.ProxyID, Trashed: p.Trashed,
			WorkspaceID: optional(l.WorkspaceID), Workspaces: p.Workspaces, Search: p.Search, Tags: p.Tags, Status: p.Status, OS: p.OS})
		for _, row := range ofProxy {
			rows = append(rows, PlacesOfStatusRow(row))
		}
	}
	places := make([]candidate, len(rows))
	for i, row := range rows {
		places[i] = candidate{l.place(row), row.Version}
	}
	return places, err
}

// place returns the position of a row in the list's order.
func (l *ProfileList) place(row PlacesOfStatusRow) Place {
	p := Place{Order: l.Order.name(), Number: row.CreatedAt, ID: row.ID}
	switch l.Order {
	case ByUpdated:
		p.Number = row.UpdatedAt
	case ByStarted:
		p.Number = row.LastStartedAt
	case ByName:
		p.Number, p.Text = 0, row.Name
	}
	return p
}

// compare orders as the queries do. Both places have either Number or Text, except the one before the first row.
func (l *ProfileList) compare(a, b Place) int {
	var c int
	if l.Order == ByName {
		c = cmp.Or(strings.Compare(noCase(a.Text), noCase(b.Text)), strings.Compare(a.ID, b.ID))
	} else {
		c = cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.ID, b.ID))
	}
	if !l.Ascending {
		return -c
	}
	return c
}

// noCase maps strings to what SQLite's NOCASE compares: A to Z equal a to z, all other bytes are distinct.
func noCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
