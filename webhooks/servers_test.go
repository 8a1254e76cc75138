package webhooks

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/store"
	"warren/testnet"
)

// newWorlds are senders of several servers on one database.
func newWorlds(t *testing.T, count int) (all []*world) {
	t.Helper()
	o := store.Options{Database: testnet.Postgres(t)}
	for i := range count {
		w := &world{t: t, dir: t.TempDir(), cfg: private(), log: new(testnet.Buffer), shared: o}
		w.begin()
		t.Cleanup(func() { w.end() })
		if all = append(all, w); i == 0 {
			o.SecretKeyFile = filepath.Join(w.dir, "secret.key")
		}
	}
	return all
}

// numberOf returns the number in a request's event, and checks the request.
func numberOf(t *testing.T, got received, secret string) string {
	t.Helper()
	if err := got.verify(secret); err != nil {
		t.Error(err)
	}
	var event struct {
		Data object `json:"data"`
	}
	if err := json.Unmarshal(got.body, &event); err != nil {
		t.Error(err)
	}
	return event.Data.ID
}

// TestSendersOfTwoServers: the events of two servers reach a webhook once each, also one that was made at the other server a moment ago.
// When the server that delivers ends, the other one goes on with what is pending.
func TestSendersOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newWorlds(t, 2)
	to := newReceiver(t, httptest.NewServer)
	_, secret := both[0].webhook("team", to.URL, "*")
	const each = 200
	var publishing sync.WaitGroup
	for i, w := range both {
		publishing.Go(func() {
			for n := range each {
				w.publish("team", "profile.created", object{ID: fmt.Sprintf("%d.%d", i, n)})
			}
		})
	}
	publishing.Wait()
	seen := map[string]int{}
	for range len(both) * each {
		seen[numberOf(t, to.next(t), secret)]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("event %s came %d times", id, n)
		}
	}
	late, secretLate := both[1].webhook("late", to.URL, "*")
	both[0].publish("late", "profile.created", object{ID: "late"})
	if got := numberOf(t, to.next(t), secretLate); got != "late" {
		t.Errorf("got %s", got)
	}

	to.answers(status(500))
	both[1].publish("late", "profile.created", object{ID: "again"})
	to.next(t)
	both[1].awaitTries(late, 1)
	both[0].end() // whoever of the two delivers
	to.answers(nil)
	_, tries := both[1].awaitTries(late, 2)
	if tries[0].Error == nil || tries[1].Error != nil {
		t.Errorf("%+v", tries)
	}
	to.next(t)
	both[0].begin()
	both[1].end()
	both[0].publish("team", "profile.created", object{ID: "last"})
	if got := numberOf(t, to.next(t), secret); got != "last" {
		t.Errorf("got %s", got)
	}
	select {
	case got := <-to.got:
		t.Errorf("something came twice: %s", got.body)
	default:
	}
}
