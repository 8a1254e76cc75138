package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"warren/store/index"
)

// AuditList describes a page of the log of secrets, newest first.
type AuditList struct {
	Workspaces *string // those that the key may see, from Scope.Filter
	Action     string  // "": all
	After      string  // as in ProfileList
	Limit      int
	Offset     int64
}

// auditOrder is the order's name in a Place.
const auditOrder = "time"

// ListAudit returns a page of the log and the total, which are found in memory as profiles are.
func (s *Store) ListAudit(ctx context.Context, l AuditList) (Page[Audit], error) {
	q := index.Query{Offset: l.Offset, Limit: l.Limit, CountTo: countTo, ExactTotal: true}
	if l.Action != "" {
		q.Terms = []string{"action:" + l.Action}
	}
	var unknown bool
	if l.After != "" {
		at, err := s.After(ctx, l.After, auditOrder, "audit", l.Workspaces, func(id string) (Place, error) {
			row, err := s.short.GetAudit(ctx, GetAuditParams{ID: id, Workspaces: l.Workspaces})
			return Place{Order: auditOrder, Number: row.At, ID: row.ID}, err
		})
		if unknown = errors.Is(err, ErrNoRow); err != nil && !unknown {
			return Page[Audit]{}, Typed(err)
		}
		if q.After = (&index.Place{Value: at.value(), ID: at.ID}); unknown {
			q.After, q.Limit = nil, 0
		}
	}
	var sees bool
	if q.Workspaces, sees = workspacesOf(l.Workspaces, ""); !sees {
		return Page[Audit]{Rows: []Audit{}}, nil
	}
	found, err := s.ofAudit.find(ctx, s, q)
	if err != nil {
		return Page[Audit]{}, err
	}
	page := Page[Audit]{Total: found.Total, TotalAtLeast: !found.Exact, More: found.More && !unknown}
	if page.Rows, err = s.auditAt(ctx, idsOfRows(found.Rows)); err == nil && len(page.Rows) > 0 {
		last := page.Rows[len(page.Rows)-1]
		page.Next = Place{Order: auditOrder, Number: last.At, ID: last.ID}
	}
	return page, err
}

// auditAt returns the entries of some ids, in their order. No entry is ever changed or deleted.
func (s *Store) auditAt(ctx context.Context, ids []string) ([]Audit, error) {
	rows, err := s.short.GetAudits(ctx, GetAuditsParams{Ids: *jsonText(ids)})
	slices.SortFunc(rows, func(a, b Audit) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	return rows, Typed(err)
}

// indexedAudit reads what the index of the log keeps.
type indexedAudit struct{}

func (r indexedAudit) part(ctx context.Context, q *Queries, after string, limit int64) ([]*index.Row, error) {
	return eachRow(r.row)(q.ListIndexedAudit(ctx, ListIndexedAuditParams{After: after, Limit: limit}))
}

func (r indexedAudit) some(ctx context.Context, q *Queries, ids string) ([]*index.Row, error) {
	rows, err := q.GetIndexedAudit(ctx, ids)
	return eachRow(func(row GetIndexedAuditRow) *index.Row { return r.row(ListIndexedAuditRow(row)) })(rows, err)
}

func (indexedAudit) row(a ListIndexedAuditRow) *index.Row {
	return &index.Row{ID: a.ID, Workspace: shared(a.WorkspaceID), Terms: []string{term("action", a.Action)},
		Sort: []index.Value{{Number: a.At}}}
}
