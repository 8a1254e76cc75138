package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"warren/shim"
	"warren/store"
)

// Keeps the history of a profile's runs. Lists the hosts that a run connected to, if its profile has logHosts.

// PastRun is a run of a profile's history, or its current run.
type PastRun struct {
	RunID      string       `json:"runId"`
	Status     string       `json:"status" enum:"running,stopping,stopped,failed"`
	StartedAt  time.Time    `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    *time.Time   `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: it goes on." example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64        `json:"durationMs" doc:"Of one that goes on: so far."`
	Reason     *string      `json:"reason" enum:"stopped,closed,orphaned,expired,idle,crashed,out_of_memory,lost" doc:"Why it ended, as in lastRun; null: it goes on."`
	Method     string       `json:"method,omitempty" doc:"What it took to end the browser: close, interrupt or kill."`
	ExitCode   *int         `json:"exitCode" doc:"The browser's; null: it goes on."`
	Signal     string       `json:"signal,omitempty"`
	BytesUp    *int64       `json:"bytesUp" doc:"Through the proxy; null while it is not known."`
	BytesDown  *int64       `json:"bytesDown"`
	ByRules    *int64       `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused; null while it is not known."`
	Lines      []string     `json:"lines,omitempty" doc:"The browser's last lines, after a failure."`
	Headless   *bool        `json:"headless" doc:"null, as browser and proxy: the run is from before this was kept."`
	Offline    bool         `json:"offline" doc:"It had no network: it was opened for its cookies or storage while the profile did not run."`
	Browser    *UsedBrowser `json:"browser"`
	Proxy      *Egress      `json:"proxy" doc:"null also for a direct connection."`
	PeakMemory *int64       `json:"peakMemoryBytes" doc:"The most memory that it had; null where the kernel does not tell."`
	CPUMs      *int64       `json:"cpuMs" doc:"Processor time of all its processes; null where the system does not tell."`
	Memory     *EndMemory   `json:"memory,omitempty" doc:"After out_of_memory."`
	Usage      *Usage       `json:"usage" doc:"As GET /runs shows it; null when the run is over."`
}

// endedRun is the record of an ended run: how it ended, and what it ran with. Earlier versions recorded only the end.
type endedRun struct {
	*End
	ranWith
}

// ranWith is the part of the start's answer that the history keeps.
type ranWith struct {
	Headless *bool        `json:"headless,omitempty"`
	Offline  bool         `json:"offline,omitempty"`
	Browser  *UsedBrowser `json:"browser,omitempty"`
	Proxy    *Egress      `json:"proxy,omitempty"`
}

// endRun writes a run's end, and keeps what it ran with. A failed start has no row.
func endRun(ctx context.Context, q *store.Queries, last *End) error {
	row, err := q.GetRun(ctx, store.GetRunParams{ID: last.RunID})
	if errors.Is(err, store.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := upsertTraffic(ctx, q, row, last.traffic); err != nil {
		return err
	}
	if err := insertHosts(ctx, q, last); err != nil {
		return err
	}
	ended := endedRun{End: last}
	if json.Unmarshal([]byte(row.Record), &ended.ranWith) != nil {
		ended.ranWith = ranWith{} // an unreadable record must not prevent the end
	}
	text, err := json.Marshal(ended)
	if err != nil {
		return err
	}
	return store.ErrorOf(q.EndRun(ctx, store.EndRunParams{ID: last.RunID, EndedAt: last.EndedAt.UnixMilli(), Outcome: last.Reason,
		Record: string(text)}))
}

// PastRun builds the answer for a row. If the end is not written yet, pending ends and the current run complete it.
func (m *Manager) PastRun(ctx context.Context, row store.Run) (PastRun, error) {
	out := PastRun{RunID: row.ID, StartedAt: Millis(row.StartedAt)}
	ended := endedRun{End: new(End)}
	if err := json.Unmarshal([]byte(row.Record), &ended.ranWith); err != nil {
		return out, fmt.Errorf("the record of run %s: %w", row.ID, err)
	}
	out.Headless, out.Offline, out.Browser, out.Proxy = ended.Headless, ended.Offline, ended.Browser, ended.Proxy
	if row.EndedAt == nil {
		last := m.pendingEndOf(row.ProfileID, row.ID)
		if last == nil {
			m.fillOpenRun(ctx, &out, m.runOf(row.ProfileID))
			return out, nil
		}
		ended.End = last
	} else if err := json.Unmarshal([]byte(row.Record), &ended); err != nil {
		return out, fmt.Errorf("the record of run %s: %w", row.ID, err)
	}
	out.Status, out.EndedAt, out.DurationMs, out.Reason = ended.Status, &ended.EndedAt, ended.DurationMs, &ended.Reason
	out.Method, out.ExitCode, out.Signal, out.Lines = ended.Method, &ended.ExitCode, ended.Signal, ended.Lines
	out.BytesUp, out.BytesDown, out.ByRules = &ended.BytesUp, &ended.BytesDown, &ended.ByRules
	out.PeakMemory, out.CPUMs, out.Memory = ended.PeakMemoryBytes, ended.CPUMs, ended.Memory
	return out, nil
}

// fillOpenRun fills in a run without an end. While the run ends, r may be another run or nil.
func (m *Manager) fillOpenRun(ctx context.Context, out *PastRun, r *run) {
	out.Status, out.DurationMs = "running", time.Since(out.StartedAt).Milliseconds()
	if r == nil || r.id != out.RunID {
		return
	}
	r.mu.Lock()
	out.Status = r.state.String()
	r.mu.Unlock()
	if out.Usage = m.usage(ctx, r); out.Usage != nil {
		out.BytesUp, out.BytesDown, out.ByRules = &out.Usage.BytesUp, &out.Usage.BytesDown, &out.Usage.ByRules
		out.PeakMemory, out.CPUMs = out.Usage.PeakMemoryBytes, out.Usage.CPUMs
	}
}

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
