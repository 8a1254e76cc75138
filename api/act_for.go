package api

import (
	"net/http"
	"strings"

	"warren/nodes"
)

// Does the actions of schedules for other servers of the database.

// isAction reports whether another server asks for a schedule's action. Nobody else can.
func isAction(r *http.Request) bool {
	return requestOf(r.Context()).peer != "" && r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, nodes.SchedulesPath)
}

// actFor does a schedule's action to a profile, and answers what came of it. The schedule acts by itself, in its workspace.
func (s *API) actFor(w http.ResponseWriter, r *http.Request) error {
	requestOf(r.Context()).route = nodes.SchedulesPath + "{id}/{profileId}"
	schedule, profile, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, nodes.SchedulesPath), "/")
	unchanged, runID, failed := s.schedules.ActFor(r.Context(), schedule, profile)
	out := nodes.Acted{Unchanged: unchanged, RunID: runID}
	if failed != nil {
		out.Code, out.Message = failed.Code, failed.Message
	}
	return writeJSON(w, r, http.StatusOK, out)
}
