package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/problem"
)

// Asks other servers of the database for their jobs.

// jobsElsewhere returns the jobs of the caller on the other servers that answer. They live in the memory of the server that runs them.
func (s *API) jobsElsewhere(ctx context.Context) (all []JobJSON, err error) {
	parts, err := askAll[list[JobJSON]](ctx, s, "/jobs?limit=200")
	for _, part := range parts {
		all = append(all, part.Data...)
	}
	return all, err
}

// failedElsewhere returns the profiles that failed in a job of another server; nil: there is no such job.
func (s *API) failedElsewhere(ctx context.Context, at, id string) (failed map[string]bool, ended bool, err error) {
	to, err := s.nodes.Other(ctx, at)
	if problem.Is(err, problem.Conflict) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var shown struct {
		EndedAt *jsontext.Value `json:"endedAt"`
	}
	path := "/jobs/" + url.PathEscape(id)
	err = s.ask(ctx, to, http.MethodGet, path, nil, &shown)
	if problem.Is(err, problem.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	text, err := s.askText(ctx, to, http.MethodGet, path+"/results", nil)
	if err != nil {
		return nil, false, err
	}
	failed = map[string]bool{}
	for line := range bytes.Lines(text) {
		var result jobResultJSON
		if err := json.Unmarshal(line, &result); err != nil {
			return nil, false, err
		}
		if result.Status >= http.StatusBadRequest {
			failed[result.ID] = true
		}
	}
	return failed, shown.EndedAt != nil, nil
}

// newestFirst sorts jobs as a list shows them.
func newestFirst(all []JobJSON) {
	slices.SortStableFunc(all, func(a, b JobJSON) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
}
