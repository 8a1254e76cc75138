package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestWorkspaceChanges: an administrator makes and renames the workspaces that the key sees, once each, on record and as events.
func TestWorkspaceChanges(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	events := a.listen(t, a.key)
	made := a.do(t, "POST", "/workspaces", `{"id":"team-b","name":" Team B "}`).want(t, 201)
	made.equal(t, "name", "Team B")
	made.equal(t, "profileCount", 0)
	if got := made.header.Get("Location"); got != "/api/v1/workspaces/team-b" {
		t.Errorf("Location is %q", got)
	}
	a.do(t, "POST", "/workspaces", `{"id":"team-b"}`).refused(t, 409, "duplicate")
	a.do(t, "POST", "/workspaces", `{"id":"a b","name":"\u0000"}`).invalid(t, "body.id", "body.name")
	a.do(t, "PATCH", "/workspaces/team-b", `{"name":"Team Bee"}`).want(t, 200).equal(t, "name", "Team Bee")
	a.do(t, "PATCH", "/workspaces/team-b", `{}`).want(t, 200).equal(t, "name", "Team Bee")
	a.do(t, "PATCH", "/workspaces/team-b", `{"name":null}`).want(t, 200).equal(t, "name", "")
	events.says(t, `"type":"workspace.created"`)
	events.says(t, `"type":"workspace.updated"`)
	a.do(t, "GET", "/audit?action=workspace.create", nil).want(t, 200).equal(t, "total", 1)
	a.do(t, "GET", "/audit?action=workspace.rename", nil).want(t, 200).equal(t, "total", 2)
	own, _ := a.newKey(t, "admin", "a")
	a.profile(t, "workspaceId", "b")
	unknown := a.as(own).do(t, "PATCH", "/workspaces/nowhere", `{"name":"x"}`)
	unknown.refused(t, 404, "workspace_not_found")
	if other := a.as(own).do(t, "PATCH", "/workspaces/b", `{"name":"x"}`); other.comparable() != unknown.comparable() {
		t.Errorf("another's workspace is told from none: %s", other.comparable())
	}
	a.as(own).do(t, "POST", "/workspaces", `{"id":"c"}`).invalid(t, "body.id")
	a.as(own).do(t, "PATCH", "/workspaces/a", `{"name":"mine"}`).want(t, 200).equal(t, "name", "mine")
}

// TestServer: administrators read the settings and the findings.
func TestServer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	body := string(a.do(t, "GET", "/server", nil).want(t, 200).body)
	for _, part := range []string{`"name":"disk"`, `"name":"isolation"`, fmt.Sprintf(`"dataFolder":%q`, a.srv.cfg.Data)} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in %s", part, body)
		}
	}
}
