package tests

import (
	"testing"

	"warren/store"
)

// Starts and stops of a batch go beside each other, and each profile answers for itself.
func TestBatchRuns(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	type results struct {
		Results []struct {
			ID      string
			Status  int
			Run     *runView
			Profile *profileView
			Error   *problemView
		}
	}
	ids := []string{s.profile(nil), store.NewID(), s.profile(nil)}
	var started, stopped results
	s.do("POST", "/profiles/batch", map[string]any{"action": "start", "ids": ids}, 200, &started)
	for i, r := range started.Results {
		if i == 1 {
			if r.Status != 404 || r.Error == nil || r.Run != nil {
				t.Errorf("the profile that is not there: %+v", r)
			}
			continue
		}
		if r.ID != ids[i] || r.Status != 200 || r.Run == nil || r.Run.ProfileID != ids[i] || r.Run.Status != "running" {
			t.Fatalf("%+v", r)
		}
		dialCDP(t, r.Run.WsEndpoint, nil).call("", "Browser.getVersion", nil, nil)
	}
	s.do("POST", "/profiles/batch", map[string]any{"action": "stop", "ids": ids}, 200, &stopped)
	for i, r := range stopped.Results {
		if i != 1 && (r.Status != 200 || r.Profile == nil || r.Profile.Status != "stopped" || r.Profile.LastRun.Reason != "stopped") {
			t.Errorf("%+v", r)
		}
	}
	if s.countShims() != 0 {
		t.Error("something runs on")
	}
}
