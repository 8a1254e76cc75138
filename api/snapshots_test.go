package api

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// putData gives a profile data, as a browser would.
func (a *testAPI) putData(t testing.TB, id string) {
	t.Helper()
	folder := filepath.Join(a.dir, "profiles", id, "chrome")
	err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "Last Version"), []byte("156.0.1.2"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotFaults: what is refused, and with which words.
func TestSnapshotFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	path := "/profiles/" + id
	a.do(t, "POST", path+"/snapshots", nil).refused(t, 409, "profile_empty")
	a.putData(t, id)
	made := a.do(t, "POST", path+"/snapshots", map[string]any{"name": "  Nämé "}).want(t, 201)
	if made.text("name") != "Nämé" || made.text("reason") != "asked" || made.at("current") != true ||
		made.header.Get("Location") != Prefix+path+"/snapshots/"+made.text("id") {
		t.Errorf("%s", made)
	}
	snapshot := path + "/snapshots/" + made.text("id")
	for _, body := range []any{map[string]any{"name": make([]int, 3)}, map[string]any{"name": string(make([]byte, 201))},
		map[string]any{"x": 1}, map[string]any{"pinned": "yes"}} {
		a.do(t, "POST", path+"/snapshots", body).refused(t, 422, "validation_failed")
		a.do(t, "PATCH", snapshot, body).refused(t, 422, "validation_failed")
	}
	a.do(t, "POST", path+"/rollback", nil).refused(t, 400, "malformed_json")
	a.do(t, "POST", path+"/rollback", map[string]any{}).invalid(t, "body.snapshotId")
	a.do(t, "POST", path+"/rollback", map[string]any{"snapshotId": "none"}).invalid(t, "body.snapshotId")
	other := a.profile(t)
	a.do(t, "POST", "/profiles/"+other+"/rollback", map[string]any{"snapshotId": made.text("id")}).invalid(t, "body.snapshotId")
	a.do(t, "PATCH", "/profiles/"+other+"/snapshots/"+made.text("id"), map[string]any{"pinned": true}).refused(t, 404, "snapshot_not_found")
	a.do(t, "DELETE", "/profiles/"+other+"/snapshots/"+made.text("id"), nil).refused(t, 404, "snapshot_not_found")
	a.do(t, "PUT", "/profiles/"+id, map[string]any{"temporary": true}).invalid(t, "body.temporary")
	temporary := a.do(t, "POST", "/profiles", map[string]any{"name": "t", "temporary": true}).want(t, 201).text("id")
	a.do(t, "PUT", "/profiles/"+temporary, map[string]any{"temporary": true, "notes": "n"}).want(t, 200)
	a.do(t, "POST", "/profiles/"+temporary+"/snapshots", map[string]any{"restart": true}).invalid(t, "body.restart")
	a.do(t, "PUT", "/profiles/"+temporary, map[string]any{"temporary": false}).want(t, 200)
	writer, _ := a.newKey(t, "write")
	a.as(writer).do(t, "POST", path+"/snapshots", map[string]any{"restart": true}).refused(t, 403, "forbidden")
	a.as(writer).do(t, "POST", "/profiles", map[string]any{"name": "x", "start": true}).refused(t, 403, "forbidden")
	a.do(t, "PATCH", snapshot, map[string]any{"pinned": true}).want(t, 200).equal(t, "pinned", true)
	a.do(t, "DELETE", snapshot, nil).want(t, 204)
	a.do(t, "GET", path+"/snapshots", nil).want(t, 200).equal(t, "total", 0)
}

// TestClone: clones have the settings of their original, names of their own, and data only if asked. A repeated request with a
// key makes no more.
func TestClone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy := a.do(t, "POST", "/proxies", `{"type":"http","host":"127.0.0.1","port":1}`).want(t, 201).text("id")
	id := a.do(t, "POST", "/profiles", map[string]any{"name": "Shop", "proxyId": proxy, "tags": []string{"a"}, "notes": "n",
		"denyHosts": []string{"x.example"}, "temporary": true}).want(t, 201).text("id")
	path := "/profiles/" + id + "/clone"
	for body, where := range map[string]string{`{"count":0}`: "body.count", `{"count":101}`: "body.count", `{"name":""}`: "body.name",
		`{"snapshotId":"none"}`: "body.snapshotId", `{"snapshotId":"none","withData":false}`: "body.withData", `{"x":1}`: "body.x"} {
		a.do(t, "POST", path, body).invalid(t, where)
	}
	a.do(t, "POST", path, map[string]any{"withData": true}).refused(t, 409, "profile_empty")
	one := a.do(t, "POST", path, nil).want(t, 201)
	if one.text("name") != "Shop (copy)" || one.text("proxyId") != proxy || one.text("notes") != "n" || one.at("temporary") != false ||
		one.header.Get("Location") != Prefix+"/profiles/"+one.text("id") || one.header.Get("ETag") == "" {
		t.Errorf("%s", one)
	}
	a.do(t, "GET", "/profiles/"+one.text("id"), nil).want(t, 200).equal(t, "denyHosts", []string{"x.example"})
	a.putData(t, id)
	many := a.do(t, "POST", path, map[string]any{"count": 3, "withData": true, "name": "C {n}!", "temporary": true}).want(t, 201)
	many.equal(t, "total", 3)
	for i, name := range []string{"C 1!", "C 2!", "C 3!"} {
		clone := "data." + string(rune('0'+i)) + "."
		if many.text(clone+"name") != name || many.at(clone+"temporary") != true {
			t.Errorf("%s", many)
		}
		list := a.do(t, "GET", "/profiles/"+many.text(clone+"id")+"/snapshots", nil).want(t, 200)
		list.equal(t, "total", 1)
		list.equal(t, "data.0.reason", "clone")
		list.equal(t, "data.0.current", true)
	}
	first := many.text("data.0.id")
	snapshot := a.do(t, "GET", "/profiles/"+first+"/snapshots", nil).text("data.0.id")
	a.do(t, "DELETE", "/profiles/"+first+"/snapshots/"+snapshot, nil).refused(t, 409, "snapshot_in_use")
	a.do(t, "POST", "/profiles/"+first+"/clone", map[string]any{"snapshotId": snapshot, "name": "again"}).want(t, 201)
	a.do(t, "DELETE", "/proxies/"+proxy, nil).refused(t, 409, "proxy_in_use")
}
