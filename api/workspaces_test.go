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
	a.do(t, "GET", "/audit?action=workspace.create&result=ok", nil).want(t, 200).equal(t, "total", 1)
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

// TestWorkspaceDefaults: new profiles get what neither the request nor its template has, explain says so, and others stay as they are.
func TestWorkspaceDefaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	before := a.profile(t)
	template := a.template(t, "os", "mac")
	proxy := a.proxy(t, "tags", []string{"de"})
	read := a.do(t, "GET", "/workspaces/default", nil).want(t, 200)
	read.equal(t, "defaults", map[string]any{})
	req := a.request(t, "PUT", "/workspaces/default", `{"defaults":{"os":"win","timezone":"Asia/Tokyo","notes":null,
		"proxies":{"tag":"de","pick":"random"}}}`)
	req.Header.Set("If-Match", read.header.Get("ETag"))
	made := a.send(t, req).want(t, 200)
	made.equal(t, "defaults", map[string]any{"os": "win", "timezone": "Asia/Tokyo",
		"proxies": map[string]any{"tag": "de", "pick": "random"}})
	a.send(t, a.request(t, "GET", "/workspaces/default", nil)).want(t, 200).equal(t, "defaults.os", "win")
	req = a.request(t, "PATCH", "/workspaces/default", `{"name":"late"}`)
	req.Header.Set("If-Match", read.header.Get("ETag"))
	a.send(t, req).refused(t, 412, "etag_mismatch")

	id := a.profile(t, "templateId", template)
	explained := a.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200)
	for member, want := range map[string]any{"sources.os": "template", "sources.timezone": "workspace", "sources.proxyId": "workspace",
		"effective.timezone.source": "workspace", "effective.timezone.value": "Asia/Tokyo", "sources.webrtc": "default"} {
		explained.equal(t, member, want)
	}
	if got := a.many(t, "count", 2).want(t, 201).each("proxyId"); got[0] != proxy || got[1] != proxy {
		t.Errorf("the proxies are %v, want %s", got, proxy)
	}
	a.do(t, "PUT", "/profiles/"+id, `{"timezone":"UTC"}`).want(t, 200)
	a.do(t, "PUT", "/profiles/"+id, `{"timezone":null}`).want(t, 200).equal(t, "timezone", "Asia/Tokyo")
	a.do(t, "GET", "/profiles/"+before, nil).want(t, 200).equal(t, "timezone", "auto")
	a.do(t, "POST", "/profiles", `{"name":"x","workspaceId":"b"}`).want(t, 201).equal(t, "timezone", "auto")

	a.do(t, "PUT", "/workspaces/default", `{"name":"\u0000","defaults":{"os":"amiga","name":"x","workspaceId":"b","proxyId":"none"}}`).
		invalid(t, "body.name", "body.defaults.os", "body.defaults.name", "body.defaults.workspaceId", "body.defaults.proxyId")
	a.do(t, "PUT", "/proxies/"+proxy, `{"tags":[]}`).want(t, 200)
	a.do(t, "POST", "/profiles", `{"name":"x"}`).invalid(t, "body.workspaceId") // it must not go out directly
	a.do(t, "POST", "/profiles", `{"name":"x","proxyId":null}`).want(t, 201)
	a.do(t, "PUT", "/workspaces/default", `{"defaults":null}`).want(t, 200).equal(t, "defaults", map[string]any{})
	a.do(t, "GET", "/audit?action=workspace.defaults", nil).want(t, 200).equal(t, "total", 2)
	a.do(t, "GET", "/workspaces/nowhere", nil).refused(t, 404, "workspace_not_found")
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
