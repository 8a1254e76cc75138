package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"warren/problem"
	"warren/store"
)

// Finds the profiles of a batch by a filter.

// batchFilter has the parameters of a list of profiles.
type batchFilter struct {
	WorkspaceID  opt[string]   `json:"workspaceId,omitempty" nullable:"false" doc:"Only this workspace. Without it: all that the key may see."`
	Search       opt[string]   `json:"search,omitempty" nullable:"false" maxLength:"200"`
	Tag          opt[[]string] `json:"tag,omitempty" nullable:"false" maxItems:"50" doc:"All of them are required."`
	Status       opt[string]   `json:"status,omitempty" nullable:"false" enum:"stopped,starting,running,stopping,failed"`
	ProxyID      opt[string]   `json:"proxyId,omitempty" nullable:"false" doc:"A proxy's id, none or missing."`
	ProxyStatus  opt[string]   `json:"proxyStatus,omitempty" nullable:"false" enum:"alive,dead,unknown,unchecked"`
	Country      opt[string]   `json:"country,omitempty" nullable:"false" pattern:"^[A-Za-z]{2}$" doc:"Two letters, such as DE."`
	OS           opt[string]   `json:"os,omitempty" nullable:"false" enum:"win,mac,linux,windows,macos,darwin,lin"`
	NodeID       opt[string]   `json:"nodeId,omitempty" nullable:"false" maxLength:"64" doc:"Those whose data this server has."`
	NeverStarted opt[bool]     `json:"neverStarted,omitempty" nullable:"false"`
	Trashed      opt[bool]     `json:"trashed,omitempty" nullable:"false" doc:"true with restore, and with no other action."`
	FailedIn     opt[string]   `json:"failedIn,omitempty" nullable:"false" doc:"The id of a job of this key that has ended: the profiles that failed in it."`
	Except       opt[[]string] `json:"except,omitempty" nullable:"false" maxItems:"1000" doc:"The ids of profiles that are left out."`
	Sort         opt[string]   `json:"sort,omitempty" nullable:"false" enum:"createdAt,updatedAt,name,lastStartedAt" doc:"The order in which profiles are handled and get proxies. Default: createdAt."`
	Order        opt[string]   `json:"order,omitempty" nullable:"false" enum:"asc,desc" doc:"Default: desc, newest first."`
}

// check notes what does not go with the action.
func (in *batchFilter) check(action string, f *faults) {
	f.require(!in.WorkspaceID.given() || store.IsWorkspaceID(in.WorkspaceID.Value), "body.filter.workspaceId", store.WorkspaceRule)
	if restore := action == "restore"; restore != in.Trashed.Value {
		f.require(!restore, "body.filter.trashed", "Restoring takes profiles out of the trash. Set trashed to true.")
		f.require(restore, "body.filter.trashed", "Only restore takes profiles in the trash. Leave trashed out here.")
	}
}

// list is the filter as a list's parameters.
func (in *batchFilter) list() *profileList {
	l := &profileList{Search: in.Search.Value, Tag: in.Tag.Value, Status: in.Status.Value, ProxyID: in.ProxyID.Value,
		ProxyStatus: in.ProxyStatus.Value, Country: in.Country.Value, OS: in.OS.Value, Sort: in.Sort.Value, Order: in.Order.Value,
		Trashed: in.Trashed.Value, NeverStarted: optBool{Value: in.NeverStarted.Value, set: in.NeverStarted.given()}}
	l.WorkspaceID, l.NodeID = in.WorkspaceID.Value, in.NodeID.Value
	return l
}

// failedIn returns the profiles that failed in the job that the filter names; nil: it names none. It notes a job that there is
// not, or that goes on.
func (s *API) failedIn(ctx context.Context, in *batchFilter, f *faults) (failed map[string]bool, err error) {
	if !in.FailedIn.given() {
		return nil, nil
	}
	ended := false
	if at, _, named := strings.Cut(in.FailedIn.Value, "."); named && at != s.nodes.Owner() {
		failed, ended, err = s.failedElsewhere(ctx, at, in.FailedIn.Value)
	} else if j, missing := s.jobs.find(callerOf(ctx).KeyID, in.FailedIn.Value); missing == nil {
		failed, ended = j.failedIDs()
	}
	if failed == nil && err == nil {
		f.add("body.filter.failedIn", "No such job. The server keeps the last jobs of a key until it stops.", cut(in.FailedIn.Value))
		return nil, nil
	}
	f.require(ended || err != nil, "body.filter.failedIn", "This job is still running. Wait for its end, or cancel it.")
	return failed, err
}

// find returns the profiles of a filter as they are now. Too many are a fault.
func (s *API) find(ctx context.Context, by *caller, in *batchFilter) ([]store.ProfileID, error) {
	var f faults
	failed, err := s.failedIn(ctx, in, &f)
	if err := cmp.Or(err, f.problem()); err != nil {
		return nil, err
	}
	most := s.jobs.most
	if failed != nil {
		most = math.MaxInt32 // those that failed are no more than a job has
	}
	l, err := s.rowsOf(ctx, in.list(), by)
	if err != nil {
		return nil, err
	}
	found, count, err := s.store.ProfileIDs(ctx, l, most)
	switch {
	case err != nil:
		return nil, err
	case found == nil && count > 0:
		return nil, problem.NotValid(problem.Fault{Location: "body.filter", Message: fmt.Sprintf("%d profiles match, and "+
			"one job takes at most %d. "+
			"Narrow the filter, for example by a tag, a proxy or workspaceId.", count, most)})
	}
	except := make(map[string]bool, len(in.Except.Value))
	for _, id := range in.Except.Value {
		except[id] = true
	}
	found = slices.DeleteFunc(found, func(p store.ProfileID) bool { return except[p.ID] })
	if failed == nil {
		return found, nil
	}
	out := make([]store.ProfileID, 0, len(failed))
	for _, p := range found {
		if failed[p.ID] {
			out = append(out, p)
		}
	}
	return out, nil
}
