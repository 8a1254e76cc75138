package api

import (
	"context"
	"time"

	"warren/problem"
	"warren/runs"
)

type stopInput struct {
	Force bool `json:"force,omitempty" nullable:"true" doc:"Kill the browser: unwritten data is lost."`
}

func (stopInput) example() any { return map[string]any{"force": false} }

// StopAnswer is the result of a stop.
type StopAnswer struct {
	ID      string    `json:"id"`
	Stopped bool      `json:"stopped" doc:"false: nothing ran."`
	Status  string    `json:"status" enum:"stopped,failed"`
	Method  string    `json:"method,omitempty" doc:"How the browser was ended: close, interrupt or kill."`
	LastRun *runs.End `json:"lastRun" doc:"null if nothing ran, or if a start was cancelled."`
}

func (StopAnswer) example() any {
	return StopAnswer{ID: exampleProfileID, Stopped: true, Status: "stopped", Method: "close", LastRun: exampleLastRun()}
}

func exampleLastRun() *runs.End {
	return &runs.End{RunID: exampleRunID, StartedAt: exampleTime(), EndedAt: exampleTime().Add(time.Minute), DurationMs: 60000,
		Status: "stopped", Reason: "stopped", Method: "close", BytesUp: 48213, BytesDown: 1903422}
}

type stopRequest struct {
	ProfilePath
	Body *stopInput `required:"false"`
}

func (stopRequest) problems() []*problem.Error { return []*problem.Error{runs.CannotEnd()} }

func (s *API) stopProfile(ctx context.Context, in *stopRequest) (*struct{ Body StopAnswer }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	last, ran, err := s.runs.Stop(ctx, row.ID, in.Body != nil && in.Body.Force)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body StopAnswer }{StopAnswer{ID: row.ID, Status: "stopped", LastRun: last, Stopped: ran}}
	if last != nil {
		out.Body.Method = last.Method
	}
	if row, err = s.profileRow(ctx, in.ID, false); err == nil && row.Status == "failed" {
		out.Body.Status = "failed"
	}
	return out, nil
}
