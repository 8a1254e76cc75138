package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// This file does one thing to many profiles. Each goes the way of the single operation, with its refusals and its events.

// maxBatch is how many profiles one request may name.
const maxBatch = 1000

// batchAtOnce is how many profiles of one request are worked on at a time. Starts wait for each other in their queue.
const batchAtOnce = 100

type batchInput struct {
	Action  string        `json:"action" enum:"start,stop,restart,delete,restore,tag,untag,setProxy"`
	IDs     []string      `json:"ids" minItems:"1" maxItems:"1000" doc:"The profiles."`
	Tags    opt[[]string] `json:"tags,omitempty" doc:"With tag and untag."`
	ProxyID opt[string]   `json:"proxyId,omitempty" doc:"With setProxy; null: direct."`
}

type batchRequest struct {
	Body batchInput
}

// batchJSON is what came of a batch: one result per id, in the order given.
type batchJSON struct {
	Results []batchResultJSON `json:"results"`
}

// batchResultJSON is what came of one profile.
type batchResultJSON struct {
	ID      string       `json:"id"`
	Status  int          `json:"status" doc:"The HTTP status that the single operation would have had." example:"200"`
	Profile *profileJSON `json:"profile,omitempty" doc:"As it is now; not with start, restart and delete."`
	Run     *startJSON   `json:"run,omitempty" doc:"With start and restart: the answer."`
	Error   *Problem     `json:"error,omitempty" doc:"Why it was refused."`
}

// Resolve checks everything at once, and whether the key may do it.
func (in *batchRequest) Resolve(ctx huma.Context) []error {
	b, need := &in.Body, scopeRead // for an action that there is not; huma refuses it
	switch b.Action {
	case "start", "stop", "restart":
		need = scopeRun
	case "delete", "restore", "tag", "untag", "setProxy":
		need = scopeWrite
	}
	if p := callerOf(ctx.Context()).may(need); p != nil {
		return []error{p}
	}
	var f faults
	seen := map[string]int{}
	for i, id := range b.IDs {
		if first, twice := seen[id]; twice {
			f.add(fmt.Sprintf("body.ids[%d]", i), fmt.Sprintf("is the same as ids[%d]: name each profile once", first), nil)
			continue
		}
		seen[id] = i
	}
	switch tagged := b.Action == "tag" || b.Action == "untag"; {
	case !tagged && b.Tags.Set:
		f.add("body.tags", "goes with tag and untag alone", nil)
	case tagged && len(b.Tags.Value) == 0:
		f.add("body.tags", "is needed with tag and untag: at least one tag", nil)
	case tagged:
		b.Tags.Value = f.tags("body.tags", b.Tags.Value)
	}
	if b.Action == "setProxy" && !b.ProxyID.Set {
		f.add("body.proxyId", "is needed with setProxy: a proxy's id, or null for a direct connection", nil)
	} else if b.Action != "setProxy" && b.ProxyID.Set {
		f.add("body.proxyId", "goes with setProxy alone", nil)
	}
	return f.errors()
}

// batch does the action to each profile. A client that goes away does not stop it half-way; the end of its key does.
func (s *server) batch(ctx context.Context, in *batchRequest) (*struct{ Body batchJSON }, error) {
	ctx = context.WithoutCancel(ctx)
	out := &struct{ Body batchJSON }{batchJSON{make([]batchResultJSON, len(in.Body.IDs))}}
	places := make(chan struct{}, batchAtOnce)
	var wg sync.WaitGroup
	for i, id := range in.Body.IDs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			result, err := s.batchOne(ctx, id, &in.Body)
			if err != nil {
				p := occurrence(ctx, s.log, fromError(err))
				result = batchResultJSON{Status: p.Status, Error: p}
			}
			result.ID = id
			out.Body.Results[i] = result
		})
	}
	wg.Wait()
	return out, nil
}

// batchOne does the action to one profile. A fault of the server's own in it is no other's.
func (s *server) batchOne(ctx context.Context, id string, in *batchInput) (result batchResultJSON, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = problem.Hidden(fmt.Errorf("panic: %v", v))
		}
	}()
	if err := s.keys.confirm(ctx, callerOf(ctx)); err != nil {
		return result, err
	}
	path := ProfilePath{ID: id}
	result.Status = http.StatusOK
	var changed *ProfileBody
	switch in.Action {
	case "start", "restart":
		by := s.runs.start
		if in.Action == "restart" {
			by = s.runs.restart
		}
		answer, err := s.startBy(ctx, &startRequest{ProfilePath: path, Body: &startInput{}}, by)
		if err != nil {
			return result, err
		}
		result.Run = answer.Body.started
		return result, nil
	case "stop":
		if _, err = s.stopProfile(ctx, &stopRequest{ProfilePath: path}); err == nil {
			changed, err = s.getProfile(ctx, &profileGet{ProfilePath: path})
		}
	case "delete":
		result.Status = http.StatusNoContent
		_, err = s.deleteProfile(ctx, &profileDelete{ProfilePath: path})
		return result, err
	case "restore":
		changed, err = s.restoreProfile(ctx, &profileRestore{ProfilePath: path})
	case "setProxy":
		changed, err = s.changeProfile(ctx, profileUpdate{ProfilePath: path, Body: profileInput{ProxyID: in.ProxyID}})
	default:
		changed, err = s.changeTags(ctx, path, in)
	}
	if err == nil {
		result.Profile = &changed.Body
	}
	return result, err
}

// changeProfile is an update that nobody has looked at yet.
func (s *server) changeProfile(ctx context.Context, in profileUpdate) (*ProfileBody, error) {
	f, err := in.check(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(f) > 0 {
		return nil, problem.NotValid(f...)
	}
	return s.updateProfile(ctx, &in)
}

// changeTags adds tags to a profile or takes them away. When the profile changes meanwhile it looks again.
func (s *server) changeTags(ctx context.Context, path ProfilePath, in *batchInput) (*ProfileBody, error) {
	for {
		row, err := s.profileRow(ctx, path.ID, false)
		if err != nil {
			return nil, err
		}
		var tags []string
		if err := json.Unmarshal([]byte(row.Tags), &tags); err != nil {
			return nil, err
		}
		before := len(tags)
		if in.Action == "tag" {
			tags = new(faults).tags("", append(tags, in.Tags.Value...)) // one that is there stays where it is
		} else {
			tags = slices.DeleteFunc(tags, func(t string) bool { return containsFold(in.Tags.Value, t) })
		}
		if len(tags) == before {
			return s.profileAnswer(row)
		}
		changed, err := s.changeProfile(ctx, profileUpdate{ProfilePath: path, IfMatch: etag(row.Revision), Body: profileInput{Tags: opt[[]string]{Set: true, Value: tags}}})
		if err == nil || !problem.Is(err, problem.Changed) {
			return changed, err
		}
	}
}

// containsFold says whether a tag is among those, whatever the case.
func containsFold(tags []string, tag string) bool {
	tag = store.Fold(tag)
	return slices.ContainsFunc(tags, func(t string) bool { return store.Fold(t) == tag })
}
