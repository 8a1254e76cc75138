package store

import (
	"context"
	"errors"
)

// ProxyList asks for a part of the list of proxies, newest first.
type ProxyList struct {
	Workspaces  *string // of the key, as Workspaces makes it
	WorkspaceID string  // empty: all of them
	After       string  // id, as in ProfileList
	Limit       int     // -1: all
	Offset      int64
}

// ListProxies gives a part of the list of proxies and its total, from an index and counters.
func (s *Store) ListProxies(ctx context.Context, l ProxyList) (Page[Proxy], error) {
	q := s.short
	l.WorkspaceID = only(l.Workspaces, l.WorkspaceID)
	totals, err := totalsOf(ctx, q, l.Workspaces, l.WorkspaceID)
	if err != nil {
		return Page[Proxy]{}, Typed(err)
	}
	at := beforeAll(false)
	if l.After != "" {
		row, err := q.GetProxy(ctx, GetProxyParams{ID: l.After, Workspaces: l.Workspaces})
		if errors.Is(err, ErrNoRow) || err == nil && l.WorkspaceID != "" && l.WorkspaceID != row.WorkspaceID {
			return Page[Proxy]{Rows: []Proxy{}, Total: totals.Proxies}, nil
		}
		if err != nil {
			return Page[Proxy]{}, Typed(err)
		}
		at = cursor{number: row.CreatedAt, id: row.ID}
	}
	limit := int64(l.Limit)
	if limit >= 0 {
		limit++ // to see whether there are more
	}
	var rows []Proxy
	if l.WorkspaceID == "" {
		rows, err = q.ListProxies(ctx, ListProxiesParams{AfterKey: at.number, AfterID: at.id, Workspaces: l.Workspaces, Offset: l.Offset, Limit: limit})
	} else {
		rows, err = q.ListProxiesOfWorkspace(ctx, ListProxiesOfWorkspaceParams{WorkspaceID: l.WorkspaceID, AfterKey: at.number, AfterID: at.id,
			Workspaces: l.Workspaces, Offset: l.Offset, Limit: limit})
	}
	return cut(rows, totals.Proxies, l.Limit), Typed(err)
}
