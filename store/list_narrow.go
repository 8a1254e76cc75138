package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

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
	places = slices.DeleteFunc(places, func(p cursor) bool { return l.compare(p, at) <= 0 })
	slices.SortFunc(places, l.compare)
	places = places[min(l.Offset, int64(len(places))):]
	if len(places) > l.Limit {
		places, page.More = places[:l.Limit], true
	}
	found := make([]place, len(places))
	for i, p := range places {
		found[i] = place{ID: p.id, Version: p.version}
	}
	page.Rows, err = s.rowsAt(ctx, found, l.ProfileFilter)
	page.Next = l.next(page.Rows)
	return page, err
}

// candidates queries the index that gives fewer rows. Profiles that are not stopped are limited by what the machine
// can run, and by those that failed.
func (l *ProfileList) candidates(ctx context.Context, q *Queries) ([]cursor, error) {
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
	places := make([]cursor, len(rows))
	for i, row := range rows {
		places[i] = l.cursorAt(row)
	}
	return places, err
}

// cursorAt returns the position of a row in the list's order.
func (l *ProfileList) cursorAt(row PlacesOfStatusRow) cursor {
	c := cursor{id: row.ID, version: row.Version, number: row.CreatedAt}
	switch l.Order {
	case ByUpdated:
		c.number = row.UpdatedAt
	case ByStarted:
		c.number = row.LastStartedAt
	case ByName:
		c.number, c.text = 0, row.Name
	}
	return c
}

// compare orders as the queries do. Both cursors have either number or text, except the one before the first row.
func (l *ProfileList) compare(a, b cursor) int {
	var c int
	if l.Order == ByName {
		c = cmp.Or(strings.Compare(noCase(a.text), noCase(b.text)), strings.Compare(a.id, b.id))
	} else {
		c = cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.id, b.id))
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
