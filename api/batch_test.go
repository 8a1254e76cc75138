package api

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// batch does an action, wants a result per id in order, and returns their statuses.
func (a *testAPI) batch(t testing.TB, in map[string]any) (*answer, []int) {
	t.Helper()
	r := a.do(t, "POST", "/profiles/batch", in).want(t, 200)
	ids := in["ids"].([]string)
	results, _ := r.at("results").([]any)
	if len(results) != len(ids) {
		t.Fatalf("%d results for %d ids", len(results), len(ids))
	}
	var out []int
	for i, id := range ids {
		if r.text(fmt.Sprintf("results.%d.id", i)) != id {
			t.Errorf("result %d is of another profile", i)
		}
		status, _ := r.at(fmt.Sprintf("results.%d.status", i)).(float64)
		out = append(out, int(status))
		if problem := r.at(fmt.Sprintf("results.%d.error", i)); (problem != nil) != (status >= 400) {
			t.Errorf("result %d has the status %v and the error %v", i, status, problem)
		}
	}
	return r, out
}

// Each profile of a batch has the result of the single operation, in order, and no refusal holds up another.
func TestBatchChanges(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "write", "a")
	events := a.listen(t, key)
	b := a.as(key)
	one, two, theirs, nobody := a.profile(t, "workspaceId", "a", "tags", []string{"Old"}), a.profile(t, "workspaceId", "a"),
		a.profile(t, "workspaceId", "b"), store.NewID()
	full := make([]string, 50)
	for i := range full {
		full[i] = fmt.Sprint("t", i)
	}
	three := a.profile(t, "workspaceId", "a", "tags", full)
	proxy := a.proxy(t, "workspaceId", "a")
	ids := []string{two, theirs, three, nobody, one}
	step := func(in map[string]any, want ...int) *answer {
		t.Helper()
		in["ids"] = ids
		r, got := b.batch(t, in)
		if !slices.Equal(got, want) {
			t.Errorf("%v answered %v, want %v: %s", in, got, want, r)
		}
		for _, i := range []int{1, 3} { // of another workspace, or of none: the same
			if r.text(fmt.Sprintf("results.%d.error.code", i)) != "profile_not_found" {
				t.Errorf("%s", r)
			}
		}
		return r
	}
	r := step(map[string]any{"action": "tag", "tags": []string{"old", " new ", "NEW"}}, 200, 404, 422, 404, 200)
	r.equal(t, "results.0.profile.tags", []string{"old", "new"})
	r.equal(t, "results.4.profile.tags", []string{"Old", "new"})
	r.equal(t, "results.2.error.errors.0.location", "body.tags")
	r = step(map[string]any{"action": "untag", "tags": []string{"OLD", "t7"}}, 200, 404, 200, 404, 200)
	r.equal(t, "results.0.profile.tags", []string{"new"})
	r.equal(t, "results.4.profile.tags", []string{"new"})
	r = step(map[string]any{"action": "setProxy", "proxyId": proxy}, 200, 404, 200, 404, 200)
	r.equal(t, "results.0.profile.proxyId", proxy)
	step(map[string]any{"action": "setProxy", "proxyId": store.NewID()}, 422, 404, 422, 404, 422)
	r = step(map[string]any{"action": "setProxy", "proxyId": nil}, 200, 404, 200, 404, 200)
	r.equal(t, "results.4.profile.proxyId", nil)
	r = step(map[string]any{"action": "delete"}, 204, 404, 204, 404, 204)
	r.equal(t, "results.0.profile", nil)
	step(map[string]any{"action": "delete"}, 404, 404, 404, 404, 404)
	r = step(map[string]any{"action": "restore"}, 200, 404, 200, 404, 200)
	r.equal(t, "results.4.profile.tags", []string{"new"})
	a.do(t, "GET", "/profiles/"+theirs, nil).want(t, 200).equal(t, "tags", []string{})
	waitFor(t, "the events of the last action", func() bool { return strings.Count(events.all(), "event: profile.restored") == 3 })
	if n := strings.Count(events.all(), "event: profile.updated"); n != 2+3+3+3 {
		t.Errorf("%d events tell of changes, want those of 11", n)
	}
}

// A batch that is not valid changes nothing, and names every fault at once.
func TestBatchFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	post := func(body any) *answer { t.Helper(); return a.do(t, "POST", "/profiles/batch", body) }
	post(map[string]any{"action": "dance", "ids": []string{id, "x", id}, "tags": []string{"t"}, "proxyId": nil, "more": 1}).
		invalid(t, "body.action", "body.ids[2]", "body.more", "body.proxyId", "body.tags")
	post(map[string]any{"action": "tag", "ids": []string{id}}).invalid(t, "body.tags")
	post(map[string]any{"action": "untag", "ids": []string{id}, "tags": []string{"a", "", strings.Repeat("x", 65)}}).invalid(t,
		"body.tags[1]", "body.tags[2]")
	post(map[string]any{"action": "setProxy", "ids": []string{}}).invalid(t, "body.ids", "body.proxyId")
	many := make([]string, maxBatch+1)
	for i := range many {
		many[i] = store.NewID()
	}
	post(map[string]any{"action": "delete", "ids": many}).invalid(t, "body.ids")
	post(map[string]any{}).invalid(t, "body.action", "body.ids")
	if r, got := a.batch(t, map[string]any{"action": "delete", "ids": many[:maxBatch]}); got[0] != 404 || got[maxBatch-1] != 404 {
		t.Errorf("%.300s", r)
	}
	for scopes, refused := range map[string][]string{"read": {"start", "stop", "delete", "restore"}, "run": {"delete", "restore"},
		"write": {"start", "stop"}} {
		key, _ := a.newKey(t, scopes)
		for _, action := range refused {
			a.as(key).do(t, "POST", "/profiles/batch", map[string]any{"action": action, "ids": []string{id}}).refused(t, 403, "forbidden")
		}
	}
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
}

// A client that goes away stops nothing half-way.
func TestBatchOutlivesItsClient(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := make([]string, 150)
	for i := range ids {
		ids[i] = a.profile(t)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req := a.request(t, "POST", "/profiles/batch", map[string]any{"action": "delete", "ids": ids}).WithContext(ctx)
	events := a.listen(t, a.key)
	go func() {
		events.until(t, "profile.deleted")
		cancel()
	}()
	if res, err := a.client.Do(req); err == nil { // it was quicker
		res.Body.Close()
	}
	waitFor(t, "the rest to be deleted", func() bool {
		return bytes.Contains(a.do(t, "GET", "/profiles?limit=1", nil).body, []byte(`"total":0`))
	})
}
