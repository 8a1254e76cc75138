package store

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// This file holds what the lists of profiles and of proxies have in common.

// Fold makes texts that differ only in case, or in how accents are encoded, the same. The dot that full folding leaves behind the i of a
// Turkish İ says nothing that an i does not say: without it istanbul finds İstanbul.
func Fold(s string) string {
	return strings.ReplaceAll(cases.Fold().String(norm.NFC.String(s)), "i\u0307", "i")
}

// SearchKey is the column profiles.search_key: what the search looks through.
func SearchKey(name, notes string) string { return Fold(name) + "\n" + Fold(notes) }

// TagsKey is the column profiles.tags_key: each tag case-folded between line feeds, which no tag may hold.
func TagsKey(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "\n" + Fold(strings.Join(tags, "\n")) + "\n"
}

// Workspaces makes the parameter of that name: what a key may see. Nil: all; empty: nothing.
func Workspaces(ids []string) *string {
	if ids == nil {
		return nil
	}
	return jsonText(ids)
}

func jsonText(list []string) *string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always encode
	}
	s := string(text)
	return &s
}

// Page is a part of a list.
type Page[T any] struct {
	Rows  []T
	Total int64 // of the whole list, exact
	More  bool  // there are rows after these
	Next  Place // where they begin, when there are
}

// cut takes away the one row more that was asked for to see whether there is one.
func cut[T any](rows []T, total int64, limit int) Page[T] {
	page := Page[T]{Rows: rows, Total: total}
	if limit >= 0 && len(rows) > limit {
		page.Rows, page.More = rows[:limit], true
	}
	return page
}

// only turns a key of one workspace into a list of that workspace, which has an index.
func only(workspaces *string, workspace string) string {
	if workspace != "" || workspaces == nil {
		return workspace
	}
	var ids []string
	if json.Unmarshal([]byte(*workspaces), &ids) == nil && len(ids) == 1 {
		return ids[0]
	}
	return ""
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// totalsOf reads the counters of one workspace, or of all that a key may see.
func totalsOf(ctx context.Context, q *Queries, workspaces *string, workspace string) (TotalsRow, error) {
	if workspace == "" {
		return q.Totals(ctx, workspaces)
	}
	row, err := q.TotalsOfWorkspace(ctx, TotalsOfWorkspaceParams{ID: workspace, Workspaces: workspaces})
	return TotalsRow(row), err
}

// cursor is a place in an order: what follows is beyond it.
type cursor struct {
	number  int64  // created, updated, started
	text    string // name
	id      string
	version int64 // of the row there
}

// beforeAll are the places before the first row. No name sorts after the last of them: names have at most 200 characters.
func beforeAll(ascending bool) cursor {
	if ascending {
		return cursor{number: math.MinInt64}
	}
	last := strings.Repeat("\U0010FFFF", 201)
	return cursor{number: math.MaxInt64, text: last, id: last}
}
