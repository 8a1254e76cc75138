package store

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Shared parts of the lists of profiles and of proxies.

// Fold maps texts that differ only in case, or in the encoding of accents, to the same text. Full case folding leaves
// a combining dot behind the i of a Turkish İ. Fold removes the dot, so that istanbul finds İstanbul.
func Fold(s string) string {
	return strings.ReplaceAll(cases.Fold().String(norm.NFC.String(s)), "i\u0307", "i")
}

// SearchKey returns the column profiles.search_key, in which searches look.
func SearchKey(name, notes string) string { return Fold(name) + "\n" + Fold(notes) }

// TagsKey returns the column profiles.tags_key: the folded tags between line feeds, which no tag may contain.
func TagsKey(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "\n" + Fold(strings.Join(tags, "\n")) + "\n"
}

// Workspaces returns the parameter workspaces of the queries: what a key may see. Nil is all, an empty list nothing.
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
	Next  Place // where those begin
}

// trimPage removes the extra row that tells whether there are more.
func trimPage[T any](rows []T, total int64, limit int) Page[T] {
	page := Page[T]{Rows: rows, Total: total}
	if limit >= 0 && len(rows) > limit {
		page.Rows, page.More = rows[:limit], true
	}
	return page
}

// soleWorkspace returns the workspace of a key that may see only one, since an index serves that.
func soleWorkspace(workspaces *string, workspace string) string {
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

// cursor is a position in an order. The rows of the list are beyond it.
type cursor struct {
	number  int64  // created, updated or started
	text    string // name
	id      string
	version int64 // of the row at this position
}

// beforeAll returns the position before the first row. No name sorts after it in descending order, since names have
// at most 200 characters.
func beforeAll(ascending bool) cursor {
	if ascending {
		return cursor{number: math.MinInt64}
	}
	last := strings.Repeat("\U0010FFFF", 201)
	return cursor{number: math.MaxInt64, text: last, id: last}
}
