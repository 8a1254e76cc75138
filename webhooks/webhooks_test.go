package webhooks

import (
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"warren/events"
	"warren/pool"
	"warren/store"
	"warren/testnet"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("warren/testnet.keepServer"))
}

// enough is the time limit for what is immediate on an idle machine.
const enough = time.Minute

// TestTold: an endpoint behind TLS is told of the events of its workspace that it asked for, and of no others. The official library
// takes the signature.
func TestTold(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewTLSServer)
	cfg := private()
	cfg.Roots = x509.NewCertPool()
	cfg.Roots.AddCert(r.Certificate())
	w := newWorld(t, cfg)
	id, secret := w.webhook("a", r.URL+"/hook?token=t0ken", "run.*", "proxy.died")
	w.publish("b", "run.ended", object{ID: "other workspace"})
	w.publish("a", "proxy.checked", object{ID: "other type"})
	w.publish("", "run.ended", object{ID: "no workspace"})
	w.events.Publish(events.Event{Type: "run.ended", Workspace: "a", Key: "k", Data: object{ID: "of a key"}})
	w.publish("a", "run.ended", object{ID: "r1"})
	w.publish("a", "proxy.died", object{ID: "p1", Long: strings.Repeat("x", maxBody)})
	told := map[string]string{}
	for range 2 {
		got := r.next(t)
		if err := got.verify(secret); err != nil {
			t.Errorf("%v: %s", err, got.body)
		}
		if got.header.Get("Content-Type") != "application/json" || len(got.body) >= maxBody {
			t.Errorf("%v, %d bytes", got.header, len(got.body))
		}
		var body map[string]any
		if err := json.Unmarshal(got.body, &body); err != nil || len(body) != 3 {
			t.Errorf("%s: %v", got.body, err)
		}
		if _, err := time.Parse(time.RFC3339, body["timestamp"].(string)); err != nil {
			t.Error(err)
		}
		data, _ := json.Marshal(body["data"], json.Deterministic(true))
		told[body["type"].(string)] = string(data)
	}
	if told["run.ended"] != `{"id":"r1"}` || told["proxy.died"] != `{"id":"p1","truncated":true}` {
		t.Errorf("told %v", told)
	}
	testnet.Eventually(t, "two deliveries", func() bool { return len(w.deliveries(id, Delivered)) == 2 })
	if n := len(w.deliveries(id, "")); n != 2 || len(r.got) > 0 {
		t.Errorf("%d deliveries, %d more came", n, len(r.got))
	}
	if text := w.log.String(); strings.Contains(text, "t0ken") || strings.Contains(text, secret) {
		t.Errorf("the log has a secret: %s", text)
	}
}

// TestToldOfAll: a webhook of the whole server is told of every event with its workspace, also of those for one key or administrators. A
// workspace's own is told of none of these, whatever it asks for.
func TestToldOfAll(t *testing.T) {
	t.Parallel()
	all, one := newReceiver(t, httptest.NewServer), newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	id, secret := w.webhook(WholeServer, all.URL, "*")
	own, _ := w.webhook("a", one.URL, "*")
	w.events.Publish(events.Event{Type: "backup.made", Key: events.Administrators, Data: object{ID: "1"}})
	w.events.Publish(events.Event{Type: "job.ended", Workspace: "a", Key: "k", Data: object{ID: "2"}})
	w.publish("", "key.created", object{ID: "3"})
	w.publish("b", "run.ended", object{ID: "4"})
	w.publish("a", "run.ended", object{ID: "5"})
	w.publish("", "webhook.updated", object{ID: id})
	told := map[string]string{}
	for range 5 {
		got := all.next(t)
		if err := got.verify(secret); err != nil {
			t.Errorf("%v: %s", err, got.body)
		}
		var body struct {
			Type, WorkspaceID string
			Data              object
		}
		if err := json.Unmarshal(got.body, &body, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Error(err)
		}
		told[body.Data.ID] = body.Type + " " + body.WorkspaceID
	}
	want := map[string]string{"1": "backup.made ", "2": "job.ended a", "3": "key.created ", "4": "run.ended b", "5": "run.ended a"}
	if !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if got := one.next(t); !strings.Contains(string(got.body), `"id":"5"`) || strings.Contains(string(got.body), "workspaceId") {
		t.Errorf("a workspace's webhook: %s", got.body)
	}
	testnet.Eventually(t, "all deliveries", func() bool {
		return len(w.deliveries(id, Delivered)) == 5 && len(w.deliveries(own, Delivered)) == 1
	})
	if n, m := len(w.deliveries(id, "")), len(w.deliveries(own, "")); n != 5 || m != 1 {
		t.Errorf("%d and %d deliveries", n, m)
	}
}

// TestOverARestart: what was enqueued is tried again after a restart, with the same id. So is what was enqueued and never tried. Events
// of the last moment of a server that stops are enqueued too.
func TestOverARestart(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	r.answers(status(500))
	w := newWorld(t, private())
	id, secret := w.webhook("a", r.URL, "*")
	w.publish("a", "run.ended", object{ID: "r1"})
	first := r.next(t)
	row, tries := w.awaitTries(id, 1)
	if pause := time.Duration(row.NextAt-row.PlannedAt) * time.Millisecond; row.State != Pending || *tries[0].Status != 500 ||
		tries[0].Error.Code != "bad_status" || pause < 4*time.Second || pause > 6*time.Second {
		t.Errorf("%+v, %+v", row, tries)
	}
	due := func(row store.WebhookDelivery) {
		w.write(func(q *store.Queries) error {
			return store.ErrorOf(q.RecordDelivery(t.Context(), store.RecordDeliveryParams{WebhookID: id, ID: row.ID, State: Pending,
				Attempts: row.Attempts, Tries: row.Tries, NextAt: row.PlannedAt, PlannedAt: row.PlannedAt}))
		})
	}
	r.answers(nil)
	due(row)
	w.publish("a", "profile.updated", object{ID: "last"})
	w.restart()
	bodies := map[string]string{}
	for range 2 {
		got := r.next(t)
		if err := got.verify(secret); err != nil {
			t.Error(err)
		}
		bodies[got.header.Get("webhook-id")] = string(got.body)
	}
	if bodies[first.header.Get("webhook-id")] != string(first.body) || len(bodies) != 2 {
		t.Errorf("first %v %s, then %v", first.header, first.body, bodies)
	}
	testnet.Eventually(t, "both delivered", func() bool { return len(w.deliveries(id, Delivered)) == 2 })
}

// TestGone: 410 turns a webhook off, and what is pending has failed. An event tells the workspace, and no request follows.
func TestGone(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	r.answers(status(http.StatusGone))
	w := newWorld(t, private())
	id, _ := w.webhook("a", r.URL, "*")
	sub := w.events.Subscribe(func(workspace, _ string) bool { return workspace == "a" }, "")
	w.publish("a", "run.ended", object{ID: "r1"})
	r.next(t)
	if text := awaitEvent(t, sub, "webhook.disabled"); !strings.Contains(text, `"data":{"id":"`+id+`","reason":"gone"}`) {
		t.Error(text)
	}
	if row := w.row(id); row.Enabled || row.OffReason != "gone" || row.Revision != 2 {
		t.Errorf("%+v", row)
	}
	testnet.Eventually(t, "nothing is pending", func() bool { return len(w.deliveries(id, Failed)) == 1 && len(w.deliveries(id, "")) == 1 })
	w.publish("a", "run.ended", object{ID: "r2"})
	w.restart() // which enqueues what was published
	if n := len(w.deliveries(id, "")); n != 1 || len(r.got) != 0 {
		t.Errorf("%d deliveries, and %d came", n, len(r.got))
	}
}

// TestFailsForDays: an endpoint that has failed for five days is turned off, and one success begins anew.
func TestFailsForDays(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	id, _ := w.webhook("a", r.URL, "*")
	failing := func() {
		w.write(func(q *store.Queries) error {
			since, last := time.Now().Add(-6*24*time.Hour).UnixMilli(), time.Now().Add(-time.Hour).UnixMilli()
			return store.ErrorOf(q.SetWebhookFailing(t.Context(), store.SetWebhookFailingParams{ID: id, FailingSince: &since,
				FailedAt: &last}))
		})
	}
	failing()
	w.publish("a", "run.ended", object{ID: "r1"})
	testnet.Eventually(t, "a success", func() bool { return w.row(id).FailingSince == nil })
	failing()
	r.answers(status(500))
	w.publish("a", "run.ended", object{ID: "r2"})
	testnet.Eventually(t, "the webhook is off", func() bool { return w.row(id).OffReason == "failing" })
}

// TestBadAnswers: a redirect is not followed, an endless answer is cut, one that never comes has its time, and none of them can harm who
// reads about it.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	elsewhere, r := newReceiver(t, httptest.NewServer), newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	w.sender.client.Timeout = time.Second
	id, _ := w.webhook("a", r.URL, "*")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var sent atomic.Int64
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		check  func(Attempt) bool
	}{
		{"redirect", func(w http.ResponseWriter, rq *http.Request) {
			http.Redirect(w, rq, elsewhere.URL, http.StatusTemporaryRedirect)
		},
			func(a Attempt) bool { return a.Error.Code == "redirected" && *a.Status == 307 }},
		{"a gigabyte", func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 15 {
				n, err := w.Write(make([]byte, 32<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}, func(a Attempt) bool { return a.Error == nil && a.Answer == "" && sent.Load() < 64<<20 }},
		{"never", func(_ http.ResponseWriter, rq *http.Request) {
			select {
			case <-release:
			case <-rq.Context().Done():
			}
		}, func(a Attempt) bool { return a.Error.Code == "timed_out" && a.Status == nil }},
		{"control characters", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			io.WriteString(w, "\x1b]0;title\x07<b>no\u202e\n"+strings.Repeat("x", 999)) //nolint:errcheck // the test sees what came
		}, func(a Attempt) bool { return a.Answer == "]0;title<b>no "+strings.Repeat("x", 286)+"…" }},
	} {
		r.answers(c.answer)
		row := w.row(id)
		sent, err := w.sender.Test(t.Context(), row)
		w.must(err)
		tries, err := Attempts(sent.Tries)
		w.must(err)
		if len(tries) != 1 || !c.check(tries[0]) {
			t.Errorf("%s: %s", c.name, sent.Tries)
		}
	}
	if len(elsewhere.got) > 0 {
		t.Error("the redirect was followed")
	}
	if n := len(w.deliveries(id, "")); n != 4 {
		t.Errorf("%d tests are kept", n)
	}
}

// TestInnerAddresses: a name that leads to this machine is refused when it is dialled, and so are debug ports and the server itself,
// which nothing allows. Nothing is sent there, and proxies of the environment are not asked.
func TestInnerAddresses(t *testing.T) {
	r := newReceiver(t, httptest.NewServer)
	t.Setenv("HTTP_PROXY", r.URL)
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	own := private()
	own.Own = pool.Own{Ports: []string{port}}
	for _, c := range []struct {
		cfg  Config
		host string
		hint string
	}{
		{Config{}, "localhost", "--webhook-allow-private"}, {Config{}, "127.0.0.1", "--webhook-allow-private"},
		{Config{}, "[::ffff:127.0.0.1]", "--webhook-allow-private"}, {Config{}, "0.0.0.0", "--webhook-allow-private"},
		{Config{}, "10.1.2.3", "--webhook-allow-private"}, {Config{}, "[fd00::1]", "--webhook-allow-private"},
		{Config{}, "169.254.169.254", "--webhook-allow-private"},
		{private(), "127.77.0.1", "Choose another"}, {private(), "169.254.169.254", "Choose another"},
		{own, "localhost", "Choose another"}, {own, "127.0.0.1", "Choose another"},
	} {
		w := newWorld(t, c.cfg)
		id, _ := w.webhook("a", "http://"+c.host+":"+port, "*")
		sent, err := w.sender.Test(t.Context(), w.row(id))
		w.must(err)
		tries, err := Attempts(sent.Tries)
		w.must(err)
		if e := tries[0].Error; e == nil || e.Code != "blocked_address" || !strings.Contains(e.Message, c.hint) {
			t.Errorf("%s: %s", c.host, sent.Tries)
		}
		w.end()
	}
	if len(r.got) > 0 {
		t.Error("something was sent")
	}
}

// TestSlowOnesWaitAlone: endpoints that keep the sender waiting get few attempts at a time, and the others are told meanwhile.
func TestSlowOnesWaitAlone(t *testing.T) {
	t.Parallel()
	slow, quick := newReceiver(t, httptest.NewServer), newReceiver(t, httptest.NewServer)
	release := make(chan struct{})
	slow.answers(func(_ http.ResponseWriter, rq *http.Request) {
		select {
		case <-release:
		case <-rq.Context().Done():
		}
	})
	w := newWorld(t, private())
	w.webhook("a", slow.URL, "*")
	id, _ := w.webhook("a", quick.URL, "*")
	const n = 100
	for range n {
		w.publish("a", "run.ended", object{ID: "r"})
	}
	testnet.Eventually(t, "the quick one", func() bool { return len(w.deliveries(id, Delivered)) == n })
	if got := len(slow.got); got > 8 {
		t.Errorf("the slow one has %d requests at once", got)
	}
	close(release)
}

// TestClockSetBack: a delivery that was planned while the clock was ahead does not wait until the clock is there again.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	id, _ := w.webhook("a", r.URL, "*")
	ahead := time.Now().Add(1000 * time.Hour).UnixMilli()
	w.write(func(q *store.Queries) error {
		row := store.NewDelivery{WebhookID: id, ID: "1", EventID: "e", Type: "x", Body: "{}"}
		if err := q.AddDeliveries(t.Context(), ahead, []store.NewDelivery{row}); err != nil {
			return err
		}
		return store.ErrorOf(q.RecordDelivery(t.Context(), store.RecordDeliveryParams{WebhookID: id, ID: "1", State: Pending, Attempts: 1,
			Tries: "[]", NextAt: ahead + 5, PlannedAt: ahead}))
	})
	w.sender.touch(id)
	r.next(t)
}

// TestRotation: until the former secret ends, the library takes a request with either; then only with the new one.
func TestRotation(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	id, first := w.webhook("a", r.URL, "*")
	rotate := func(until time.Time) (secret string) {
		secret = NewSecret()
		row := w.row(id)
		sealed, err := w.sender.Rotate(row, secret, until)
		w.must(err)
		w.write(func(q *store.Queries) error {
			return store.ErrorOf(q.UpdateWebhook(t.Context(), store.UpdateWebhookParams{ID: id, Revision: row.Revision, URL: row.URL,
				Secret: sealed.Secret, OldSecret: sealed.OldSecret, OldUntil: sealed.OldUntil, Events: row.Events, Enabled: true}))
		})
		w.must(w.sender.Changed(t.Context()))
		return secret
	}
	takes := func(step string, secrets map[string]bool) {
		t.Helper()
		w.publish("a", "run.ended", object{ID: "r"})
		got := r.next(t)
		for secret, want := range secrets {
			if err := got.verify(secret); (err == nil) != want {
				t.Errorf("%s: %v, want %v", step, err, want)
			}
		}
	}
	takes("before", map[string]bool{first: true})
	second := rotate(time.Now().Add(time.Hour))
	takes("both", map[string]bool{first: true, second: true})
	third := rotate(time.Now().Add(-time.Second))
	takes("ended", map[string]bool{first: false, second: false, third: true})
	fourth := rotate(time.Time{})
	takes("at once", map[string]bool{third: false, fourth: true})
}

// TestBounded: the oldest of too many pending deliveries are dropped in parts and told, and old finished ones are swept.
func TestBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, private())
	id, _ := w.webhook("a", "http://127.0.0.1:1", "run.*") // nothing listens there
	sub := w.events.Subscribe(func(workspace, _ string) bool { return workspace == "a" }, "")
	var many []store.NewDelivery
	const over = 2*dropAtOnce + 40
	for range MaxPending + over {
		many = append(many, store.NewDelivery{WebhookID: id, ID: store.NewID(), EventID: "e", Type: "run.ended", Body: "{}"})
	}
	later := time.Now().Add(time.Minute / 2).UnixMilli()
	w.write(func(q *store.Queries) error { return q.AddDeliveries(t.Context(), later, many) })
	w.publish("a", "run.ended", object{ID: "new"})
	if text := awaitEvent(t, sub, "webhook.dropped"); !strings.Contains(text, `"data":{"dropped":50,"id":"`+id+`"}`) {
		t.Error(text) // the first part; the others are told a minute later
	}
	testnet.Eventually(t, "all are dropped that the count found", func() bool { return w.row(id).Dropped >= over+1 })
	if row := w.row(id); row.Dropped != over+1 || row.DroppedAt == nil {
		t.Errorf("%+v", row)
	}
	for i, want := range map[int]error{over: store.ErrNoRow, over + 1: nil} {
		_, err := w.store.Read().GetDelivery(t.Context(), store.GetDeliveryParams{WebhookID: id, ID: many[i].ID})
		if !errors.Is(err, want) {
			t.Errorf("the %d. is there: %v", i, err)
		}
	}
	count := func(state string) int64 {
		n, err := w.store.Read().CountDeliveries(t.Context(), store.CountDeliveriesParams{WebhookID: id, InState: state})
		w.must(err)
		return n
	}
	w.write(func(q *store.Queries) error {
		if err := store.ErrorOf(q.FailPending(t.Context(), id)); err != nil {
			return err
		}
		return q.AddDeliveries(t.Context(), later, []store.NewDelivery{{WebhookID: id, ID: store.NewID(), Type: "x", Body: "{}"}})
	})
	w.must(w.sender.Sweep(t.Context(), true))
	if failed, all := count(Failed), count(""); all != MaxFinished || failed != all-count(Pending) {
		t.Errorf("%d failed of %d", failed, all)
	}
}

// TestSilentLoss: a webhook learns that events are missing.
func TestSilentLoss(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	w.webhook("a", r.URL, "proxy.*")
	w.sender.queue.mu.Lock()
	w.sender.queue.lost = true
	w.sender.queue.mu.Unlock()
	w.publish("a", "proxy.died", object{ID: "p"})
	types := []string{}
	for range 2 {
		var body struct {
			Type string `json:"type"`
		}
		w.must(json.Unmarshal(r.next(t).body, &body))
		types = append(types, body.Type)
	}
	slices.Sort(types)
	if !slices.Equal(types, []string{"events.lost", "proxy.died"}) {
		t.Errorf("told of %v", types)
	}
}

// TestNotOfItself: a webhook is told of the changes of others, and not of its own.
func TestNotOfItself(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, httptest.NewServer)
	w := newWorld(t, private())
	id, _ := w.webhook("a", r.URL, "webhook.*")
	w.publish("a", "webhook.dropped", droppedEvent{ID: id, Dropped: 1})
	w.publish("a", "webhook.dropped", droppedEvent{ID: "other", Dropped: 1})
	if got := r.next(t); !strings.Contains(string(got.body), `"id":"other"`) {
		t.Errorf("%s", got.body)
	}
	testnet.Eventually(t, "one delivery", func() bool { return len(w.deliveries(id, Delivered)) == 1 })
}
