package store

import (
	"context"
	"errors"
)

// Order is what a list of profiles is sorted by; ties go by id in the same direction.
type Order int

// The orders. The first is the default.
const (
	ByCreated Order = iota
	ByUpdated
	ByName // without regard to the case of A to Z
	ByStarted
)

// ProfileFilter says which profiles. Empty members do not filter.
type ProfileFilter struct {
	Workspaces  *string // of the key, as Workspaces makes it
	WorkspaceID string
	Trashed     bool // those in the trash instead of those outside
	Search      string
	Tags        []string // all must be there
	Status      string
	ProxyID     string
	OS          string
}

// ProfileList asks for a part of a list of profiles.
type ProfileList struct {
	ProfileFilter
	Order     Order
	Ascending bool   // default: newest first, Z to A
	After     string // id, or a Place: what comes after it in the order; unknown or foreign: nothing does
	Limit     int
	Offset    int64 // rows to pass over; costs as much as they do
}

// ListProfiles gives a part of a list of profiles and its total. Without filters the total comes from counters and the
// rows from an index, at the same cost for any number of profiles. A filter by proxy, or by a status other than stopped,
// costs as much as there are such profiles. Other filters walk, and end with ctx.
func (s *Store) ListProfiles(ctx context.Context, l ProfileList) (Page[Profile], error) {
	l.WorkspaceID = only(l.Workspaces, l.WorkspaceID)
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
	p, err := l.place(ctx, s)
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
	part := cut(found, total, l.Limit)
	rows, err := s.rowsAt(ctx, part.Rows, l.ProfileFilter)
	return Page[Profile]{Rows: rows, Total: part.Total, More: part.More, Next: l.next(rows)}, Typed(err)
}

// names are the orders as places name them.
func (o Order) name() string {
	return [...]string{ByCreated: "createdAt", ByUpdated: "updatedAt", ByName: "name", ByStarted: "lastStartedAt"}[o]
}

// next is the place of the last of some rows. What was deleted since the rows were found is not among them, and need not be. Where all were, the
// walk goes on from where it is.
func (l *ProfileList) next(rows []Profile) Place {
	if len(rows) == 0 {
		p, _ := parsePlace(l.After)
		return p
	}
	at := l.cursorAt(placeOf(rows[len(rows)-1]))
	return Place{Order: l.Order.name(), Number: at.number, Text: at.text, ID: at.id}
}

func placeOf(row Profile) PlacesOfStatusRow {
	return PlacesOfStatusRow{ID: row.ID, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Name: row.Name, LastStartedAt: row.LastStartedAt}
}

func (f *ProfileFilter) filtered() bool {
	return f.Search != "" || len(f.Tags) > 0 || f.Status != "" || f.ProxyID != "" || f.OS != ""
}

// params are those of every list query: the generated types are the same but for their names.
func (f *ProfileFilter) params() ListProfilesOfWorkspaceByCreatedDescParams {
	p := ListProfilesOfWorkspaceByCreatedDescParams{WorkspaceID: f.WorkspaceID, Workspaces: f.Workspaces, Trashed: f.Trashed,
		Status: optional(f.Status), ProxyID: optional(f.ProxyID), OS: optional(f.OS), Search: optional(Fold(f.Search))}
	if len(f.Tags) > 0 {
		folded := make([]string, len(f.Tags))
		for i, tag := range f.Tags {
			folded[i] = Fold(tag)
		}
		p.Tags = jsonText(folded)
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

// place finds where the list begins; ErrNoRow when After was never in it. A row that was put into the trash meanwhile has its place still.
func (l *ProfileList) place(ctx context.Context, s *Store) (cursor, error) {
	if l.After == "" {
		return beforeAll(l.Ascending), nil
	}
	p, err := s.After(ctx, l.After, l.Order.name(), "profile", l.Workspaces, func(id string) (Place, error) {
		row, err := s.short.GetProfileAny(ctx, GetProfileAnyParams{ID: id, Workspaces: l.Workspaces})
		if err == nil && l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
			err = ErrNoRow
		}
		at := l.cursorAt(placeOf(row))
		return Place{Number: at.number, Text: at.text, ID: row.ID}, err
	})
	return cursor{number: p.Number, text: p.Text, id: p.ID}, err
}

// walk finds one row more than asked for, which tells whether there are more.
func (l *ProfileList) walk(ctx context.Context, q *Queries, at cursor) ([]place, error) {
	p := l.params()
	p.AfterKey, p.AfterID, p.Limit, p.Offset = at.number, at.id, int64(l.Limit)+1, l.Offset
	if l.WorkspaceID == "" {
		return l.walkAll(ctx, q, at.text, p)
	}
	return l.walkWorkspace(ctx, q, at.text, p)
}

// direction is an order with its direction: one query each, since SQL takes neither as a parameter.
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

func (l *ProfileList) walkWorkspace(ctx context.Context, q *Queries, name string, p ListProfilesOfWorkspaceByCreatedDescParams) ([]place, error) {
	n := ListProfilesOfWorkspaceByNameDescParams{WorkspaceID: p.WorkspaceID, Trashed: p.Trashed, AfterKey: name, AfterID: p.AfterID, Workspaces: p.Workspaces,
		Search: p.Search, Tags: p.Tags, Status: p.Status, ProxyID: p.ProxyID, OS: p.OS, Offset: p.Offset, Limit: p.Limit}
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
