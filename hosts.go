package main

import (
	"context"
	"errors"
	"time"

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
	FirstAt     time.Time `json:"firstAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it was first asked for." example:"2026-11-21T14:06:00.000Z"`
	LastAt      time.Time `json:"lastAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
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
		out.Data = append(out.Data, runHostJSON{h.Host, h.Connections, h.BytesUp, h.BytesDown, h.Refused, h.First.UTC(), h.Last.UTC()})
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

// hostsOf says which hosts a run connected to: one that goes on is asked, of one that is over it was kept.
func (rs *runs) hostsOf(ctx context.Context, row store.Run) (runHostsJSON, error) {
	out := runHosts(nil)
	if r := rs.of(row.ProfileID); row.EndedAt == nil && r != nil && r.id == row.ID && r.client != nil {
		ctx, cancel := context.WithTimeout(ctx, statsTime)
		defer cancel()
		if said, err := r.client.Hosts(ctx); err == nil {
			out = runHosts(said)
		}
	}
	if row.EndedAt != nil {
		text, err := rs.store.Read().GetRunHosts(ctx, row.ID)
		if err == nil {
			err = json.Unmarshal([]byte(text), &out)
		}
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return out, err
		}
	}
	out.RunID = row.ID
	return out, nil
}
