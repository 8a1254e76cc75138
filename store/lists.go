package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unique"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"warren/store/index"
)

// Shared parts of the lists of profiles and of proxies.

// Fold maps texts that differ only in case, or in the encoding of accents, to the same text. Full case folding leaves
// a combining dot behind the i of a Turkish İ. Fold removes the dot, so that istanbul finds İstanbul.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) { // ASCII: the same result, faster
		return strings.ToLower(s)
	}
	return strings.ReplaceAll(cases.Fold().String(norm.NFC.String(s)), "i\u0307", "i")
}

func foldAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Fold(s)
	}
	return out
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

// Page is a part of a list.
type Page[T any] struct {
	Rows         []T
	Total        int64 // of the whole list
	TotalAtLeast bool  // the list is longer than Total, which is countTo
	More         bool  // there are rows after these
	Next         Place // where those begin
}

// countTo is how far a list with filters is counted exactly.
const countTo = 10_000

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

// totalsOf reads the counters of one workspace, or of all that a key may see.
func totalsOf(ctx context.Context, q *Queries, workspaces *string, workspace string) (TotalsRow, error) {
	if workspace == "" {
		return q.Totals(ctx, workspaces)
	}
	row, err := q.TotalsOfWorkspace(ctx, TotalsOfWorkspaceParams{ID: workspace, Workspaces: workspaces})
	return TotalsRow(row), err
}

// beforeAll returns the position before the first row, newest first.
func beforeAll() Place { return Place{Number: math.MaxInt64} }

// workspacesOf returns the workspaces of a list for the index; nil is all. sees is false if there are none: the key may
// not see the one that is asked for, or none at all.
func workspacesOf(workspaces *string, workspace string) (ids []string, sees bool) {
	if workspaces != nil && json.Unmarshal([]byte(*workspaces), &ids) != nil {
		return nil, false
	}
	switch {
	case workspaces != nil && workspace != "":
		return []string{workspace}, slices.Contains(ids, workspace)
	case workspace != "":
		return []string{workspace}, true
	}
	return ids, workspaces == nil || len(ids) > 0
}

func idsOfRows(rows []*index.Row) []string {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids
}

// eachRow returns a function that makes an index's rows of those that a query has returned.
func eachRow[R any](row func(R) *index.Row) func([]R, error) ([]*index.Row, error) {
	return func(rows []R, err error) ([]*index.Row, error) {
		out := make([]*index.Row, len(rows))
		for i, r := range rows {
			out[i] = row(r)
		}
		return out, err
	}
}

// distinct drops repeated terms: two tags may fold to one.
func distinct(terms []string) []string {
	slices.Sort(terms)
	return slices.Clip(slices.Compact(terms))
}

// shared returns the same text in the same memory for equal texts, since a million rows have few workspaces.
func shared(text string) string { return unique.Make(text).Value() }

// Finds the position at which a list continues. An id works while its row exists. A place also carries the key that
// the list is sorted by, and works after its row is deleted.

// Place is the position of a row in a list. The list continues behind it.
type Place struct {
	Order  string `json:"o"`           // of the list
	Number int64  `json:"n,omitempty"` // the key: Number or Text
	Text   string `json:"t,omitempty"`
	None   bool   `json:"x,omitempty"` // the row lacks the key
	ID     string `json:"-"`
}

// value is the key as an index compares it.
func (p Place) value() index.Value { return index.Value{Number: p.Number, Text: p.Text, None: p.None} }

// String encodes a place for clients: <key>.<id>.
func (p Place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(*jsonText(p))) + "." + p.ID
}

// parsePlace decodes what String encoded. ok is false for anything else, which is an id.
func parsePlace(after string) (p Place, ok bool) {
	key, id, ok := strings.Cut(after, ".")
	if !ok || id == "" {
		return p, false
	}
	text, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil || json.Unmarshal(text, &p) != nil || p.Order == "" {
		return p, false
	}
	p.ID = id
	return p, true
}

// ErrGone is the error for an id whose row was deleted, and for a place of a list in another order. The position is
// unknown then.
var ErrGone = errors.New("the row is gone")

// After returns the position at which a list continues. find returns the place of an existing row, and ErrNoRow for
// any other id. A deleted row is ErrGone. An id that never existed, or is in a workspace that the key cannot see, is
// ErrNoRow.
func (s *Store) After(ctx context.Context, after, order, kind string, workspaces *string,
	find func(id string) (Place, error)) (Place, error) {
	if p, ok := parsePlace(after); ok {
		if p.Order != order {
			return p, ErrGone
		}
		return p, nil
	}
	p, err := find(after)
	if !errors.Is(err, ErrNoRow) {
		return p, err
	}
	gone, failed := s.short.WasDeleted(ctx, WasDeletedParams{ID: after, Kind: kind, Workspaces: workspaces})
	switch {
	case failed != nil:
		return p, Typed(failed)
	case gone > 0:
		return p, ErrGone
	}
	return p, ErrNoRow
}

// deletedRetention is how long deleted ids are kept. No client takes longer to page through a list.
const deletedRetention = 7 * 24 * time.Hour

// ForgetGone removes the ids that were deleted longer ago.
func (s *Store) ForgetGone(ctx context.Context) error {
	return s.Write(ctx, func(q *Queries) error {
		_, err := q.ForgetDeleted(ctx, time.Now().Add(-deletedRetention).UnixMilli())
		return err
	})
}
