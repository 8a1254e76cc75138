package api

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/problem"
	"warren/runs"
	"warren/store"
	"warren/webhooks"
)

// The operations on webhooks. Package webhooks delivers to them.

// maxWebhooks is how many webhooks a workspace may have: each event is written once for each of them.
const maxWebhooks = 50

// webhookJSON is a webhook as the API shows it: its secret never, but once, when it is made.
type webhookJSON struct {
	ID             string     `json:"id" example:"0199a1c2-7d3e-7a10-8a55-01234567d00d"`
	WorkspaceID    string     `json:"workspaceId" doc:"*: of all workspaces, and of the server itself." example:"default"`
	URL            string     `json:"url" example:"https://example.com/hook"`
	Events         []string   `json:"events" example:"[\"run.*\",\"proxy.died\"]"`
	Enabled        bool       `json:"enabled"`
	DisabledReason *string    `json:"disabledReason" enum:"gone,failing" doc:"Why the server turned it off: it answered 410, or failed for five days. null: the server did not."`
	FailingSince   *time.Time `json:"failingSince,format:'2006-01-02T15:04:05.000Z07:00'" doc:"The first failure since the last success; null: the last attempt was taken, or there was none." example:"2026-11-21T14:06:00.000Z"`
	Dropped        int64      `json:"dropped" doc:"Deliveries that were dropped because more than 10,000 were pending."`
	LastDroppedAt  *time.Time `json:"lastDroppedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	OldSecretUntil *time.Time `json:"oldSecretUntil,format:'2006-01-02T15:04:05.000Z07:00'" doc:"Until when the former secret signs too; null: it does not." example:"2026-11-21T14:06:00.000Z"`
	CreatedAt      time.Time  `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt      time.Time  `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	Secret         string     `json:"secret,omitempty" doc:"The secret itself, this once: whsec_ and base64."`
}

func (webhookJSON) example() any { return exampleWebhook() }

func exampleWebhook() webhookJSON {
	at := exampleTime()
	return webhookJSON{ID: exampleWebhookID, WorkspaceID: "default", URL: "https://example.com/hook",
		Events: []string{"run.*", "proxy.died"}, Enabled: true, CreatedAt: at, UpdatedAt: at}
}

func (s *API) showWebhook(row store.Webhook) (webhookJSON, error) {
	address, err := s.webhooks.URL(row)
	if err != nil {
		return webhookJSON{}, err
	}
	j := webhookJSON{ID: row.ID, WorkspaceID: webhooks.Place(row), URL: address, Events: []string{}, Enabled: row.Enabled,
		DisabledReason: orNull(row.OffReason), FailingSince: millisOrNil(row.FailingSince), Dropped: row.Dropped,
		LastDroppedAt: millisOrNil(row.DroppedAt), CreatedAt: runs.Millis(row.CreatedAt), UpdatedAt: runs.Millis(row.UpdatedAt)}
	if row.OldUntil != nil && *row.OldUntil > now() {
		j.OldSecretUntil = millisOrNil(row.OldUntil)
	}
	return j, json.Unmarshal([]byte(row.Events), &j.Events)
}

// webhookBody is the answer of the operations on one webhook.
type webhookBody struct {
	ETag string `header:"ETag"`
	Body webhookJSON
}

func (s *API) webhookAnswer(row store.Webhook) (*webhookBody, error) {
	j, err := s.showWebhook(row)
	return &webhookBody{ETag: etag(row.Revision), Body: j}, err
}

// webhookSecretBody is the answer of an operation that makes a secret.
type webhookSecretBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     webhookJSON
}

func (webhookSecretBody) example() any {
	j := exampleWebhook()
	j.Secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	return j
}

func (s *API) webhookSecretAnswer(row store.Webhook, secret string) (*webhookSecretBody, error) {
	j, err := s.showWebhook(row)
	j.Secret = secret
	return &webhookSecretBody{ETag: etag(row.Revision), Location: Prefix + "/webhooks/" + row.ID, Body: j}, err
}

// WebhookPath names one webhook.
type WebhookPath struct {
	ID string `path:"id" doc:"The webhook's id."`
}

// webhookRow returns a webhook that the caller sees.
func webhookRow(ctx context.Context, q *store.Queries, id string) (store.Webhook, error) {
	row, err := q.GetWebhook(ctx, store.GetWebhookParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	return row, orNotFound(store.Typed(err), "webhook")
}

func (s *API) getWebhook(ctx context.Context, in *struct{ WebhookPath }) (*webhookBody, error) {
	row, err := webhookRow(ctx, s.store.Read(), in.ID)
	if err != nil {
		return nil, err
	}
	return s.webhookAnswer(row)
}

// webhookList are the parameters of a list of webhooks.
type webhookList struct {
	InWorkspace
	Paging
}

// Resolve checks both embedded parts: Go would call only the shallower one.
func (in *webhookList) Resolve(ctx huma.Context) []error {
	if in.WorkspaceID == webhooks.WholeServer {
		return in.Paging.Resolve(ctx)
	}
	return append(in.InWorkspace.Resolve(ctx), in.Paging.Resolve(ctx)...)
}

func (s *API) listWebhooks(ctx context.Context, in *webhookList) (*listBody[webhookJSON], error) {
	q, sees := s.store.Read(), callerOf(ctx).Sees.Filter()
	return listByTime(ctx, s, in.Paging, timeList[store.Webhook, webhookJSON]{
		kind: "webhook",
		at:   func(row store.Webhook) (int64, string) { return row.CreatedAt, row.ID },
		count: func() (int64, error) {
			return q.CountWebhooks(ctx, store.CountWebhooksParams{InWorkspace: in.WorkspaceID, Workspaces: sees})
		},
		find: func(id string) (store.Webhook, error) {
			return q.GetWebhook(ctx, store.GetWebhookParams{ID: id, Workspaces: sees})
		},
		rows: func(key int64, id string, limit, offset int64) ([]store.Webhook, error) {
			return q.ListWebhooks(ctx, store.ListWebhooksParams{AfterKey: key, AfterID: id, InWorkspace: in.WorkspaceID, Workspaces: sees,
				Limit: limit, Offset: offset})
		},
		show: s.showWebhook})
}

// WebhookInput are the members of a request for a webhook.
type WebhookInput struct {
	WorkspaceID opt[string]   `json:"workspaceId,omitempty" doc:"The workspace that owns it, and of whose events it is told. *: it is told of all events, also of those of the server itself; only for keys that see all workspaces. It never changes."`
	URL         opt[string]   `json:"url,omitempty" doc:"Where events are sent: https:// or http://, at most 2,048 bytes, without user name, password and #. On the public internet, unless the server runs with --webhook-allow-private=yes." example:"https://example.com/hook"`
	Events      opt[[]string] `json:"events,omitempty" minItems:"1" maxItems:"50" doc:"The types of events: run.ended, run.* for a group, or * for all." example:"[\"run.*\",\"proxy.died\"]"`
	Enabled     opt[bool]     `json:"enabled,omitempty" doc:"Default: true. While it is false nothing is enqueued, and what is pending waits."`
}

const (
	enterWebhookURL    = "Enter the address where events are sent, such as https://example.com/hook."
	enterWebhookEvents = `Choose types of events, such as "run.*", or "*" for all.`
)

// check notes what is wrong with each member by itself. whole is for a webhook that may be of the whole server.
func (in *WebhookInput) check(f *faults, s *webhooks.Sender, whole bool) {
	if f.require(!in.URL.Null, "body.url", enterWebhookURL); in.URL.given() {
		if message := s.CheckURL(in.URL.Value); message != "" {
			f.add("body.url", message, nil)
		}
	}
	f.require(!in.Events.Null, "body.events", enterWebhookEvents)
	for i, pattern := range in.Events.Value {
		if message := webhooks.CheckPattern(pattern, whole); message != "" {
			f.add(element("body.events", i), message, nil)
		}
	}
	f.eachOnce("body.events", in.Events.Value)
}

// checkPlace notes that a webhook that is there is asked to move, or to be told of events that its workspace does not have.
func (in *WebhookInput) checkPlace(f *faults, row store.Webhook) {
	f.otherWorkspace(in.WorkspaceID, webhooks.Place(row))
	for i, pattern := range in.Events.Value {
		if webhooks.CheckPattern(pattern, true) == "" && row.WorkspaceID != nil {
			message := webhooks.CheckPattern(pattern, false)
			f.require(message == "", element("body.events", i), message)
		}
	}
}

func tooManyWebhooks() *problem.Error {
	return problem.New(problem.Conflict, "webhook_limit",
		fmt.Sprintf("A workspace, and the whole server, may have %d webhooks, which are there. Delete some first.", maxWebhooks))
}

// webhookCreate is a webhook to make.
type webhookCreate struct {
	Body WebhookInput

	row store.Webhook
}

func (webhookCreate) example() any {
	return map[string]any{"url": "https://example.com/hook", "events": []string{"run.*", "proxy.died"}}
}

func (webhookCreate) problems() []*problem.Error { return []*problem.Error{tooManyWebhooks()} }

// Resolve checks the request by itself.
func (in *webhookCreate) Resolve(ctx huma.Context) []error {
	at := now()
	in.row = store.Webhook{ID: store.NewID(), Enabled: true, CreatedAt: at, UpdatedAt: at}
	var f faults
	whole := in.Body.WorkspaceID.Value == webhooks.WholeServer
	in.Body.check(&f, requestOf(ctx.Context()).api.webhooks, whole)
	f.require(in.Body.URL.Set, "body.url", enterWebhookURL)
	f.require(in.Body.Events.Set, "body.events", enterWebhookEvents)
	if c := callerOf(ctx.Context()); whole {
		f.require(c.Sees.SeesAll(), "body.workspaceId", "Choose a workspace: this key does not see all of them.")
	} else {
		in.row.WorkspaceID = new(f.workspace(c, "body.workspaceId", in.Body.WorkspaceID))
	}
	in.Body.Enabled.merge(&in.row.Enabled, true)
	in.row.Events = jsonList(in.Body.Events.Value)
	return f.errors()
}

func (s *API) createWebhook(ctx context.Context, in *webhookCreate) (*webhookSecretBody, error) {
	row, secret := in.row, webhooks.NewSecret()
	sealed, err := s.webhooks.Seal(row.ID, in.Body.URL.Value, secret)
	if err != nil {
		return nil, err
	}
	about(ctx, webhooks.OfWorkspace(row), row.ID, map[string]any{"events": in.Body.Events.Value})
	var made store.Webhook
	err = s.change(ctx, func(q *store.Queries) error {
		if row.WorkspaceID != nil {
			_, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: *row.WorkspaceID, Now: row.CreatedAt})
			if err != nil {
				return err
			}
		}
		n, err := q.CountWebhooks(ctx, store.CountWebhooksParams{InWorkspace: webhooks.Place(row)})
		if err == nil && n >= maxWebhooks {
			err = tooManyWebhooks()
		}
		if err != nil {
			return err
		}
		made, err = q.InsertWebhook(ctx, store.InsertWebhookParams{ID: row.ID, WorkspaceID: row.WorkspaceID, URL: sealed.URL,
			Secret: sealed.Secret, Events: row.Events, Enabled: row.Enabled, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt})
		if err != nil {
			return err
		}
		return recordCreated(ctx, q, made.ID)
	})
	if err == nil {
		err = s.webhooks.Changed(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "webhook.created", Workspace: webhooks.OfWorkspace(made), Data: objectEvent{made.ID}})
	return s.webhookSecretAnswer(made, secret)
}

// webhookUpdate holds the members to change.
type webhookUpdate struct {
	WebhookPath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the webhook has changed since. Deliveries do not change it."`
	Body    WebhookInput
}

func (webhookUpdate) example() any { return map[string]any{"events": []string{"*"}, "enabled": true} }

// Resolve checks the request by itself.
func (in *webhookUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	in.Body.check(&f, requestOf(ctx.Context()).api.webhooks, true)
	return f.errors()
}

func (in *webhookUpdate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	row, err := webhookRow(ctx, s.store.Read(), in.ID)
	if err == nil {
		in.Body.checkPlace(&f, row)
	}
	return f, err
}

// updateWebhook merges and writes in one transaction. Faults come before If-Match (RFC 9110, 13.2.1).
func (s *API) updateWebhook(ctx context.Context, in *webhookUpdate) (*webhookBody, error) {
	changed := membersOf(in.Body)
	row, err := s.changeWebhook(ctx, in.ID, in.IfMatch, map[string]any{"changed": changed},
		func(row *store.Webhook, f *faults) (err error) {
			in.Body.checkPlace(f, *row)
			in.Body.Enabled.merge(&row.Enabled, true)
			if in.Body.Events.given() {
				row.Events = jsonList(in.Body.Events.Value)
			}
			if in.Body.URL.given() {
				row.URL, err = s.webhooks.SealURL(row.ID, in.Body.URL.Value)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "webhook.updated", Workspace: webhooks.OfWorkspace(row), Data: objectUpdated{changed, row.ID}})
	return s.webhookAnswer(row)
}

// changeWebhook reads a webhook, changes it, and writes it with a record of the audit, in one transaction.
func (s *API) changeWebhook(ctx context.Context, id, ifMatch string, detail map[string]any,
	change func(*store.Webhook, *faults) error) (row store.Webhook, err error) {
	err = s.change(ctx, func(q *store.Queries) error {
		var err error
		if row, err = webhookRow(ctx, q, id); err != nil {
			return err
		}
		var f faults
		err = change(&row, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if !matches(ifMatch, row.Revision) {
			return etagMismatch()
		}
		row, err = q.UpdateWebhook(ctx, store.UpdateWebhookParams{ID: row.ID, Revision: row.Revision, URL: row.URL, Secret: row.Secret,
			OldSecret: row.OldSecret, OldUntil: row.OldUntil, Events: row.Events, Enabled: row.Enabled, UpdatedAt: now(),
			Workspaces: callerOf(ctx).Sees.Filter()})
		if err != nil {
			return err
		}
		about(ctx, webhooks.OfWorkspace(row), row.ID, detail)
		return nil
	})
	if err == nil {
		err = s.webhooks.Changed(ctx)
	}
	return row, err
}

type webhookDelete struct {
	WebhookPath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the webhook has changed since."`
}

// deleteWebhook deletes a webhook with its deliveries. An attempt under way comes to its end.
func (s *API) deleteWebhook(ctx context.Context, in *webhookDelete) (*struct{}, error) {
	var row store.Webhook
	err := s.change(ctx, func(q *store.Queries) (err error) {
		row, err = webhookRow(ctx, q, in.ID)
		if err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		about(ctx, webhooks.OfWorkspace(row), row.ID, map[string]any{})
		return store.ErrorOf(q.DeleteWebhook(ctx, store.DeleteWebhookParams{ID: row.ID, Workspaces: callerOf(ctx).Sees.Filter()}))
	})
	if err == nil {
		err = s.webhooks.Changed(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "webhook.deleted", Workspace: webhooks.OfWorkspace(row), Data: objectEvent{in.ID}})
	return nil, nil
}

// rotateSecretInput says how long the former secret signs too.
type rotateSecretInput struct {
	KeepOldMs opt[int64] `json:"keepOldMs,omitempty" minimum:"0" maximum:"604800000" doc:"How long the former secret signs too. Default: 24 hours. 0: not at all, for a secret that others know."`
}

func (rotateSecretInput) example() any { return map[string]any{"keepOldMs": 3600000} }

type rotateSecretRequest struct {
	WebhookPath
	Body *rotateSecretInput `required:"false"`
}

// rotateWebhookSecret gives a webhook a new secret. Of two former ones, only the last signs on.
func (s *API) rotateWebhookSecret(ctx context.Context, in *rotateSecretRequest) (*webhookSecretBody, error) {
	overlap, secret := webhooks.DefaultOverlap, webhooks.NewSecret()
	if in.Body != nil && in.Body.KeepOldMs.given() {
		overlap = time.Duration(in.Body.KeepOldMs.Value) * time.Millisecond
	}
	row, err := s.changeWebhook(ctx, in.ID, "", map[string]any{"keepOldMs": overlap.Milliseconds()},
		func(row *store.Webhook, _ *faults) error {
			var until time.Time
			if overlap > 0 {
				until = time.Now().Add(overlap)
			}
			sealed, err := s.webhooks.Rotate(*row, secret, until)
			row.Secret, row.OldSecret, row.OldUntil = sealed.Secret, sealed.OldSecret, sealed.OldUntil
			return err
		})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "webhook.updated", Workspace: webhooks.OfWorkspace(row),
		Data: objectUpdated{[]string{"secret"}, row.ID}})
	return s.webhookSecretAnswer(row, secret)
}
