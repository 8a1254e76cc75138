package api

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warren/problem"
	"warren/store"
)

// job begins a job, and returns it as it was answered.
func (a *testAPI) job(t testing.TB, in map[string]any) *answer {
	t.Helper()
	r := a.do(t, "POST", "/profiles/batch", in).want(t, 202)
	if at := r.header.Get("Location"); at != Prefix+"/jobs/"+r.text("id") {
		t.Errorf("its Location is %q", at)
	}
	r.equal(t, "status", "running")
	r.equal(t, "endedAt", nil)
	return r
}

// ended waits for the end of a job.
func (a *testAPI) ended(t testing.TB, id string) (r *answer) {
	t.Helper()
	waitFor(t, "the job to end", func() bool {
		r = a.do(t, "GET", "/jobs/"+id, nil).want(t, 200)
		return r.at("endedAt") != nil
	})
	return r
}

// counts checks the status and the counts of a job.
func (r *answer) counts(t testing.TB, status string, total, done, failed int) *answer {
	t.Helper()
	for member, want := range map[string]any{"status": status, "total": total, "done": done, "failed": failed} {
		r.equal(t, member, want)
	}
	return r
}

// changedBy says how many profiles each action of jobs has changed. A job that takes longer tells of them in parts.
func changedBy(t testing.TB, events string) string {
	t.Helper()
	counts := map[string]int{}
	for _, part := range regexp.MustCompile(`"data":\{"action":"(\w+)","count":(\d+)\}`).FindAllStringSubmatch(events, -1) {
		n, err := strconv.Atoi(part[2])
		if err != nil {
			t.Fatal(err)
		}
		counts[part[1]] += n
	}
	return fmt.Sprintf("tag %d, untag %d", counts["tag"], counts["untag"])
}

// TestJob: a job does what the filter says to what its key sees, tells why some failed, and does those again. It is its key's.
func TestJob(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "write", "a", "c")
	other, _ := a.newKey(t, "write", "a")
	b := a.as(key)
	mine, theirs := a.listen(t, key), a.listen(t, other)
	full := make([]string, 50)
	for i := range full {
		full[i] = fmt.Sprint("t", i)
	}
	var ids []string
	for i, workspace := range []string{"a", "a", "c", "b"} {
		ids = append(ids, a.profile(t, "workspaceId", workspace, "tags", []string{"t0"}, "name", fmt.Sprint("p", i)))
	}
	ids = append(ids, a.profile(t, "workspaceId", "a", "tags", full, "name", "full"))
	filter := map[string]any{"tag": []string{"T0"}, "status": "stopped", "proxyId": "none", "neverStarted": true, "os": "linux",
		"sort": "name", "order": "asc"}
	first := b.job(t, map[string]any{"action": "tag", "tags": []string{"new"}, "filter": filter})
	id := first.text("id")
	r := b.ended(t, id).counts(t, "done", 4, 4, 1)
	for member, want := range map[string]any{"failures.0.id": ids[4], "failures.0.name": "full", "failures.0.status": 422,
		"failures.0.error.code": "validation_failed", "failures.1": nil, "moreFailures": 0} {
		r.equal(t, member, want)
	}
	if got := a.do(t, "GET", "/profiles?tag=new", nil).want(t, 200).at("total"); got != 3.0 {
		t.Errorf("%v profiles have the tag, want 3", got)
	}
	results := b.do(t, "GET", "/jobs/"+id+"/results", nil).want(t, 200)
	lines := strings.Split(strings.TrimSpace(string(results.body)), "\n")
	if len(lines) != 4 || results.header.Get("X-Total-Count") != "4" || !strings.Contains(lines[0], ids[4]+`","status":422,"error":{`) ||
		lines[1] != fmt.Sprintf(`{"id":"%s","status":200}`, ids[0]) || results.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%s", results)
	}
	for _, stranger := range []*testAPI{a, a.as(other)} {
		for _, call := range []string{"GET /jobs/" + id, "DELETE /jobs/" + id, "GET /jobs/" + id + "/results"} {
			method, path, _ := strings.Cut(call, " ")
			stranger.do(t, method, path, nil).refused(t, 404, "job_not_found")
		}
		stranger.do(t, "GET", "/jobs", nil).want(t, 200).equal(t, "total", 0)
		stranger.do(t, "POST", "/profiles/batch", map[string]any{"action": "delete", "filter": map[string]any{"failedIn": id}}).
			invalid(t, "body.filter.failedIn")
	}
	b.do(t, "PUT", "/profiles/"+ids[4], map[string]any{"tags": []string{}}).want(t, 200)
	again := b.job(t, map[string]any{"action": "tag", "tags": []string{"new"}, "filter": map[string]any{"failedIn": id}})
	b.ended(t, again.text("id")).counts(t, "done", 1, 1, 0)
	rest := map[string]any{"tag": []string{"new"}, "except": []string{ids[0], ids[3]}} // the last is of a workspace that it does not see
	b.ended(t, b.job(t, map[string]any{"action": "untag", "tags": []string{"new"}, "filter": rest}).text("id")).counts(t, "done", 3, 3, 0)
	b.do(t, "GET", "/profiles?tag=new", nil).want(t, 200).equal(t, "data.0.id", ids[0])
	b.do(t, "DELETE", "/jobs/"+id, nil).want(t, 204)
	b.do(t, "GET", "/jobs/"+id, nil).want(t, 200).counts(t, "done", 4, 4, 1) // it had ended
	list := b.do(t, "GET", "/jobs?limit=1", nil).want(t, 200)
	list.equal(t, "total", 3)
	list = b.do(t, "GET", "/jobs?limit=1&after="+list.text("next"), nil).want(t, 200)
	list.equal(t, "data.0.id", again.text("id"))
	next := b.do(t, "GET", "/jobs?limit=1&after="+list.text("next"), nil).want(t, 200)
	next.equal(t, "data.0.id", id)
	next.equal(t, "hasMore", false)
	waitFor(t, "its events", func() bool { return strings.Count(mine.all(), "event: job.ended") == 3 })
	if all := mine.all(); strings.Count(all, "event: job.created") != 3 || strings.Count(all, "event: profile.updated") != 1 ||
		changedBy(t, all) != "tag 4, untag 3" {
		t.Errorf("events: %s", all)
	}
	waitFor(t, "the changes for others", func() bool { return changedBy(t, theirs.all()) == "tag 3, untag 2" })
	if strings.Contains(theirs.all(), "event: job.") {
		t.Errorf("another key hears of the job: %s", theirs.all())
	}
}

// TestJobActions: each action takes a filter, with the refusals of the single operation.
func TestJobActions(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := []string{a.profile(t, "tags", []string{"x"}), a.profile(t, "tags", []string{"x"}), a.profile(t)}
	proxies := []string{a.proxy(t, "host", "a.example", "tags", []string{"de"}), a.proxy(t, "host", "b.example", "tags", []string{"de"})}
	filter := map[string]any{"tag": []string{"x"}}
	run := func(in map[string]any, total, failed int) {
		t.Helper()
		a.ended(t, a.job(t, in).text("id")).counts(t, "done", total, total, failed)
	}
	run(map[string]any{"action": "setProxy", "filter": filter, "proxies": map[string]any{"tag": "DE", "each": true}}, 2, 0)
	for i, id := range ids[:2] {
		a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "proxyId", proxies[1-i]) // newest first
	}
	run(map[string]any{"action": "delete", "filter": filter}, 2, 0)
	run(map[string]any{"action": "delete", "filter": filter}, 0, 0)
	run(map[string]any{"action": "restore", "filter": map[string]any{"tag": []string{"x"}, "trashed": true}}, 2, 0)
	run(map[string]any{"action": "stop", "filter": map[string]any{}}, 3, 0)
	run(map[string]any{"action": "untag", "tags": []string{"x"}, "filter": map[string]any{"workspaceId": "default"}}, 3, 0)
	post := func(in map[string]any) *answer { return a.do(t, "POST", "/profiles/batch", in) }
	post(map[string]any{"action": "restore", "filter": map[string]any{}}).invalid(t, "body.filter.trashed")
	post(map[string]any{"action": "stop", "filter": map[string]any{"trashed": true, "country": "DEU", "tags": []string{}, "sort": "age",
		"failedIn": "none", "workspaceId": "!"}}).invalid(t, "body.filter.country", "body.filter.failedIn", "body.filter.sort",
		"body.filter.tags", "body.filter.trashed", "body.filter.workspaceId")
	post(map[string]any{"action": "stop", "filter": map[string]any{}, "ids": ids}).invalid(t, "body.filter")
	post(map[string]any{"action": "stop"}).invalid(t, "body.ids")
	a.srv.jobs.most = 2
	r := post(map[string]any{"action": "stop", "filter": map[string]any{}}).invalid(t, "body.filter")
	if message := r.text("errors.0.message"); !strings.Contains(message, "3 profiles") || !strings.Contains(message, "at most 2") {
		t.Errorf("it says %q", message)
	}
	for scope, action := range map[string]string{"read": "stop", "run": "delete", "write": "start"} {
		key, _ := a.newKey(t, scope)
		a.as(key).do(t, "POST", "/profiles/batch", map[string]any{"action": action, "filter": map[string]any{}}).
			refused(t, 403, "forbidden")
	}
	body := `{"action":"stop","filter":{"tag":["x"]}}`
	sameAnswer(t, a.once(t, "job", "POST", "/profiles/batch", body).want(t, 202),
		a.once(t, "job", "POST", "/profiles/batch", body).want(t, 202))
}

// blockWrites makes all writes wait until release.
func (a *testAPI) blockWrites(t testing.TB) (release func()) {
	t.Helper()
	held, release := a.holdWriter(t)
	<-held
	return release
}

// TestJobStops: a job that is cancelled, or whose key or server ends, begins with no further profile. What has begun ends.
func TestJobStops(t *testing.T) {
	t.Parallel()
	for what, stop := range map[string]func(a, b *testAPI, keyID, id string){
		"cancelled":        func(_, b *testAPI, _, id string) { go b.do(t, "DELETE", "/jobs/"+id, nil) }, // its entry waits too
		"its key ends":     func(a, _ *testAPI, keyID, _ string) { a.srv.keyContexts.cancelKey(keyID) },
		"the server stops": func(a, _ *testAPI, _, _ string) { go a.srv.jobs.close(t.Context()) },
	} {
		a := newAPI(t)
		a.many(t, "count", 200).want(t, 201)
		key, keyID := a.newKey(t, "write")
		b := a.as(key)
		b.do(t, "GET", "/profiles?sort=name", nil).want(t, 200) // loads the index
		release := a.blockWrites(t)
		id := b.job(t, map[string]any{"action": "tag", "tags": []string{"x"}, "filter": map[string]any{}}).text("id")
		j, err := a.srv.jobs.find(keyID, id)
		if err != nil {
			t.Fatal(err)
		}
		stop(a, b, keyID, id)
		if what != "its key ends" {
			waitFor(t, "it to be told", func() bool { return j.show().Status == jobCancelled })
		}
		// It may have ended already, if it was stopped before any profile had begun.
		if shown := j.show(); shown.Done != 0 {
			t.Errorf("%s: while profiles wait it is %+v", what, shown)
		}
		release()
		waitFor(t, "its end", j.hasEnded)
		shown := j.show()
		if shown.Status != jobCancelled || shown.Done > jobAtOnce || shown.Failed != 0 || shown.EndedAt == nil {
			t.Errorf("%s: %+v", what, shown)
		}
		b.do(t, "GET", "/profiles?tag=x", nil).want(t, 200).equal(t, "total", shown.Done)
		lines := b.do(t, "GET", "/jobs/"+id+"/results", nil).want(t, 200)
		if n := bytes.Count(lines.body, []byte("\n")); n != shown.Done {
			t.Errorf("%s: %d results", what, n)
		}
		if what == "the server stops" {
			a.do(t, "POST", "/profiles/batch", map[string]any{"action": "stop", "filter": map[string]any{}}).
				refused(t, 503, "server_stopping")
		}
	}
}

// TestJobsThatAreKept: no key drops the jobs of another, and there is room for no more than are kept.
func TestJobsThatAreKept(t *testing.T) {
	t.Parallel()
	k := &jobs{most: maxJobProfiles}
	add := func(key string, profiles int) (*job, error) {
		by := newCaller(store.Holder{KeyID: key})
		j := newJob(by, "stop", make([]store.ProfileID, profiles))
		j.cancel = func() {}
		_, err := k.add(j)
		return j, err
	}
	few, err := add("few", 1)
	if err != nil {
		t.Fatal(err)
	}
	few.end()
	for range maxJobs + 20 {
		j, err := add("many", 10)
		if err != nil {
			t.Fatal(err)
		}
		j.end()
	}
	if own, kept := len(k.of("few")), len(k.of("many")); own != 1 || kept != maxJobs-1 {
		t.Errorf("%d and %d jobs are kept", own, kept)
	}
	for i := range maxJobsOfKey + 1 {
		_, err := add("busy", maxJobProfiles)
		if refused := errors.Is(err, tooManyJobs()) || err != nil; refused != (i == maxJobsOfKey) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if _, err := add("big", maxJobProfiles*2); err != nil { // 1,000,000 with it
		t.Error(err)
	}
	var full *problem.Error
	if _, err := add("late", 1); !errors.As(err, &full) || full.Code != "too_many_jobs" {
		t.Errorf("one too many: %v", err)
	}
	if len(k.of("few"))+len(k.of("many")) != 0 {
		t.Error("ended jobs are kept beside more results than there is room for")
	}
}

// TestBatchDealsProxies: each way to give the profiles of a batch proxies; nothing is changed if there are too few.
func TestBatchDealsProxies(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var proxies, ids []string
	for i := range 4 {
		proxies = append(proxies, a.proxy(t, "host", fmt.Sprintf("h%d.example", i), "tags", []string{[]string{"de", "fr"}[i/3]}))
	}
	theirs := a.proxy(t, "workspaceId", "b", "tags", []string{"de"})
	for range 3 {
		ids = append(ids, a.profile(t))
	}
	a.profile(t, "proxyId", proxies[0])
	b, unknown := a.profile(t, "workspaceId", "b"), store.NewID()
	set := func(to any, of ...string) *answer {
		t.Helper()
		return a.do(t, "POST", "/profiles/batch", map[string]any{"action": "setProxy", "ids": of, "proxies": to})
	}
	used := func(r *answer, want ...string) {
		t.Helper()
		r.want(t, 200)
		var got []string
		for i := range want {
			got = append(got, r.text(fmt.Sprintf("results.%d.profile.proxyId", i)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the profiles have %v, want %v", got, want)
		}
	}
	each := map[string]any{"tag": "de", "each": true}
	used(set(each, ids[0], unknown, ids[1], b), proxies[1], "", proxies[2], theirs)
	used(set(each, ids...), proxies[0], proxies[1], proxies[2])
	r := set(each, append(ids, b, a.profile(t))...).invalid(t, "body.proxies")
	if message := r.text("errors.0.message"); !strings.Contains(message, "has 3, so 1 are missing") {
		t.Errorf("it says %q", message)
	}
	used(set(map[string]any{"tag": "fr", "pick": "leastUsed"}, ids...), proxies[3], proxies[3], proxies[3])
	used(set("each", ids[0], ids[1]), proxies[1], proxies[2])
	set("each", ids...).invalid(t, "body.proxies")
	used(set([]string{proxies[2], theirs, proxies[1]}, ids[0], b, ids[1]), proxies[2], theirs, proxies[1])
	set([]string{theirs, proxies[2]}, ids[0], b).invalid(t, "body.proxies[0]", "body.proxies[1]")
	set([]string{proxies[2]}, ids...).invalid(t, "body.proxies")
	set(map[string]any{"tag": "none", "each": true}, ids...).invalid(t, "body.proxies.tag")
	set(nil, ids...).invalid(t, "body.proxies")
	a.do(t, "POST", "/profiles/batch", map[string]any{"action": "stop", "ids": ids, "proxies": "each"}).invalid(t, "body.proxies")
	a.do(t, "POST", "/profiles/batch", map[string]any{"action": "setProxy", "ids": ids, "proxies": "each", "proxyId": nil}).
		invalid(t, "body.proxies")
	a.do(t, "PUT", "/profiles/"+ids[0], map[string]any{"proxyId": nil, "fallbackProxyIds": []string{}}).want(t, 200)
	fallback := a.profile(t, "proxyId", proxies[3], "fallbackProxyIds", []string{proxies[1]})
	a.do(t, "PUT", "/profiles/"+ids[1], map[string]any{"proxyId": nil}).want(t, 200)
	used(set(each, fallback, ids[1]), proxies[2], proxies[1]) // not its fallback
	// Two deals at once deal no proxy twice.
	a.do(t, "POST", "/profiles/batch", map[string]any{"action": "setProxy", "ids": append(ids, fallback), "proxyId": nil}).want(t, 200)
	by, to := newEnvironmentCaller("x"), []store.ProfileID{{ID: ids[0], Workspace: "default"}}
	one, release, err := a.srv.deals.deal(t.Context(), by, &proxiesInput{Each: true}, to)
	two, release2, err2 := a.srv.deals.deal(t.Context(), by, &proxiesInput{Each: true}, to)
	if err := errors.Join(err, err2); err != nil || one[0] == two[0] {
		t.Errorf("%v, %v, %v", one, two, err)
	}
	release()
	release2()
	if left, err := a.srv.store.Read().ListDeals(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v are still held (%v)", left, err)
	}
}
