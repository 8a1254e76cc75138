package tests

import (
	"testing"

	"warren/testnet"
)

// scheduleView is a schedule as the API shows it.
type scheduleView struct {
	ID              string
	Missed, Skipped int
	NextRuns        []string
	LastRun         *struct {
		Status  string
		Targets int
		Done    int
		DueAt   string
	}
}

// A schedule of a second opens its page in a profile, is skipped while that runs, closes it after its time, and comes again. A
// profile that starts with the server is started by the next one too. One that runs already is left alone.
func TestSchedulesStartProfiles(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve("--keep-browsers")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	events := s.listen()
	var made scheduleView
	s.do("POST", "/schedules", map[string]any{"name": "each second", "everyMs": 1000, "action": "start", "profileIds": []string{id},
		"startUrls": []string{s.world.url("/scheduled")}, "maxRunMs": 3000}, 201, &made)
	events.await("run.started", "", id)
	s.world.await(t, "/scheduled", 1)
	if p := s.get(id); p.Run != nil && p.Run.ExpiresAt == nil {
		t.Errorf("the run has no end: %+v", p.Run)
	}
	if ended := events.await("run.ended", "", id); ended.Data.Reason != "expired" {
		t.Errorf("the run ended %+v", ended.Data)
	}
	events.await("schedule.ended", "", made.ID)
	events.await("run.started", "", id)
	s.world.await(t, "/scheduled", 2)
	var now scheduleView
	s.do("PUT", "/schedules/"+made.ID, map[string]any{"enabled": false}, 200, &now)
	if now.Skipped == 0 || now.LastRun == nil || len(now.NextRuns) != 0 {
		t.Errorf("the schedule is %+v, %+v", now, now.LastRun)
	}
	testnet.Eventually(t, "its last occurrence ends", func() bool {
		s.do("GET", "/schedules/"+made.ID, nil, 200, &now)
		return now.LastRun.Status == "done" && now.LastRun.Targets == 1 && now.LastRun.Done == 1
	})

	s.do("PUT", "/profiles/"+id, map[string]any{"startWithServer": true}, 200, nil)
	s.end()
	s = g.serve("--keep-browsers")
	testnet.Eventually(t, "the profile starts with the server", func() bool { return s.get(id).Status == "running" })
	run := s.get(id).Run.RunID
	s.end()
	s = g.serve()
	var list struct{ Data []runView }
	if s.do("GET", "/runs", nil, 200, &list); len(list.Data) != 1 || list.Data[0].RunID != run {
		t.Errorf("the next server has %+v, want the run %s", list.Data, run)
	}
	if again := s.start(id, nil); !again.Reused || again.RunID != run {
		t.Errorf("the run is %s, want %s", again.RunID, run)
	}
}
