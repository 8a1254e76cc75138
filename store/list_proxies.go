package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"warren/store/index"
)

// ProxyFilter selects proxies. Empty members do not filter.
type ProxyFilter struct {
	Workspaces  *string // those that the key may see, from Scope.Filter
	WorkspaceID string  // "": all workspaces
	Type        string
	Status      string
	Country     string   // in capitals
	Search      string   // in name, notes, host and user name, case-insensitive; also what an id begins with (index.Query)
	Tags        []string // all of them are required, case-insensitive
	Unused      *bool    // whether no profile outside the trash uses it
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

// ListProxies returns a page of proxies and the total, which are found in memory as profiles are.
func (s *Store) ListProxies(ctx context.Context, l ProxyList) (Page[Proxy], error) {
	at, err := l.start(ctx, s)
	unknown := errors.Is(err, ErrNoRow)
	if err != nil && !unknown {
		return Page[Proxy]{}, Typed(err)
	}
	q, sees := l.query(at, unknown)
	if !sees {
		return Page[Proxy]{Rows: []Proxy{}}, nil
	}
	found, err := s.ofProxies.find(ctx, s, q)
	if err != nil {
		return Page[Proxy]{}, err
	}
	page := Page[Proxy]{Total: found.Total, TotalAtLeast: !found.Exact, More: found.More && !unknown}
	if n := len(found.Rows); n > 0 {
		last := found.Rows[n-1]
		page.Next = l.place(last.ID, last.Sort[q.Order])
	}
	page.Rows, err = s.proxiesAt(ctx, idsOfRows(found.Rows), All())
	return page, err
}

// ProxyIDs returns the ids of a whole list in its order. It ignores After, Limit and Offset.
func (s *Store) ProxyIDs(ctx context.Context, l ProxyList) ([]string, error) {
	l.After, l.Limit, l.Offset = "", -1, 0
	q, sees := l.query(nil, false)
	if !sees {
		return nil, nil
	}
	found, err := s.ofProxies.find(ctx, s, q)
	return idsOfRows(found.Rows), err
}

// query is the list as the index takes it, as ProfileList.query.
func (l *ProxyList) query(at *Place, unknown bool) (q index.Query, sees bool) {
	q = index.Query{Search: Fold(l.Search), Terms: tagTerms(foldAll(l.Tags)), Order: slices.Index(proxySorts(), l.order()),
		Ascending: l.Ascending, Offset: l.Offset, Limit: l.Limit, CountTo: countTo}
	for _, t := range []struct{ kind, value string }{{"type", l.Type}, {"status", l.Status}, {"country", l.Country}} {
		if t.value != "" {
			q.Terms = append(q.Terms, t.kind+":"+t.value)
		}
	}
	if l.Unused != nil {
		q.Terms = append(q.Terms, usedTerm(!*l.Unused))
	}
	q.ExactTotal = l.Search == "" && len(q.Terms) <= 1
	if at != nil {
		q.After = &index.Place{Value: at.value(), ID: at.ID}
	}
	if unknown {
		q.Limit, q.After = 0, nil
	}
	q.Workspaces, sees = workspacesOf(l.Workspaces, l.WorkspaceID)
	return q, sees
}

func (l *ProxyList) order() string { return cmp.Or(l.Sort, "createdAt") }

// start returns the position behind which the list begins, as ProfileList.start.
func (l *ProxyList) start(ctx context.Context, s *Store) (*Place, error) {
	if l.After == "" {
		return nil, nil
	}
	p, err := s.After(ctx, l.After, l.order(), "proxy", l.Workspaces, func(id string) (Place, error) {
		row, err := s.short.GetProxy(ctx, GetProxyParams{ID: id, Workspaces: l.Workspaces})
		if err == nil && l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
			err = ErrNoRow
		}
		values := proxyValues(row)
		return l.place(row.ID, values[slices.Index(proxySorts(), l.order())]), err
	})
	return &p, err
}

func (l *ProxyList) place(id string, v index.Value) Place {
	return Place{Order: l.order(), ID: id, Number: v.Number, Text: v.Text, None: v.None}
}

// proxySorts are the orders of the index.
func proxySorts() []string {
	return []string{"createdAt", "updatedAt", "name", "host", "country", "latency", "checkedAt"}
}

func proxyOrders() []index.Order {
	return []index.Order{{}, {}, {Text: true}, {Text: true}, {Text: true}, {}, {}}
}

// proxyValues are what the orders compare.
func proxyValues(p Proxy) []index.Value {
	latency := index.Value{None: p.LatencyMs == nil}
	if p.LatencyMs != nil {
		latency.Number = *p.LatencyMs
	}
	return []index.Value{{Number: p.CreatedAt}, {Number: p.UpdatedAt}, {Text: Fold(p.Name)}, {Text: Fold(p.Host)},
		{Text: p.Country, None: p.Country == ""}, latency, {Number: p.CheckedAt, None: p.CheckedAt == 0}}
}

// indexedProxies reads what the index of proxies keeps.
type indexedProxies struct{}

func (r indexedProxies) part(ctx context.Context, q *Queries, after string, limit int64) ([]*index.Row, error) {
	return eachRow(r.row)(q.ListIndexedProxies(ctx, ListIndexedProxiesParams{After: after, Limit: limit}))
}

func (r indexedProxies) some(ctx context.Context, q *Queries, ids string) ([]*index.Row, error) {
	rows, err := q.GetIndexedProxies(ctx, ids)
	return eachRow(func(row GetIndexedProxiesRow) *index.Row { return r.row(ListIndexedProxiesRow(row)) })(rows, err)
}

func usedTerm(used bool) string {
	if used {
		return "used:yes"
	}
	return "used:no"
}

func (indexedProxies) row(p ListIndexedProxiesRow) *index.Row {
	terms := []string{term("type", p.Type), term("status", p.Status), usedTerm(p.ProfileCount > 0)}
	if p.Country != "" {
		terms = append(terms, term("country", p.Country))
	}
	var tags []string
	_ = json.Unmarshal([]byte(p.Tags), &tags) // a CHECK of the table: it is an array
	return &index.Row{ID: p.ID, Workspace: shared(p.WorkspaceID), Terms: distinct(append(terms, tagTerms(foldAll(tags))...)),
		Text: Fold(p.Name + "\n" + p.Notes + "\n" + p.Host + "\n" + p.Username),
		Sort: proxyValues(Proxy{CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, Name: p.Name, Host: p.Host, Country: p.Country,
			LatencyMs: p.LatencyMs, CheckedAt: p.CheckedAt})}
}
