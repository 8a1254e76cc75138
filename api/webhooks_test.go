package api

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"warren/store"
	"warren/testnet"
)

// TestWebhooks: a webhook is what was given, changes by members, and every step is an event and on record. Its secret is shown when it is
// made, and never again.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "admin", "w")
	events := a.listen(t, key)
	b := a.as(key)
	made := b.do(t, "POST", "/webhooks", `{"url":"https://127.0.0.1:1/hook?token=t","events":["capability.*","run.ended"]}`).want(t, 201)
	for member, want := range map[string]any{"workspaceId": "w", "url": "https://127.0.0.1:1/hook?token=t", "enabled": true,
		"events": []string{"capability.*", "run.ended"}, "disabledReason": nil, "failingSince": nil, "dropped": 0, "lastDroppedAt": nil,
		"oldSecretUntil": nil} {
		made.equal(t, member, want)
	}
	id, secret := made.text("id"), made.text("secret")
	if made.header.Get("Location") != "/api/v1/webhooks/"+id || made.header.Get("ETag") != `"1"` || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("%v %s", made.header, made)
	}
	path := "/webhooks/" + id
	b.do(t, "PUT", path, `{"enabled":false}`).want(t, 200).equal(t, "enabled", false)
	b.do(t, "PATCH", path, `{"events":["*"],"enabled":null}`).want(t, 200).equal(t, "enabled", true)
	old := b.request(t, "PUT", path, `{"enabled":false}`)
	old.Header.Set("If-Match", `"1"`)
	b.send(t, old).refused(t, 412, "etag_mismatch")
	rotated := b.do(t, "POST", path+"/rotate-secret", nil).want(t, 200)
	if next := rotated.text("secret"); next == secret || !strings.HasPrefix(next, "whsec_") || rotated.at("oldSecretUntil") == nil {
		t.Errorf("%s", rotated)
	}
	b.do(t, "POST", path+"/rotate-secret", `{"keepOldMs":0}`).want(t, 200).equal(t, "oldSecretUntil", nil)
	for _, path := range []string{path, "/webhooks", "/audit", "/server", path + "/deliveries"} {
		if r := a.do(t, "GET", path, nil).want(t, 200); bytes.Contains(r.body, []byte("whsec_")) {
			t.Errorf("%s has a secret: %s", path, r)
		}
	}
	if text := a.log.String(); strings.Contains(text, "whsec_") || strings.Contains(text, "token=t") {
		t.Errorf("the log has a secret: %s", text)
	}
	b.do(t, "DELETE", path, nil).want(t, 204)
	b.do(t, "GET", path, nil).refused(t, 404, "webhook_not_found")
	for _, kind := range []string{"webhook.created", "webhook.updated", "webhook.deleted"} {
		events.says(t, `"type":"`+kind+`"`)
	}
	actions := a.do(t, "GET", "/audit?action=webhook.*&result=ok", nil).want(t, 200).each("action")
	const want = "webhook.delete webhook.rotate webhook.rotate webhook.update webhook.update webhook.create"
	if got := strings.Join(actions, " "); got != want {
		t.Errorf("the record is %s", got)
	}
}

// TestWebhookDeliveries: a test answers what came back, and an event is delivered and listed. A delivery is replayed with the id that it
// had, unless its webhook is turned off.
func TestWebhookDeliveries(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	got := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("webhook-id") + " " + string(body)
		io.WriteString(w, "thanks\x1b[2J") //nolint:errcheck // the test sees it
	}))
	t.Cleanup(site.Close)
	path := "/webhooks/" + a.webhook(t, "url", site.URL, "events", []string{"profile.created"})
	tested := a.do(t, "POST", path+"/test", nil).want(t, 200)
	for member, want := range map[string]any{"type": "webhook.test", "state": "delivered", "attempts.0.status": 200,
		"attempts.0.answer": "thanks[2J", "attempts.0.error": nil} {
		tested.equal(t, member, want)
	}
	if came := <-got; !strings.Contains(came, `"type":"webhook.test"`) {
		t.Error(came)
	}
	profile := a.profile(t)
	first := <-got
	if !strings.Contains(first, `"data":{"id":"`+profile+`"}`) {
		t.Error(first)
	}
	var list *answer
	testnet.Eventually(t, "the delivery", func() bool {
		list = a.do(t, "GET", path+"/deliveries?state=delivered", nil).want(t, 200)
		return list.at("total") == 2.0
	})
	list.equal(t, "data.0.type", "profile.created")
	delivery := list.text("data.0.id")
	if id, _, _ := strings.Cut(first, " "); id != list.text("data.0.eventId") {
		t.Errorf("%s, %s", first, list)
	}
	next := a.do(t, "GET", path+"/deliveries?limit=1", nil).want(t, 200)
	next.equal(t, "hasMore", true)
	for _, after := range []string{next.text("next"), delivery} {
		a.do(t, "GET", path+"/deliveries?after="+after, nil).want(t, 200).equal(t, "data.0.type", "webhook.test")
	}
	a.do(t, "GET", path+"/deliveries?after="+store.NewID(), nil).refused(t, 410, "cursor_gone")
	a.do(t, "GET", path+"/deliveries?state=failed", nil).want(t, 200).equal(t, "total", 0)
	a.do(t, "POST", path+"/deliveries/"+delivery+"/replay", nil).want(t, 200).equal(t, "state", "pending")
	if again := <-got; again != first {
		t.Errorf("replayed %s, first %s", again, first)
	}
	a.do(t, "POST", path+"/deliveries/none/replay", nil).refused(t, 404, "delivery_not_found")
	a.do(t, "PUT", path, `{"enabled":false}`).want(t, 200)
	a.do(t, "POST", path+"/deliveries/"+delivery+"/replay", nil).refused(t, 409, "webhook_disabled")
}

// TestWebhookFaults: every fault of a request is named at once, and one on this machine names the flag that allows it.
func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.ClosedPrivate = true })
	a.do(t, "POST", "/webhooks", `{}`).invalid(t, "body.url", "body.events")
	r := a.do(t, "POST", "/webhooks", `{"url":"http://localhost:8080/","events":["run.*","nope","run.*"],"enabled":1,"workspaceId":"?"}`)
	r.invalid(t, "body.url", "body.events[1]", "body.events[2]", "body.enabled", "body.workspaceId")
	if !strings.Contains(r.String(), "--webhook-allow-private") {
		t.Errorf("%s", r)
	}
	path := "/webhooks/" + a.webhook(t, "url", "https://example.com/")
	a.do(t, "PUT", path, `{"url":null,"events":[],"workspaceId":"b"}`).invalid(t, "body.url", "body.events", "body.workspaceId")
	a.do(t, "POST", path+"/rotate-secret", `{"keepOldMs":-1}`).invalid(t, "body.keepOldMs")
	for range maxWebhooks - 1 {
		a.webhook(t, "url", "https://example.com/")
	}
	a.do(t, "POST", "/webhooks", `{"url":"https://example.com/","events":["*"]}`).refused(t, 409, "webhook_limit")
}

// TestWebhooksOfTheServer: one of all workspaces is told of the server's own events. Only a key that sees all workspaces makes it, and no
// other finds it.
func TestWebhooksOfTheServer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "admin", "a")
	mine := a.as(key)
	mine.do(t, "POST", "/webhooks", `{"url":"https://example.com/","events":["key.*"],"workspaceId":"*"}`).invalid(t, "body.workspaceId")
	a.do(t, "POST", "/webhooks", `{"url":"https://example.com/","events":["run.*","key.*"]}`).invalid(t, "body.events[1]")
	got := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	t.Cleanup(site.Close)
	id := a.webhook(t, "url", site.URL, "events", []string{"key.*", "profile.*"}, "workspaceId", "*")
	path := "/webhooks/" + id
	shown := a.do(t, "GET", path, nil).want(t, 200)
	shown.equal(t, "workspaceId", "*")
	a.do(t, "PUT", path, `{"workspaceId":"*","events":["key.*","profile.*"]}`).want(t, 200)
	a.do(t, "PUT", path, `{"workspaceId":"default"}`).invalid(t, "body.workspaceId")
	a.do(t, "PUT", "/webhooks/"+a.webhook(t), `{"workspaceId":"*","events":["key.*"]}`).invalid(t, "body.workspaceId", "body.events[0]")
	a.newKey(t, "read", "a")
	mine.profile(t, "workspaceId", "a")
	if both := <-got + <-got; !strings.Contains(both, `"type":"key.created"`) || !strings.Contains(both, `"workspaceId":"a"`) {
		t.Errorf("told %s", both)
	}
	mine.do(t, "GET", path, nil).refused(t, 404, "webhook_not_found")
	mine.do(t, "GET", "/webhooks", nil).want(t, 200).equal(t, "total", 0)
	a.do(t, "GET", "/webhooks?workspaceId=*", nil).want(t, 200).equal(t, "data.0.id", id)
	a.do(t, "DELETE", path, nil).want(t, 204)
	mine.do(t, "GET", path, nil).refused(t, 404, "webhook_not_found")
	if n := len(a.audited(t, "result=ok&objectId="+id)); n != 3 {
		t.Errorf("%d entries of the audit log", n)
	}
	if n := len(mine.audited(t, "objectId="+id)); n != 0 {
		t.Errorf("a key of a workspace sees %d entries", n)
	}
}

// TestWebhooksOfAnotherWorkspace: an administrator's key of one workspace can neither see nor change those of another, nor tell them from
// unknown ones.
func TestWebhooksOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "admin", "a")
	mine := a.as(key)
	theirs, unknown := a.webhook(t, "workspaceId", "b"), store.NewID()
	delivery := a.do(t, "POST", "/webhooks/"+theirs+"/test", nil).want(t, 200).text("id")
	before := a.do(t, "GET", "/webhooks/"+theirs, nil).want(t, 200)
	for _, c := range []struct {
		method, path string
		body         any
	}{{"GET", "", nil}, {"PUT", "", `{"enabled":false}`}, {"PATCH", "", `{"workspaceId":"a"}`}, {"DELETE", "", nil}, {"POST", "/test", nil},
		{"POST", "/rotate-secret", nil}, {"GET", "/deliveries", nil}, {"POST", "/deliveries/" + delivery + "/replay", nil}} {
		one, two := mine.do(t, c.method, "/webhooks/"+theirs+c.path, c.body), mine.do(t, c.method, "/webhooks/"+unknown+c.path, c.body)
		if one.refused(t, 404, "webhook_not_found").comparable() != two.comparable() {
			t.Errorf("%s, %s", one, two)
		}
	}
	own := mine.webhook(t)
	mine.do(t, "POST", "/webhooks/"+own+"/deliveries/"+delivery+"/replay", nil).refused(t, 404, "delivery_not_found")
	list := mine.do(t, "GET", "/webhooks", nil).want(t, 200)
	list.equal(t, "total", 1)
	list.equal(t, "data.0.id", own)
	mine.do(t, "POST", "/webhooks", `{"url":"https://example.com/","events":["*"],"workspaceId":"b"}`).invalid(t, "body.workspaceId")
	if after := a.do(t, "GET", "/webhooks/"+theirs, nil).want(t, 200); !bytes.Equal(before.body, after.body) {
		t.Errorf("%s\n%s", before, after)
	}
}
