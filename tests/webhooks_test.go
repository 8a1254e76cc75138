package tests

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"warren/testnet"
)

// Every event that was enqueued reaches its endpoint, although the server was killed before. So does the last one of a server that is
// told to stop. Without the flag no webhook leads to this machine.
func TestWebhooksOverAKill(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	var takes atomic.Bool
	var mu sync.Mutex
	told := map[string]int{} // by the profile
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Data struct{ ID string } }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &message); err != nil || !takes.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		told[message.Data.ID]++
	}))
	defer site.Close()
	webhook := map[string]any{"url": site.URL, "events": []string{"profile.created"}}
	s := g.serve()
	r, err := s.try("POST", "/webhooks", webhook)
	if err != nil || r.status != 422 || !strings.Contains(string(r.body), "--webhook-allow-private") {
		t.Errorf("%d %s, %v", r.status, r.body, err)
	}
	s.end()
	const flag = "--webhook-allow-private=yes"
	s = g.serve(flag)
	var made struct{ ID string }
	s.do("POST", "/webhooks", webhook, 201, &made)
	var profiles []string
	for range 20 {
		profiles = append(profiles, s.profile(nil))
	}
	testnet.Eventually(t, "the events are enqueued", func() bool {
		var list struct{ Total int }
		s.do("GET", "/webhooks/"+made.ID+"/deliveries?state=pending", nil, 200, &list)
		return list.Total == len(profiles)
	})
	s.kill()
	takes.Store(true)
	isTold := func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range profiles {
			if told[id] == 0 {
				return false
			}
		}
		return true
	}
	s = g.serve(flag)
	testnet.Eventually(t, "the endpoint is told of all", isTold)
	profiles = append(profiles, s.profile(nil))
	s.end()
	s = g.serve(flag)
	testnet.Eventually(t, "the endpoint is told of the last", isTold)
	s.end()
}
