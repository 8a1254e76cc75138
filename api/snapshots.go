package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Keeps, lists and goes back to snapshots of a profile's data.

// SnapshotPath names a snapshot of a profile.
type SnapshotPath struct {
	ProfilePath
	SnapshotID string `path:"snapshotId" doc:"The snapshot's id."`
}

func (s *API) listSnapshots(ctx context.Context, in *ProfilePath) (*listBody[SnapshotJSON], error) {
	rows, err := s.runs.Snapshots().List(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	row, err := s.profileRow(ctx, in.ID, false) // after the list: a snapshot that is listed is already known as the current one
	if err != nil {
		return nil, err
	}
	out := make([]SnapshotJSON, len(rows))
	for i := range rows {
		out[i] = snapshotFrom(rows[i], row.HeadID)
	}
	return &listBody[SnapshotJSON]{wholeList(out)}, nil
}

// snapshotInput says how a snapshot is made.
type snapshotInput struct {
	Name    string `json:"name,omitempty" nullable:"true" doc:"At most 200 characters." example:"Signed in"`
	Pinned  bool   `json:"pinned,omitempty" nullable:"true" doc:"Keep it until it is deleted."`
	Live    bool   `json:"live,omitempty" nullable:"true" doc:"Of a browser that runs: copy its data while it goes on. Databases are whole; what the browser has not written yet is missing. The snapshot has the reason live, and torn names files that never held still."`
	Restart bool   `json:"restart,omitempty" nullable:"true" doc:"Close the profile's browser first if it runs, and start it again afterwards, with the profile's settings. The key needs the scope run."`
}

func (snapshotInput) example() any { return map[string]any{"name": "Signed in", "pinned": true} }

type snapshotCreate struct {
	ProfilePath
	Body *snapshotInput `required:"false"`
}

func (snapshotCreate) problems() []*problem.Error {
	return []*problem.Error{snapshots.Empty(), runs.StillRunning()}
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *snapshotCreate) Resolve(ctx huma.Context) []error {
	if in.Body == nil {
		in.Body = &snapshotInput{}
	}
	if p := callerOf(ctx.Context()).may(scopeRun); in.Body.Restart && p != nil {
		return []error{p}
	}
	var f faults
	in.Body.Name = f.line("body.name", in.Body.Name, 0, 200)
	f.require(!in.Body.Live || !in.Body.Restart, "body.live", "Choose either live or restart.")
	return f.errors()
}

// snapshotBody is a snapshot as an answer.
type snapshotBody struct {
	Location string `header:"Location"`
	Body     SnapshotJSON
}

func (s *API) createSnapshot(ctx context.Context, in *snapshotCreate) (*snapshotBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	request := snapshots.Request{Reason: snapshots.Asked, Name: in.Body.Name, Pinned: in.Body.Pinned, Always: true}
	if in.Body.Restart && row.Temporary { // it would be deleted when its browser is closed
		return nil, problem.NotValid(problem.Fault{Location: "body.restart", Message: "A temporary profile is deleted when its browser " +
			"is closed. Choose live, or keep the profile first with \"temporary\": false."})
	}
	var made store.Snapshot
	var torn []string
	if in.Body.Live {
		made, torn, err = s.runs.LiveSnapshot(ctx, row, request)
	} else {
		made, err = s.runs.Snapshot(context.WithoutCancel(ctx), row, request, in.Body.Restart, callerOf(ctx).asker())
	}
	if err != nil {
		return nil, err
	}
	if row, err = s.profileRow(ctx, in.ID, false); err != nil {
		return nil, err
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"snapshotId": made.ID, "name": made.Name})
	out := &snapshotBody{Prefix + "/profiles/" + row.ID + "/snapshots/" + made.ID, snapshotFrom(made, row.HeadID)}
	out.Body.Torn = torn
	return out, nil
}

// snapshotChange holds the members to change.
type snapshotChange struct {
	Name   opt[string] `json:"name,omitempty" doc:"At most 200 characters; null: none."`
	Pinned opt[bool]   `json:"pinned,omitempty" doc:"Keep it until it is deleted."`
}

func (snapshotChange) example() any { return map[string]any{"pinned": true} }

type snapshotUpdate struct {
	SnapshotPath
	Body snapshotChange
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *snapshotUpdate) Resolve(huma.Context) []error {
	var f faults
	in.Body.Name.Value = f.line("body.name", in.Body.Name.Value, 0, 200)
	return f.errors()
}

func (s *API) updateSnapshot(ctx context.Context, in *snapshotUpdate) (*snapshotBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	c := snapshots.Change{}
	if in.Body.Name.Set {
		c.Name = &in.Body.Name.Value
	}
	if in.Body.Pinned.Set {
		c.Pinned = &in.Body.Pinned.Value
	}
	changed, err := s.runs.Snapshots().Update(ctx, callerOf(ctx).Sees, row.ID, in.SnapshotID, c)
	return &snapshotBody{Body: snapshotFrom(changed, row.HeadID)}, err
}

// snapshotDelete names the snapshot to delete.
type snapshotDelete struct{ SnapshotPath }

func (snapshotDelete) problems() []*problem.Error { return []*problem.Error{snapshots.InUse()} }

func (s *API) deleteSnapshot(ctx context.Context, in *snapshotDelete) (*struct{}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return nil, s.runs.Snapshots().Delete(ctx, callerOf(ctx).Sees, row, in.SnapshotID)
}

// rollbackInput names what to go back to.
type rollbackInput struct {
	SnapshotID string `json:"snapshotId"`
}

func (rollbackInput) example() any { return map[string]any{"snapshotId": exampleSnapshotID} }

type rollbackRequest struct {
	ProfilePath
	Body rollbackInput
}

func (rollbackRequest) problems() []*problem.Error {
	return []*problem.Error{runs.StillRunning(), snapshots.Damaged(nil)}
}

// rollbackJSON is the answer of a roll-back.
type rollbackJSON struct {
	Profile profileJSON   `json:"profile"`
	Kept    *SnapshotJSON `json:"kept" doc:"What the data were before, as a snapshot; null: there were none."`
}

func (rollbackJSON) example() any {
	kept := SnapshotJSON{}.example().(SnapshotJSON)
	kept.Name, kept.Reason, kept.Current = "", snapshots.BeforeRollback, false
	return rollbackJSON{profileJSON{}.example().(profileJSON), &kept}
}

func (s *API) rollbackProfile(ctx context.Context, in *rollbackRequest) (*struct{ Body rollbackJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	to, err := s.snapshotOf(ctx, row, in.Body.SnapshotID)
	if err != nil {
		return nil, err
	}
	kept, err := s.runs.Rollback(context.WithoutCancel(ctx), row.ID, to)
	if err != nil {
		return nil, err
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"snapshotId": to.ID})
	out := &struct{ Body rollbackJSON }{}
	if kept != nil {
		out.Body.Kept = new(snapshotFrom(*kept, &to.ID))
	}
	if row, err = s.profileRow(ctx, in.ID, false); err == nil {
		out.Body.Profile, err = s.profile(row)
	}
	return out, err
}

// snapshotOf reads a snapshot that a body names. The error is a fault of the body.
func (s *API) snapshotOf(ctx context.Context, row store.Profile, id string) (store.Snapshot, error) {
	snapshot, err := s.runs.Snapshots().Get(ctx, callerOf(ctx).Sees, row.ID, id)
	if problem.Is(err, problem.NotFound) {
		err = problem.NotValid(problem.Fault{Location: "body.snapshotId",
			Message: "The profile has no snapshot with this id. GET /profiles/{id}/snapshots lists those that it has.", Value: cut(id)})
	}
	return snapshot, err
}
