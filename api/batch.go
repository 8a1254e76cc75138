package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Does one thing to many profiles. Each goes the way of the single operation, with its refusals and its events.

// maxBatch is how many profiles one request may name.
const maxBatch = 1000

// batchAtOnce is how many profiles of one request are handled at a time. Starts wait in the queue of starts.
const batchAtOnce = 100

type batchInput struct {
	Action  string        `json:"action" enum:"start,stop,restart,delete,restore,tag,untag,setProxy"`
	IDs     []string      `json:"ids,omitempty" minItems:"1" maxItems:"1000" doc:"The profiles."`
	Filter  *batchFilter  `json:"filter,omitempty" doc:"Instead of ids: the profiles that a list with these parameters has at this moment, at most 100,000. The answer is 202 with a job."`
	Tags    opt[[]string] `json:"tags,omitempty" doc:"With tag and untag."`
	ProxyID opt[string]   `json:"proxyId,omitempty" doc:"With setProxy; null: direct."`

	Proxies opt[proxiesInput] `json:"proxies,omitempty" doc:"With setProxy, instead of proxyId: a proxy for each profile, as createProfiles takes it. \"each\": proxies that no profile uses yet. An object: proxies with the tag, with each none of them twice. A list of ids: one for each profile, in order."`
}

func (batchInput) example() any {
	return map[string]any{"action": "start", "ids": []string{exampleProfileID}}
}

type batchRequest struct {
	Body batchInput
}

// batchBody is the answer: the results, or the job that goes on.
type batchBody struct {
	Status   int
	Location string `header:"Location" doc:"Of the job."`
	Body     batchAnswer
}

type batchAnswer struct {
	results *batchJSON
	job     *JobJSON
}

// MarshalJSON writes the one that there is.
func (a batchAnswer) MarshalJSON() ([]byte, error) {
	if a.job != nil {
		return json.Marshal(a.job)
	}
	return json.Marshal(a.results)
}

// Schema is that of the results; showJobs adds the job's.
func (batchAnswer) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[batchJSON](), true, "")
}

func (batchBody) example() any { return batchJSON{}.example() }

// batchJSON is the answer of a batch: one result per id, in the order given.
type batchJSON struct {
	Results []batchResultJSON `json:"results"`
}

// batchResultJSON is the result of one profile.
type batchResultJSON struct {
	ID      string        `json:"id"`
	Status  int           `json:"status" doc:"The HTTP status that the single operation would have had." example:"200"`
	Profile *profileJSON  `json:"profile,omitempty" doc:"As it is now; not with start, restart and delete."`
	Run     *runs.Started `json:"run,omitempty" doc:"With start and restart: the answer."`
	Error   *Problem      `json:"error,omitempty" doc:"Why it was refused."`
}

func (batchJSON) example() any {
	start := exampleStart()
	return batchJSON{[]batchResultJSON{{ID: exampleProfileID, Status: 200, Run: &start}}}
}

// batchAction says what an action of a batch takes.
type batchAction struct {
	need        store.Right
	tags, proxy bool // the member that goes with it
}

// batchActions are the actions of a batch.
func batchActions() map[string]batchAction {
	return map[string]batchAction{
		"start": {need: scopeRun}, "stop": {need: scopeRun}, "restart": {need: scopeRun},
		"delete": {need: scopeWrite}, "restore": {need: scopeWrite},
		"tag": {need: scopeWrite, tags: true}, "untag": {need: scopeWrite, tags: true},
		"setProxy": {need: scopeWrite, proxy: true},
	}
}

// Resolve checks the request by itself, and whether the key may do the action.
func (in *batchRequest) Resolve(ctx huma.Context) []error {
	action, known := batchActions()[in.Body.Action]
	if p := callerOf(ctx.Context()).may(action.need); known && p != nil { // the schema refuses an unknown one
		return []error{p}
	}
	completable(ctx, in)
	var f faults
	in.Body.check(action, &f)
	return f.errors()
}

func (in *batchRequest) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	if in.Body.Filter != nil {
		_, err = s.failedIn(ctx, in.Body.Filter, &f)
	}
	return f, err
}

// check notes ids that stand twice, and members that do not go with the action. It normalises the tags.
func (in *batchInput) check(action batchAction, f *faults) {
	seen := map[string]int{}
	for i, id := range in.IDs {
		if first, twice := seen[id]; twice {
			f.add(element("body.ids", i), fmt.Sprintf("This profile is already listed as ids[%d]. List each one once.", first), nil)
			continue
		}
		seen[id] = i
	}
	switch {
	case in.IDs == nil && in.Filter == nil:
		f.add("body.ids", "Name the profiles by their ids, or give a filter in place of ids.", nil)
	case in.Filter != nil && in.IDs != nil:
		f.add("body.filter", "Give either a filter or ids, not both.", nil)
	case in.Filter != nil:
		in.Filter.check(in.Action, f)
	}
	switch {
	case !action.tags && in.Tags.Set:
		f.add("body.tags", "Tags go with the actions tag and untag. Leave them out here.", nil)
	case action.tags && len(in.Tags.Value) == 0:
		f.add("body.tags", "Enter at least one tag to add or remove.", nil)
	case action.tags:
		in.Tags.Value = f.tags("body.tags", in.Tags.Value)
	}
	in.checkProxies(action.proxy, f)
}

// checkProxies notes what is wrong with the members of setProxy.
func (in *batchInput) checkProxies(needed bool, f *faults) {
	switch {
	case !needed:
		f.require(!in.ProxyID.Set, "body.proxyId", "A proxy goes with the action setProxy. Leave it out here.")
		f.require(!in.Proxies.Set, "body.proxies", "Proxies go with the action setProxy. Leave them out here.")
	case in.ProxyID.Set && in.Proxies.Set:
		f.add("body.proxies", "Give either proxyId or proxies, not both.", nil)
	case in.Proxies.Null:
		f.add("body.proxies", "Choose proxies. For a direct connection give \"proxyId\": null instead.", nil)
	case !in.ProxyID.Set && !in.Proxies.Set:
		f.add("body.proxyId", "Choose a proxy, or null for a direct connection, or give proxies.", nil)
	}
	if from := in.Proxies.Value.From; from != nil {
		from.Tag = f.plain("body.proxies.tag", from.Tag, 1, 64)
	}
	if ids := in.Proxies.Value.IDs; ids != nil && in.IDs != nil && len(ids) != len(in.IDs) {
		f.add("body.proxies", fmt.Sprintf("Give one proxy for each profile: there are %d proxies for %d profiles.",
			len(ids), len(in.IDs)), nil)
	}
}

// batch does the action to each profile, or begins a job that does. It goes on when its client goes away, and stops when its
// key ends.
func (s *API) batch(ctx context.Context, in *batchRequest) (*batchBody, error) {
	if in.Body.Filter != nil {
		return s.startJob(ctx, &in.Body)
	}
	ctx = context.WithoutCancel(ctx)
	dealt, release, err := s.dealTo(ctx, &in.Body, in.Body.IDs)
	if err != nil {
		return nil, err
	}
	defer release()
	requestOf(ctx).unusedProxy = in.Body.Proxies.Value.Each
	if err := s.recordBatch(ctx, "", &in.Body, in.Body.IDs); err != nil {
		return nil, err
	}
	results := make([]batchResultJSON, len(in.Body.IDs))
	slots := make(chan struct{}, batchAtOnce)
	var wg sync.WaitGroup
	for i, id := range in.Body.IDs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := s.keys.confirm(ctx, callerOf(ctx)); err != nil {
				results[i] = s.batchRefused(ctx, id, err)
				return
			}
			results[i] = s.batchOne(ctx, id, in.Body.with(dealt, i))
		})
	}
	wg.Wait()
	return &batchBody{Status: http.StatusOK, Body: batchAnswer{results: &batchJSON{results}}}, nil
}

// recordBatch records what is asked of many profiles, before the first of them changes.
func (s *API) recordBatch(ctx context.Context, workspace string, in *batchInput, ids []string) error {
	detail := map[string]any{"action": in.Action, "count": len(ids), "profileIds": some(ids)}
	if len(in.Tags.Value) > 0 {
		detail["tags"] = in.Tags.Value
	}
	if in.ProxyID.Set {
		detail["proxyId"] = orNull(in.ProxyID.Value)
	}
	return s.audit(ctx, "profiles.batch", workspace, "", detail)
}

// dealTo deals proxies to the profiles of some ids; without proxies in the request none. The caller must call release.
func (s *API) dealTo(ctx context.Context, in *batchInput, ids []string) (dealt []string, release func(), err error) {
	if !in.Proxies.given() {
		return nil, func() {}, nil
	}
	by := callerOf(ctx)
	rows, err := s.store.Read().ListWorkspacesOfProfiles(ctx, store.ListWorkspacesOfProfilesParams{Ids: jsonList(ids),
		Workspaces: by.Sees.Filter()})
	if err != nil {
		return nil, nil, err
	}
	workspaces := make(map[string]string, len(rows))
	for _, row := range rows {
		workspaces[row.ID] = row.WorkspaceID
	}
	to := make([]store.ProfileID, len(ids))
	for i, id := range ids {
		to[i] = store.ProfileID{ID: id, Workspace: workspaces[id]}
	}
	return s.deals.deal(ctx, by, &in.Proxies.Value, to)
}

// with is the request for one profile: with the proxy that was dealt to it.
func (in *batchInput) with(dealt []string, place int) *batchInput {
	if dealt == nil {
		return in
	}
	one := *in
	one.ProxyID = opt[string]{Set: true, Value: dealt[place]}
	return &one
}

// batchOne does the action to one profile.
func (s *API) batchOne(ctx context.Context, id string, in *batchInput) batchResultJSON {
	result, err := s.batchAction(ctx, id, in)
	if err != nil {
		return s.batchRefused(ctx, id, err)
	}
	result.ID = id
	return result
}

// batchRefused is the result of a profile for which the action failed.
func (s *API) batchRefused(ctx context.Context, id string, err error) batchResultJSON {
	p := occurrence(ctx, s.log, fromError(s.withUse(ctx, err)))
	return batchResultJSON{ID: id, Status: p.Status, Error: p}
}

// batchAction does the action to one profile. A panic fails this profile alone.
func (s *API) batchAction(ctx context.Context, id string, in *batchInput) (result batchResultJSON, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = problem.Hidden(fmt.Errorf("panic: %v", v))
		}
	}()
	path := ProfilePath{ID: id}
	result.Status = http.StatusOK
	var changed *ProfileBody
	switch in.Action {
	case "start", "restart":
		result.Run, err = s.startAnywhere(ctx, id, in.Action)
		return result, err
	case "stop":
		if err = s.stopAnywhere(ctx, path); err == nil {
			changed, err = s.getProfile(ctx, &profileGet{ProfilePath: path})
		}
	case "delete":
		result.Status = http.StatusNoContent
		return result, s.deleteAnywhere(ctx, path, false)
	case "restore":
		changed, err = s.restoreProfile(ctx, &profileRestore{ProfilePath: path})
	case "setProxy":
		changed, err = s.setProxyAnywhere(ctx, path, in.ProxyID)
	default:
		changed, err = s.changeTags(ctx, path, in)
	}
	if err == nil {
		result.Profile = &changed.Body
	}
	return result, err
}

// changeProfile is an update that no Resolve has checked.
func (s *API) changeProfile(ctx context.Context, in profileUpdate) (*ProfileBody, error) {
	var f faults
	in.Body.check(&f)
	if err := f.problem(); err != nil {
		return nil, err
	}
	return s.updateProfile(ctx, &in)
}

// changeTags adds tags to a profile or takes them away. It starts again when the profile changes meanwhile.
func (s *API) changeTags(ctx context.Context, path ProfilePath, in *batchInput) (*ProfileBody, error) {
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
			tags = slices.DeleteFunc(tags, func(t string) bool {
				return slices.ContainsFunc(in.Tags.Value, func(gone string) bool { return store.Fold(gone) == store.Fold(t) })
			})
		}
		if len(tags) == before {
			return s.profileAnswer(ctx, row)
		}
		changed, err := s.changeProfile(ctx, profileUpdate{ProfilePath: path, IfMatch: etag(row.Revision),
			Body: ProfileInput{Tags: opt[[]string]{Set: true, Value: tags}}})
		if err == nil || !problem.Is(err, problem.Changed) {
			return changed, err
		}
	}
}
