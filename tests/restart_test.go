//go:build linux

package tests

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A restart keeps tabs and cookies, takes up what was pending, and is one for all who ask at once; who starts meanwhile gets the new run.
func TestRestart(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--max-running", "1")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	events := s.listen()
	var first runView
	s.do("POST", "/profiles/"+id+"/restart", nil, 200, &first) // of a stopped profile it is a start
	if first.Reused || first.RunID == "" {
		t.Errorf("the restart of a stopped profile: %+v", first)
	}
	s.setCookie(first, "kept")
	var v shownView
	if s.do("PUT", "/profiles/"+id, map[string]any{"screen": map[string]any{"width": 1000, "height": 700}}, 200,
		&v); !slices.Contains(v.Run.Pending, "screen") {
		t.Fatalf("pending: %v", v.Run.Pending)
	}
	shim := s.pidOfShim()
	pause(t, shim) // so that all of them come before the old run has gone
	answers := make([]runView, 6)
	var wg sync.WaitGroup
	begin := func(i int, path string) {
		wg.Go(func() {
			r, err := s.try("POST", "/profiles/"+id+path, nil)
			if err != nil || r.status != 200 {
				t.Errorf("%s answered %d %s, %v", path, r.status, r.body, err)
				return
			}
			if err := json.Unmarshal(r.body, &answers[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 3 {
		begin(i, "/restart")
	}
	events.await("profile.status", "stopping", id)
	for i := 3; i < len(answers); i++ {
		begin(i, "/start")
	}
	if err := syscall.Kill(shim, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	fresh := 0
	for i, a := range answers {
		if a.RunID == first.RunID || a.RunID != answers[0].RunID {
			t.Errorf("answer %d is of the run %s; the old one was %s", i, a.RunID, first.RunID)
		}
		if !a.Reused {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d of the answers say that they began the run", fresh)
	}
	c := dialCDP(t, answers[0].WsEndpoint, nil)
	urls, _ := c.pages()
	if !slices.ContainsFunc(urls, func(u string) bool { return strings.HasPrefix(u, s.world.url("/set")) }) {
		t.Errorf("the tabs are %v", urls)
	}
	page := c.open(s.world.url("/after"))
	c.awaitURL(page, s.world.url("/after"))
	if cookie := s.world.await(t, "/after", 1).cookie; !strings.Contains(cookie, "kept=kept") || !strings.Contains(cookie, "session=kept") {
		t.Errorf("the cookies are %q", cookie)
	}
	if s.do("GET", "/profiles/"+id, nil, 200, &v); len(v.Run.Pending) != 0 {
		t.Errorf("still pending: %v", v.Run.Pending)
	}
	var batch struct{ Results []struct{ Run runView } }
	if s.do("POST", "/profiles/batch", map[string]any{"action": "restart", "ids": []string{id}}, 200,
		&batch); batch.Results[0].Run.RunID == answers[0].RunID {
		t.Error("a batch did not restart")
	}
	s.refused("POST", "/profiles/"+id+"/restart", map[string]any{"proxyId": "none"}, 422, "validation_failed")
	if p := s.get(id); p.Status != "running" || p.Run.RunID != batch.Results[0].Run.RunID {
		t.Errorf("a restart that is refused leaves the profile %s, %+v", p.Status, p.Run)
	}
}

// A stop, or a delete, that comes during a restart wins.
func TestStopWinsOverRestart(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	for _, by := range []string{"stop", "delete"} {
		id := s.profile(nil)
		events := s.listen()
		s.start(id, nil)
		shim := s.pidOfShim()
		pause(t, shim)
		restarted, ended := make(chan reply, 1), make(chan reply, 1)
		go func() {
			r, _ := s.try("POST", "/profiles/"+id+"/restart", nil)
			restarted <- r
		}()
		events.await("profile.status", "stopping", id)
		go func() {
			method, path := "POST", "/profiles/"+id+"/stop"
			if by == "delete" {
				method, path = "DELETE", "/profiles/"+id
			}
			r, _ := s.try(method, path, nil)
			ended <- r
		}()
		eventually(t, "the restart is given up", enough,
			func() bool { return strings.Contains(s.log.String(), `"msg":"a restart is given up","profile":"`+id) })
		if err := syscall.Kill(shim, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if r := <-restarted; r.status != 409 || !strings.Contains(string(r.body), "profile_busy") {
			t.Errorf("%s: the restart answered %d %s", by, r.status, r.body)
		}
		if r := <-ended; r.status != 200 && r.status != 204 {
			t.Errorf("%s answered %d %s", by, r.status, r.body)
		}
		if by == "stop" {
			if p := s.get(id); p.Status != "stopped" || p.LastRun.Reason != "stopped" {
				t.Errorf("then the profile shows %s, %+v", p.Status, p.LastRun)
			}
		}
		s.nothingLeft()
	}
}
