package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// This file is the history of a profile's runs.

// pastRunJSON is a run of a profile's history, or the one that goes on.
type pastRunJSON struct {
	RunID      string       `json:"runId"`
	Status     string       `json:"status" enum:"running,stopping,stopped,failed"`
	StartedAt  time.Time    `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    *time.Time   `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: it goes on." example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64        `json:"durationMs" doc:"Of one that goes on: so far."`
	Reason     *string      `json:"reason" enum:"stopped,closed,orphaned,expired,idle,crashed,lost" doc:"Why it ended, as in lastRun; null: it goes on."`
	Method     string       `json:"method,omitempty" doc:"What it took to end the browser: close, interrupt or kill."`
	ExitCode   *int         `json:"exitCode" doc:"The browser's; null: it goes on."`
	Signal     string       `json:"signal,omitempty"`
	BytesUp    *int64       `json:"bytesUp" doc:"Through the proxy; null while it is not known."`
	BytesDown  *int64       `json:"bytesDown"`
	ByRules    *int64       `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused; null while it is not known."`
	Lines      []string     `json:"lines,omitempty" doc:"The browser's last lines, after a failure."`
	Headless   *bool        `json:"headless" doc:"null, as browser and proxy: the run is from before this was kept."`
	Browser    *browserJSON `json:"browser"`
	Proxy      *exitJSON    `json:"proxy" doc:"null also for a direct connection."`
	Usage      *usageJSON   `json:"usage" doc:"As GET /runs shows it; null when the run is over."`
}

// endedRun is what the database keeps of a run that is over: how it ended, and with what it ran. Earlier versions kept the first alone.
type endedRun struct {
	*lastRunJSON
	ranWith
}

// ranWith is the part of a start's answer that the history keeps.
type ranWith struct {
	Headless *bool        `json:"headless,omitempty"`
	Browser  *browserJSON `json:"browser,omitempty"`
	Proxy    *exitJSON    `json:"proxy,omitempty"`
}

// endRun writes how a run ended; what it ran with is in its record. A start that came to nothing has none.
func endRun(ctx context.Context, q *store.Queries, last *lastRunJSON) error {
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
	if err := keepHosts(ctx, q, last); err != nil {
		return err
	}
	ended := endedRun{lastRunJSON: last}
	if json.Unmarshal([]byte(row.Record), &ended.ranWith) != nil {
		ended.ranWith = ranWith{} // the end must be written all the same
	}
	text, err := json.Marshal(ended)
	if err != nil {
		return err
	}
	_, err = q.EndRun(ctx, store.EndRunParams{ID: last.RunID, EndedAt: last.EndedAt.UnixMilli(), Outcome: last.Reason, Record: string(text)})
	return err
}

// pastRun makes the answer of a row, and of what is known beside it of a run whose end is not written yet.
func (rs *runs) pastRun(ctx context.Context, row store.Run) (pastRunJSON, error) {
	out := pastRunJSON{RunID: row.ID, StartedAt: millis(row.StartedAt)}
	ended := endedRun{lastRunJSON: new(lastRunJSON)}
	if err := json.Unmarshal([]byte(row.Record), &ended.ranWith); err != nil {
		return out, fmt.Errorf("the record of run %s: %w", row.ID, err)
	}
	out.Headless, out.Browser, out.Proxy = ended.Headless, ended.Browser, ended.Proxy
	if row.EndedAt == nil {
		last := rs.owedLast(row.ProfileID, row.ID)
		if last == nil {
			rs.goesOn(ctx, &out, rs.of(row.ProfileID))
			return out, nil
		}
		ended.lastRunJSON = last
	} else if err := json.Unmarshal([]byte(row.Record), &ended); err != nil {
		return out, fmt.Errorf("the record of run %s: %w", row.ID, err)
	}
	out.Status, out.EndedAt, out.DurationMs, out.Reason = ended.Status, &ended.EndedAt, ended.DurationMs, &ended.Reason
	out.Method, out.ExitCode, out.Signal, out.Lines = ended.Method, &ended.ExitCode, ended.Signal, ended.Lines
	out.BytesUp, out.BytesDown, out.ByRules = &ended.BytesUp, &ended.BytesDown, &ended.ByRules
	return out, nil
}

// goesOn fills in a run that has not ended. r may be another's, or nil, in the moment of its end.
func (rs *runs) goesOn(ctx context.Context, out *pastRunJSON, r *profileRun) {
	out.Status, out.DurationMs = "running", time.Since(out.StartedAt).Milliseconds()
	if r == nil || r.id != out.RunID {
		return
	}
	r.mu.Lock()
	out.Status = r.status
	r.mu.Unlock()
	if out.Usage = rs.usage(ctx, r); out.Usage != nil {
		out.BytesUp, out.BytesDown, out.ByRules = &out.Usage.BytesUp, &out.Usage.BytesDown, &out.Usage.ByRules
	}
}
