package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AuditList describes a page of the audit log, newest first. An empty filter is none.
type AuditList struct {
	Workspaces *string   // those that the key may see, from Scope.Filter
	From, To   time.Time // from this time on; before this time
	KeyID      string
	ObjectID   string
	Action     string // such as profile.update, or profile.* for those of a kind of object
	Result     string // ok, the code of a refusal, or refused for every code
	After      string // as in ProfileList
	Limit      int
	Offset     int64
	Uncounted  bool // the page has no total
}

// auditOrder is the order's name in a Place.
const auditOrder = "time"

// ListAudit returns a page of the log and the total.
func (s *Store) ListAudit(ctx context.Context, l AuditList) (Page[Audit], error) {
	page := Page[Audit]{Rows: []Audit{}}
	if err := s.engine.chainUp(ctx); err != nil {
		return page, Typed(err)
	}
	texts := s.engine.audit()
	where, args := l.conditions(texts)
	if !l.Uncounted {
		all := slices.Concat(args, args, []any{countTo + 1})
		err := s.long.db.QueryRowContext(ctx, countAudit(texts.index(l.index()), where), all...).Scan(&page.Total)
		if err != nil {
			return page, Typed(err)
		}
		if page.TotalAtLeast = page.Total > countTo; page.TotalAtLeast {
			page.Total = countTo
		}
	}
	at, seq, err := s.auditPlace(ctx, l)
	if errors.Is(err, ErrNoRow) {
		return page, nil
	}
	if err != nil {
		return page, Typed(err)
	}
	args = append(args, at, seq)
	numbers, err := s.auditNumbers(ctx, pageOfAudit(texts.index(l.index()), where), slices.Concat(args, args, []any{l.Limit + 1, l.Offset}))
	if err != nil {
		return page, Typed(err)
	}
	if page.More = len(numbers) > l.Limit; page.More {
		numbers = numbers[:l.Limit]
	}
	rows, err := s.long.GetAudits(ctx, GetAuditsParams{Numbers: *jsonText(numbers), Workspaces: l.Workspaces})
	if err != nil {
		return page, Typed(err)
	}
	slices.SortFunc(rows, func(a, b Audit) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Seq, a.Seq)) })
	if page.Rows = rows; len(rows) > 0 {
		last := rows[len(rows)-1]
		page.Next = Place{Order: auditOrder, Number: last.At, Text: strconv.FormatInt(last.Seq, 10), ID: last.ID}
	}
	return page, nil
}

// auditPlace returns the time and the number before which the page begins.
func (s *Store) auditPlace(ctx context.Context, l AuditList) (at, seq int64, err error) {
	if l.After == "" {
		return math.MaxInt64, 0, nil
	}
	p, err := s.After(ctx, l.After, auditOrder, "audit", l.Workspaces, func(id string) (Place, error) {
		row, err := s.auditOf(ctx, id, l.Workspaces)
		return Place{Order: auditOrder, Number: row.At, Text: strconv.FormatInt(row.Seq, 10), ID: row.ID}, err
	})
	if err != nil {
		return 0, 0, err
	}
	if seq, err = strconv.ParseInt(p.Text, 10, 64); err != nil {
		return 0, 0, ErrGone
	}
	return p.Number, seq, nil
}

// auditOf returns the entry with an id.
func (s *Store) auditOf(ctx context.Context, id string, workspaces *string) (Audit, error) {
	if seq, ok := numberOfAudit(id); ok {
		return s.short.GetAudit(ctx, GetAuditParams{Seq: seq, ID: id, Workspaces: workspaces})
	}
	return s.short.GetOldAudit(ctx, GetOldAuditParams{ID: id, Workspaces: workspaces})
}

func (s *Store) auditNumbers(ctx context.Context, query string, args []any) (numbers []int64, err error) {
	rows, err := s.long.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	numbers = []int64{}
	for rows.Next() {
		var at, n int64
		if err := rows.Scan(&at, &n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

// conditions returns the conditions of the list's filters, of the index and of the log. Each combination has a text of its own, which
// sqlc cannot make: in one text for all SQLite would use one index for all.
func (l AuditList) conditions(texts auditTexts) (where []string, args []any) {
	where = []string{"true"}
	kind, ofKind := strings.CutSuffix(l.Action, ".*")
	for _, c := range []struct {
		given     bool
		condition string
		value     any // nil: none
	}{
		{l.ObjectID != "", "object_id <> '' AND object_id = ?", l.ObjectID}, // as its index has it
		{l.KeyID != "", "key_id = ?", l.KeyID},
		{ofKind, "kind = ?", kind},
		{l.Action != "" && !ofKind, "action = ?", l.Action},
		{l.Result == "ok", "result = 'ok'", nil},
		{l.refused(), "result <> 'ok'", nil},
		{l.refused() && l.Result != "refused", "result = ?", l.Result},
		{!l.From.IsZero(), "at >= ?", l.From.UnixMilli()},
		{!l.To.IsZero(), "at < ?", l.To.UnixMilli()},
		{l.Workspaces != nil, "workspace_id IN " + texts.ids(), l.Workspaces},
	} {
		if c.given {
			where = append(where, c.condition)
		}
		if c.given && c.value != nil {
			args = append(args, c.value)
		}
	}
	return where, args
}

func (l AuditList) refused() bool { return l.Result != "" && l.Result != "ok" }

// index is the one that leaves fewest rows.
func (l AuditList) index() string {
	switch {
	case l.ObjectID != "":
		return "audit_of_object"
	case l.refused() && (l.KeyID != "" || l.Action == ""):
		return "audit_refused"
	case strings.HasSuffix(l.Action, ".*"):
		return "audit_of_kind"
	case l.Action != "":
		return "audit_of_action"
	case l.KeyID != "":
		return "audit_of_key"
	}
	return "audit_time"
}

// auditTailFrom is the part of the log that is not in its index.
const auditTailFrom = "audit WHERE seq > (SELECT coalesce(max(seq), 0) FROM audit_index) AND "

// countAudit counts at most as many as its last argument. Before that it has the arguments of where twice.
func countAudit(index string, where []string) string {
	all := strings.Join(where, " AND ")
	return "SELECT count(*) FROM (SELECT 1 FROM " + index + " WHERE " + all +
		" UNION ALL SELECT 1 FROM " + auditTailFrom + all + " LIMIT ?) AS found"
}

// pageOfAudit returns times and numbers. Its arguments are twice those of where and the place before which the page begins, how many,
// and how many to pass over.
func pageOfAudit(index string, where []string) string {
	all := strings.Join(where, " AND ") + " AND (at, seq) < (?, ?)"
	return "SELECT at, seq FROM " + index + " WHERE " + all + " UNION ALL SELECT at, seq FROM " + auditTailFrom +
		all + " ORDER BY at DESC, seq DESC LIMIT ? OFFSET ?"
}
