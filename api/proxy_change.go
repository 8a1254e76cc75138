package api

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"warren/problem"
	"warren/runs"
)

// Reports what a changed proxy did to runs, and fails runs back to their own proxy.

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
type failbackBody struct{ Body runs.Info }

func (failbackBody) example() any { return exampleStart().Info }

// failback switches a run from its fallback to its profile's own proxy.
func (s *API) failback(ctx context.Context, in *failbackRequest) (*failbackBody, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.Failback(context.WithoutCancel(ctx), row.ID)
	if err != nil {
		return nil, err
	}
	return &failbackBody{*run}, nil
}
