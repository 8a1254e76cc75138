package main

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// This file holds what a change of a proxy answers, and the way back to a profile's own proxy.

// Cutting says what becomes of connections that are open when another proxy is in use.
type Cutting struct {
	Cut bool `query:"cut" doc:"When a running profile gets another proxy by this, or the same one at another address or with other credentials: end its connections through the old one. Else they stay until they end by themselves."`
}

// changedRunJSON is what a change of a proxy has done to a run.
type changedRunJSON struct {
	ProfileID string               `json:"profileId"`
	RunID     string               `json:"runId"`
	Swapped   bool                 `json:"swapped" doc:"New connections go through the proxy as it is now. false: nothing of its address changed, the run goes on through another (a fallback), or its process did not take it."`
	Cut       int                  `json:"cut" doc:"Connections that were ended."`
	Effective changedEffectiveJSON `json:"effective"`
	Pending   []string             `json:"pending" doc:"As in run."`
}

// changedEffectiveJSON is what of a run's settings follows its exit.
type changedEffectiveJSON struct {
	Timezone    string         `json:"timezone"`
	Locale      []string       `json:"locale"`
	Geolocation jsontext.Value `json:"geolocation" doc:"A position, off, or null: the page asks as Chrome does."`
}

// changedRuns says what a change of a proxy has done to runs.
func changedRuns(all []changedRun) (out []changedRunJSON) {
	for _, c := range all {
		e := c.run.Effective
		out = append(out, changedRunJSON{c.run.ProfileID, c.run.RunID, c.swap.Swapped, c.swap.Closed, changedEffectiveJSON{e.Timezone, e.Locale, e.Geolocation}, c.run.Pending})
	}
	return out
}

type failbackRequest struct {
	ProfilePath
	Body *noInput `required:"false"`
}

// failback takes a run back to its own proxy.
func (s *server) failback(ctx context.Context, in *failbackRequest) (*struct{ Body RunJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.failback(context.WithoutCancel(ctx), row.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body RunJSON }{*run}, nil
}
