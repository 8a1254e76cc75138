package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// TestAuditTable: every operation that is no plain read names its action in the audit log, or a reason to have none.
func TestAuditTable(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	actions, reasons := auditActions(), unaudited()
	known := map[string]bool{}
	for pattern, scope := range a.srv.needs {
		pattern = strings.Replace(pattern, Prefix, "", 1)
		known[pattern] = true
		read := strings.HasPrefix(pattern, "GET ") && scope != scopeSecrets
		action, reason := actions[pattern], reasons[pattern]
		switch {
		case action != "" && reason != "":
			t.Errorf("%s has an action and a reason to have none", pattern)
		case action == "" && reason == "" && !read:
			t.Errorf("%s is recorded nowhere: name its action in auditActions, or the reason in unaudited", pattern)
		}
		if kind, what, ok := strings.Cut(action, "."); action != "" && (!ok || kind == "" || what == "") {
			t.Errorf("%s: %q is no action", pattern, action)
		}
	}
	for pattern := range actions {
		if !known[pattern] {
			t.Errorf("%s is no operation", pattern)
		}
	}
	for pattern := range reasons {
		if !known[pattern] {
			t.Errorf("%s is no operation", pattern)
		}
	}
}

// audited returns the entries of a query, newest first.
func (a *testAPI) audited(t testing.TB, query string) []auditJSON {
	t.Helper()
	var out struct {
		Data []auditJSON `json:"data"`
	}
	if err := json.Unmarshal(a.do(t, "GET", "/audit?limit=200&"+query, nil).want(t, 200).body, &out); err != nil {
		t.Fatal(err)
	}
	return out.Data
}

// TestAudit: what a key changes, what it is refused, what became of it, and who sees that.
func TestAudit(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	writer, writerID := a.newKey(t, "write", "w")
	reader, readerID := a.newKey(t, "read", "w")
	b := a.as(writer)
	id := b.profile(t, "name", "Shop", "notes", "first secret", "workspaceId", "w")
	b.do(t, "PUT", "/profiles/"+id, `{"name":"Shop 2","notes":"second secret","tags":["x"],
		"startUrls":["https://a.example/?token=third-secret"]}`).want(t, 200)
	b.do(t, "PUT", "/profiles/"+id, `{"name":""}`).refused(t, 422, "validation_failed")
	a.as(reader).do(t, "DELETE", "/profiles/"+id, nil).refused(t, 403, "forbidden")
	a.as(reader).do(t, "GET", "/audit", nil).refused(t, 403, "forbidden")
	proxy := b.proxy(t, "workspaceId", "w", "username", "u", "password", "fourth-secret")
	b.do(t, "PUT", "/proxies/"+proxy, `{"host":"other.example","username":"u","password":"fifth-secret"}`).want(t, 200)
	b.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
	b.do(t, "POST", "/profiles/"+id+"/restore", nil).want(t, 200)
	b.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)

	var got []string
	for _, e := range a.audited(t, "keyId="+writerID) {
		got = append(got, e.Action+" "+e.Result)
		if e.WorkspaceID == nil || *e.WorkspaceID != "w" || e.Remote != "127.0.0.1" || e.KeyName == "" || e.ObjectID == nil {
			t.Errorf("%+v", e)
		}
	}
	slices.Reverse(got)
	want := []string{"profile.create ok", "profile.update ok", "profile.update validation_failed", "proxy.create ok", "proxy.update ok",
		"profile.delete ok", "profile.restore ok", "profile.delete ok"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	update := a.audited(t, "action=profile.update&result=ok")[0]
	if text := fmt.Sprint(update.Detail); text !=
		`map[changed:[name tags notes startUrls] from:map[name:Shop tags:[]] to:map[name:Shop 2 tags:[x]]]` {
		t.Errorf("the change: %s", text)
	}
	text := string(a.do(t, "GET", "/audit?limit=200", nil).body)
	if strings.Contains(text, "d secret") || strings.Contains(text, "-secret") {
		t.Errorf("a secret is in the log: %s", text)
	}
	refused := a.audited(t, "result=forbidden&keyId="+readerID)
	if len(refused) != 2 || refused[0].Action != "request.refused" || refused[1].Action != "profile.delete" || *refused[1].ObjectID != id {
		t.Errorf("%+v", refused)
	}
	if n := len(a.audited(t, "objectId="+id+"&action=profile.*")); n != 7 {
		t.Errorf("%d entries of the profile", n)
	}
	if first := a.audited(t, "action=key.create"); len(first) != 2 {
		t.Errorf("%d keys", len(first))
	}
	other, _ := a.newKey(t, "admin", "w2")
	if n := len(a.as(other).audited(t, "")); n != 0 {
		t.Errorf("a key of another workspace sees %d entries", n)
	}
	own, _ := a.newKey(t, "admin", "w")
	if n := len(a.as(own).audited(t, "keyId="+writerID)); n != len(want) {
		t.Errorf("a key of the workspace sees %d entries", n)
	}
	a.do(t, "GET", "/audit?action=profile&from=yesterday", nil).invalid(t, "query.action", "query.from")
	a.do(t, "GET", "/audit?format=jsonl&from=yesterday&page=1", nil).invalid(t, "query.from", "query.page")
}

// TestAuditOfAJoin: a start of a profile that runs gives its addresses out. It is on record as that, and not as a start.
func TestAuditOfAJoin(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	a.do(t, "POST", "/profiles/"+run.profileID+"/start", nil).want(t, 200).equal(t, "reused", true)
	all := a.audited(t, "objectId="+run.profileID+"&action=profile.*")
	if len(all) != 2 || all[0].Action != joinAction || all[0].Detail["runId"] != run.State().RunID || all[1].Action != "profile.create" {
		t.Errorf("%+v", all)
	}
}

// TestAuditBatch: a batch, a job and a repeated request have one entry each.
func TestAuditBatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	made := a.many(t, "count", 150).want(t, 201).each("id")
	a.do(t, "POST", "/profiles/batch", map[string]any{"action": "tag", "ids": made, "tags": []string{"x"}}).want(t, 200)
	job := a.do(t, "POST", "/profiles/batch", `{"action":"untag","filter":{"tag":["x"]},"tags":["x"]}`).want(t, 202)
	a.ended(t, job.text("id"))
	for range 2 {
		a.once(t, "again", "POST", "/profiles", `{"name":"once"}`).want(t, 201)
	}
	entries := a.audited(t, "action=profiles.*")
	if len(entries) != 3 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	if n, ids := entries[1].Detail["count"], entries[1].Detail["profileIds"].([]any); n != 150.0 || len(ids) != auditDetails {
		t.Errorf("%v profiles, %d ids", n, len(ids))
	}
	if n := len(a.audited(t, "action=profile.*")); n != 1 {
		t.Errorf("%d entries of single profiles", n)
	}
}

// TestAuditLines: the export has everything that fits, and no more than a part of it is in memory at once.
func TestAuditLines(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const n = 2*auditPart + 7
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		for i := range n {
			if err := q.Record(store.AuditEntry{At: int64(i), KeyID: "server", Action: "profile.delete", ObjectID: fmt.Sprint(i),
				Result: "ok", Detail: "{}"}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, how := range []struct{ query, accept string }{{"?format=jsonl&keyId=server", ""}, {"?keyId=server", "application/jsonl, */*"}} {
		req := a.request(t, "GET", "/audit"+how.query, nil)
		if how.accept != "" {
			req.Header.Set("Accept", how.accept)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/jsonl" {
			t.Fatalf("%v %s", err, res.Status)
		}
		next := n
		for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
			var e auditJSON
			next--
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil || *e.ObjectID != fmt.Sprint(next) {
				t.Fatalf("line of %d: %v %s", next, err, lines.Text())
			}
		}
		if next != 0 {
			t.Errorf("%s: %d lines are missing", how.query, next)
		}
	}
	parts := &partsOf{ResponseRecorder: httptest.NewRecorder()}
	a.srv.ServeHTTP(parts, a.request(t, "GET", "/audit?format=jsonl&keyId=server", nil))
	if !slices.Equal(parts.lines, []int{auditPart, auditPart, 7}) {
		t.Errorf("written in parts of %v lines", parts.lines)
	}
}

// partsOf counts the lines of each part of an answer.
type partsOf struct {
	*httptest.ResponseRecorder
	lines []int
}

func (p *partsOf) Write(part []byte) (int, error) {
	p.lines = append(p.lines, bytes.Count(part, []byte{'\n'}))
	return len(part), nil
}

// TestWorkspaceQuotas: a quota is exact under parallel requests, of every operation that makes what it counts.
func TestWorkspaceQuotas(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.do(t, "POST", "/workspaces", `{"id":"small","quotas":{"profiles":10,"proxies":2,"running":null}}`).want(t, 201).
		equal(t, "quotas.profiles", 10)
	var mu sync.Mutex
	var ids []string
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			switch r := a.do(t, "POST", "/profiles", `{"name":"x","workspaceId":"small"}`); r.status {
			case 201:
				mu.Lock()
				defer mu.Unlock()
				ids = append(ids, r.text("id"))
			default:
				r.refused(t, 409, "quota_exceeded").equal(t, "quota", "profiles")
			}
		})
	}
	all.Wait()
	if len(ids) != 10 {
		t.Fatalf("%d profiles were made", len(ids))
	}
	full := a.do(t, "POST", "/profiles", `{"name":"x","workspaceId":"small"}`).refused(t, 409, "quota_exceeded")
	full.equal(t, "limit", 10)
	full.equal(t, "use", 10)
	a.do(t, "DELETE", "/profiles/"+ids[0], nil).want(t, 204)
	a.do(t, "POST", "/profiles/batch-create", `{"name":"x","count":2,"workspaceId":"small"}`).refused(t, 409, "quota_exceeded").
		equal(t, "use", 9)
	a.do(t, "POST", "/profiles/"+ids[1]+"/clone", `{"count":2}`).refused(t, 409, "quota_exceeded")
	a.do(t, "POST", "/profiles/"+ids[1]+"/clone", `{}`).want(t, 201)
	a.do(t, "POST", "/profiles/"+ids[0]+"/restore", nil).refused(t, 409, "quota_exceeded")
	batch := a.do(t, "POST", "/profiles/batch", map[string]any{"action": "restore", "ids": ids[:1]}).want(t, 200)
	batch.equal(t, "results.0.error.quota", "profiles")
	a.imported(t, "?workspaceId=small", []byte("name,os\nx,linux\n")).refused(t, 409, "quota_exceeded")
	a.do(t, "POST", "/proxies/import", map[string]any{"workspaceId": "small", "proxies": []string{"h:1", "h:2", "h:3"}}).
		refused(t, 409, "quota_exceeded").equal(t, "quota", "proxies")
	a.do(t, "POST", "/proxies/import", map[string]any{"workspaceId": "small", "proxies": []string{"h:1", "h:2"}}).want(t, 200)
	a.do(t, "POST", "/proxies/import", map[string]any{"workspaceId": "small", "proxies": []string{"h:1", "h:2"}}).want(t, 200)
	a.do(t, "POST", "/proxies", `{"workspaceId":"small","url":"http://h:4"}`).refused(t, 409, "quota_exceeded")

	a.do(t, "PUT", "/workspaces/small", `{"quotas":{"profiles":3,"diskMb":0}}`).want(t, 200).equal(t, "use.profiles", 10)
	w := a.do(t, "GET", "/workspaces/small", nil).want(t, 200)
	w.equal(t, "quotas", map[string]any{"profiles": 3, "running": nil, "diskMb": 0, "proxies": 2})
	w.equal(t, "use", map[string]any{"profiles": 10, "running": 0, "diskMb": 0, "proxies": 2})
	a.do(t, "PUT", "/profiles/"+ids[1], `{"name":"still"}`).want(t, 200)
	a.do(t, "POST", "/profiles/"+ids[1]+"/start", nil).refused(t, 409, "quota_exceeded").equal(t, "quota", "diskMb")
	a.do(t, "PUT", "/workspaces/small", `{"quotas":{"diskMb":null,"running":0}}`).want(t, 200)
	a.do(t, "POST", "/profiles/"+ids[1]+"/start", nil).refused(t, 409, "quota_exceeded").equal(t, "quota", "running")
	a.do(t, "PUT", "/workspaces/small", `{"quotas":null}`).want(t, 200).equal(t, "quotas.profiles", nil)
	a.do(t, "POST", "/profiles/"+ids[0]+"/restore", nil).want(t, 200)
	a.do(t, "PUT", "/workspaces/small", `{"quotas":{"profiles":-1,"running":"x","cpu":1}}`).
		invalid(t, "body.quotas.profiles", "body.quotas.running", "body.quotas.cpu")
	if n := len(a.audited(t, "action=workspace.quotas")); n != 3 {
		t.Errorf("%d changes of quotas", n)
	}
}

// TestWorkspaceDeletion: only an empty workspace is deleted, and creates at the same time lose nothing.
func TestWorkspaceDeletion(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t, "workspaceId", "w")
	a.proxy(t, "workspaceId", "w")
	a.template(t, "workspaceId", "w")
	_, key := a.newKey(t, "read", "w")
	a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
	refused := a.do(t, "DELETE", "/workspaces/w", nil).refused(t, 409, "workspace_not_empty")
	refused.equal(t, "contents", map[string]any{"profiles": 0, "trashed": 1, "proxies": 1, "templates": 1, "schedules": 0, "extensions": 0,
		"keys": 1})
	a.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)
	for _, list := range []string{"proxies", "templates"} {
		for _, id := range a.do(t, "GET", "/"+list+"?workspaceId=w", nil).want(t, 200).each("id") {
			a.do(t, "DELETE", "/"+list+"/"+id, nil).want(t, 204)
		}
	}
	a.do(t, "DELETE", "/keys/"+key, nil).want(t, 204)
	a.do(t, "DELETE", "/workspaces/w", nil).want(t, 204)
	a.do(t, "GET", "/workspaces/w", nil).refused(t, 404, "workspace_not_found")
	a.do(t, "DELETE", "/workspaces/w", nil).refused(t, 404, "workspace_not_found")
	a.do(t, "GET", "/workspaces?after=w", nil).refused(t, 410, "cursor_gone")
	a.profile(t, "workspaceId", "w") // makes it anew
	if n := len(a.audited(t, "action=workspace.delete&result=ok")); n != 1 {
		t.Errorf("%d entries", n)
	}

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			a.do(t, "DELETE", "/workspaces/racing", nil)
		})
		all.Go(func() {
			r := a.do(t, "POST", "/profiles", `{"name":"x","workspaceId":"racing"}`).want(t, 201)
			a.do(t, "GET", "/profiles/"+r.text("id"), nil).want(t, 200)
			a.do(t, "DELETE", "/profiles/"+r.text("id")+"?permanent=true", nil).want(t, 204)
		})
	}
	all.Wait()
}

// TestValuesOfNewMembers: an entry names each member that changed, and repeats the values of those alone that were chosen for it.
func TestValuesOfNewMembers(t *testing.T) {
	t.Parallel()
	type object struct {
		Name  string `json:"name"`
		Token string `json:"token"`
	}
	same := func(o object) (object, error) { return o, nil }
	got := detailText(differences([]string{"name", "token"}, object{"a", "secret1"}, object{"b", "secret2"}, same))
	if want := `{"changed":["name","token"],"from":{"name":"a"},"to":{"name":"b"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
