package api

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"warren/pool"
	"warren/problem"
	"warren/runs"
)

// Reports what a changed proxy did to runs, fails runs back to their own proxy, and rotates the exit IP of proxies. To rotate is to call
// the rotateUrl, to wait, and to check whether the exit has changed.

// CloseOldQuery says whether connections through the old proxy are closed when another one is in use.
type CloseOldQuery struct {
	CloseOld bool `query:"cut" doc:"Close connections of running profiles through the old proxy, address or credentials. Otherwise they stay open until they end by themselves."`
}

// changedRunJSON is the effect of a proxy change on a run.
type changedRunJSON struct {
	ProfileID string               `json:"profileId"`
	RunID     string               `json:"runId"`
	Swapped   bool                 `json:"swapped" doc:"New connections use the changed proxy. false: its address did not change, the run uses a fallback, or the process of the run refused it."`
	Cut       int                  `json:"cut" doc:"Closed connections."`
	Effective changedEffectiveJSON `json:"effective"`
	Pending   []string             `json:"pending" doc:"As in run."`
}

// changedEffectiveJSON holds the settings of a run that follow its exit IP.
type changedEffectiveJSON struct {
	Timezone    string         `json:"timezone"`
	Locale      []string       `json:"locale"`
	Geolocation jsontext.Value `json:"geolocation" doc:"A position, off, or null: pages ask as in Chrome."`
}

// changedRuns converts the effects of a proxy change.
func changedRuns(all []runs.Changed) (out []changedRunJSON) {
	for _, c := range all {
		e := c.Run.Effective
		out = append(out, changedRunJSON{c.Run.ProfileID, c.Run.RunID, c.Swap.Swapped, c.Swap.Closed, changedEffectiveJSON{e.Timezone,
			e.Locale, e.Geolocation}, c.Run.Pending})
	}
	return out
}

type failbackRequest struct {
	ProfilePath
	Body *noInput `required:"false"`
}

func (failbackRequest) problems() []*problem.Error { return []*problem.Error{runs.NotRunning()} }

// failbackBody is the answer of failback.
type failbackBody struct{ Body *runs.Info }

func (failbackBody) example() any { return exampleStart().Info }

// failback switches a run from its fallback to its profile's own proxy.
func (s *API) failback(ctx context.Context, in *failbackRequest) (*failbackBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.Failback(context.WithoutCancel(ctx), row.ID)
	return &failbackBody{run}, err
}

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
	result, err := s.pool.Rotate(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	if result.Changed {
		s.runs.ExitMoved(context.WithoutCancel(ctx), result.Workspace, in.ID)
	}
	return &struct{ Body rotateJSON }{rotateJSON{ID: in.ID, Changed: result.Changed, Before: result.Before, ExitIP: result.Check.ExitIP,
		Check: result.Check, DurationMs: time.Since(start).Milliseconds()}}, nil
}
