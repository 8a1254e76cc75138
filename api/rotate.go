package api

import (
	"context"
	"time"

	"warren/pool"
	"warren/problem"
)

// Rotates the exit IP of proxies: calls the rotateUrl, waits, and checks whether the exit has changed.

// rotateJSON is the result of a rotation.
type rotateJSON struct {
	ID         string      `json:"id"`
	Changed    bool        `json:"changed" doc:"Whether the exit has changed."`
	Before     *string     `json:"before" doc:"The exit before; null if the proxy did not work." example:"203.0.113.7"`
	ExitIP     *string     `json:"exitIp" doc:"The exit now; null if the proxy does not work." example:"203.0.113.8"`
	Check      *pool.Check `json:"check" doc:"The last check, which is kept."`
	DurationMs int64       `json:"durationMs"`
}

func (rotateJSON) example() any {
	c := exampleCheck()
	c.ExitChanged = true
	return rotateJSON{ID: exampleProxyID, Changed: true, Before: new("203.0.113.8"), ExitIP: c.ExitIP, Check: &c, DurationMs: 6120}
}

// rotateRequest names a proxy to rotate.
type rotateRequest struct {
	ProxyPath
	Body *noInput `required:"false"`
}

func (rotateRequest) problems() []*problem.Error {
	return []*problem.Error{pool.NoRotateURL(), pool.RotateFailed("answered with HTTP status 500"), pool.RotatedLately(10*time.Second, 0)}
}

func (s *API) rotateProxy(ctx context.Context, in *rotateRequest) (*struct{ Body rotateJSON }, error) {
	start := time.Now()
	c := callerOf(ctx)
	result, err := s.pool.Rotate(ctx, c.Sees, in.ID)
	if err != nil {
		return nil, err
	}
	if result.Changed {
		s.runs.ExitMoved(context.WithoutCancel(ctx), result.Workspace, in.ID)
	}
	return &struct{ Body rotateJSON }{rotateJSON{ID: in.ID, Changed: result.Changed, Before: result.Before, ExitIP: result.Check.ExitIP,
		Check:      result.Check,
		DurationMs: time.Since(start).Milliseconds()}}, nil
}
