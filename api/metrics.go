package api

import (
	"net/http"

	"warren/problem"
)

// serveMetrics answers GET /metrics to keys that see all workspaces.
func (s *API) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	if callerOf(r.Context()).Sees.Filter() != nil {
		return problem.New(problem.Forbidden, "forbidden",
			"The metrics count what happens in all workspaces, and this key does not see all. Use one that does, or --metrics-listen.")
	}
	s.metrics.ServeHTTP(w, r)
	return nil
}
