package api

import (
	"testing"

	"warren/nodes"
)

// TestNodes: whoever may read sees the server. An administrator of all workspaces drains it: then it takes no starts, and holds of
// profiles go on.
func TestNodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	reader, _ := a.newKey(t, "read", "default")
	limited, _ := a.newKey(t, "admin", "default")
	r := a.as(reader).do(t, "GET", "/nodes", nil).want(t, 200)
	for path, want := range map[string]any{"total": 1, "data.0.id": "local", "data.0.name": "test", "data.0.state": string(nodes.Up),
		"data.0.self": true, "data.0.draining": false, "data.0.running": 0, "data.0.maxRunning": nil, "data.0.address": a.base} {
		r.equal(t, path, want)
	}
	if pressure, ok := r.at("data.0.pressure").(float64); !ok || pressure <= 0 || pressure > 100 { // some memory is always in use
		t.Errorf("the pressure is %v", r.at("data.0.pressure"))
	}
	for _, key := range []string{reader, limited} {
		a.as(key).do(t, "POST", "/nodes/local/drain", nil).refused(t, 403, "forbidden")
		a.as(key).do(t, "POST", "/nodes/local/undrain", nil).refused(t, 403, "forbidden")
	}
	a.do(t, "POST", "/nodes/other/drain", nil).refused(t, 404, "node_not_found")
	a.do(t, "DELETE", "/nodes/other", nil).refused(t, 404, "node_not_found")
	a.do(t, "DELETE", "/nodes/local", nil).refused(t, 409, "node_alive")
	a.as(limited).do(t, "DELETE", "/nodes/local", nil).refused(t, 403, "forbidden")

	id := a.profile(t)
	a.do(t, "POST", "/nodes/local/drain", nil).want(t, 200).equal(t, "draining", true)
	a.do(t, "GET", "/nodes", nil).want(t, 200).equal(t, "data.0.draining", true)
	for _, action := range []string{"start", "restart"} {
		a.do(t, "POST", "/profiles/"+id+"/"+action, nil).refused(t, 409, "node_draining")
	}
	a.do(t, "GET", "/pressure", nil).want(t, 200).equal(t, "accepting", false)
	a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204) // which holds it
	a.do(t, "POST", "/nodes/local/undrain", nil).want(t, 200).equal(t, "draining", false)
	a.loseBrowser(t)
	a.do(t, "POST", "/profiles/"+a.profile(t)+"/start", nil).refused(t, 503, "browser_not_found")

	var done []string
	for _, entry := range a.audited(t, "action=node.*") {
		done = append(done, entry.Action+" "+entry.Result)
	}
	want := []string{"node.undrain ok", "node.drain ok"}
	if len(done) < 2 || done[0] != want[0] || done[1] != want[1] {
		t.Errorf("the log of changes: %q", done)
	}
}
