package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/nodes"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Chooses a server for the first start of a profile, where several share a database, and for questions about that start.

// passToNew sends a request about a profile that no server has yet to one that fits. done is false where that is this one, which has the
// profile's data from now on if the request starts the profile. Where no server fits, this one explains what it would run.
func (s *API) passToNew(w http.ResponseWriter, r *http.Request, where place) (done bool, err error) {
	body, again, err := keepBody(r)
	if err != nil {
		return false, err
	}
	if len(body) > maxBody {
		return false, nil // it is refused
	}
	here, bind := false, where == atPlace && !isDryRun(body)
	err = s.tryPlaces(r.Context(), pathID(r.URL.Path), bind, func(to nodes.Info, chosen bool) error {
		if here = to.Self; here {
			return nil
		}
		again()
		if chosen {
			return s.passToNode(w, r, to, refusedBefore)
		}
		return s.passToNode(w, r, to, nil)
	})
	again()
	if where == atChoice && problem.HasCode(err, noMorePlaces().Code) {
		return false, nil
	}
	return err == nil && !here, err
}

// isDryRun reports whether a body asks what would be started.
func isDryRun(body []byte) bool {
	var in struct {
		DryRun bool `json:"dryRun"`
	}
	return json.Unmarshal(body, &in) == nil && in.DryRun
}

// tryPlaces calls start with the server that has a profile. One without data is started where it fits best; a server that was chosen so
// and refuses before anything has begun is followed by the next one, runs.MaxPlaces at most. With bind this one, if it is chosen, gets the
// profile before the call.
func (s *API) tryPlaces(ctx context.Context, id string, bind bool, start func(to nodes.Info, chosen bool) error) (err error) {
	for tried := []string{}; len(tried) < runs.MaxPlaces; {
		to, chosen, none := s.placeOf(ctx, id, bind, tried)
		if none != nil {
			return cmp.Or(err, none)
		}
		if err = start(to, chosen); !chosen || !runs.RefusedBefore(err) {
			return err
		}
		tried = append(tried, to.ID)
	}
	return err
}

// placeOf returns the server that has a profile's data. For a profile without one it is the best that was not tried; chosen is true then,
// unless it is this one, which gets the profile with bind. A profile that there is not is this server's to refuse.
func (s *API) placeOf(ctx context.Context, id string, bind bool, tried []string) (to nodes.Info, chosen bool, err error) {
	self := nodes.Info{ID: s.nodes.Owner(), Self: true}
	row, err := s.store.Profile(ctx, callerOf(ctx).Sees, id, false)
	switch {
	case errors.Is(err, store.ErrNoRow), self.ID == "":
		return self, false, nil
	case err != nil:
		return self, false, err
	case row.NodeID == nil:
		return s.choose(ctx, row, bind, tried)
	case *row.NodeID == self.ID:
		return self, false, nil
	}
	to, err = s.nodes.Other(ctx, *row.NodeID)
	return to, false, err
}

// choose returns the best server for a profile of those that were not tried. With bind the profile is this one's, if it is the best and no
// other one was faster.
func (s *API) choose(ctx context.Context, row store.Profile, bind bool, tried []string) (to nodes.Info, chosen bool, err error) {
	want, err := nodes.WishOf(row)
	if err != nil {
		return to, false, err
	}
	fit, err := s.nodes.Choose(ctx, want)
	if err != nil {
		return to, false, err
	}
	i := slices.IndexFunc(fit, func(n nodes.Info) bool { return !slices.Contains(tried, n.ID) })
	if i < 0 {
		return to, false, noMorePlaces()
	}
	if self := fit[i].Self; !self || !bind {
		return fit[i], !self, nil
	}
	at, err := s.runs.Place(ctx, row)
	if err != nil || at == fit[i].ID {
		return fit[i], false, err
	}
	to, err = s.nodes.Other(ctx, at)
	return to, false, err
}

// refusedBefore returns the problem of an answer by which a server refuses before anything has begun; nil for others.
func refusedBefore(res *http.Response) error {
	if res.StatusCode < http.StatusBadRequest {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	res.Body.Close() //nolint:errcheck // it was read
	if err != nil {
		return err
	}
	if p, err := problemFrom(text); err == nil && runs.RefusedBefore(p) {
		return p
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}

// noMorePlaces is the error of a start that every server has refused.
func noMorePlaces() *problem.Error {
	return problem.New(problem.Unavailable, "no_server", "Every server that fits the profile refuses it. Try again in a moment.").
		After(5 * time.Second)
}

// pathID returns the id in an address such as /api/v1/profiles/{id}/start.
func pathID(path string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(path, Prefix+"/profiles/"), "/")
	return id
}
