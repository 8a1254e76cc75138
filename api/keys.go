package api

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// keyJSON is a key as the API shows it: never the key itself, but once, when it is made.
type keyJSON struct {
	ID         string        `json:"id" example:"0199a1c2-7d3e-7a10-8a55-0123456789ab"`
	Name       string        `json:"name" example:"ci"`
	Hint       string        `json:"hint" doc:"How the key begins, to recognise it." example:"wrn_4fGh"`
	Scopes     []store.Right `json:"scopes"`
	Workspaces []string      `json:"workspaces,format:emitnull" nullable:"true" doc:"The workspaces that it sees; null: all."`
	ExpiresAt  *time.Time    `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	LastUsedAt *time.Time    `json:"lastUsedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	CreatedAt  time.Time     `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	RevokedAt  *time.Time    `json:"revokedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	Session    bool          `json:"session" doc:"Whether it is a session key: a web page's own. It expires 30 days after its last use, and ends with the key that it came from."`
	Key        string        `json:"key,omitempty" doc:"The key itself, this once."`
}

func (keyJSON) example() any { return exampleKey() }

func exampleKey() keyJSON {
	return keyJSON{ID: exampleProfileID, Name: "ci", Hint: "wrn_0000", Scopes: []store.Right{scopeRead, scopeRun},
		Workspaces: []string{"default"}, ExpiresAt: new(runs.Millis(1801353600000)), CreatedAt: exampleTime()}
}

// keyInput is a key to make.
type keyInput struct {
	Name       string        `json:"name" example:"ci"`
	Scopes     []store.Right `json:"scopes" minItems:"1" enum:"read,run,write,files,secrets,admin" doc:"read: everything but secrets. run: start, stop, check and drive browsers. write: create, change, delete, import. files: let clients of a browser use files of the machine, as the user that runs the server. secrets: proxy passwords and whole rotateUrls. admin: keys, workspaces and settings, and all the others. run and write contain read."`
	Workspaces opt[[]string] `json:"workspaces,omitempty" maxItems:"1000" doc:"Workspaces that the key sees; null or absent: all. A key that sees some makes keys of these alone."`
	ExpiresAt  opt[string]   `json:"expiresAt,omitempty" format:"date-time" doc:"When it ends; null or absent: never."`

	expires *int64
}

func (keyInput) example() any {
	return map[string]any{"name": "ci", "scopes": []string{"read", "run"}, "workspaces": []string{"default"},
		"expiresAt": "2027-01-31T00:00:00Z"}
}

// createdKey is a new key, with the key itself.
type createdKey struct {
	Location string `header:"Location"`
	Body     keyJSON
}

func (createdKey) example() any {
	k := exampleKey()
	k.Key = "wrn_" + strings.Repeat("0", 43) + keyChecksum(strings.Repeat("0", 43))
	return k
}

// Resolve checks the request by itself. No key makes one that sees more workspaces than itself.
func (in *keyInput) Resolve(ctx huma.Context) []error {
	var f faults
	maker := callerOf(ctx.Context())
	f.require(maker.Sees.SeesAll() || in.Workspaces.given(), "body.workspaces", "Choose workspaces: this key does not see all of them.")
	in.Name = f.line("body.name", in.Name, 1, 200)
	slices.Sort(in.Scopes)
	in.Scopes = slices.Compact(in.Scopes)
	if in.Workspaces.given() {
		f.require(len(in.Workspaces.Value) > 0, "body.workspaces", "Choose at least one workspace, or null for all.")
		for i, w := range in.Workspaces.Value {
			f.workspace(maker, element("body.workspaces", i), opt[string]{Set: true, Value: w})
		}
	}
	if in.ExpiresAt.given() {
		at, err := time.Parse(time.RFC3339, in.ExpiresAt.Value)
		if err != nil || !at.After(time.Now()) {
			f.add("body.expiresAt", "Choose a time in the future, such as 2027-01-31T00:00:00Z.", in.ExpiresAt.Value)
		}
		in.expires = new(at.UnixMilli())
	}
	return f.errors()
}

func keyFromRow(row store.Key) (keyJSON, error) {
	c, err := row.Holder()
	if err != nil {
		return keyJSON{}, err
	}
	return keyJSON{
		ID: row.ID, Name: row.Name, Hint: row.Hint, Scopes: c.Rights, Workspaces: c.Sees.Workspaces(),
		ExpiresAt: millisOrNil(row.ExpiresAt), LastUsedAt: millisOrNil(row.LastUsedAt),
		CreatedAt: runs.Millis(row.CreatedAt), RevokedAt: millisOrNil(row.RevokedAt), Session: row.Parent != nil,
	}, nil
}

// newKeyRow returns the row of a new key. expires is in milliseconds since 1970; nil is never.
func newKeyRow(key, name string, scopes []store.Right, sees store.Scope, expires *int64) (store.Key, error) {
	hash := hashKey(key)
	scopesJSON, err := json.Marshal(scopes)
	return store.Key{ID: store.NewID(), Name: name, Hash: hash[:], Hint: key[:8], Scopes: string(scopesJSON),
		Workspaces: sees.Filter(), ExpiresAt: expires, CreatedAt: now()}, err
}

func insertKey(ctx context.Context, q *store.Queries, row store.Key) error {
	_, err := q.InsertKey(ctx, store.InsertKeyParams{ID: row.ID, Name: row.Name, Hash: row.Hash, Hint: row.Hint, Scopes: row.Scopes,
		Workspaces: row.Workspaces, ExpiresAt: row.ExpiresAt, CreatedAt: row.CreatedAt, Parent: row.Parent})
	return err
}

// add stores a new key, and makes those of its workspaces that do not exist. expires is in milliseconds since 1970; nil is never.
func (k *keyring) add(ctx context.Context, key, name string, scopes []store.Right, workspaces []string, expires *int64) (store.Key, error) {
	sees := store.All()
	if workspaces != nil {
		sees = store.Only(workspaces)
	}
	row, err := newKeyRow(key, name, scopes, sees, expires)
	if err != nil {
		return store.Key{}, err
	}
	about(ctx, "", row.ID, map[string]any{"name": name, "scopes": scopes, "workspaces": workspaces, "expiresAt": millisOrNil(expires)})
	err = changeIn(ctx, k.store, func(q *store.Queries) error {
		for _, w := range workspaces {
			if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: w, Now: row.CreatedAt}); err != nil {
				return err
			}
		}
		if err := insertKey(ctx, q, row); err != nil {
			return err
		}
		return recordCreated(ctx, q, row.ID)
	})
	return row, err
}

func (s *API) createKey(ctx context.Context, in *struct{ Body keyInput }) (*createdKey, error) {
	key := NewKey()
	row, err := s.keys.add(ctx, key, in.Body.Name, in.Body.Scopes, in.Body.Workspaces.Value, in.Body.expires)
	if err != nil {
		return nil, err
	}
	return s.answerCreatedKey(row, key)
}

// answerCreatedKey publishes a new key and answers it.
func (s *API) answerCreatedKey(row store.Key, key string) (*createdKey, error) {
	out := &createdKey{Location: Prefix + "/keys/" + row.ID}
	var err error
	if out.Body, err = keyFromRow(row); err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "key.created", Data: objectEvent{row.ID}})
	out.Body.Key = key
	return out, nil
}

func (s *API) listKeys(ctx context.Context, in *struct{ Paging }) (*listBody[keyJSON], error) {
	q, sees := s.store.Read(), callerOf(ctx).Sees.Filter()
	return listByTime(ctx, s, in.Paging, timeList[store.Key, keyJSON]{
		kind:  "key",
		at:    func(k store.Key) (int64, string) { return k.CreatedAt, k.ID },
		count: func() (int64, error) { return q.CountKeys(ctx, sees) },
		find:  func(id string) (store.Key, error) { return q.GetKey(ctx, store.GetKeyParams{ID: id, Workspaces: sees}) },
		rows: func(key int64, id string, limit, offset int64) ([]store.Key, error) {
			return q.ListKeys(ctx, store.ListKeysParams{AfterKey: key, AfterID: id, Workspaces: sees, Limit: limit, Offset: offset})
		},
		show: keyFromRow})
}

func (s *API) revokeKey(ctx context.Context, in *struct {
	ID string `path:"id" doc:"The key's id."`
}) (*struct{}, error) {
	return nil, s.revoke(ctx, in.ID)
}

// revoke revokes a key that the caller sees, and the session keys that came from it.
func (s *API) revoke(ctx context.Context, id string) error {
	var ended []string
	err := s.change(ctx, func(q *store.Queries) error {
		at := now()
		n, err := q.RevokeKey(ctx, store.RevokeKeyParams{ID: id, RevokedAt: at, Workspaces: callerOf(ctx).Sees.Filter()})
		if err == nil && n == 0 {
			err = problem.Missing("key")
		}
		if err != nil {
			return err
		}
		row, err := q.GetKey(ctx, store.GetKeyParams{ID: id})
		if err != nil {
			return err
		}
		about(ctx, "", id, map[string]any{"name": row.Name})
		sessions, err := q.RevokeSessionsOf(ctx, store.RevokeSessionsOfParams{Parent: id, RevokedAt: at})
		ended = append(sessions, id)
		return err
	})
	if err != nil {
		return err
	}
	s.endKeys(ctx, ended)
	return nil
}

// endKeys ends what keys that were revoked or deleted have open.
func (s *API) endKeys(ctx context.Context, ids []string) {
	for _, id := range ids {
		s.endKey(ctx, id)
		s.events.Publish(events.Event{Type: "key.revoked", Data: objectEvent{id}})
	}
}

// endKey ends what a key has open at this server.
func (s *API) endKey(ctx context.Context, id string) {
	s.keys.forget(id)
	s.keyContexts.cancelKey(id)
	s.runs.EndWithKey(ctx, id)
}

// adminKeyFile is the name of the file in the data folder that keeps the first admin key.
const adminKeyFile = "admin.key"

// firstKey makes the admin key of an empty database, and keeps it in admin.key for the command line. The file is written first: after
// a crash the key is in the file, or there is none and the next serve makes one. So it is after an error. It returns "" when there is a key
// already. Of several servers that ask at once, one makes it.
func (k *keyring) firstKey(ctx context.Context, dataDir string) (string, error) {
	have, err := k.store.Read().HasOwnKeys(ctx)
	if err != nil || have {
		return "", err
	}
	key, file := NewKey(), filepath.Join(dataDir, adminKeyFile)
	if err := store.WriteFile(file, key+"\n"); err != nil {
		return "", err
	}
	row, err := newKeyRow(key, "admin", []store.Right{scopeAdmin}, store.All(), nil)
	if err != nil {
		return "", err
	}
	err = k.store.Write(ctx, func(q *store.Queries) (err error) {
		if have, err = q.HasOwnKeys(ctx); err != nil || have {
			return err
		}
		return insertKey(ctx, q, row)
	})
	if err != nil {
		return "", err
	}
	if have { // another server has made one meanwhile
		return "", os.Remove(file)
	}
	return key, nil
}

// workspace decides where an object is made: in the workspace that is named, else in the key's only one, else in `default`.
// A workspace that the key may not see is the same as one that does not exist.
func (f *faults) workspace(c *caller, location string, named opt[string]) string {
	id := "default"
	if own := c.Sees.Workspaces(); len(own) == 1 {
		id = own[0]
	}
	if named.given() {
		id = named.Value
	}
	if !store.IsWorkspaceID(id) {
		f.add(location, store.WorkspaceRule, nil)
	} else if !c.sees(id) {
		f.add(location, "There is no such workspace, or this key may not use it.", nil)
	}
	return id
}

// otherWorkspace notes that an object of a workspace is asked to be of another one.
func (f *faults) otherWorkspace(asked opt[string], workspace string) {
	f.require(!asked.Set || !asked.Null && asked.Value == workspace, "body.workspaceId", "The workspace cannot be changed. Leave it out.")
}
