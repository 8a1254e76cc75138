package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// The operations on templates: settings for new profiles, under a name.

// maxTemplates is how many templates a workspace may have.
const maxTemplates = 1000

// templateJSON is a template as the API shows it. It has those settings alone that it gives to profiles.
type templateJSON struct {
	ID          string    `json:"id" example:"0199a1c2-7d3e-7a10-8a55-01234567beef"`
	WorkspaceID string    `json:"workspaceId" example:"default"`
	Name        string    `json:"name" example:"Shops"`
	CreatedAt   time.Time `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt   time.Time `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`

	SettingsShown
	text string // the settings as JSON
}

// SettingsShown are the settings of a template in an answer: those that it has.
type SettingsShown struct {
	ProfileInput
	Proxies opt[proxiesInput] `json:"proxies,omitempty" doc:"Where each new profile gets a proxy from."`
}

func (t templateJSON) appendJSON(b []byte) ([]byte, error) {
	o := newObject(b)
	o.text("id", t.ID)
	o.text("workspaceId", t.WorkspaceID)
	o.text("name", t.Name)
	if len(t.text) > len("{}") {
		o.b = append(append(o.b, ','), t.text[1:len(t.text)-1]...)
	}
	o.time("createdAt", t.CreatedAt)
	o.time("updatedAt", t.UpdatedAt)
	return o.end()
}

// MarshalJSON writes the same.
func (t templateJSON) MarshalJSON() ([]byte, error) { return t.appendJSON(nil) }

func (templateJSON) example() any {
	return templateJSON{ID: exampleTemplateID, WorkspaceID: "default", Name: "Shops", CreatedAt: exampleTime(), UpdatedAt: exampleTime(),
		text: `{"os":"win","tags":["shop"],"timezone":"auto","proxies":{"tag":"de","pick":"leastUsed"}}`}
}

func showTemplate(row store.Template) (templateJSON, error) {
	return templateJSON{ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name, text: row.Settings,
		CreatedAt: runs.Millis(row.CreatedAt), UpdatedAt: runs.Millis(row.UpdatedAt)}, nil
}

// templateBody is the answer of the operations on one template.
type templateBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     templateJSON
}

func templateAnswer(row store.Template) (*templateBody, error) {
	t, err := showTemplate(row)
	return &templateBody{ETag: etag(row.Revision), Body: t}, err
}

// TemplatePath names one template.
type TemplatePath struct {
	ID string `path:"id" doc:"The template's id."`
}

// templateAsRead returns a template that the caller sees, if it still has the revision of ifMatch.
func templateAsRead(ctx context.Context, q *store.Queries, c *caller, id, ifMatch string) (store.Template, error) {
	row, err := q.GetTemplate(ctx, store.GetTemplateParams{ID: id, Workspaces: c.Sees.Filter()})
	if err = orNotFound(store.Typed(err), "template"); err == nil && !matches(ifMatch, row.Revision) {
		return row, etagMismatch()
	}
	return row, err
}

func (s *API) getTemplate(ctx context.Context, in *struct{ TemplatePath }) (*templateBody, error) {
	row, err := templateAsRead(ctx, s.store.Read(), callerOf(ctx), in.ID, "")
	if err != nil {
		return nil, err
	}
	return templateAnswer(row)
}

// templateList are the parameters of a list of templates.
type templateList struct {
	InWorkspace
	Paging
	Search string `query:"search" maxLength:"200" doc:"Templates whose name contains it, whatever the case."`
}

// Resolve checks both embedded parts: Go would call only the shallower one.
func (in *templateList) Resolve(ctx huma.Context) []error {
	return append(in.InWorkspace.Resolve(ctx), in.Paging.Resolve(ctx)...)
}

func (s *API) listTemplates(ctx context.Context, in *templateList) (*listBody[templateJSON], error) {
	q, sees, search := s.store.Read(), callerOf(ctx).Sees.Filter(), store.Fold(in.Search)
	return listByTime(ctx, s, in.Paging, timeList[store.Template, templateJSON]{
		kind: "template",
		at:   func(t store.Template) (int64, string) { return t.CreatedAt, t.ID },
		count: func() (int64, error) {
			return q.CountTemplates(ctx, store.CountTemplatesParams{InWorkspace: in.WorkspaceID, Search: search, Workspaces: sees})
		},
		find: func(id string) (store.Template, error) {
			return q.GetTemplate(ctx, store.GetTemplateParams{ID: id, Workspaces: sees})
		},
		rows: func(key int64, id string, limit, offset int64) ([]store.Template, error) {
			return q.ListTemplates(ctx, store.ListTemplatesParams{AfterKey: key, AfterID: id, InWorkspace: in.WorkspaceID, Search: search,
				Workspaces: sees, Limit: limit, Offset: offset})
		},
		show: showTemplate})
}

func templateExists(id string) *problem.Error {
	return problem.New(problem.Conflict, "duplicate", "The workspace has a template of this name already. Choose another name.").
		With(pool.Existing(id))
}

func tooManyTemplates() *problem.Error {
	return problem.New(problem.Conflict, "template_limit", fmt.Sprintf("The workspace has %s templates already. Delete some first.",
		thousands(maxTemplates)))
}

// newName notes a name that another template of the workspace has: the error is templateExists.
func newName(ctx context.Context, q *store.Queries, c *caller, row store.Template) error {
	id, err := q.FindTemplate(ctx, store.FindTemplateParams{WorkspaceID: row.WorkspaceID, Name: row.Name, Workspaces: c.Sees.Filter()})
	switch {
	case errors.Is(err, store.ErrNoRow) || err == nil && id == row.ID:
		return nil
	case err == nil:
		return templateExists(id)
	}
	return err
}

// templateCreate is a template to make.
type templateCreate struct {
	Body templateSettings

	workspace string
}

func (templateCreate) example() any {
	return map[string]any{"name": "Shops", "os": "win", "tags": []string{"shop"}, "timezone": "auto",
		"proxies": map[string]any{"tag": "de", "pick": "leastUsed"}}
}

func (templateCreate) problems() []*problem.Error {
	return []*problem.Error{tooManyTemplates(), templateExists(exampleTemplateID)}
}

// Resolve checks the request by itself.
func (in *templateCreate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	f.require(in.Body.Name.Set, "body.name", enterName)
	in.Body.check(&f)
	f.mayStartWithServer(callerOf(ctx.Context()), &in.Body.ProfileInput)
	in.workspace = f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	return f.errors()
}

func (in *templateCreate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	return f, in.Body.checkStored(ctx, s, s.store.Read(), &in.Body, in.workspace, &f)
}

func (s *API) createTemplate(ctx context.Context, in *templateCreate) (*templateBody, error) {
	at, c := now(), callerOf(ctx)
	row := store.Template{ID: store.NewID(), WorkspaceID: in.workspace, Name: in.Body.Name.Value, Revision: 1, CreatedAt: at, UpdatedAt: at}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name})
	var err error
	if row.Settings, err = in.Body.text(); err != nil {
		return nil, err
	}
	var made store.Template
	err = s.change(ctx, func(q *store.Queries) error {
		var f faults
		err := in.Body.checkStored(ctx, s, q, &in.Body, in.workspace, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: row.WorkspaceID, Now: at}); err != nil {
			return err
		}
		if err := newName(ctx, q, c, row); err != nil {
			return err
		}
		n, err := q.CountTemplates(ctx, store.CountTemplatesParams{InWorkspace: row.WorkspaceID})
		if err == nil && n >= maxTemplates {
			err = tooManyTemplates()
		}
		if err != nil {
			return err
		}
		made, err = q.InsertTemplate(ctx, store.InsertTemplateParams{ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name,
			SearchKey: store.Fold(row.Name), Settings: row.Settings, CreatedAt: at, UpdatedAt: at})
		if err != nil {
			return err
		}
		return recordCreated(ctx, q, made.ID)
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "template.created", Workspace: made.WorkspaceID, Data: objectEvent{made.ID}})
	body, err := templateAnswer(made)
	body.Location = Prefix + "/templates/" + made.ID
	return body, err
}

// templateUpdate holds the members to change.
type templateUpdate struct {
	TemplatePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the template has changed since."`
	Body    templateSettings
}

func (templateUpdate) example() any {
	return map[string]any{"timezone": "Europe/Berlin", "headless": true}
}

func (templateUpdate) problems() []*problem.Error {
	return []*problem.Error{templateExists(exampleTemplateID)}
}

// Resolve checks the request by itself.
func (in *templateUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	in.Body.check(&f)
	f.mayStartWithServer(callerOf(ctx.Context()), &in.Body.ProfileInput)
	return f.errors()
}

func (in *templateUpdate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	row, err := templateAsRead(ctx, s.store.Read(), callerOf(ctx), in.ID, "")
	if err != nil {
		return nil, err
	}
	return f, in.merge(ctx, s, s.store.Read(), &row, &f)
}

// merge merges the request into a row, and notes the faults that the database and this server show.
func (in *templateUpdate) merge(ctx context.Context, s *API, q *store.Queries, row *store.Template, f *faults) error {
	whole, err := readTemplateSettings(row.Settings)
	if err != nil {
		return err
	}
	whole.change(&in.Body)
	f.otherWorkspace(in.Body.WorkspaceID, row.WorkspaceID)
	if err := in.Body.checkStored(ctx, s, q, &whole, row.WorkspaceID, f); err != nil {
		return err
	}
	in.Body.Name.merge(&row.Name, row.Name)
	row.Settings, err = whole.text()
	return err
}

// updateTemplate merges, checks and writes in one transaction. Faults come before If-Match (RFC 9110, 13.2.1).
func (s *API) updateTemplate(ctx context.Context, in *templateUpdate) (*templateBody, error) {
	c, changed := callerOf(ctx), in.Body.members()
	var row store.Template
	err := s.writeTemplate(ctx, in.TemplatePath, &row, map[string]any{"changed": changed}, func(q *store.Queries) error {
		var f faults
		err := in.merge(ctx, s, q, &row, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		if err := newName(ctx, q, c, row); err != nil {
			return err
		}
		row, err = q.UpdateTemplate(ctx, store.UpdateTemplateParams{ID: row.ID, Revision: row.Revision, Name: row.Name,
			SearchKey: store.Fold(row.Name), Settings: row.Settings, UpdatedAt: now(), Workspaces: c.Sees.Filter()})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "template.updated", Workspace: row.WorkspaceID, Data: objectUpdated{changed, row.ID}})
	return templateAnswer(row)
}

// writeTemplate reads a template, changes it and records who did, in one transaction.
func (s *API) writeTemplate(ctx context.Context, at TemplatePath, row *store.Template, detail map[string]any,
	change func(q *store.Queries) error) error {
	return s.change(ctx, func(q *store.Queries) (err error) {
		if *row, err = templateAsRead(ctx, q, callerOf(ctx), at.ID, ""); err != nil {
			return err
		}
		if err := change(q); err != nil {
			return err
		}
		detail["name"] = row.Name
		about(ctx, row.WorkspaceID, row.ID, detail)
		return nil
	})
}

type templateDelete struct {
	TemplatePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the template has changed since."`
}

// deleteTemplate deletes a template. Profiles keep what they got from it.
func (s *API) deleteTemplate(ctx context.Context, in *templateDelete) (*struct{}, error) {
	var row store.Template
	err := s.writeTemplate(ctx, in.TemplatePath, &row, map[string]any{}, func(q *store.Queries) error {
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		return store.ErrorOf(q.DeleteTemplate(ctx, store.DeleteTemplateParams{ID: row.ID, Workspaces: callerOf(ctx).Sees.Filter()}))
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "template.deleted", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	return nil, nil
}
