package main

import (
	"context"
	"time"

	"warren/pool"
)

// This file makes a proxy change its exit: it calls the proxy's rotateUrl, waits, and looks whether the exit is another.

// rotateJSON is what came of it.
type rotateJSON struct {
	ID         string      `json:"id"`
	Changed    bool        `json:"changed" doc:"Whether the exit is another than before."`
	Before     *string     `json:"before" doc:"The exit before; null when the proxy did not work then." example:"203.0.113.7"`
	ExitIP     *string     `json:"exitIp" doc:"The exit now; null when the proxy does not work." example:"203.0.113.8"`
	Check      *pool.Check `json:"check" doc:"The last check, which is kept."`
	DurationMs int64       `json:"durationMs"`
}

func (s *server) rotateProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*struct{ Body rotateJSON }, error) {
	start := time.Now()
	c := callerOf(ctx)
	came, err := s.pool.Rotate(ctx, c.Sees, in.ID)
	if err != nil {
		return nil, err
	}
	if came.Changed {
		s.runs.exitMoved(context.WithoutCancel(ctx), came.Workspace, in.ID)
	}
	return &struct{ Body rotateJSON }{rotateJSON{ID: in.ID, Changed: came.Changed, Before: came.Before, ExitIP: came.Check.ExitIP, Check: came.Check,
		DurationMs: time.Since(start).Milliseconds()}}, nil
}
