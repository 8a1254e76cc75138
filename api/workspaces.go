package api

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// workspaces remembers which workspaces exist, so that a create has no statement for its workspace: that is a tenth of its
// writing. The transaction that deletes one forgets it, so that a later create makes it anew. A workspace that is gone all the same
// fails one create, on its foreign key. Where several servers share the database, another one may delete it, so that none is remembered.
type workspaces struct {
	known  sync.Map // ids
	shared bool
}

// ensure makes a workspace in a transaction unless it is known to exist.
func (w *workspaces) ensure(ctx context.Context, q *store.Queries, id string, at int64) error {
	if _, there := w.known.Load(id); there {
		return nil
	}
	return store.ErrorOf(q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: id, Now: at}))
}

// wrote records whether a transaction with ensure is on disk.
func (w *workspaces) wrote(id string, err error) {
	if err != nil || w.shared {
		w.known.Delete(id)
		return
	}
	w.known.LoadOrStore(id, struct{}{})
}

// workspaceJSON is a workspace with its counts.
type workspaceJSON struct {
	ID           string       `json:"id" example:"default"`
	Name         string       `json:"name"`
	ProfileCount int64        `json:"profileCount"`
	TrashedCount int64        `json:"trashedCount"`
	ProxyCount   int64        `json:"proxyCount"`
	Quotas       QuotasJSON   `json:"quotas"`
	Use          quotaUseJSON `json:"use" doc:"What counts for the quotas."`
	CreatedAt    time.Time    `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`

	Defaults rawDefaults `json:"defaults" doc:"Settings that new profiles get where neither the request nor its template has them."`
}

func (workspaceJSON) example() any {
	return workspaceJSON{ID: "default", ProfileCount: 12, TrashedCount: 1, ProxyCount: 3,
		Quotas: QuotasJSON{Profiles: new(int64(100))}, Use: quotaUseJSON{Profiles: 12, Running: 2, DiskMB: 1830, Proxies: 3},
		CreatedAt: exampleTime(), Defaults: `{"timezone":"auto"}`}
}

func (s *API) listWorkspaces(ctx context.Context, in *struct{ Paging }) (*listBody[workspaceJSON], error) {
	q, sees := s.store.Read(), callerOf(ctx).Sees.Filter()
	elsewhere, err := s.runs.RunningElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	return listByTime(ctx, s, in.Paging, timeList[store.Workspace, workspaceJSON]{
		kind:  "workspace",
		at:    func(w store.Workspace) (int64, string) { return w.CreatedAt, w.ID },
		count: func() (int64, error) { return q.CountWorkspaces(ctx, sees) },
		find: func(id string) (store.Workspace, error) {
			return q.GetWorkspace(ctx, store.GetWorkspaceParams{ID: id, Workspaces: sees})
		},
		rows: func(key int64, id string, limit, offset int64) ([]store.Workspace, error) {
			return q.ListWorkspaces(ctx, store.ListWorkspacesParams{AfterKey: key, AfterID: id, Workspaces: sees, Limit: limit,
				Offset: offset})
		},
		show: func(w store.Workspace) (workspaceJSON, error) { return s.showWorkspace(w, elsewhere[w.ID]), nil }})
}

// showWorkspace shows a workspace, of which other servers run so many profiles.
func (s *API) showWorkspace(w store.Workspace, elsewhere int64) workspaceJSON {
	return workspaceJSON{w.ID, w.Name, w.ProfileCount, w.TrashedCount, w.ProxyCount, quotasOf(w), s.usageOf(w, elsewhere),
		runs.Millis(w.CreatedAt), rawDefaults(w.Defaults)}
}

// workspaceInput is a workspace to make.
type workspaceInput struct {
	ID   string      `json:"id" doc:"Objects name the workspace by it. It never changes." example:"team-b"`
	Name opt[string] `json:"name,omitempty" doc:"For people, at most 200 characters; null or absent: none." example:"Team B"`

	Quotas opt[quotasInput] `json:"quotas,omitempty" doc:"How much it may have; null or absent: no limits."`
}

// workspaceCreate is a request for a new workspace.
type workspaceCreate struct{ Body workspaceInput }

func (workspaceCreate) example() any { return map[string]any{"id": "team-b", "name": "Team B"} }

func (workspaceCreate) problems() []*problem.Error {
	return []*problem.Error{workspaceExists("team-b")}
}

// Resolve checks the request by itself. No key makes a workspace that it does not see.
func (in *workspaceCreate) Resolve(ctx huma.Context) []error {
	var f faults
	f.workspace(callerOf(ctx.Context()), "body.id", opt[string]{Set: true, Value: in.Body.ID})
	in.Body.Name.Value = f.line("body.name", in.Body.Name.Value, 0, 200)
	return f.errors()
}

func workspaceExists(id string) *problem.Error {
	return problem.New(problem.Conflict, "duplicate", "There is a workspace "+id+" already. Choose another id.").With(pool.Existing(id))
}

// createdWorkspace is a new workspace and its address.
type createdWorkspace struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     workspaceJSON
}

// createWorkspace makes a workspace, and records who did.
func (s *API) createWorkspace(ctx context.Context, in *workspaceCreate) (*createdWorkspace, error) {
	asked := store.Workspace{ID: in.Body.ID, Name: in.Body.Name.Value}
	mergeQuotas(in.Body.Quotas, &asked)
	about(ctx, asked.ID, asked.ID, map[string]any{"name": asked.Name, "quotas": quotasOf(asked)})
	var row store.Workspace
	err := s.change(ctx, func(q *store.Queries) (err error) {
		row, err = q.InsertWorkspace(ctx, store.InsertWorkspaceParams{ID: asked.ID, Name: asked.Name, QuotaProfiles: asked.QuotaProfiles,
			QuotaRunning: asked.QuotaRunning, QuotaDiskMb: asked.QuotaDiskMb, QuotaProxies: asked.QuotaProxies, Now: now()})
		if err != nil {
			return err
		}
		return recordCreated(ctx, q, row.ID)
	})
	if errors.Is(err, store.ErrUnique) {
		return nil, workspaceExists(in.Body.ID)
	}
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "workspace.created", Workspace: row.ID, Data: objectEvent{row.ID}})
	return &createdWorkspace{etag(row.Revision), Prefix + "/workspaces/" + row.ID, s.showWorkspace(row, 0)}, nil
}

// DefaultsInput are the settings that new profiles of a workspace get, as a request brings them.
type DefaultsInput templateSettings

// Schema is that of a template's settings, without its name and its workspace, or null.
func (DefaultsInput) Schema(r huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(r, reflect.TypeFor[templateSettings]())
	delete(s.Properties, "name")
	delete(s.Properties, "workspaceId")
	s.Nullable = true
	return s
}

// rawDefaults are the same as the database holds them.
type rawDefaults string

// MarshalJSONTo writes them as they are.
func (d rawDefaults) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteValue(jsontext.Value(cmp.Or(d, "{}")))
}

// Schema is that of requests, without null.
func (rawDefaults) Schema(r huma.Registry) *huma.Schema {
	s := DefaultsInput{}.Schema(r)
	s.Nullable = false
	return s
}

// workspaceBody is the answer of the operations on one workspace.
type workspaceBody struct {
	ETag string `header:"ETag"`
	Body workspaceJSON
}

func (s *API) workspaceAnswer(ctx context.Context, row store.Workspace) (*workspaceBody, error) {
	elsewhere, err := s.runs.RunningElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	return &workspaceBody{etag(row.Revision), s.showWorkspace(row, elsewhere[row.ID])}, nil
}

// WorkspacePath names one workspace.
type WorkspacePath struct {
	ID string `path:"id" doc:"The workspace's id."`
}

func (s *API) getWorkspace(ctx context.Context, in *struct{ WorkspacePath }) (*workspaceBody, error) {
	row, err := workspaceAsRead(ctx, s.store.Read(), callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return s.workspaceAnswer(ctx, row)
}

// workspaceAsRead returns a workspace that the caller sees.
func workspaceAsRead(ctx context.Context, q *store.Queries, c *caller, id string) (store.Workspace, error) {
	row, err := q.GetWorkspace(ctx, store.GetWorkspaceParams{ID: id, Workspaces: c.Sees.Filter()})
	return row, orNotFound(store.Typed(err), "workspace")
}

// workspaceUpdate changes the name of a workspace, what its new profiles get, and its quotas.
type workspaceUpdate struct {
	WorkspacePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the workspace has changed since."`
	Body    struct {
		Name     opt[string]        `json:"name,omitempty" doc:"At most 200 characters; null: none." example:"Team B"`
		Defaults opt[DefaultsInput] `json:"defaults,omitempty" doc:"Settings that new profiles get where neither the request nor its template has them. They replace all earlier ones; null: none."`

		Quotas opt[quotasInput] `json:"quotas,omitempty" doc:"How much it may have. Members that are absent stay; null: no limits. A quota below the present use refuses what is new, and removes nothing."`
	}
}

func (workspaceUpdate) example() any {
	return map[string]any{"name": "Team B", "defaults": map[string]any{"timezone": "auto", "snapshots": "on"}}
}

// inDefaults is where the faults of defaults are.
const inDefaults = "body.defaults"

// Resolve checks the request by itself.
func (in *workspaceUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f, inside faults
	in.Body.Name.Value = f.line("body.name", in.Body.Name.Value, 0, 200)
	in.defaults().check(&inside)
	f.within(inDefaults, inside)
	return f.errors()
}

// defaults are the settings of the request; none if it has none.
func (in *workspaceUpdate) defaults() *templateSettings {
	return (*templateSettings)(&in.Body.Defaults.Value)
}

// within notes faults of a body that is a member of another.
func (f *faults) within(location string, inside faults) {
	for _, fault := range inside {
		fault.Location = location + strings.TrimPrefix(fault.Location, "body")
		*f = append(*f, fault)
	}
}

func (in *workspaceUpdate) storedFaults(ctx context.Context, s *API) (faults, error) {
	q := s.store.Read()
	if _, err := workspaceAsRead(ctx, q, callerOf(ctx), in.ID); err != nil {
		return nil, err
	}
	return in.checkStored(ctx, s, q)
}

// checkStored returns the faults of the defaults that the database and this server show.
func (in *workspaceUpdate) checkStored(ctx context.Context, s *API, q *store.Queries) (f faults, err error) {
	var inside faults
	err = in.defaults().checkStored(ctx, s, q, in.defaults(), in.ID, &inside)
	f.within(inDefaults, inside)
	return f, err
}

// changes are the members that the request changes.
func (in *workspaceUpdate) changes() (names []string) {
	if in.Body.Name.Set {
		names = append(names, "name")
	}
	if in.Body.Defaults.Set {
		names = append(names, "defaults")
	}
	if in.Body.Quotas.Set {
		names = append(names, "quotas")
	}
	return names
}

// updateWorkspace changes a workspace's name, defaults and quotas. Without any of them in the request nothing changes.
func (s *API) updateWorkspace(ctx context.Context, in *workspaceUpdate) (*workspaceBody, error) {
	var row store.Workspace
	err := s.store.Write(ctx, func(q *store.Queries) (err error) {
		if row, err = workspaceAsRead(ctx, q, callerOf(ctx), in.ID); err != nil {
			return err
		}
		f, err := in.checkStored(ctx, s, q)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		if len(in.changes()) == 0 {
			return nil
		}
		before := row
		mergeQuotas(in.Body.Quotas, &row)
		in.Body.Name.merge(&row.Name, "")
		if in.Body.Defaults.Set {
			if row.Defaults, err = in.defaults().text(); err != nil {
				return err
			}
		}
		row, err = q.UpdateWorkspace(ctx, store.UpdateWorkspaceParams{ID: in.ID, Revision: row.Revision, Name: row.Name,
			Defaults: row.Defaults, QuotaProfiles: row.QuotaProfiles, QuotaRunning: row.QuotaRunning, QuotaDiskMb: row.QuotaDiskMb,
			QuotaProxies: row.QuotaProxies, UpdatedAt: now(), Workspaces: callerOf(ctx).Sees.Filter()})
		for _, entry := range in.entries(ctx, before, row) {
			err = errors.Join(err, q.Record(entry))
		}
		return err
	})
	if recordedUnless(ctx, err) != nil {
		return nil, err
	}
	if changed := in.changes(); len(changed) > 0 {
		s.events.Publish(events.Event{Type: "workspace.updated", Workspace: row.ID, Data: objectUpdated{changed, row.ID}})
	}
	return s.workspaceAnswer(ctx, row)
}

// entries are the records of a change: one of the name, one of the defaults, one of the quotas.
func (in *workspaceUpdate) entries(ctx context.Context, before, row store.Workspace) (out []store.AuditEntry) {
	add := func(action string, detail map[string]any) {
		out = append(out, entryOf(ctx, action, in.ID, in.ID, detail))
	}
	if in.Body.Name.Set {
		add("workspace.rename", map[string]any{"name": row.Name, "from": before.Name})
	}
	if in.Body.Defaults.Set {
		add("workspace.defaults", map[string]any{"settings": in.defaults().members()})
	}
	if in.Body.Quotas.Set {
		add("workspace.quotas", map[string]any{"from": quotasOf(before), "to": quotasOf(row)})
	}
	return out
}

func workspaceNotEmpty(c ContentsJSON) *problem.Error {
	return problem.New(problem.Conflict, "workspace_not_empty", "The workspace is not empty. `contents` says what it has: delete that "+
		"first, profiles for good, and revoke the keys that name it.").With(c)
}

// workspaceDelete names an empty workspace.
type workspaceDelete struct {
	WorkspacePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the workspace has changed since."`
}

func (workspaceDelete) problems() []*problem.Error {
	return []*problem.Error{workspaceNotEmpty(ContentsJSON{Profiles: 2, Trashed: 1, Keys: 1})}
}

// deleteWorkspace deletes an empty workspace. What is made in it at the same time makes it anew, or keeps it.
func (s *API) deleteWorkspace(ctx context.Context, in *workspaceDelete) (*struct{}, error) {
	sees := callerOf(ctx).Sees.Filter()
	err := s.change(ctx, func(q *store.Queries) error {
		row, err := workspaceAsRead(ctx, q, callerOf(ctx), in.ID)
		if err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		about(ctx, row.ID, row.ID, map[string]any{"name": row.Name})
		more, err := q.CountInWorkspace(ctx, store.CountInWorkspaceParams{ID: row.ID, Now: new(now()), Workspaces: sees})
		if err != nil {
			return err
		}
		has := ContentsJSON{row.ProfileCount, row.TrashedCount, row.ProxyCount, more.Templates, more.Schedules, more.Extensions, more.Keys}
		if has != (ContentsJSON{}) {
			return workspaceNotEmpty(has)
		}
		s.workspaces.known.Delete(row.ID)
		return store.ErrorOf(q.DeleteEmptyWorkspace(ctx, store.DeleteEmptyWorkspaceParams{ID: row.ID, Workspaces: sees}))
	})
	if err != nil {
		return nil, err
	}
	s.workspaces.known.Delete(in.ID)
	s.events.Publish(events.Event{Type: "workspace.deleted", Workspace: in.ID, Data: objectEvent{in.ID}})
	return nil, nil
}
