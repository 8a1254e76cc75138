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
	"warren/schedules"
	"warren/store"
)

// The operations on schedules. Package schedules runs them.

// maxSchedules is how many schedules a workspace may have.
const maxSchedules = 1000

// shownRuns is how many of the next occurrences an answer has.
const shownRuns = 5

// scheduleJSON is a schedule as the API shows it.
type scheduleJSON struct {
	ID            string                `json:"id" example:"0199a1c2-7d3e-7a10-8a55-01234567feed"`
	WorkspaceID   string                `json:"workspaceId" example:"default"`
	Name          string                `json:"name" example:"Mornings"`
	Enabled       bool                  `json:"enabled"`
	Cron          *string               `json:"cron" doc:"null: everyMs says when." example:"0 9 * * 1-5"`
	TimeZone      *string               `json:"timeZone" doc:"Whose clocks cron goes by; null without cron." example:"Europe/Berlin"`
	EveryMs       *int64                `json:"everyMs" doc:"null: cron says when."`
	Action        string                `json:"action" enum:"start,stop,check,snapshot,rotate"`
	ProfileIDs    []string              `json:"profileIds,format:emitnull" nullable:"true" doc:"What it acts on. Exactly one of profileIds, proxyIds and tag is not null."`
	ProxyIDs      []string              `json:"proxyIds,format:emitnull" nullable:"true"`
	Tag           *string               `json:"tag"`
	StartURLs     []string              `json:"startUrls,format:emitnull" nullable:"true" doc:"null: the profile's."`
	MaxRunMs      *int64                `json:"maxRunMs" doc:"null: the profile's."`
	CatchUp       bool                  `json:"catchUp"`
	NextRuns      []string              `json:"nextRuns" doc:"The next five occurrences; none while it is not enabled." example:"[\"2026-11-23T08:00:00.000Z\"]"`
	LastRun       *schedules.Occurrence `json:"lastRun" doc:"The last occurrence that ran; null: none did."`
	Missed        int64                 `json:"missed" doc:"Occurrences at which no server ran, or the machine slept; of one gap 1,000 at most are counted."`
	LastMissedAt  *time.Time            `json:"lastMissedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it was last seen that some were missed." example:"2026-11-21T14:06:00.000Z"`
	Skipped       int64                 `json:"skipped" doc:"Occurrences at which the one before still went on."`
	LastSkippedAt *time.Time            `json:"lastSkippedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	CreatedAt     time.Time             `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt     time.Time             `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (scheduleJSON) example() any {
	at := exampleTime()
	return scheduleJSON{ID: exampleScheduleID, WorkspaceID: "default", Name: "Mornings", Enabled: true, Cron: new("0 9 * * 1-5"),
		TimeZone: new("Europe/Berlin"), Action: schedules.Start, ProfileIDs: []string{exampleProfileID},
		StartURLs: []string{"https://example.com/"}, MaxRunMs: new(int64(600000)), NextRuns: []string{"2026-11-23T08:00:00.000Z"},
		LastRun: &schedules.Occurrence{At: at, DueAt: at, EndedAt: &at, Status: schedules.Done, Targets: 1, Done: 1,
			Errors: []schedules.TargetError{}}, CreatedAt: at, UpdatedAt: at}
}

func showSchedule(row store.Schedule) (scheduleJSON, error) {
	j := scheduleJSON{ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name, Enabled: row.Enabled, Cron: orNull(row.Cron),
		TimeZone: orNull(row.TimeZone), EveryMs: row.EveryMs, Action: row.Action, ProfileIDs: stringsOrNil(row.ProfileIDs),
		ProxyIDs: stringsOrNil(row.ProxyIDs), Tag: row.Tag, StartURLs: stringsOrNil(row.StartURLs), MaxRunMs: row.MaxRunMs,
		CatchUp: row.CatchUp, NextRuns: []string{}, Missed: row.Missed, LastMissedAt: millisOrNil(row.MissedAt), Skipped: row.Skipped,
		LastSkippedAt: millisOrNil(row.SkippedAt), CreatedAt: runs.Millis(row.CreatedAt), UpdatedAt: runs.Millis(row.UpdatedAt)}
	if row.NextAt != nil {
		if w, err := schedules.Of(row); err == nil { // else it will be given up
			for _, at := range w.Upcoming(runs.Millis(*row.NextAt), shownRuns) {
				j.NextRuns = append(j.NextRuns, at.Format("2006-01-02T15:04:05.000Z07:00"))
			}
		}
	}
	if row.LastRun == nil {
		return j, nil
	}
	j.LastRun = new(schedules.Occurrence)
	return j, json.Unmarshal([]byte(*row.LastRun), j.LastRun)
}

// stringsOrNil reads a JSON list of strings from a column; NULL is nil.
func stringsOrNil(text *string) []string {
	if text == nil {
		return nil
	}
	return runs.StringsOf(*text)
}

// scheduleBody is the answer of the operations on one schedule.
type scheduleBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     scheduleJSON
}

func scheduleAnswer(row store.Schedule) (*scheduleBody, error) {
	j, err := showSchedule(row)
	return &scheduleBody{ETag: etag(row.Revision), Body: j}, err
}

// SchedulePath names one schedule.
type SchedulePath struct {
	ID string `path:"id" doc:"The schedule's id."`
}

// scheduleRow returns a schedule that the caller sees.
func scheduleRow(ctx context.Context, q *store.Queries, id string) (store.Schedule, error) {
	row, err := q.GetSchedule(ctx, store.GetScheduleParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	return row, orNotFound(store.Typed(err), "schedule")
}

func (s *API) getSchedule(ctx context.Context, in *struct{ SchedulePath }) (*scheduleBody, error) {
	row, err := scheduleRow(ctx, s.store.Read(), in.ID)
	if err != nil {
		return nil, err
	}
	return scheduleAnswer(row)
}

// scheduleList are the parameters of a list of schedules.
type scheduleList struct {
	InWorkspace
	Paging
	Search string `query:"search" maxLength:"200" doc:"Schedules whose name contains it, whatever the case."`
}

// Resolve checks both embedded parts: Go would call only the shallower one.
func (in *scheduleList) Resolve(ctx huma.Context) []error {
	return append(in.InWorkspace.Resolve(ctx), in.Paging.Resolve(ctx)...)
}

func (s *API) listSchedules(ctx context.Context, in *scheduleList) (*listBody[scheduleJSON], error) {
	q, sees, search := s.store.Read(), callerOf(ctx).Sees.Filter(), store.Fold(in.Search)
	return listByTime(ctx, s, in.Paging, timeList[store.Schedule, scheduleJSON]{
		kind: "schedule",
		at:   func(row store.Schedule) (int64, string) { return row.CreatedAt, row.ID },
		count: func() (int64, error) {
			return q.CountSchedules(ctx, store.CountSchedulesParams{InWorkspace: in.WorkspaceID, Search: search, Workspaces: sees})
		},
		find: func(id string) (store.Schedule, error) {
			return q.GetSchedule(ctx, store.GetScheduleParams{ID: id, Workspaces: sees})
		},
		rows: func(key int64, id string, limit, offset int64) ([]store.Schedule, error) {
			return q.ListSchedules(ctx, store.ListSchedulesParams{AfterKey: key, AfterID: id, InWorkspace: in.WorkspaceID, Search: search,
				Workspaces: sees, Limit: limit, Offset: offset})
		},
		show: showSchedule})
}

func tooManySchedules() *problem.Error {
	return problem.New(problem.Conflict, "schedule_limit", fmt.Sprintf("The workspace has %s schedules already. Delete some first.",
		thousands(maxSchedules)))
}

// scheduleCreate is a schedule to make.
type scheduleCreate struct {
	Body ScheduleInput

	row store.Schedule
}

func (scheduleCreate) example() any {
	return map[string]any{"name": "Mornings", "cron": "0 9 * * 1-5", "timeZone": "Europe/Berlin", "action": "start", "tag": "shop",
		"startUrls": []string{"https://example.com/"}, "maxRunMs": 600000}
}

func (scheduleCreate) problems() []*problem.Error { return []*problem.Error{tooManySchedules()} }

// Resolve checks the request by itself, and whether the key may do the action.
func (in *scheduleCreate) Resolve(ctx huma.Context) []error {
	at := now()
	in.row = store.Schedule{ID: store.NewID(), Revision: 1, Enabled: true, CreatedAt: at, UpdatedAt: at}
	var f faults
	in.Body.check(&f)
	f.require(in.Body.Name.Set, "body.name", enterName)
	in.row.WorkspaceID = f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	in.Body.merge(&in.row, &f)
	if p := mayAct(ctx.Context(), in.row.Action); p != nil {
		return []error{p}
	}
	completable(ctx, in)
	return f.errors()
}

func (in *scheduleCreate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	return f, in.Body.checkStored(ctx, s.store.Read(), in.row, &f)
}

func (s *API) createSchedule(ctx context.Context, in *scheduleCreate) (*scheduleBody, error) {
	row := in.row
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name, "action": row.Action})
	var made store.Schedule
	err := s.change(ctx, func(q *store.Queries) error {
		var f faults
		err := in.Body.checkStored(ctx, q, row, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: row.WorkspaceID, Now: row.CreatedAt}); err != nil {
			return err
		}
		n, err := q.CountSchedules(ctx, store.CountSchedulesParams{InWorkspace: row.WorkspaceID})
		if err == nil && n >= maxSchedules {
			err = tooManySchedules()
		}
		if err != nil {
			return err
		}
		made, err = q.InsertSchedule(ctx, store.InsertScheduleParams{ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name,
			SearchKey: store.Fold(row.Name), Enabled: row.Enabled, Cron: row.Cron, TimeZone: row.TimeZone, EveryMs: row.EveryMs,
			Action: row.Action, ProfileIDs: row.ProfileIDs, ProxyIDs: row.ProxyIDs, Tag: row.Tag, StartURLs: row.StartURLs,
			MaxRunMs: row.MaxRunMs, CatchUp: row.CatchUp, NextAt: row.NextAt, PlannedAt: row.PlannedAt, CreatedAt: row.CreatedAt,
			UpdatedAt: row.UpdatedAt})
		if err != nil {
			return err
		}
		return recordCreated(ctx, q, made.ID)
	})
	if err != nil {
		return nil, err
	}
	s.schedules.Changed()
	s.events.Publish(events.Event{Type: "schedule.created", Workspace: made.WorkspaceID, Data: objectEvent{made.ID}})
	body, err := scheduleAnswer(made)
	body.Location = Prefix + "/schedules/" + made.ID
	return body, err
}

// scheduleUpdate holds the members to change.
type scheduleUpdate struct {
	SchedulePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the schedule has changed since. Its occurrences do not change it."`
	Body    ScheduleInput
}

func (scheduleUpdate) example() any {
	return map[string]any{"everyMs": 3600000, "catchUp": true}
}

// Resolve checks the request by itself.
func (in *scheduleUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	in.Body.check(&f)
	return f.errors()
}

func (in *scheduleUpdate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	_, err = in.merge(ctx, s.store.Read(), &f)
	return f, err
}

// merge reads the schedule, merges the request into it, and notes the faults of both together.
func (in *scheduleUpdate) merge(ctx context.Context, q *store.Queries, f *faults) (row store.Schedule, err error) {
	if row, err = scheduleRow(ctx, q, in.ID); err != nil {
		return row, err
	}
	if p := mayAct(ctx, row.Action); p != nil {
		return row, p
	}
	f.otherWorkspace(in.Body.WorkspaceID, row.WorkspaceID)
	in.Body.merge(&row, f)
	if p := mayAct(ctx, row.Action); p != nil {
		return row, p
	}
	return row, in.Body.checkStored(ctx, q, row, f)
}

// updateSchedule merges, checks and writes in one transaction. Faults come before If-Match (RFC 9110, 13.2.1).
func (s *API) updateSchedule(ctx context.Context, in *scheduleUpdate) (*scheduleBody, error) {
	changed := membersOf(in.Body)
	var row store.Schedule
	err := s.change(ctx, func(q *store.Queries) error {
		var f faults
		before, err := scheduleRow(ctx, q, in.ID)
		if err != nil {
			return err
		}
		row, err = in.merge(ctx, q, &f)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		row, err = q.UpdateSchedule(ctx, store.UpdateScheduleParams{ID: row.ID, Revision: row.Revision, Name: row.Name,
			SearchKey: store.Fold(row.Name), Enabled: row.Enabled, Cron: row.Cron, TimeZone: row.TimeZone, EveryMs: row.EveryMs,
			Action: row.Action, ProfileIDs: row.ProfileIDs, ProxyIDs: row.ProxyIDs, Tag: row.Tag, StartURLs: row.StartURLs,
			MaxRunMs: row.MaxRunMs, CatchUp: row.CatchUp, NextAt: row.NextAt, PlannedAt: row.PlannedAt, UpdatedAt: now(),
			Workspaces: callerOf(ctx).Sees.Filter()})
		if err != nil {
			return err
		}
		about(ctx, row.WorkspaceID, row.ID, differences(changed, before, row, showSchedule))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.schedules.Changed()
	s.events.Publish(events.Event{Type: "schedule.updated", Workspace: row.WorkspaceID, Data: objectUpdated{changed, row.ID}})
	return scheduleAnswer(row)
}

type scheduleDelete struct {
	SchedulePath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the schedule has changed since."`
}

// deleteSchedule deletes a schedule. An occurrence that goes on comes to its end.
func (s *API) deleteSchedule(ctx context.Context, in *scheduleDelete) (*struct{}, error) {
	var row store.Schedule
	err := s.change(ctx, func(q *store.Queries) (err error) {
		row, err = scheduleRow(ctx, q, in.ID)
		if err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name})
		return store.ErrorOf(q.DeleteSchedule(ctx, store.DeleteScheduleParams{ID: row.ID, Workspaces: callerOf(ctx).Sees.Filter()}))
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "schedule.deleted", Workspace: row.WorkspaceID, Data: objectEvent{in.ID}})
	return nil, nil
}
