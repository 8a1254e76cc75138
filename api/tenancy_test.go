package api

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warren/shim"
	"warren/store"
)

// Tests that objects in an invisible workspace look like objects that do not exist. Every operation × whose object it is × the
// caller, compared byte for byte.

// tenants is two workspaces with an owner each, and the callers' keys.
type tenants struct {
	*testAPI
	keys map[string]string // A, B, admin, revoked, expired, none
	n    atomic.Int64      // objects must differ
}

func newTenants(t testing.TB) *tenants {
	t.Helper()
	a := newAPI(t, func(c *setup) { c.Browser = filepath.Join(c.Data, "no-browser") }) // a start is refused, with no process to run
	w := &tenants{testAPI: a, keys: map[string]string{"admin": a.key, "none": ""}}
	w.keys["A"], _ = a.newKey(t, "read,run,write,secrets", "a")
	w.keys["B"], _ = a.newKey(t, "read,run,write,secrets", "b")
	var id string
	w.keys["revoked"], id = a.newKey(t, "read,run,write,secrets", "a")
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	w.keys["expired"], _ = a.briefKey(t, 50*time.Millisecond, "read,run,write", "a")
	waitFor(t, "the key to expire", func() bool { return a.as(w.keys["expired"]).do(t, "GET", "/runs", nil).status == 401 })
	return w
}

// make creates an object of the kind in the workspace and returns its id. fate is what then happens to it.
func (w *tenants) make(t testing.TB, kind, workspace, fate string) string {
	t.Helper()
	var id string
	n := w.n.Add(1)
	switch kind {
	case "profile":
		id = w.profile(t, "workspaceId", workspace)
	case "proxy":
		id = w.proxy(t, "workspaceId", workspace, "host", "127.0.0.1", "port", 1, "username", fmt.Sprint("u", n))
	case "key":
		_, id = w.newKey(t, "read", workspace)
	case "schedule":
		id = w.schedule(t, "workspaceId", workspace, "name", fmt.Sprint("s", n))
	case "webhook":
		id = w.webhook(t, "workspaceId", workspace)
	case "template":
		id = w.template(t, "workspaceId", workspace, "name", fmt.Sprint("t", n))
	default:
		return "x"
	}
	switch {
	case fate == "deleted":
		w.do(t, "DELETE", "/"+pathOf(kind)+"/"+id, nil).want(t, 204)
	case fate == "erased":
		w.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)
	}
	return id
}

// pathOf is where the objects of a kind are.
func pathOf(kind string) string {
	return map[string]string{"profile": "profiles", "proxy": "proxies", "key": "keys", "template": "templates",
		"schedule": "schedules", "webhook": "webhooks"}[kind]
}

// comparable returns an answer without what differs between any two: the request's id and the time. Refusals do not have the requested id.
func (r *answer) comparable() string {
	h := r.header.Clone()
	for _, name := range []string{"X-Request-Id", "Date"} {
		h.Del(name)
	}
	text := fmt.Sprint(r.status, " ", h, " ", string(r.body))
	return strings.ReplaceAll(text, r.header.Get("X-Request-Id"), "REQUEST")
}

// TestWorkspaces: every operation on an object × {own, other's, unknown, deleted, malformed} × every key.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	w := newTenants(t)
	malformed := []string{"x", "%00", "..%2f..", "%ff", "' OR 1=1 --", strings.Repeat("9", 300), "ü", "*", "null", "0", "%"}
	type lot struct{ theirs, deleted, erased string }
	fixed := map[string]lot{} // by kind and workspace: no probe may change them, so all share them
	for _, kind := range []string{"profile", "proxy", "key", "template", "schedule", "webhook"} {
		for _, workspace := range []string{"a", "b"} {
			l := lot{w.make(t, kind, workspace, ""), w.make(t, kind, workspace, "deleted"), ""}
			if kind == "profile" {
				l.erased = w.make(t, kind, workspace, "erased")
			}
			fixed[kind+workspace] = l
		}
	}
	probes := 0
	for name, r := range routeTable() {
		if r.kind == "" || r.kind == "capability" {
			continue
		}
		for _, who := range []string{"A", "B", "admin", "revoked", "expired", "none"} {
			w.srv.authFailures.reset() // the test sends more wrong keys than one address may
			key := w.as(w.keys[who])
			own, other := map[string]string{"B": "b"}[who], map[string]string{"B": "a"}[who]
			if own == "" {
				own, other = "a", "b"
			}
			unknown := store.NewID()
			nothing := key.call(t, name, r, unknown)
			want := nothing.comparable()
			ask := func(what, id string) *answer {
				t.Helper()
				probes++
				got := key.call(t, name, r, url.PathEscape(id))
				if got.comparable() != want && what != "own" && !(what == "other" && who == "admin") {
					t.Errorf("%s %s: %s is told from unknown:\n%s\n%s", who, name, what, got.comparable(), want)
				}
				return got
			}
			mine, theirs := fixed[r.kind+own].theirs, fixed[r.kind+other].theirs
			if nothing.status != 401 && nothing.status != 403 {
				mine = w.make(t, r.kind, own, "")
			}
			if who == "admin" {
				theirs = w.make(t, r.kind, other, "")
			}
			before := w.state(t, r.kind, theirs)
			got := ask("other", theirs)
			if who != "admin" && w.state(t, r.kind, theirs) != before {
				t.Errorf("%s %s changed another workspace's object", who, name)
			}
			for _, id := range malformed {
				ask("malformed", id)
			}
			if name != "POST /api/v1/profiles/{id}/restore" && !strings.HasPrefix(name, "DELETE /api/v1/keys") {
				ask("deleted", fixed[r.kind+own].deleted)
			}
			if name != "POST /api/v1/profiles/{id}/restore" || who != "admin" {
				ask("deleted, another's", fixed[r.kind+other].deleted)
			}
			if r.kind == "profile" {
				ask("erased", fixed[r.kind+own].erased)
			}
			answer := ask("own", mine)
			switch {
			case who == "none" || who == "revoked" || who == "expired":
				nothing.refused(t, 401, "unauthorized")
			case r.scope == "admin" && who != "admin":
				nothing.refused(t, 403, "forbidden")
			default:
				nothing.refused(t, 404, r.kind+"_not_found")
				if isGone(name, answer) || who == "admin" && isGone(name, got) {
					t.Errorf("%s %s: its own answers %s", who, name, answer)
				}
			}
		}
	}
	t.Logf("%d probes", probes)
}

// isGone reports whether an answer says that there is no object. Restoring what is not in the trash, and requests for a capability, a
// snapshot, a passkey or a download, do not count.
func isGone(name string, r *answer) bool {
	return r.status == 404 && !strings.HasSuffix(name, "restore") && !slices.Contains([]string{"capability_not_found", "snapshot_not_found",
		"download_not_found", "passkey_not_found"}, r.text("code"))
}

// state returns an object as the admin sees it.
func (w *tenants) state(t testing.TB, kind, id string) string {
	t.Helper()
	if kind == "key" {
		r := w.do(t, "GET", "/keys?limit=200", nil).want(t, 200)
		for i, k := range r.each("id") {
			if k == id {
				return fmt.Sprint(r.at(fmt.Sprintf("data.%d.revokedAt", i)))
			}
		}
		return ""
	}
	return string(w.do(t, "GET", "/"+pathOf(kind)+"/"+id, nil).body)
}

// TestTrashOfAnotherWorkspace: operations on the trash are as closed as the others.
func TestTrashOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	a := w.as(w.keys["A"])
	for _, c := range []struct{ method, path string }{{"GET", "?trashed=true"}, {"POST", "/restore"}, {"DELETE", "?permanent=true"}} {
		unknown, theirs, mine := store.NewID(), w.make(t, "profile", "b", "deleted"), w.make(t, "profile", "a", "deleted")
		want := a.do(t, c.method, "/profiles/"+unknown+c.path, nil).refused(t, 404, "profile_not_found").comparable()
		for range 2 {
			if got := a.do(t, c.method, "/profiles/"+theirs+c.path, nil).comparable(); got != want {
				t.Errorf("%s %s: another's trash is told from unknown:\n%s\n%s", c.method, c.path, got, want)
			}
		}
		w.do(t, "GET", "/profiles/"+theirs+"?trashed=true", nil).want(t, 200) // untouched
		if got := a.do(t, c.method, "/profiles/"+mine+c.path, nil); got.status >= 300 {
			t.Errorf("its own: %s", got)
		}
	}
}

// TestListsOfAnotherWorkspace: filters, cursors and references in bodies do not reveal objects either.
func TestListsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	theirs, theirProxy := w.make(t, "profile", "b", ""), w.make(t, "proxy", "b", "")
	theirTemplate, theirSchedule := w.make(t, "template", "b", ""), w.make(t, "schedule", "b", "")
	mine := w.make(t, "profile", "a", "")
	w.make(t, "proxy", "a", "")
	w.do(t, "PUT", "/profiles/"+theirs, map[string]any{"proxyId": theirProxy, "name": "secret-name",
		"tags": []string{"secret-tag"}}).want(t, 200)
	trashed := w.make(t, "profile", "b", "deleted")
	a := w.as(w.keys["A"])
	same := func(method, path string, body func(id string) any, their, unknown string) {
		t.Helper()
		one := a.do(t, method, strings.ReplaceAll(path, "ID", url.QueryEscape(their)), body(their))
		two := a.do(t, method, strings.ReplaceAll(path, "ID", url.QueryEscape(unknown)), body(unknown))
		if one.comparable() != two.comparable() {
			t.Errorf("%s %s: %q is told from unknown:\n%s\n%s", method, path, their, one.comparable(), two.comparable())
		}
	}
	none := func(string) any { return nil }
	for _, path := range []string{"/profiles", "/proxies", "/runs", "/templates", "/schedules"} {
		same("GET", path+"?workspaceId=ID", none, "b", "zz")
		same("GET", path+"?workspaceId=ID", none, "b", strings.Repeat("w", 64))
	}
	for _, path := range []string{"/profiles?after=ID", "/profiles?after=ID&trashed=true", "/profiles?after=ID&sort=name",
		"/proxies?after=ID", "/workspaces?after=ID", "/templates?after=ID", "/schedules?after=ID"} {
		for _, their := range []string{theirs, theirProxy, theirTemplate, theirSchedule, trashed, "b"} {
			same("GET", path, none, their, store.NewID())
			same("GET", path, none, their, "no id at all")
		}
	}
	same("GET", "/profiles?proxyId=ID", none, theirProxy, store.NewID())
	same("GET", "/profiles?search=ID", none, "secret-name", "nobody-has-it")
	same("GET", "/profiles?tag=ID", none, "secret-tag", "nobody-has-it")
	with := func(member string) func(string) any {
		return func(id string) any { return map[string]any{"name": "x", member: id} }
	}
	start := func(id string) any { return map[string]any{"dryRun": true, "proxyId": id} }
	same("POST", "/profiles", with("proxyId"), theirProxy, store.NewID())
	same("PUT", "/profiles/"+mine, with("proxyId"), theirProxy, store.NewID())
	same("POST", "/profiles", with("templateId"), theirTemplate, store.NewID())
	same("POST", "/templates", with("proxyId"), theirProxy, store.NewID())
	same("POST", "/templates", with("workspaceId"), "b", "zz")
	same("POST", "/schedules", func(id string) any {
		return map[string]any{"name": "x", "everyMs": 31536000000, "action": "stop", "profileIds": []string{id}}
	}, theirs, store.NewID())
	same("POST", "/schedules", func(id string) any {
		return map[string]any{"name": "x", "everyMs": 31536000000, "action": "stop", "tag": "t", "workspaceId": id}
	}, "b", "zz")
	same("POST", "/profiles/"+mine+"/start", start, theirProxy, store.NewID())
	same("POST", "/profiles", with("workspaceId"), "b", "zz")
	same("PUT", "/profiles/"+mine, with("workspaceId"), "b", "zz")
	same("POST", "/proxies", func(id string) any { return map[string]any{"url": "socks5://h:1", "workspaceId": id} }, "b", "zz")
	same("POST", "/proxies/check", func(id string) any { return map[string]any{"url": "socks5://127.0.0.1:1", "workspaceId": id} }, "b",
		"zz")
	for _, path := range []string{"/profiles", "/profiles?trashed=true", "/proxies", "/workspaces", "/templates", "/schedules", "/runs",
		"/profiles?status=stopped", "/profiles?sort=name&order=asc"} {
		r := a.do(t, "GET", path, nil).want(t, 200)
		for _, member := range []string{"workspaceId", "id"} {
			if slices.Contains(r.each(member), "b") || slices.Contains(r.each(member), theirs) {
				t.Errorf("%s shows another workspace: %s", path, r)
			}
		}
		if total := r.at("total"); total != float64(len(r.each("id"))) {
			t.Errorf("%s: total %v counts what the key may not see", path, total)
		}
	}
}

// TestRunsOfAnotherWorkspace: a run is listed and its capability opens it, but its gateway is closed to keys of other workspaces.
func TestRunsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	theirs := w.make(t, "profile", "b", "")
	next, run := w.adopt(t, theirs, "b", "cap")
	w.testAPI = next
	for who, want := range map[string]int{"A": 0, "B": 1, "admin": 1} {
		list := w.as(w.keys[who]).do(t, "GET", "/runs", nil).want(t, 200)
		list.equal(t, "total", want)
		if want == 1 {
			list.equal(t, "data.0.profileId", theirs)
			list.equal(t, "limit", 1)
		}
		w.as(w.keys[who]).do(t, "GET", "/runs?workspaceId=a", nil).want(t, 200).equal(t, "total", 0)
	}
	a, unknown := w.as(w.keys["A"]), store.NewID()
	want := a.do(t, "GET", "/profiles/"+unknown+"/cdp/json/version", nil).refused(t, 404, "profile_not_found").comparable()
	for _, path := range []string{"/cdp/json/version", "/cdp"} {
		if got := a.do(t, "GET", "/profiles/"+theirs+path, nil).comparable(); got != want {
			t.Errorf("a foreign run is told from unknown:\n%s\n%s", got, want)
		}
	}
	reaches := func(as *testAPI, path string) {
		t.Helper()
		before := len(run.Requests())
		res, err := as.client.Do(as.request(t, "GET", path, nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 || len(run.Requests()) != before+1 {
			t.Errorf("%s does not open the run: %d", path, res.StatusCode)
		}
	}
	reaches(w.as(w.keys["B"]), "/profiles/"+theirs+"/cdp") // its own
	for _, capability := range []string{"", "x", "cap2", "CAP", strings.Repeat("c", 3000), "%00"} {
		if r := w.as("").do(t, http.MethodGet, "//cdp/"+capability, nil); r.status != 404 && r.status != 401 {
			t.Errorf("capability %q: %s", capability, r)
		}
	}
	reaches(w.as(""), "//cdp/cap")
	run.End(shim.End{Outcome: shim.Stopped})
	waitFor(t, "the run to end", func() bool { return w.do(t, "GET", "/runs", nil).want(t, 200).at("total") == 0.0 })
	w.as("").do(t, "GET", "//cdp/cap", nil).refused(t, 404, "run_not_found") // the capability died with the run
}
