package api

import (
	"cmp"
	"context"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Creates and updates profiles.

// createInput is a profile to make, and whether to start it.
type createInput struct {
	Start bool `json:"start,omitempty" nullable:"true" doc:"Start its browser too; the key needs the scope run. run has the start's addresses then. If the start fails, no profile is created."`

	TemplateID opt[string] `json:"templateId,omitempty" doc:"A template of the same workspace: settings that the request leaves out are from it, then from the workspace's defaults, then the server's." example:"0199a1c2-7d3e-7a10-8a55-01234567beef"`
	ProfileInput
}

// profileCreate is a profile to make. The schema refuses members that only the server sets.
type profileCreate struct {
	Body createInput

	workspace string
}

func (profileCreate) example() any {
	return map[string]any{"name": "Shop, Berlin", "os": "win", "browserVersion": "156", "workspaceId": "default",
		"tags": []string{"shop", "de"}, "proxyId": exampleProxyID}
}

func (profileCreate) problems() []*problem.Error { return []*problem.Error{exampleQuota()} }

// Resolve checks the request by itself.
func (in *profileCreate) Resolve(ctx huma.Context) []error {
	if p := callerOf(ctx.Context()).may(scopeRun); in.Body.Start && p != nil {
		return []error{p}
	}
	completable(ctx, in)
	var f faults
	f.require(in.Body.Name.Set, "body.name", enterName)
	in.Body.check(&f)
	f.mayStartWithServer(callerOf(ctx.Context()), &in.Body.ProfileInput)
	in.workspace = f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	return f.errors()
}

func (in *profileCreate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	row := newProfile(in.workspace)
	return s.mergeCreated(ctx, s.store.Read(), in, &row)
}

// mergeCreated writes the settings and the proxy of a request into a new row, and returns the faults that the database and this server
// show.
func (s *API) mergeCreated(ctx context.Context, q *store.Queries, in *profileCreate, row *store.Profile) (faults, error) {
	whole, f, err := s.mergeNew(ctx, q, &in.Body.ProfileInput, in.Body.TemplateID, nil, row)
	if err != nil || whole.proxies == nil {
		return f, err
	}
	ids, err := s.dealNew(ctx, q, whole, *row, 1, &f)
	if len(ids) > 0 {
		row.ProxyID = &ids[0]
	}
	return f, err
}

// createProfile checks and inserts in one transaction: no foreign key holds a fallback.
func (s *API) createProfile(ctx context.Context, in *profileCreate) (*ProfileBody, error) {
	fresh := newProfile(in.workspace)
	var row store.Profile
	err := s.change(ctx, func(q *store.Queries) error {
		row = fresh
		f, err := s.mergeCreated(ctx, q, in, &row)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name})
		if err := s.workspaces.ensure(ctx, q, row.WorkspaceID, row.CreatedAt); err != nil {
			return err
		}
		if err := q.AddProfile(ctx, insertOf(row)); err != nil {
			return err
		}
		return recordCreated(ctx, q, row.ID)
	})
	s.workspaces.wrote(in.workspace, err)
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "profile.created", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	var started *runs.Started
	if in.Body.Start {
		if started, err = s.startCreated(ctx, row); err != nil {
			return nil, err
		}
		if row, err = s.profileRow(ctx, row.ID, false); err != nil {
			return nil, err
		}
	}
	body, err := s.profileAnswer(ctx, row)
	if started != nil {
		body.Body.Run = &profileRunJSON{started.Info, started.WsEndpoint, started.CdpURL, started.LiveURL}
	}
	body.Location = Prefix + "/profiles/" + row.ID
	return body, err
}

// startCreated starts a new profile. If that fails, the profile is deleted again.
func (s *API) startCreated(ctx context.Context, row store.Profile) (*runs.Started, error) {
	started, err := s.startAnywhere(ctx, row.ID, "start")
	if err == nil {
		return started, nil
	}
	undo := s.deleteAnywhere(context.WithoutCancel(ctx), ProfilePath{ID: row.ID}, true)
	if problem.Is(undo, problem.NotFound) { // it was deleted meanwhile, such as a temporary one
		undo = nil
	}
	return nil, errors.Join(err, undo)
}

// merge merges a request into a row, and returns its faults that the database and this server show.
func (s *API) merge(ctx context.Context, q *store.Queries, in *ProfileInput, row *store.Profile) (f faults, err error) {
	in.merge(row)
	s.checkBypasses(in, &f)
	err = cmp.Or(in.checkProxies(ctx, q, callerOf(ctx), *row, &f), checkExtensions(ctx, q, row.WorkspaceID, in.Extensions.Value, &f))
	return f, err
}

// mergeChange is merge for a profile that exists.
func (s *API) mergeChange(ctx context.Context, q *store.Queries, in *ProfileInput, row *store.Profile) (faults, error) {
	before := row.Temporary
	whole, err := s.returned(ctx, q, in, row)
	if err != nil {
		return nil, err
	}
	f, err := s.merge(ctx, q, &whole.ProfileInput, row)
	whole.attribute(row)
	f.otherWorkspace(in.WorkspaceID, row.WorkspaceID)
	// A profile that has stopped would be deleted at once, without a run that somebody meant.
	f.require(before || !row.Temporary, "body.temporary", "Only a new profile or a clone can be temporary. Clone this one with "+
		"temporary instead, or leave it out.")
	return f, err
}

// profileUpdate holds the members to change.
type profileUpdate struct {
	ProfilePath
	CloseOldQuery
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the profile has changed since."`
	Body    ProfileInput
}

func (profileUpdate) example() any {
	return map[string]any{"name": "Shop, Hamburg", "tags": []string{"shop", "hh"}}
}

// Resolve checks the request by itself.
func (in *profileUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	in.Body.check(&f)
	f.mayStartWithServer(callerOf(ctx.Context()), &in.Body)
	return f.errors()
}

func (in *profileUpdate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return s.mergeChange(ctx, s.store.Read(), &in.Body, &row)
}

// updateProfile merges, checks and writes in one transaction. Faults come before If-Match (RFC 9110, 13.2.1).
func (s *API) updateProfile(ctx context.Context, in *profileUpdate) (*ProfileBody, error) {
	sees := callerOf(ctx).Sees.Filter()
	var row store.Profile
	err := s.change(ctx, func(q *store.Queries) (err error) {
		row, err = q.GetProfile(ctx, store.GetProfileParams{ID: in.ID, Workspaces: sees})
		if err != nil {
			return orNotFound(err, "profile")
		}
		before := row
		f, err := s.mergeChange(ctx, q, &in.Body, &row)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		if err := unusedStill(ctx, q, before, row); err != nil {
			return err
		}
		row.UpdatedAt = now()
		params := updateOf(row)
		params.Workspaces = sees
		row, err = q.UpdateProfile(ctx, params)
		if err == nil {
			about(ctx, row.WorkspaceID, row.ID, differences(membersOf(in.Body), before, row, s.profile))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.runs.ProfileChanged(context.WithoutCancel(ctx), row.ID, in.change())
	s.publishChange(ctx, events.Event{Type: "profile.updated", Workspace: row.WorkspaceID, Data: objectUpdated{membersOf(in.Body), row.ID}})
	return s.profileAnswer(ctx, row)
}

// change says what a running browser of the profile has to reconcile.
func (in *profileUpdate) change() runs.Change {
	given := in.Body.ProxyID.given()
	c := runs.Change{FollowProfile: given, ResetFailover: given, CloseOld: in.CloseOld}
	if given || in.Body.Timezone.Set || in.Body.Locale.Set || in.Body.Geolocation.Set {
		c.Exit = runs.CheckIfStale
	}
	return c
}
