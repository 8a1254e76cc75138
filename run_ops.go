package main

import (
	"context"
	"math"
	"sync"

	"warren/store"
)

// The operations on runs.

// listedRunJSON is a run as GET /runs shows it.
type listedRunJSON struct {
	RunJSON
	Usage *usageJSON `json:"usage" doc:"What it uses now; null when its process did not answer in time."`
}

func (s *server) listRuns(ctx context.Context, in *struct {
	InWorkspace
}) (*listBody[listedRunJSON], error) {
	var data []listedRunJSON
	for _, r := range s.runs.list(callerOf(ctx).Sees, in.WorkspaceID) {
		data = append(data, listedRunJSON{RunJSON: r})
	}
	s.runs.measure(ctx, data)
	return &listBody[listedRunJSON]{list[listedRunJSON]{Data: append([]listedRunJSON{}, data...), Total: int64(len(data)), Page: 1, Limit: max(1, len(data))}}, nil
}

// measure asks all runs at once what they use. One that does not answer holds nobody up.
func (rs *runs) measure(ctx context.Context, listed []listedRunJSON) {
	var wg sync.WaitGroup
	for i := range listed {
		r := rs.of(listed[i].ProfileID)
		if r == nil || r.id != listed[i].RunID {
			continue // it has ended
		}
		wg.Go(func() { listed[i].Usage = rs.usage(ctx, r) })
	}
	wg.Wait()
}

func (s *server) listProfileRuns(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*listBody[pastRunJSON], error) {
	profile, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	q := s.store.Read()
	p := store.ListRunsOfProfileParams{ProfileID: profile.ID, AfterKey: math.MaxInt64, Limit: int64(in.Limit) + 1, Offset: in.offset()}
	total, err := q.CountRunsOfProfile(ctx, store.CountRunsOfProfileParams{ProfileID: profile.ID})
	if err == nil && in.After != "" {
		p.AfterKey, p.AfterID, err = s.goOn(ctx, in.After, "run", func(id string) (int64, error) {
			at, err := q.GetRun(ctx, store.GetRunParams{ID: id})
			if err == nil && at.ProfileID != profile.ID {
				err = store.ErrNoRow
			}
			return at.StartedAt, err
		})
	}
	var rows []store.Run
	if err == nil {
		rows, err = q.ListRunsOfProfile(ctx, p)
	}
	found, err := pageOf(rows, total, in.Limit, err, func(r store.Run) (int64, string) { return r.StartedAt, r.ID })
	if err != nil {
		return nil, err
	}
	return answerList(found, in.Paging, func(row store.Run) (pastRunJSON, error) { return s.runs.pastRun(ctx, row) })
}

func (s *server) listRunHosts(ctx context.Context, in *struct {
	RunID string `path:"runId" doc:"The run's id, as start and the history name it."`
}) (*struct{ Body runHostsJSON }, error) {
	row, err := s.store.Read().GetRun(ctx, store.GetRunParams{ID: in.RunID, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return nil, orNotFound(err, "run")
	}
	hosts, err := s.runs.hostsOf(ctx, row)
	return &struct{ Body runHostsJSON }{hosts}, err
}

func (s *server) pressure(context.Context, *struct{}) (*struct{ Body pressureJSON }, error) {
	return &struct{ Body pressureJSON }{s.runs.pressure()}, nil
}
