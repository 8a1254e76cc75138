package api

import (
	"fmt"
	"testing"
	"time"

	"warren/runs"
	"warren/shim"
	"warren/store"
)

// A repeated report counts once, groups add up to the total, old rows are deleted, and other workspaces are invisible.
func TestTraffic(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy, other := a.proxy(t), a.proxy(t, "port", 2)
	one, two := a.profile(t), a.profile(t)
	today := runs.DayOf(time.Now())
	say := func(run, profile string, said ...shim.Traffic) {
		t.Helper()
		if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
			for _, s := range said {
				if err := q.UpsertTraffic(t.Context(), store.UpsertTrafficParams{RunID: run, ProfileID: profile, WorkspaceID: "default",
					ProxyID: s.ProxyID, Day: s.Day,
					BytesUp: s.BytesUp, BytesDown: s.BytesDown, Connections: s.Connections}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	first := shim.Traffic{ProxyID: proxy, Day: today - 1, BytesUp: 1, BytesDown: 10, Connections: 1}
	say("r1", one, first, shim.Traffic{ProxyID: other, Day: today, BytesUp: 7}, shim.Traffic{Day: today, BytesDown: 5})
	say("r1", one, first)
	say("r2", two, shim.Traffic{ProxyID: proxy, Day: today, BytesUp: 2, BytesDown: 20, Connections: 2})
	say("r2", two, shim.Traffic{ProxyID: proxy, Day: today, BytesUp: 1, BytesDown: 20, Connections: 2}) // an older report
	say("r3", two, shim.Traffic{ProxyID: proxy, Day: today - 400 - 1, BytesUp: 100})
	says := func(path, want string) {
		t.Helper()
		r := a.do(t, "GET", path, nil).want(t, 200)
		got := fmt.Sprint(r.at("bytesUp"), " ", r.at("bytesDown"), " ", r.at("connections"), ":")
		for i := range r.at("data").([]any) {
			row := r.at(fmt.Sprint("data.", i)).(map[string]any)
			delete(row, "day")
			got += fmt.Sprint(" ", row)
		}
		if got != want {
			t.Errorf("%s says %s, want %s", path, got, want)
		}
	}
	path := "/proxies/" + proxy + "/traffic"
	if err := a.srv.runs.Sweep(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	says(path, "3 30 3: map[bytesDown:10 bytesUp:1 connections:1] map[bytesDown:20 bytesUp:2 connections:2]")
	says(path+"?by=run", "3 30 3: map[bytesDown:10 bytesUp:1 connections:1 runId:r1] map[bytesDown:20 bytesUp:2 connections:2 runId:r2]")
	says(path+"?to="+time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), "1 10 1: map[bytesDown:10 bytesUp:1 connections:1]")
	says("/profiles/"+one+"/traffic?by=proxy&from="+time.Now().UTC().Format(time.DateOnly), "7 5 0: map[bytesDown:5 bytesUp:0 "+
		"connections:0 proxyId:] map[bytesDown:0 bytesUp:7 connections:0 proxyId:"+other+"]")
	says("/profiles/"+two+"/traffic?by=proxy", "2 20 2: map[bytesDown:20 bytesUp:2 connections:2 proxyId:"+proxy+"]")
	a.do(t, "GET", path+"?by=hour", nil).invalid(t, "query.by")
	a.do(t, "GET", path+"?from=yesterday&to=2026-13-01", nil).invalid(t, "query.from", "query.to")
	a.do(t, "GET", path+"?from=2026-11-02&to=2026-11-01", nil).invalid(t, "query.to")
	a.do(t, "GET", "/profiles/"+one+"/traffic?by=profile", nil).invalid(t, "query.by")
}
