package api

import (
	"context"
	"errors"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/store"
)

// workspaces remembers which workspaces exist, so that a create has no statement for its workspace: that is a tenth of its
// writing. No operation deletes a workspace; one that does must forget it here. A workspace that is gone all the same
// fails one create, on its foreign key.
type workspaces struct{ known sync.Map } // ids

// ensure makes a workspace in a transaction unless it is known to exist.
func (w *workspaces) ensure(ctx context.Context, q *store.Queries, id string, at int64) error {
	if _, there := w.known.Load(id); there {
		return nil
	}
	return store.ErrorOf(q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: id, Now: at}))
}

// wrote records whether a transaction with ensure is on disk.
func (w *workspaces) wrote(id string, err error) {
	if err != nil {
		w.known.Delete(id)
		return
	}
	w.known.LoadOrStore(id, struct{}{})
}

// workspaceInput is a workspace to make.
type workspaceInput struct {
	ID   string      `json:"id" doc:"Objects name the workspace by it. It never changes." example:"team-b"`
	Name opt[string] `json:"name,omitempty" doc:"For people, at most 200 characters; null or absent: none." example:"Team B"`
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
	Location string `header:"Location"`
	Body     workspaceJSON
}

// createWorkspace makes a workspace, and records who did.
func (s *API) createWorkspace(ctx context.Context, in *workspaceCreate) (*createdWorkspace, error) {
	entry, err := s.auditEntry(ctx, "workspace.create", in.Body.ID, in.Body.ID, map[string]any{"name": in.Body.Name.Value})
	if err != nil {
		return nil, err
	}
	var row store.Workspace
	err = s.store.Write(ctx, func(q *store.Queries) (err error) {
		row, err = q.InsertWorkspace(ctx, store.InsertWorkspaceParams{ID: in.Body.ID, Name: in.Body.Name.Value, Now: now()})
		if err != nil {
			return err
		}
		return errors.Join(store.ErrorOf(q.InsertAudit(ctx, entry)), recordCreated(ctx, q, row.ID))
	})
	if errors.Is(err, store.ErrUnique) {
		return nil, workspaceExists(in.Body.ID)
	}
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "workspace.created", Workspace: row.ID, Data: objectEvent{row.ID}})
	return &createdWorkspace{Prefix + "/workspaces/" + row.ID, showWorkspace(row)}, nil
}

// workspaceUpdate gives a workspace another name.
type workspaceUpdate struct {
	ID   string `path:"id" doc:"The workspace's id."`
	Body struct {
		Name opt[string] `json:"name,omitempty" doc:"At most 200 characters; null: none." example:"Team B"`
	}
}

func (workspaceUpdate) example() any { return map[string]any{"name": "Team B"} }

func (workspaceUpdate) problems() []*problem.Error {
	return []*problem.Error{problem.Missing("workspace")}
}

// Resolve checks the request by itself.
func (in *workspaceUpdate) Resolve(huma.Context) []error {
	var f faults
	in.Body.Name.Value = f.line("body.name", in.Body.Name.Value, 0, 200)
	return f.errors()
}

// updateWorkspace changes a workspace's name. Without a name in the request nothing changes.
func (s *API) updateWorkspace(ctx context.Context, in *workspaceUpdate) (*struct{ Body workspaceJSON }, error) {
	sees := callerOf(ctx).Sees.Filter()
	entry, err := s.auditEntry(ctx, "workspace.rename", in.ID, in.ID, map[string]any{"name": in.Body.Name.Value})
	if err != nil {
		return nil, err
	}
	var row store.Workspace
	err = s.store.Write(ctx, func(q *store.Queries) (err error) {
		if row, err = q.GetWorkspace(ctx, store.GetWorkspaceParams{ID: in.ID, Workspaces: sees}); err != nil || !in.Body.Name.Set {
			return err
		}
		row, err = q.UpdateWorkspace(ctx, store.UpdateWorkspaceParams{ID: in.ID, Name: in.Body.Name.Value, UpdatedAt: now(),
			Workspaces: sees})
		return errors.Join(err, store.ErrorOf(q.InsertAudit(ctx, entry)))
	})
	if errors.Is(err, store.ErrNoRow) {
		return nil, problem.Missing("workspace")
	}
	if err != nil {
		return nil, err
	}
	if in.Body.Name.Set {
		s.events.Publish(events.Event{Type: "workspace.updated", Workspace: row.ID, Data: objectUpdated{[]string{"name"}, row.ID}})
	}
	return &struct{ Body workspaceJSON }{showWorkspace(row)}, nil
}
