package main

import (
	"context"
	"time"
)

// The operation that runs a leak test.

type leakTestInput struct {
	TimeoutMs int64 `json:"timeoutMs,omitempty" nullable:"true" minimum:"10000" maximum:"120000" doc:"How long the page may take once its browser takes commands. Default: 60000."`
}

func (s *server) leakTest(ctx context.Context, in *struct {
	ProfilePath
	Body *leakTestInput `required:"false"`
}) (*struct{ Body leakTestJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	limit := leakTestTime
	if in.Body != nil && in.Body.TimeoutMs != 0 {
		limit = time.Duration(in.Body.TimeoutMs) * time.Millisecond
	}
	answer, err := s.runs.leakTest(ctx, row, callerOf(ctx).asker(), limit)
	if err != nil {
		return nil, err
	}
	return &struct{ Body leakTestJSON }{*answer}, nil
}
