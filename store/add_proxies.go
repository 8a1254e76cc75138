package store

import "context"

// Finds and inserts many proxies with few statements. One statement for each of ten thousand would block other
// writers.

// FindAddresses returns the ids of a workspace's proxies that have the address of one of rows. The result maps the
// index in rows to the id.
func (q *Queries) FindAddresses(ctx context.Context, workspace string, workspaces *string, rows []Proxy) (map[int]string, error) {
	addresses := newRowList(len(rows))
	for _, p := range rows {
		addresses.add(p.Type, p.Host, p.Port, p.Username)
	}
	text, err := addresses.text()
	if err != nil {
		return nil, err
	}
	found, err := q.FindProxies(ctx, FindProxiesParams{Addresses: text, WorkspaceID: workspace, Workspaces: workspaces})
	ids := make(map[int]string, len(found))
	for _, f := range found {
		ids[int(f.Place)] = f.ID
	}
	return ids, err
}

// AddProxies inserts the proxies of one workspace with the same creation time, Unix ms. Their texts must be UTF-8.
func (q *Queries) AddProxies(ctx context.Context, workspace string, now int64, rows []Proxy) error {
	list := newRowList(len(rows))
	for _, p := range rows {
		list.add(p.ID, p.Type, p.Host, p.Port, p.Username, p.Password, p.Name, p.Tags, p.Notes, p.RotateURL, p.RotateSealed)
	}
	text, err := list.text()
	if err != nil {
		return err
	}
	_, err = q.InsertProxies(ctx, InsertProxiesParams{WorkspaceID: workspace, Now: now, Proxies: text})
	return err
}
