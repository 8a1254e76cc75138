package api

import (
	"context"

	"warren/store"
)

// countsJSON says how many profiles and proxies there are, by what is asked most often.
type countsJSON struct {
	Profiles profileCountsJSON `json:"profiles"`
	Proxies  proxyCountsJSON   `json:"proxies"`
}

// profileCountsJSON counts profiles. Those in the trash are in no other figure.
type profileCountsJSON struct {
	Total   int64 `json:"total" example:"137"`
	Running int64 `json:"running" example:"3"`
	Failed  int64 `json:"failed" example:"1"`
	Trashed int64 `json:"trashed" example:"2"`
}

type proxyCountsJSON struct {
	Total int64 `json:"total" example:"40"`
	Dead  int64 `json:"dead" doc:"As the last check found them." example:"2"`
}

func (countsJSON) example() any {
	return countsJSON{profileCountsJSON{137, 3, 1, 2}, proxyCountsJSON{40, 2}}
}

// counts answers how many profiles and proxies there are. Each figure is the total of a list, so that it costs what one
// row of the list costs, and is cut at the same figure.
func (s *API) counts(ctx context.Context, in *struct{ InWorkspace }) (*struct{ Body countsJSON }, error) {
	var out countsJSON
	sees := callerOf(ctx).Sees.Filter()
	for _, c := range []struct {
		into   *int64
		filter store.ProfileFilter
	}{
		{&out.Profiles.Total, store.ProfileFilter{}},
		{&out.Profiles.Running, store.ProfileFilter{Status: "running"}},
		{&out.Profiles.Failed, store.ProfileFilter{Status: "failed"}},
		{&out.Profiles.Trashed, store.ProfileFilter{Trashed: true}},
	} {
		c.filter.Workspaces, c.filter.WorkspaceID = sees, in.WorkspaceID
		found, err := s.store.ListProfiles(ctx, store.ProfileList{ProfileFilter: c.filter, Limit: 1})
		if err != nil {
			return nil, err
		}
		*c.into = found.Total
	}
	for _, c := range []struct {
		into   *int64
		status string
	}{{&out.Proxies.Total, ""}, {&out.Proxies.Dead, "dead"}} {
		found, err := s.store.ListProxies(ctx, store.ProxyList{Limit: 1,
			ProxyFilter: store.ProxyFilter{Workspaces: sees, WorkspaceID: in.WorkspaceID, Status: c.status}})
		if err != nil {
			return nil, err
		}
		*c.into = found.Total
	}
	return &struct{ Body countsJSON }{out}, nil
}
