package main

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// This file tells which hosts a run connected to, where its profile has logHosts.

// runHostJSON is one host of a run.
type runHostJSON struct {
	Host        string    `json:"host"`
	Connections int64     `json:"connections" doc:"That were opened."`
	BytesUp     int64     `json:"bytesUp"`
	BytesDown   int64     `json:"bytesDown"`
	Refused     int64     `json:"refused" doc:"Connections that allowHosts and denyHosts refused."`
	FirstAt     timestamp `json:"firstAt" doc:"When it was first asked for."`
	LastAt      timestamp `json:"lastAt"`
}

// runHostsJSON is what is kept of a run's hosts.
type runHostsJSON struct {
	RunID   string        `json:"runId"`
	Logged  bool          `json:"logged" doc:"false: the profile had no logHosts, or the run does not answer."`
	Data    []runHostJSON `json:"data" doc:"By name."`
	NotKept int64         `json:"notKept" doc:"Requests for hosts beyond the first 1,000."`
}

// runHosts puts what a run says into the API's words.
func runHosts(said *shim.Hosts) (out runHostsJSON) {
	out.Data = []runHostJSON{}
	if said == nil {
		return out
	}
	out.Logged, out.NotKept = true, said.More
	for _, h := range said.List {
		out.Data = append(out.Data, runHostJSON{h.Host, h.Connections, h.BytesUp, h.BytesDown, h.Refused, timestamp(h.First.UnixMilli()), timestamp(h.Last.UnixMilli())})
	}
	return out
}

// keepHosts writes the hosts of a run that is over.
func keepHosts(ctx context.Context, q *store.Queries, last *lastRunJSON) error {
	if last.hosts == nil {
		return nil
	}
	text, err := json.Marshal(runHosts(last.hosts))
	if err != nil {
		return err
	}
	return q.InsertRunHosts(ctx, store.InsertRunHostsParams{RunID: last.RunID, Hosts: string(text)})
}

func (s *server) listRunHosts(ctx context.Context, in *struct {
	RunID string `path:"runId" doc:"The run's id, as start and the history name it."`
}) (*struct{ Body runHostsJSON }, error) {
	q := s.store.Read()
	row, err := q.GetRun(ctx, store.GetRunParams{ID: in.RunID, Workspaces: callerOf(ctx).scope.Filter()})
	if err != nil {
		return nil, orNotFound(err, "run")
	}
	out := &struct{ Body runHostsJSON }{runHosts(nil)}
	if r := s.runs.of(row.ProfileID); row.EndedAt == nil && r != nil && r.id == row.ID && r.client != nil {
		ctx, cancel := context.WithTimeout(ctx, statsTime)
		defer cancel()
		if said, err := r.client.Hosts(ctx); err == nil {
			out.Body = runHosts(said)
		}
	}
	if row.EndedAt != nil {
		text, err := q.GetRunHosts(ctx, row.ID)
		if err == nil {
			err = json.Unmarshal([]byte(text), &out.Body)
		}
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return nil, err
		}
	}
	out.Body.RunID = row.ID
	return out, nil
}
