package api

import (
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// A profile's runs are listed newest first and in pages, also runs that an earlier version wrote.
func TestHistory(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, other := a.profile(t), a.profile(t)
	const started = `{"headless":true,"browser":{"product":"Chromium","version":"156.0.1.2","path":"/b","match":"exact"},` +
		`"proxy":{"id":"p","type":"socks5","exitIp":"203.0.113.7","country":"DE","timezone":null,"latencyMs":1,` +
		`"checkedAt":null},"began":{"members":{}}}`
	var ids []string
	run := func(profile string, at int64) string {
		id := store.NewID()
		ids = append([]string{id}, ids...)
		if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
			return q.InsertRun(t.Context(), store.InsertRunParams{ID: id, ProfileID: profile, StartedAt: at, Record: started})
		}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	old := run(profile, 1000)
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error { // as versions wrote it that kept the end alone
		_, err := q.EndRun(t.Context(), store.EndRunParams{ID: old, EndedAt: 3000, Outcome: "crashed", Record: `{"runId":"` + old +
			`","startedAt":"1970-01-01T00:00:01.000Z",` +
			`"endedAt":"1970-01-01T00:00:03.000Z","durationMs":2000,"status":"failed","reason":"crashed","exitCode":5,` +
			`"bytesUp":1,"bytesDown":2,"lines":["x"]}`})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ended := run(profile, 4000)
	if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		_, err := q.EndRun(t.Context(), store.EndRunParams{ID: ended, EndedAt: 9000, Outcome: "idle", Record: strings.TrimSuffix(started,
			"}") + `,"runId":"` + ended + `","startedAt":"1970-01-01T00:00:04.000Z",` +
			`"endedAt":"1970-01-01T00:00:09.000Z","durationMs":5000,"status":"stopped","reason":"idle","exitCode":0,` +
			`"bytesUp":0,"bytesDown":7}`})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	run(profile, 10000)
	foreign := run(other, 20000)
	ids = ids[1:]
	path := "/profiles/" + profile + "/runs"
	r := a.do(t, "GET", path, nil).want(t, 200)
	if got := r.each("runId"); !slices.Equal(got, ids) {
		t.Fatalf("got %v, want %v", got, ids)
	}
	for place, want := range map[string]any{"total": 3, "data.0.status": "running", "data.0.endedAt": nil, "data.0.reason": nil,
		"data.0.headless": true, "data.0.bytesDown": nil,
		"data.1.status": "stopped", "data.1.reason": "idle", "data.1.durationMs": 5000, "data.1.bytesDown": 7,
		"data.1.browser.version": "156.0.1.2", "data.1.proxy.exitIp": "203.0.113.7", "data.1.exitCode": 0,
		"data.2.status": "failed", "data.2.reason": "crashed", "data.2.exitCode": 5, "data.2.lines": []string{"x"}, "data.2.browser": nil,
		"data.2.headless": nil, "data.2.proxy": nil, "data.2.usage": nil} {
		r.equal(t, place, want)
	}
	for query, want := range map[string][]string{"?limit=2": ids[:2], "?limit=2&page=2": ids[2:], "?after=" + ids[0]: ids[1:], "?after=" +
		foreign: nil, "?after=x": nil} {
		if got := a.do(t, "GET", path+query, nil).want(t, 200).each("runId"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	a.do(t, "GET", path+"?page=0&nope=1", nil).invalid(t, "query.nope", "query.page")
	a.do(t, "GET", "/profiles/"+store.NewID()+"/runs", nil).refused(t, 404, "profile_not_found")
}
