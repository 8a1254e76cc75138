package store

import (
	"context"
	"errors"
	"math"
	"strings"

	"warren/store/index"
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
	Trashed     bool     // profiles in the trash instead of those outside
	Search      string   // in name and notes, whatever the case; also what an id begins with (index.Query)
	Tags        []string // all of them are required
	Status      string
	ProxyID     string // or NoProxy, MissingProxy
	OS          string

	Country     string            // in capitals: of the proxy's exit at its last good check, or as Exits has it
	Exits       map[string]string // the exit's country of each running profile, by its id; "": unknown
	ProxyStatus string            // of the profile's proxy
	Started     *bool             // whether it was ever started
	NodeID      string            // the server that has its data
}

// What ProfileFilter.ProxyID selects beside the profiles of a proxy.
const (
	NoProxy      = "none"    // profiles that connect directly
	MissingProxy = "missing" // profiles whose proxy was deleted while they were in the trash
)

// ProfileList describes a page of a list of profiles.
type ProfileList struct {
	ProfileFilter
	Order     Order
	Ascending bool   // default: newest first, Z to A
	After     string // an id or a Place; the page starts behind it; an unknown one gives no rows
	Limit     int
	Offset    int64 // rows to skip
}

// ListProfiles returns a page of profiles and the total. The rows are found in memory (package index), so that the cost
// depends neither on the number of profiles nor on the position. While that index is loaded, the newest profiles of a
// workspace come from the database; other lists wait.
func (s *Store) ListProfiles(ctx context.Context, l ProfileList) (Page[Profile], error) {
	at, err := l.start(ctx, s)
	unknown := errors.Is(err, ErrNoRow)
	if err != nil && !unknown {
		return Page[Profile]{}, Typed(err)
	}
	var page Page[Profile]
	switch q, sees := l.query(at, unknown); {
	case !sees: // no workspace, or none of those that the key may see
		return Page[Profile]{Rows: []Profile{}}, nil
	case l.newest() && !unknown && !s.ofProfiles.loaded():
		s.ofProfiles.start(s)
		page, err = s.listNewest(ctx, l, at)
	default:
		page, err = s.listFound(ctx, l, q)
	}
	switch n := len(page.Rows); {
	case n > 0:
		page.Next = l.placeOf(page.Rows[n-1])
	case unknown:
		page.More = false
	default:
		page.Next, _ = parsePlace(l.After) // all were deleted since they were found: the next page starts where this one did
	}
	return page, err
}

// listFound takes the page from the index.
func (s *Store) listFound(ctx context.Context, l ProfileList, q index.Query) (Page[Profile], error) {
	found, err := s.ofProfiles.find(ctx, s, q)
	if err != nil {
		return Page[Profile]{}, err
	}
	rows, err := s.profilesAt(ctx, idsOfRows(found.Rows), l.Trashed)
	return Page[Profile]{Rows: rows, Total: found.Total, TotalAtLeast: !found.Exact, More: found.More}, err
}

// newest reports whether the database has the list in this order: the index profiles_of_workspace_created.
func (l *ProfileList) newest() bool {
	return len(l.terms()) == 0 && l.Search == "" &&
		l.Order == ByCreated && !l.Ascending && soleWorkspace(l.Workspaces, l.WorkspaceID) != "" && l.Offset <= newestSkip
}

// newestSkip is how many rows the database skips. It reads each of them.
const newestSkip = 1000

func (s *Store) listNewest(ctx context.Context, l ProfileList, at *Place) (Page[Profile], error) {
	if err := s.engine.catchUp(ctx); err != nil {
		return Page[Profile]{}, err
	}
	workspace := soleWorkspace(l.Workspaces, l.WorkspaceID)
	totals, err := totalsOf(ctx, s.short, l.Workspaces, workspace)
	if err != nil {
		return Page[Profile]{}, Typed(err)
	}
	p := ListNewestProfilesParams{WorkspaceID: workspace, Trashed: l.Trashed, Workspaces: l.Workspaces, Offset: l.Offset,
		Limit: int64(l.Limit) + 1} // one more tells whether there are more
	if at == nil {
		at = new(beforeAll())
	}
	p.AfterKey, p.AfterID = at.Number, at.ID
	ids, err := s.short.ListNewestProfiles(ctx, p)
	if err != nil {
		return Page[Profile]{}, Typed(err)
	}
	part := trimPage(ids, totals.Profiles, l.Limit)
	if l.Trashed {
		part.Total = totals.Trashed
	}
	rows, err := s.profilesAt(ctx, part.Rows, l.Trashed)
	return Page[Profile]{Rows: rows, Total: part.Total, More: part.More}, err
}

// query is the list as the index takes it. sees is false if the key may see none of its workspaces. An unknown place
// gives the total alone.
func (l *ProfileList) query(at *Place, unknown bool) (q index.Query, sees bool) {
	q = index.Query{Trashed: l.Trashed, Search: Fold(l.Search), Terms: l.terms(), Order: int(l.Order),
		Ascending: l.Ascending, Offset: l.Offset, Limit: l.Limit, CountTo: countTo}
	q.ExactTotal = l.Search == "" && len(q.Terms) <= 1 && l.OS == ""
	if l.Country != "" {
		q.Fixes = []index.Fix{l.exits()}
	}
	if at != nil {
		q.After = &index.Place{Value: at.value(), ID: at.ID}
		if l.Order == ByName {
			q.After.Value.Text = noCase(at.Text)
		}
	}
	if unknown {
		q.Limit, q.After = 0, nil
	}
	q.Workspaces, sees = workspacesOf(l.Workspaces, l.WorkspaceID)
	return q, sees
}

// terms are the filters as the index has them.
func (f *ProfileFilter) terms() []string {
	terms := tagTerms(foldAll(f.Tags))
	for _, t := range []struct{ kind, value string }{{"status", f.Status}, {"proxy", f.ProxyID}, {"os", f.OS}, {"exit", f.Country},
		{"proxyStatus", f.ProxyStatus}, {"node", f.NodeID}} {
		if t.value != "" {
			terms = append(terms, t.kind+":"+t.value)
		}
	}
	if f.Started != nil {
		terms = append(terms, startedTerm(*f.Started))
	}
	return terms
}

func startedTerm(started bool) string {
	if started {
		return "started:yes"
	}
	return "started:never"
}

// exits corrects the filter by country for running profiles.
func (f *ProfileFilter) exits() index.Fix {
	fix := index.Fix{Term: "exit:" + f.Country}
	for id, country := range f.Exits {
		if country == f.Country {
			fix.Has = append(fix.Has, id)
		} else {
			fix.Lacks = append(fix.Lacks, id)
		}
	}
	return fix
}

// ProfileIDs returns the ids of a whole list in its order, and the workspace of each. It ignores After, Limit and Offset. With
// more than most ids it returns none of them, and how many there are.
func (s *Store) ProfileIDs(ctx context.Context, l ProfileList, most int) (found []ProfileID, count int64, err error) {
	l.After, l.Limit, l.Offset = "", most, 0
	q, sees := l.query(nil, false)
	if !sees {
		return nil, 0, nil
	}
	q.CountTo = math.MaxInt
	page, err := s.ofProfiles.find(ctx, s, q)
	if err != nil || page.More {
		return nil, page.Total, err
	}
	found = make([]ProfileID, len(page.Rows))
	for i, row := range page.Rows {
		found[i] = ProfileID{row.ID, row.Workspace}
	}
	return found, page.Total, nil
}

// ProfileID names a profile and its workspace.
type ProfileID struct{ ID, Workspace string }

// name returns the name of an order in a Place.
func (o Order) name() string {
	return [...]string{ByCreated: "createdAt", ByUpdated: "updatedAt", ByName: "name", ByStarted: "lastStartedAt"}[o]
}

// start returns the position behind which the list begins; nil: it begins at its start. It fails with ErrNoRow if After
// was never in the list. A row that was moved to the trash meanwhile keeps its position.
func (l *ProfileList) start(ctx context.Context, s *Store) (*Place, error) {
	if l.After == "" {
		return nil, nil
	}
	p, err := s.After(ctx, l.After, l.Order.name(), "profile", l.Workspaces, func(id string) (Place, error) {
		row, err := s.short.GetProfileAny(ctx, GetProfileAnyParams{ID: id, Workspaces: l.Workspaces})
		if err == nil && l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
			err = ErrNoRow
		}
		return l.placeOf(row), err
	})
	return &p, err
}

// placeOf returns the position of a row in the list's order.
func (l *ProfileList) placeOf(row Profile) Place {
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

// indexedProfiles reads what the index of profiles keeps.
type indexedProfiles struct{}

// profileOrders are the orders of the index, in the order of Order.
func profileOrders() []index.Order {
	return []index.Order{ByCreated: {}, ByUpdated: {}, ByName: {Text: true}, ByStarted: {}}
}

func (r indexedProfiles) part(ctx context.Context, q *Queries, after string, limit int64) ([]*index.Row, error) {
	return eachRow(r.row)(q.ListIndexedProfiles(ctx, ListIndexedProfilesParams{After: after, Limit: limit}))
}

func (r indexedProfiles) some(ctx context.Context, q *Queries, ids string) ([]*index.Row, error) {
	rows, err := q.GetIndexedProfiles(ctx, ids)
	return eachRow(func(row GetIndexedProfilesRow) *index.Row { return r.row(ListIndexedProfilesRow(row)) })(rows, err)
}

func (indexedProfiles) row(p ListIndexedProfilesRow) *index.Row {
	terms := []string{term("status", p.Status), term("os", p.OS), startedTerm(p.LastStartedAt > 0)}
	switch {
	case p.ProxyID != nil:
		terms = append(terms, term("proxy", *p.ProxyID))
	case p.ProxyMissing:
		terms = append(terms, "proxy:"+MissingProxy)
	default:
		terms = append(terms, "proxy:"+NoProxy)
	}
	if p.NodeID != nil {
		terms = append(terms, term("node", *p.NodeID))
	}
	if tags := strings.Trim(p.TagsKey, "\n"); tags != "" {
		terms = append(terms, tagTerms(strings.Split(tags, "\n"))...)
	}
	return &index.Row{ID: p.ID, Workspace: shared(p.WorkspaceID), Trashed: p.Trashed, Text: p.SearchKey, Terms: distinct(terms),
		Sort: []index.Value{ByCreated: {Number: p.CreatedAt}, ByUpdated: {Number: p.UpdatedAt}, ByName: {Text: noCase(p.Name)},
			ByStarted: {Number: p.LastStartedAt}}}
}

// proxyLinks reads what a profile's proxy says of it. A check of a proxy changes this for all of its profiles at once, so it
// is no part of their rows.
func proxyLinks(ctx context.Context, q *Queries, after string, limit int64) (implied []index.Implied, last string, err error) {
	rows, err := q.ListProxyStates(ctx, ListProxyStatesParams{After: after, Limit: limit})
	for _, row := range rows {
		implied = append(implied, impliedBy(row.ID, row.Status, row.Country))
		last = row.ID
	}
	if int64(len(rows)) < limit {
		last = ""
	}
	return implied, last, err
}

// impliedByProxy is the same for a row of the index of proxies; one without terms is gone.
func impliedByProxy(row *index.Row) index.Implied {
	var status, country string
	for _, t := range row.Terms {
		switch kind, value, _ := strings.Cut(t, ":"); kind {
		case "status":
			status = value
		case "country":
			country = value
		}
	}
	return impliedBy(row.ID, status, country)
}

func impliedBy(proxyID, status, country string) index.Implied {
	i := index.Implied{Term: term("proxy", proxyID)}
	if status != "" {
		i.By = append(i.By, term("proxyStatus", status))
	}
	if country != "" {
		i.By = append(i.By, term("exit", country))
	}
	return i
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
