package main

import (
	"context"
)

type stopInput struct {
	Force bool `json:"force,omitempty" nullable:"true" doc:"Kill the browser: what it has not written yet is lost."`
}

// stopJSON is how a stop went.
type stopJSON struct {
	ID      string       `json:"id"`
	Stopped bool         `json:"stopped" doc:"false: nothing ran."`
	Status  string       `json:"status" enum:"stopped,failed"`
	Method  string       `json:"method,omitempty" doc:"What it took: close, interrupt or kill."`
	LastRun *lastRunJSON `json:"lastRun" doc:"null when nothing ran, or when a start was given up."`
}

type stopRequest struct {
	ProfilePath
	Body *stopInput `required:"false"`
}

func (s *server) stopProfile(ctx context.Context, in *stopRequest) (*struct{ Body stopJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	last, ran, err := s.runs.stop(ctx, row.ID, in.Body != nil && in.Body.Force)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body stopJSON }{stopJSON{ID: row.ID, Status: "stopped", LastRun: last, Stopped: ran}}
	if last != nil {
		out.Body.Method = last.Method
	}
	if row, err = s.profileRow(ctx, in.ID, false); err == nil && row.Status == "failed" {
		out.Body.Status = "failed"
	}
	return out, nil
}
