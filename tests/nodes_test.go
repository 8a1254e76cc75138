package tests

import (
	"testing"
	"time"

	"warren/testnet"
)

// TestKilledServerOfADatabase: a server that is killed leaves its run to the next process with its data folder. That one waits for the
// beat of the old one, and adopts the run.
func TestKilledServerOfADatabase(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	database := testnet.Postgres(t)
	serve := []string{"--store", database, "--orphan-grace", "60s"}
	s := g.serve(append(serve, "--node", "one")...)
	var profile, now struct{ ID, Status string }
	s.do("POST", "/profiles", map[string]any{"name": "shop", "os": "linux"}, 201, &profile)
	s.do("POST", "/profiles/"+profile.ID+"/start", nil, 200, nil)
	var before, after struct {
		Data []struct {
			ID, State string
			Running   int
		}
	}
	testnet.Eventually(t, "the beat tells of the run", func() bool {
		s.do("GET", "/nodes", nil, 200, &before)
		return len(before.Data) == 1 && before.Data[0].Running == 1
	})
	s.kill()
	began := time.Now()
	s = g.serve(append(serve, "--node", "one")...)
	t.Logf("the next process served after %s", time.Since(began).Round(100*time.Millisecond))
	s.do("GET", "/profiles/"+profile.ID, nil, 200, &now)
	s.do("GET", "/nodes", nil, 200, &after)
	if now.Status != "running" || len(after.Data) != 1 || after.Data[0].ID != before.Data[0].ID || after.Data[0].State != "up" {
		t.Errorf("%+v, %+v", now, after)
	}
	s.do("POST", "/profiles/"+profile.ID+"/stop", nil, 200, nil)
	if code := s.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
