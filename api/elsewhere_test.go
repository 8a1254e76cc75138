package api

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/runs"
	"warren/store"
)

// runsThere writes what another server has recorded of a run of a profile.
func (a *testAPI) runsThere(t testing.TB, id, node, status, country string) (runID string) {
	t.Helper()
	runID = store.NewID()
	record := runs.Started{Info: runs.Info{ID: id, ProfileID: id, WorkspaceID: "default", RunID: runID, Status: "running",
		StartedAt: time.Now().UTC(), PID: 7, Effective: runs.Effective{Locale: []string{}}, Pending: []string{},
		Browser: runs.UsedBrowser{Match: "exact"}, Isolation: runs.Isolation{Network: "loopback", Files: "guard"},
		Warnings: []runs.Warning{}, Proxy: &runs.Egress{ID: "px", Country: &country}}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	a.rewrite(t, "UPDATE profiles SET node_id = ?, status = ?, last_started_at = 1 WHERE id = ?", node, status, id)
	a.rewrite(t, "INSERT INTO runs (id, profile_id, workspace_id, started_at, record) VALUES (?, ?, 'default', 1, ?)", runID, id,
		string(text))
	return runID
}

// TestRunsElsewhere: a profile that another server runs has that run, and the status of the database. One that this server ran when it
// died does not run.
func TestRunsElsewhere(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.Owner = "here" })
	ids := map[string]string{}
	for _, name := range []string{"fresh", "here", "starting", "running", "stopping", "stopped"} {
		ids[name] = a.profile(t)
	}
	run := a.runsThere(t, ids["running"], "there", "running", "DE")
	stops := a.runsThere(t, ids["stopping"], "beside", "stopping", "FR")
	a.rewrite(t, "UPDATE profiles SET node_id = 'there', status = 'starting' WHERE id = ?", ids["starting"])
	a.rewrite(t, "UPDATE profiles SET node_id = 'there' WHERE id = ?", ids["stopped"])
	a.rewrite(t, "UPDATE profiles SET node_id = 'here', status = 'starting' WHERE id = ?", ids["here"])

	type seen struct{ node, status, run any }
	want := map[string]seen{"fresh": {nil, "stopped", nil}, "here": {"here", "stopped", nil}, "starting": {"there", "starting", nil},
		"running": {"there", "running", run}, "stopping": {"beside", "stopping", stops}, "stopped": {"there", "stopped", nil}}
	list := a.do(t, "GET", "/profiles?sort=name&order=asc", nil).want(t, 200)
	for i, id := range list.each("id") {
		for name, want := range want {
			if ids[name] != id {
				continue
			}
			one, at := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200), "data."+string(rune('0'+i))+"."
			for path, value := range map[string]any{"nodeId": want.node, "status": want.status} {
				one.equal(t, path, value)
				list.equal(t, at+path, value)
			}
			if want.run == nil {
				one.equal(t, "run", nil)
				list.equal(t, at+"run", nil)
				continue
			}
			for path, value := range map[string]any{"run.runId": want.run, "run.status": want.status, "run.pid": 7} {
				one.equal(t, path, value)
				list.equal(t, at+path, value)
			}
		}
	}
	a.do(t, "GET", "/workspaces/default", nil).want(t, 200).equal(t, "use.running", 3)
	a.do(t, "GET", "/workspaces", nil).want(t, 200).equal(t, "data.0.use.running", 3)
	for query, names := range map[string][]string{"nodeId=there": {"running", "starting", "stopped"}, "nodeId=here": {"here"},
		"nodeId=nowhere": {}, "country=de": {"running"}, "status=running": {"running"}, "nodeId=there&status=stopped": {"stopped"}} {
		r := a.do(t, "GET", "/profiles?"+query, nil).want(t, 200)
		wanted := []string{}
		for _, name := range names {
			wanted = append(wanted, ids[name])
		}
		got := r.each("id")
		slices.Sort(got)
		if slices.Sort(wanted); !slices.Equal(got, wanted) {
			t.Errorf("%s: got %v, want %v", query, got, names)
		}
	}
	a.do(t, "GET", "/summary", nil).want(t, 200).equal(t, "profiles.running", 1)

	all := a.do(t, "GET", "/runs", nil).want(t, 200)
	for path, value := range map[string]any{"total": 2, "data.0.runId": stops, "data.0.status": "stopping", "data.1.runId": run,
		"data.1.status": "running", "data.1.usage": nil, "data.1.profileId": ids["running"]} {
		all.equal(t, path, value)
	}
	a.do(t, "GET", "/runs?workspaceId=other", nil).want(t, 200).equal(t, "total", 0)
	key, _ := a.newKey(t, "read", "other")
	a.as(key).do(t, "GET", "/runs", nil).want(t, 200).equal(t, "total", 0)
}
