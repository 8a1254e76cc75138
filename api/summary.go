package api

import (
	"context"

	"warren/runs"
	"warren/store"
)

// summaryJSON is what a page shows beside every list, in one answer.
type summaryJSON struct {
	Profiles   profileCountsJSON `json:"profiles"`
	Proxies    proxyCountsJSON   `json:"proxies"`
	Workspaces []string          `json:"workspaces" doc:"The ids of the newest 200 that the key sees."`
	Browsers   int               `json:"browsers" doc:"How many browsers are installed on the server." example:"1"`
	TrashDays  int               `json:"trashDays" doc:"Days that deleted profiles stay in the trash." example:"30"`
	AuditDays  int               `json:"auditDays" doc:"Days that entries of the audit log are kept. 0: for ever." example:"400"`
	RunLimits  serverLimitsJSON  `json:"runLimits" doc:"What a run may use whose profile does not say."`
	Version    string            `json:"version" example:"dev"`
}

// profileCountsJSON counts profiles. Those in the trash are in no other figure.
type profileCountsJSON struct {
	Total        int64 `json:"total" example:"137"`
	Running      int64 `json:"running" example:"3"`
	Failed       int64 `json:"failed" example:"1"`
	DeadProxy    int64 `json:"deadProxy" doc:"Their proxy failed its last check." example:"4"`
	NeverStarted int64 `json:"neverStarted" example:"12"`
	Trashed      int64 `json:"trashed" example:"2"`
}

type proxyCountsJSON struct {
	Total int64 `json:"total" example:"40"`
	Dead  int64 `json:"dead" doc:"As the last check found them." example:"2"`
}

// serverLimitsJSON are the limits that the server gives to runs. null: no limit.
type serverLimitsJSON struct {
	MemoryMB   *int64 `json:"memoryMb" doc:"--run-memory, in MiB; null: no limit." example:"2048"`
	CPUPercent *int64 `json:"cpuPercent" doc:"--run-cpu, of one core; null: no limit."`
	PIDs       *int64 `json:"pids" doc:"--run-pids: processes and threads; null: no limit." example:"16384"`
}

// serverLimits shows limits in which 0 is none.
func serverLimits(l runs.Limits) serverLimitsJSON {
	most := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return serverLimitsJSON{most(l.MemoryBytes >> 20), most(int64(l.CPUPercent)), most(int64(l.PIDs))}
}

func (summaryJSON) example() any {
	return summaryJSON{profileCountsJSON{137, 3, 1, 4, 12, 2}, proxyCountsJSON{40, 2}, []string{"default"}, 1, 30, 400,
		serverLimits(runs.Limits{MemoryBytes: 2 << 30, PIDs: 16384}), "dev"}
}

// summary answers the counts, the workspaces and what the server has. Each figure is the total of a list, so that it
// costs what one row of that list costs.
func (s *API) summary(ctx context.Context, in *struct{ InWorkspace }) (*struct{ Body summaryJSON }, error) {
	out := summaryJSON{Version: s.cfg.Version["version"], TrashDays: s.runs.TrashDays(), AuditDays: s.cfg.AuditDays,
		RunLimits: serverLimits(s.runs.DefaultLimits())}
	sees := callerOf(ctx).Sees.Filter()
	if err := s.countProfiles(ctx, &out.Profiles, store.ProfileFilter{Workspaces: sees, WorkspaceID: in.WorkspaceID}); err != nil {
		return nil, err
	}
	for status, into := range map[string]*int64{"": &out.Proxies.Total, "dead": &out.Proxies.Dead} {
		found, err := s.store.ListProxies(ctx, store.ProxyList{Limit: 1,
			ProxyFilter: store.ProxyFilter{Workspaces: sees, WorkspaceID: in.WorkspaceID, Status: status}})
		if err != nil {
			return nil, err
		}
		*into = found.Total
	}
	workspaces, err := s.listWorkspaces(ctx, &struct{ Paging }{Paging{Page: 1, Limit: 200}})
	if err != nil {
		return nil, err
	}
	out.Workspaces = make([]string, 0, len(workspaces.Body.Data))
	for _, w := range workspaces.Body.Data {
		out.Workspaces = append(out.Workspaces, w.ID)
	}
	browsers, err := s.runs.Browsers(ctx)
	out.Browsers = len(browsers)
	return &struct{ Body summaryJSON }{out}, err
}

func (s *API) countProfiles(ctx context.Context, out *profileCountsJSON, of store.ProfileFilter) error {
	for _, c := range []struct {
		into *int64
		only func(*store.ProfileFilter)
	}{
		{&out.Total, func(*store.ProfileFilter) {}},
		{&out.Running, func(f *store.ProfileFilter) { f.Status = "running" }},
		{&out.Failed, func(f *store.ProfileFilter) { f.Status = "failed" }},
		{&out.DeadProxy, func(f *store.ProfileFilter) { f.ProxyStatus = "dead" }},
		{&out.NeverStarted, func(f *store.ProfileFilter) { f.Started = new(false) }},
		{&out.Trashed, func(f *store.ProfileFilter) { f.Trashed = true }},
	} {
		filter := of
		c.only(&filter)
		found, err := s.store.ListProfiles(ctx, store.ProfileList{ProfileFilter: filter, Limit: 1})
		if err != nil {
			return err
		}
		*c.into = found.Total
	}
	return nil
}
