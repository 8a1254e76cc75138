package api

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"warren/store"
	"warren/testnet"
)

// TestSchedules: a schedule is what was given, it changes by members, and every step is an event and on record.
func TestSchedules(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "write,run", "w")
	events := a.listen(t, key)
	b := a.as(key)
	profile := a.profile(t, "workspaceId", "w")
	made := b.do(t, "POST", "/schedules", `{"name":" Mornings ","cron":"30 2 * * *","timeZone":"Europe/Berlin","action":"start",
		"profileIds":["`+profile+`"],"startUrls":["https://a.example/"],"maxRunMs":60000,"catchUp":null}`).want(t, 201)
	for member, want := range map[string]any{"name": "Mornings", "workspaceId": "w", "enabled": true, "cron": "30 2 * * *",
		"timeZone": "Europe/Berlin", "everyMs": nil, "action": "start", "profileIds": []string{profile}, "proxyIds": nil, "tag": nil,
		"startUrls": []string{"https://a.example/"}, "maxRunMs": 60000, "catchUp": false, "lastRun": nil, "missed": 0, "skipped": 0,
		"lastMissedAt": nil, "lastSkippedAt": nil} {
		made.equal(t, member, want)
	}
	next := made.each("nextRuns")
	if len(made.at("nextRuns").([]any)) != shownRuns {
		t.Errorf("the next runs are %v", next)
	}
	id := made.text("id")
	if made.header.Get("Location") != "/api/v1/schedules/"+id || made.header.Get("ETag") != `"1"` {
		t.Errorf("%v", made.header)
	}
	if one := b.do(t, "GET", "/schedules/"+id, nil).want(t, 200); !bytes.Equal(one.body, made.body) || one.header.Get("ETag") != `"1"` {
		t.Errorf("GET answers\n%s\nPOST answered\n%s", one, made)
	}
	for _, c := range []struct {
		body string
		want map[string]any
	}{
		{`{"everyMs":3600000,"tag":"Shop"}`, map[string]any{"cron": nil, "timeZone": nil, "everyMs": 3600000, "profileIds": nil,
			"tag": "Shop", "maxRunMs": 60000}},
		{`{"enabled":false}`, map[string]any{"enabled": false, "nextRuns": []string{}, "everyMs": 3600000}},
		{`{"action":"check","enabled":null}`, map[string]any{"action": "check", "startUrls": nil, "maxRunMs": nil, "enabled": true}},
		{`{"cron":"0 9 * * MON","action":"stop","profileIds":["` + profile + `"]}`, map[string]any{"timeZone": "UTC", "everyMs": nil,
			"tag": nil, "profileIds": []string{profile}}},
	} {
		changed := b.do(t, "PUT", "/schedules/"+id, c.body).want(t, 200)
		for member, want := range c.want {
			changed.equal(t, member, want)
		}
	}
	for _, method := range []string{"PUT", "DELETE"} {
		req := b.request(t, method, "/schedules/"+id, `{"name":"Late"}`)
		req.Header.Set("If-Match", `"2"`)
		b.send(t, req).refused(t, 412, "etag_mismatch")
	}
	a.do(t, "DELETE", "/profiles/"+profile, nil).want(t, 204) // a schedule does not hold it
	b.do(t, "PATCH", "/schedules/"+id, `{"name":"Later"}`).want(t, 200).equal(t, "profileIds", []string{profile})
	if found := b.do(t, "GET", "/schedules?search=LATE&workspaceId=w", nil).want(t, 200); !slices.Equal(found.each("id"), []string{id}) {
		t.Errorf("found %s", found)
	}
	b.do(t, "DELETE", "/schedules/"+id, nil).want(t, 204)
	b.do(t, "GET", "/schedules/"+id, nil).refused(t, 404, "schedule_not_found")
	for _, what := range []string{"created", "updated", "deleted"} {
		events.says(t, `"type":"schedule.`+what+`"`)
	}
	events.says(t, `"changed":["everyMs","tag"]`)
	for action, n := range map[string]int{"create": 1, "update": 5, "delete": 1} {
		a.do(t, "GET", "/audit?result=ok&action=schedule."+action, nil).want(t, 200).equal(t, "total", n)
	}
}

// TestScheduleRefused: every fault at once, with what to do; the scopes of the action; and no more than a workspace may have.
func TestScheduleRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mine, theirs := a.profile(t), a.profile(t, "workspaceId", "b")
	proxy := a.proxy(t)
	id := a.schedule(t)
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"body.name", "body.action", "body.cron", "body.profileIds"}},
		{`{"name":"x","cron":"* * *","timeZone":"Mars/Base","everyMs":1000,"action":"start","profileIds":["` + theirs + `","` + mine +
			`","` + mine + `"],"tag":"t","startUrls":["file:///x"],"lastRun":{}}`, []string{"body.cron", "body.timeZone",
			"body.profileIds", "body.profileIds[0]", "body.profileIds[2]", "body.startUrls[0]", "body.lastRun"}},
		{`{"name":"x","cron":"0 0 30 2 *","action":"rotate","profileIds":["` + mine + `"],"maxRunMs":1000}`, []string{"body.cron",
			"body.profileIds", "body.maxRunMs"}},
		{`{"name":"x","everyMs":1000,"timeZone":"UTC","action":"stop","proxyIds":["` + proxy + `"]}`, []string{"body.timeZone",
			"body.proxyIds"}},
		{`{"name":"x","everyMs":999,"action":"jump","tag":""}`, []string{"body.everyMs", "body.action", "body.tag"}},
	} {
		a.do(t, "POST", "/schedules", c.body).invalid(t, c.want...)
	}
	a.do(t, "PUT", "/schedules/"+id, `{"name":null,"everyMs":null,"tag":null,"action":null,"workspaceId":"b"}`).invalid(t, "body.name",
		"body.cron", "body.profileIds", "body.action", "body.workspaceId")

	key, _ := a.newKey(t, "write", "default")
	writer := a.as(key)
	for _, action := range []string{"start", "stop", "check", "rotate"} {
		writer.do(t, "POST", "/schedules", `{"name":"x","everyMs":1000,"tag":"t","action":"`+action+`"}`).refused(t, 403, "forbidden")
		writer.do(t, "PUT", "/schedules/"+id, `{"action":"`+action+`"}`).refused(t, 403, "forbidden")
	}
	starts := a.schedule(t, "action", "start")
	writer.do(t, "PUT", "/schedules/"+starts, `{"action":"snapshot"}`).refused(t, 403, "forbidden")
	for _, path := range []string{"/profiles/" + mine, "/templates/" + a.template(t)} {
		writer.do(t, "PUT", path, `{"startWithServer":true}`).invalid(t, "body.startWithServer")
	}
	a.do(t, "PUT", "/profiles/"+mine, `{"startWithServer":true}`).want(t, 200).equal(t, "startWithServer", true)
	writer.do(t, "PUT", "/profiles/"+mine, `{"notes":"n"}`).want(t, 200).equal(t, "startWithServer", true)

	err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		for range maxSchedules - 2 {
			if _, err := q.InsertSchedule(t.Context(), store.InsertScheduleParams{ID: store.NewID(), WorkspaceID: "default", Name: "s",
				SearchKey: "s", EveryMs: new(int64(1000)), Action: "stop", Tag: new("t")}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.do(t, "POST", "/schedules", `{"name":"x","everyMs":1000,"action":"stop","tag":"t"}`).refused(t, 409, "schedule_limit")
}

// TestScheduleRuns: the server runs a schedule as soon as it is there, and its answer, its events and its ETag say what came of it.
func TestScheduleRuns(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile := a.profile(t)
	events := a.listen(t, a.key)
	made := a.do(t, "POST", "/schedules", `{"name":"x","everyMs":1000,"action":"stop","profileIds":["`+profile+`"]}`).want(t, 201)
	path := "/schedules/" + made.text("id")
	testnet.Eventually(t, "it runs", func() bool {
		return a.do(t, "GET", path, nil).want(t, 200).at("lastRun") != nil
	})
	events.says(t, `"type":"schedule.started"`)
	events.says(t, `"type":"schedule.ended"`)
	a.do(t, "DELETE", "/profiles/"+profile, nil).want(t, 204)
	testnet.Eventually(t, "it tells that its profile is gone", func() bool {
		r := a.do(t, "GET", path, nil).want(t, 200)
		return r.text("lastRun.status") == "failed" && strings.Contains(r.String(), "profile_not_found")
	})
	req := a.request(t, "PUT", path, `{"enabled":false}`)
	req.Header.Set("If-Match", made.header.Get("ETag"))
	a.send(t, req).want(t, 200)
}
