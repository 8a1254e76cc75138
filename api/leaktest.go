package api

import (
	"context"
	"time"

	"warren/problem"
	"warren/runs"
)

// Runs leak tests.

type leakTestInput struct {
	TimeoutMs int64 `json:"timeoutMs,omitempty" nullable:"true" minimum:"10000" maximum:"120000" doc:"Time limit of the page, from when its browser takes commands. Default: 60000."`
}

func (leakTestInput) example() any {
	return map[string]any{"timeoutMs": runs.LeakTestTime.Milliseconds()}
}

func (leakTestInput) problems() []*problem.Error {
	return append(noBrowserProblems(), runs.ExtensionMissing("Blocker"))
}

// leakTestBody is the answer of leakTest.
type leakTestBody struct{ Body *runs.LeakTest }

func (leakTestBody) example() any {
	return runs.LeakTest{Passed: true, Isolation: runs.Isolation{Network: "namespace", Files: "namespace", Sandbox: true},
		Warnings: []runs.Warning{}, StartedAt: exampleTime(), DurationMs: 11240, Channels: []runs.LeakChannel{
			{Channel: "http", Passed: true, Seen: "nothing beside the relay in 221 tries; 11 of 11 through it arrived"},
			{Channel: "stun_udp", Passed: true, Seen: "nothing beside the relay in 6 tries"}}}
}

func (s *API) leakTest(ctx context.Context, in *struct {
	ProfilePath
	Body *leakTestInput `required:"false"`
}) (*leakTestBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	limit := runs.LeakTestTime
	if in.Body != nil && in.Body.TimeoutMs != 0 {
		limit = time.Duration(in.Body.TimeoutMs) * time.Millisecond
	}
	answer, err := s.runs.LeakTest(ctx, row, callerOf(ctx).asker(), limit)
	return &leakTestBody{answer}, err
}
