package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// Shows the runs of the other servers of the database. They are in no memory here: the database has what each start answered.

// RunElsewhere is a run of another server. The database does not tell whether it is frozen.
type RunElsewhere struct {
	Info
	ProfileName string
	NodeID      string // the server
}

// Elsewhere returns the runs of those of the profiles that other servers run, by the profile's id. It reads the database only if there
// are some.
func (m *Manager) Elsewhere(ctx context.Context, rows ...store.Profile) (map[string]*Info, error) {
	if m.cfg.Node == "" {
		return nil, nil
	}
	status := map[string]string{} // by profile
	for _, row := range rows {
		if m.IsElsewhere(row) && isRunning(row.Status) {
			status[row.ID] = row.Status
		}
	}
	if len(status) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(slices.Collect(maps.Keys(status)))
	if err != nil {
		return nil, err
	}
	found, err := m.store.Read().ListOpenRunsOfProfiles(ctx, string(ids))
	if err != nil {
		return nil, fmt.Errorf("the runs of other servers: %w", err)
	}
	out := make(map[string]*Info, len(found))
	for _, row := range found {
		if info := m.readRecord(row).Info; info.RunID != "" { // else it cannot be read
			info.Status = status[row.ProfileID]
			out[row.ProfileID] = &info
		}
	}
	return out, nil
}

// isRunning reports whether a profile with a status has a run that is shown.
func isRunning(status string) bool { return status == "running" || status == "stopping" }

// ListElsewhere is List of the runs of all other servers.
func (m *Manager) ListElsewhere(ctx context.Context, sees store.Scope, workspace string) (out []RunElsewhere, err error) {
	if m.cfg.Node == "" {
		return nil, nil
	}
	found, err := m.store.Read().ListOpenRunsElsewhere(ctx,
		store.ListOpenRunsElsewhereParams{NodeID: m.cfg.Node, Workspaces: sees.Filter()})
	if err != nil {
		return nil, fmt.Errorf("the runs of other servers: %w", err)
	}
	for _, row := range found {
		if workspace != "" && row.WorkspaceID != workspace || !isRunning(row.Status) {
			continue
		}
		info := m.readRecord(store.Run{ID: row.ID, ProfileID: row.ProfileID, Record: row.Record}).Info
		if info.Status = row.Status; info.RunID != "" { // else it cannot be read
			out = append(out, RunElsewhere{info, row.Name, *row.NodeID})
		}
	}
	slices.SortFunc(out, func(a, b RunElsewhere) int { return strings.Compare(b.RunID, a.RunID) })
	return out, nil
}

// RunningElsewhere counts the profiles that other servers run, those that start and that end included, by workspace. It is nil for a server
// with a database of its own.
func (m *Manager) RunningElsewhere(ctx context.Context) (map[string]int64, error) {
	if m.cfg.Node == "" {
		return nil, nil
	}
	found, err := m.store.Read().CountRunningElsewhere(ctx, m.cfg.Node)
	if err != nil {
		return nil, fmt.Errorf("the runs of other servers: %w", err)
	}
	out := make(map[string]int64, len(found))
	for _, row := range found {
		out[row.WorkspaceID] = row.Running
	}
	return out, nil
}

// Exits returns the country in which each running profile comes out, in capitals, by the profile's id; "": unknown, or direct. Runs of
// other servers are as the database has them.
func (m *Manager) Exits(ctx context.Context) (map[string]string, error) {
	others, err := m.ListElsewhere(ctx, store.All(), "")
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	all := make([]*run, 0, len(m.byProfile))
	for _, r := range m.byProfile {
		all = append(all, r)
	}
	m.mu.Unlock()
	exits := make(map[string]string, len(all)+len(others))
	for _, r := range others {
		exits[r.ProfileID] = exitOf(&r.Info)
	}
	for _, r := range all {
		r.mu.Lock()
		if r.answer != nil && (r.state == running || r.state == stopping) {
			exits[r.profileID] = exitOf(&r.answer.Info)
		}
		r.mu.Unlock()
	}
	return exits, nil
}

// exitOf returns the country in which a run comes out; "": unknown, or direct.
func exitOf(run *Info) string {
	if run.Proxy == nil {
		return ""
	}
	return orEmpty(run.Proxy.Country)
}
