package runs

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Lists the hosts that a run connected to, if its profile has logHosts.

// Host is one host of a run.
type Host struct {
	Host        string    `json:"host"`
	Connections int64     `json:"connections" doc:"That were opened."`
	BytesUp     int64     `json:"bytesUp"`
	BytesDown   int64     `json:"bytesDown"`
	Refused     int64     `json:"refused" doc:"Connections that allowHosts and denyHosts refused."`
	FirstAt     time.Time `json:"firstAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When it was first asked for." example:"2026-11-21T14:06:00.000Z"`
	LastAt      time.Time `json:"lastAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

// Hosts is what is recorded of a run's hosts.
type Hosts struct {
	RunID   string `json:"runId"`
	Logged  bool   `json:"logged" doc:"false: the profile had no logHosts, or the run does not answer."`
	Data    []Host `json:"data" doc:"By name."`
	NotKept int64  `json:"notKept" doc:"Requests for hosts beyond the first 1,000."`
}

// newHosts converts a run's hosts; nil: not logged.
func newHosts(reported *shim.Hosts) (out Hosts) {
	out.Data = []Host{}
	if reported == nil {
		return out
	}
	out.Logged, out.NotKept = true, reported.More
	for _, h := range reported.List {
		out.Data = append(out.Data, Host{h.Host, h.Connections, h.BytesUp, h.BytesDown, h.Refused, h.First.UTC(), h.Last.UTC()})
	}
	return out
}

// insertHosts writes the hosts of an ended run.
func insertHosts(ctx context.Context, q *store.Queries, last *End) error {
	if last.hosts == nil {
		return nil
	}
	text, err := json.Marshal(newHosts(last.hosts))
	if err != nil {
		return err
	}
	return q.InsertRunHosts(ctx, store.InsertRunHostsParams{RunID: last.RunID, Hosts: string(text)})
}

// HostsOf returns the hosts that a run connected to. A current run is asked; for an ended one the database is read.
func (m *Manager) HostsOf(ctx context.Context, row store.Run) (Hosts, error) {
	out := newHosts(nil)
	if r := m.runOf(row.ProfileID); row.EndedAt == nil && r != nil && r.id == row.ID && r.client != nil {
		ctx, cancel := context.WithTimeout(ctx, statsTime)
		defer cancel()
		if reported, err := r.client.Hosts(ctx); err == nil {
			out = newHosts(reported)
		}
	}
	if row.EndedAt != nil {
		text, err := m.store.Read().GetRunHosts(ctx, row.ID)
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
