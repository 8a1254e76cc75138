package main

import (
	"context"

	"warren/shim"
)

// The list of the browsers of this machine.

// browserListJSON is a browser as the list shows it.
type browserListJSON struct {
	Path    string `json:"path" example:"/usr/lib/chromium/chromium"`
	Product string `json:"product" example:"Chromium"`
	Version string `json:"version" example:"156.0.8078.79"`
	Major   int    `json:"major" example:"156"`
	Source  string `json:"source" enum:"default,path,usual,added,folder,installed" doc:"default: the one that runs profiles which declare no version. Else where it was found: by its name on PATH, in a usual place, added or installed with warren browser, below a folder of --browsers."`
}

func browserRows(all []shim.Listed) []browserListJSON {
	out := make([]browserListJSON, 0, len(all))
	for _, b := range all {
		out = append(out, browserListJSON{b.Path, b.Product, b.Version, b.Major, string(b.Source)})
	}
	return out
}

// listBrowsers answers all at once: a machine has a handful. None at all is an empty list, and no error; so is a default one that is gone.
func (s *server) listBrowsers(ctx context.Context, _ *struct{}) (*listBody[browserListJSON], error) {
	all, err := s.runs.allBrowsers(ctx)
	if err != nil {
		return nil, err
	}
	rows := browserRows(all)
	return &listBody[browserListJSON]{list[browserListJSON]{Data: rows, Total: int64(len(rows)), Page: 1, Limit: max(1, len(rows))}}, nil
}
