package store

import (
	"context"

	"github.com/go-json-experiment/json"
)

// Finds and inserts many proxies with few statements. One statement for each of ten thousand would block other
// writers.

// FindAddresses returns the ids of a workspace's proxies that have the address of one of rows. The result maps the
// index in rows to the id.
func (q *Queries) FindAddresses(ctx context.Context, workspace string, workspaces *string, rows []Proxy) (map[int]string, error) {
	addresses := make([][4]any, len(rows))
	for i, p := range rows {
		addresses[i] = [4]any{p.Type, p.Host, p.Port, p.Username}
	}
	found, err := q.FindProxies(ctx, FindProxiesParams{Addresses: *jsonText(addresses), WorkspaceID: workspace, Workspaces: workspaces})
	ids := make(map[int]string, len(found))
	for _, f := range found {
		ids[int(f.Place)] = f.ID
	}
	return ids, err
}

// AddProxies inserts the proxies of one workspace with the same creation time, Unix ms. Their texts must be UTF-8.
func (q *Queries) AddProxies(ctx context.Context, workspace string, now int64, rows []Proxy) error {
	type added struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Host      string `json:"host"`
		Port      int64  `json:"port"`
		Username  string `json:"username"`
		Password  []byte `json:"password,omitempty,format:base16"` // sealed
		Name      string `json:"name"`
		Tags      string `json:"tags"`
		Notes     string `json:"notes"`
		RotateURL string `json:"rotateUrl"`
		Sealed    []byte `json:"rotateSealed,omitempty,format:base16"`
	}
	list := make([]added, len(rows))
	for i, p := range rows {
		list[i] = added{ID: p.ID, Type: p.Type, Host: p.Host, Port: p.Port, Username: p.Username, Password: p.Password,
			Name: p.Name, Tags: p.Tags, Notes: p.Notes, RotateURL: p.RotateURL, Sealed: p.RotateSealed}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = q.InsertProxies(ctx, InsertProxiesParams{WorkspaceID: workspace, Now: now, Proxies: string(text)})
	return err
}
