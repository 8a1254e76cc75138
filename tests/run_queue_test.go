package tests

import (
	"context"
	"net/http"
	"testing"
)

// pressureView is what GET /pressure answers.
type pressureView struct {
	Accepting                 bool
	Running, Queued, MaxQueue int
	Warm                      int
	RecentRejected            int
	MaxRunning                *int
	CPU                       struct{ Cores int }
}

// With --max-running further starts wait in their order until a run ends. They give up when their clients leave, and
// when they have waited too long. Past --max-queue starts are refused at once.
func TestMaxRunning(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	flags := []string{"--max-running", "1", "--max-queue", "2", "--max-starting", "4"}
	s := g.serve(flags...)
	var pressure pressureView
	press := func() pressureView { s.do("GET", "/pressure", nil, 200, &pressure); return pressure }
	if p := press(); !p.Accepting || p.Running != 0 || p.Queued != 0 || p.MaxRunning == nil || *p.MaxRunning != 1 || p.MaxQueue != 2 ||
		p.CPU.Cores < 1 {
		t.Errorf("with nothing to do: %+v", p)
	}
	ids := []string{s.profile(nil), s.profile(nil), s.profile(nil), s.profile(nil)}
	first := s.start(ids[0], nil)
	if p := press(); p.Accepting || p.Running != 1 || p.RecentRejected != 0 {
		t.Errorf("when it is full: %+v", p)
	}
	if again := s.start(ids[0], nil); !again.Reused || again.RunID != first.RunID {
		t.Errorf("a start of what runs gave %+v", again)
	}
	queued := func(n int) {
		t.Helper()
		eventually(t, "the queue to be so long", enough, func() bool { return press().Queued == n })
	}
	second := make(chan reply, 1)
	go func() {
		r, err := s.try("POST", "/profiles/"+ids[1]+"/start", nil)
		if err != nil {
			t.Error(err)
		}
		second <- r
	}()
	queued(1)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.base+apiPrefix+"/profiles/"+ids[2]+"/start", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			t.Errorf("a start that waits answered %d", res.StatusCode)
		}
	}()
	queued(2)
	s.refused("POST", "/profiles/"+ids[3]+"/start", nil, 429, "start_queue_full")
	if p := s.get(ids[3]); p.Status != "stopped" || press().RecentRejected != 1 {
		t.Errorf("a start that was refused leaves %s, and %+v", p.Status, pressure)
	}
	cancel()
	<-gone
	queued(1)
	eventually(t, "the profile whose start nobody wants to be as before", enough, func() bool { return s.get(ids[2]).Status == "stopped" })
	s.stop(ids[0])
	var run runView
	(<-second).want(t, "the start that waited", 200, &run)
	if p := press(); p.Running != 1 || p.Queued != 0 {
		t.Errorf("after the next start: %+v", p)
	}
	s.kill()
	s = g.serve(append(flags, "--queue-timeout", "300ms")...)
	eventually(t, "the run to be taken over", enough, func() bool { return s.get(ids[1]).Status == "running" })
	s.refused("POST", "/profiles/"+ids[2]+"/start", nil, 503, "capacity_exceeded")
	if p := s.get(ids[2]); p.Status != "stopped" || p.LastRun != nil {
		t.Errorf("a start for which there was no room leaves %s, %+v", p.Status, p.LastRun)
	}
	s.stop(ids[1])
	if run = s.start(ids[2], nil); run.Status != "running" || run.Reused {
		t.Errorf("when there is room again: %+v", run)
	}
}
