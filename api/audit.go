package api

import (
	"context"
	"encoding/base64"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Records who reads secrets, cookies and storage, writes or clears them, exports and imports profiles, changes workspaces, templates,
// schedules, webhooks and extensions, and installs browsers. The record is written before the answer.

// auditJSON is one record of the audit log.
type auditJSON struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	KeyID       string         `json:"keyId" doc:"The key that was used; environment: WARREN_API_KEY."`
	KeyName     string         `json:"keyName" example:"ci"`
	WorkspaceID *string        `json:"workspaceId" doc:"null: several workspaces."`
	Action      string         `json:"action" example:"proxy.secret"`
	ObjectID    *string        `json:"objectId" doc:"The proxy, profile, template, schedule, webhook or workspace, or the version of a browser; null: a list."`
	Remote      string         `json:"remote" doc:"The caller's address, as GET /ip answers it." example:"203.0.113.7"`
	RequestID   string         `json:"requestId"`
	Detail      map[string]any `json:"detail" doc:"What was requested, and how many there were; the new name of a workspace; the members of a template, of a schedule, of a webhook or of defaults that were changed."`
}

func (auditJSON) example() any {
	return auditJSON{ID: exampleRunID, At: exampleTime(), KeyID: exampleProfileID, KeyName: "ci", WorkspaceID: new("default"),
		Action: "proxies.export", Remote: "203.0.113.7", RequestID: exampleRunID,
		Detail: map[string]any{"count": 12, "format": "csv", "secrets": true, "tag": []string{"shop"}}}
}

// audit records what the caller is about to read. If it returns an error, the secret must not be answered.
func (s *API) audit(ctx context.Context, action, workspace, object string, detail map[string]any) error {
	row, err := s.auditEntry(ctx, action, workspace, object, detail)
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(q *store.Queries) error { return store.ErrorOf(q.InsertAudit(ctx, row)) })
}

// auditEntry returns a record of what the caller does, for the transaction that does it.
func (s *API) auditEntry(ctx context.Context, action, workspace, object string, detail map[string]any) (row store.InsertAuditParams,
	err error) {
	req := requestOf(ctx)
	name := "WARREN_API_KEY"
	key, err := s.store.Read().GetKey(ctx, store.GetKeyParams{ID: req.caller.KeyID})
	switch {
	case err == nil:
		name = key.Name
	case !errors.Is(err, store.ErrNoRow):
		return row, err
	}
	text, err := json.Marshal(detail, json.Deterministic(true))
	return store.InsertAuditParams{ID: store.NewID(), At: now(), KeyID: req.caller.KeyID, KeyName: name, WorkspaceID: workspace,
		Action: action, ObjectID: object, Remote: s.clientIP(req.http), RequestID: req.id, Detail: string(text)}, err
}

// auditList holds the query parameters of the audit log.
type auditList struct {
	Paging
	Action string `query:"action" enum:"proxy.secret,proxies.export,workspace.create,workspace.rename,browser.install,profiles.export,profiles.import,cookies.read,cookies.write,cookies.delete,storage.read,storage.write,profile.clear,workspace.defaults,template.create,template.update,template.delete,schedule.create,schedule.update,schedule.delete,extension.add,extension.delete,webhook.create,webhook.update,webhook.delete,webhook.rotate"`
}

func (s *API) listAudit(ctx context.Context, in *auditList) (*listBody[auditJSON], error) {
	found, err := s.store.ListAudit(ctx, store.AuditList{Workspaces: callerOf(ctx).Sees.Filter(), Action: in.Action, After: in.After,
		Limit: in.Limit, Offset: in.offset()})
	if err != nil {
		return nil, err
	}
	return answerList(found, in.Paging, func(a store.Audit) (auditJSON, error) {
		detail := map[string]any{}
		err := json.Unmarshal([]byte(a.Detail), &detail)
		return auditJSON{a.ID, runs.Millis(a.At), a.KeyID, a.KeyName, orNull(a.WorkspaceID), a.Action, orNull(a.ObjectID), a.Remote,
			a.RequestID, detail}, err
	})
}

type secretJSON struct {
	Password *string `json:"password" doc:"null: the proxy has none, or it is not UTF-8." example:"secret"`
	Base64   string  `json:"base64,omitempty" doc:"A password that is not UTF-8, which JSON cannot hold."`
}

func (secretJSON) example() any { return secretJSON{Password: new("secret")} }

// secretRequest names the proxy whose password is read.
type secretRequest struct{ ProxyPath }

func (secretRequest) problems() []*problem.Error {
	return []*problem.Error{pool.PasswordUnreadable(nil)}
}

// proxySecret answers the password of one proxy. No other operation but an export with secrets does.
func (s *API) proxySecret(ctx context.Context, in *secretRequest) (*struct{ Body secretJSON }, error) {
	row, err := s.pool.Get(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	if err := row.Usable(); err != nil {
		return nil, err
	}
	if err := s.audit(ctx, "proxy.secret", row.WorkspaceID, row.ID, map[string]any{}); err != nil {
		return nil, err
	}
	password := row.Address.Password
	out := secretJSON{Password: orNull(password)}
	if !utf8.ValidString(password) {
		out = secretJSON{Base64: base64.StdEncoding.EncodeToString([]byte(password))}
	}
	return &struct{ Body secretJSON }{out}, nil
}
