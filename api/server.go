package api

import (
	"context"
	"time"

	"warren/runs"
)

// Shows what the server was started with, and what it finds on its machine.

// Flag is a setting of the server and its value in force.
type Flag struct {
	Name    string   `json:"name" doc:"The flag, without --." example:"max-running"`
	Values  []string `json:"values" doc:"The value; several where the flag may be repeated, none where it has no value." example:"[\"20\"]"`
	Default string   `json:"default" doc:"The value without the flag; empty: none, or one that depends on the machine." example:"0"`
	Changed bool     `json:"changed" doc:"Whether a flag, the environment or the file gave another value than the default."`
	Help    string   `json:"help" example:"Browsers that run at the same time."`
}

// serverJSON is the server as administrators see it.
type serverJSON struct {
	Version    map[string]string `json:"version" doc:"As GET /version answers it."`
	StartedAt  time.Time         `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DataFolder string            `json:"dataFolder" example:"/var/lib/warren"`
	Address    string            `json:"address" doc:"Where the server listens." example:"127.0.0.1:7777"`
	Settings   []Flag            `json:"settings"`
	Findings   []runs.Finding    `json:"findings" doc:"What warren doctor finds."`
}

func (serverJSON) example() any {
	return serverJSON{map[string]string{"version": "1.0.0"}, exampleTime(), "/var/lib/warren", "127.0.0.1:7777",
		[]Flag{{"max-running", []string{"20"}, "0", true, "Browsers that run at the same time."}},
		[]runs.Finding{{Name: "disk", OK: true, Detail: "120.5 GiB free at /var/lib/warren"}}}
}

// getServer examines the machine anew at each call: that takes a fraction of a second.
func (s *API) getServer(ctx context.Context, _ *struct{}) (*struct{ Body serverJSON }, error) {
	out := serverJSON{Version: s.cfg.Version, StartedAt: s.started, DataFolder: s.cfg.Data, Settings: s.cfg.Settings,
		Findings: s.runs.Examine(ctx)}
	if out.Address = s.cfg.Listen; s.cfg.Address != nil {
		out.Address = s.cfg.Address.String()
	}
	return &struct{ Body serverJSON }{out}, nil
}
