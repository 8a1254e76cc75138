package api

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"warren/runs"
	"warren/store"
)

// Lists running and past runs, their hosts, and the load of the server.

// listedRunJSON is a run in the answer of GET /runs.
type listedRunJSON struct {
	runs.Info
	ProfileName string      `json:"profileName"`
	Usage       *runs.Usage `json:"usage" doc:"What the run uses now; null if its process did not answer in time, or the server that has the run."`
}

func (listedRunJSON) example() any {
	return listedRunJSON{Info: exampleStart().Info, ProfileName: "Shop", Usage: &runs.Usage{CPUPercent: new(3.4), CPUMs: new(int64(5210)),
		MemoryBytes: new(int64(214 << 20)), MemoryKind: new("pss"), OwnBytes: new(int64(7 << 20)), Processes: new(9),
		BytesUp: 81920, BytesDown: 4 << 20, Connections: 6, Clients: 1}}
}

func (s *API) listRuns(ctx context.Context, in *struct{ InWorkspace }) (*listBody[listedRunJSON], error) {
	data := []listedRunJSON{} // newest first
	sees := callerOf(ctx).Sees
	all := s.runs.List(sees, in.WorkspaceID)
	for i, usage := range s.runs.Usages(ctx, all) {
		profile, err := s.store.Profile(ctx, sees, all[i].ProfileID, false)
		if err != nil && !errors.Is(err, store.ErrNoRow) { // it was deleted a moment ago
			return nil, err
		}
		data = append(data, listedRunJSON{all[i], profile.Name, usage})
	}
	others, err := s.runsElsewhere(ctx, in.WorkspaceID)
	if err != nil {
		return nil, err
	}
	data = append(data, others...)
	slices.SortStableFunc(data, func(a, b listedRunJSON) int { return strings.Compare(b.RunID, a.RunID) })
	return &listBody[listedRunJSON]{wholeList(data)}, nil
}

// runsElsewhere returns the runs of the other servers as these show them. The database shows those of a server that does not answer.
func (s *API) runsElsewhere(ctx context.Context, workspace string) (out []listedRunJSON, err error) {
	if requestOf(ctx).peer != "" { // it asks for the runs of this server
		return nil, nil
	}
	all, err := s.runs.ListElsewhere(ctx, callerOf(ctx).Sees, workspace)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	parts, err := askAll[list[listedRunJSON]](ctx, s, "/runs?"+url.Values{"workspaceId": {workspace}}.Encode())
	if err != nil {
		return nil, err
	}
	shown := map[string]listedRunJSON{}
	for _, part := range parts {
		for _, run := range part.Data {
			shown[run.RunID] = run
		}
	}
	for _, run := range all {
		one, there := shown[run.RunID]
		if !there {
			one = listedRunJSON{run.Info, run.ProfileName, nil}
		}
		out = append(out, one)
	}
	return out, nil
}

// pastRunsBody is the answer of listProfileRuns.
type pastRunsBody listBody[runs.PastRun]

func (pastRunsBody) example() any {
	start, last := exampleStart(), exampleLastRun()
	return exampleList(runs.PastRun{RunID: last.RunID, Status: last.Status, StartedAt: last.StartedAt, EndedAt: &last.EndedAt,
		DurationMs: last.DurationMs, Reason: &last.Reason, Method: last.Method, ExitCode: &last.ExitCode, BytesUp: &last.BytesUp,
		BytesDown: &last.BytesDown, ByRules: &last.ByRules, Headless: &start.Headless, Browser: &start.Browser, Proxy: start.Proxy})
}

func (s *API) listProfileRuns(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*pastRunsBody, error) {
	profile, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	q := s.store.Read()
	out, err := listByTime(ctx, s, in.Paging, timeList[store.Run, runs.PastRun]{
		kind: "run",
		at:   func(r store.Run) (int64, string) { return r.StartedAt, r.ID },
		count: func() (int64, error) {
			return q.CountRunsOfProfile(ctx, store.CountRunsOfProfileParams{ProfileID: profile.ID})
		},
		find: func(id string) (store.Run, error) {
			row, err := q.GetRun(ctx, store.GetRunParams{ID: id})
			if err == nil && row.ProfileID != profile.ID {
				err = store.ErrNoRow
			}
			return row, err
		},
		rows: func(key int64, id string, limit, offset int64) ([]store.Run, error) {
			return q.ListRunsOfProfile(ctx, store.ListRunsOfProfileParams{ProfileID: profile.ID, AfterKey: key, AfterID: id, Limit: limit,
				Offset: offset})
		},
		show: func(row store.Run) (runs.PastRun, error) { return s.runs.PastRun(ctx, row) }})
	return (*pastRunsBody)(out), err
}

// hostsBody is the answer of listRunHosts.
type hostsBody struct{ Body runs.Hosts }

func (hostsBody) example() any {
	return runs.Hosts{RunID: exampleRunID, Data: []runs.Host{{Host: "example.com", Connections: 4, BytesUp: 2210, BytesDown: 81920,
		FirstAt: exampleTime(), LastAt: exampleTime().Add(time.Minute)}}}
}

func (s *API) listRunHosts(ctx context.Context, in *struct {
	RunID string `path:"runId" doc:"The run's id, as start and the history name it."`
}) (*hostsBody, error) {
	row, err := s.store.Read().GetRun(ctx, store.GetRunParams{ID: in.RunID, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return nil, orNotFound(err, "run")
	}
	hosts, err := s.runs.HostsOf(ctx, row)
	return &hostsBody{hosts}, err
}

// runLogBody is the answer of getRunLog.
type runLogBody struct{ Body runs.Log }

func (runLogBody) example() any {
	return runs.Log{RunID: exampleRunID, Running: true, Data: []runs.LogLine{
		{At: new(exampleTime()), Source: "run", Level: "info", Text: "browser started pid=4711"},
		{Source: "browser", Text: "ERROR:bus.cc(407) Failed to connect to the bus"}}}
}

func (s *API) getRunLog(ctx context.Context, in *struct {
	RunID string `path:"runId" doc:"The run's id, as start and the history name it."`
	Lines int    `query:"lines" minimum:"1" maximum:"1000" default:"100" doc:"How many of the last lines of the run's process."`
}) (*runLogBody, error) {
	row, err := s.store.Read().GetRun(ctx, store.GetRunParams{ID: in.RunID, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return nil, orNotFound(err, "run")
	}
	log, err := s.runs.LogOf(ctx, row, in.Lines)
	return &runLogBody{log}, err
}

// pressureBody is the answer of pressure.
type pressureBody struct{ Body runs.Pressure }

func (pressureBody) example() any {
	return runs.Pressure{Accepting: true, Running: 12, Starting: 1, MaxRunning: new(30), MaxStarting: 2, MaxQueue: 1000,
		CPU:    runs.CPU{Cores: 2, Load1: new(0.8), Percent: new(31.5)},
		Memory: &runs.Memory{TotalBytes: 8 << 30, AvailableBytes: 5 << 30}, Disk: &runs.Disk{FreeBytes: 120 << 30}}
}

func (s *API) pressure(context.Context, *struct{}) (*pressureBody, error) {
	return &pressureBody{s.runs.Pressure()}, nil
}
