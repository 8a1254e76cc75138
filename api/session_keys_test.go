package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/store"
)

// codeOf creates a login link with a key and returns its code.
func (a *testAPI) codeOf(t testing.TB, key string) string {
	t.Helper()
	link := a.as(key).do(t, "POST", "/login-links", nil).want(t, 201).text("url")
	code, ok := strings.CutPrefix(link, a.base+"/#code=")
	if !ok || len(code) != 43 {
		t.Fatalf("the link is %q", link)
	}
	return code
}

// exchange sends a code as a page does, without a key.
func (a *testAPI) exchange(t testing.TB, code string) *answer {
	t.Helper()
	return a.as("").do(t, "POST", "/session-keys", map[string]any{"code": code})
}

// session exchanges a key, and returns the session key with its id.
func (a *testAPI) session(t testing.TB, key string) (session, id string) {
	t.Helper()
	r := a.as(key).do(t, "POST", "/session-keys", nil).want(t, 201)
	return r.text("key"), r.text("id")
}

// alter changes a column of a key in the database, and has the server read the key again.
func (a *testAPI) alter(t testing.TB, id, column string, value any) {
	t.Helper()
	a.rewrite(t, "UPDATE keys SET "+column+" = ? WHERE id = ?", value, id)
	a.srv.keys.forget(id)
}

// listed returns the key of an id in the list of keys.
func (a *testAPI) listed(t testing.TB, id string) map[string]any {
	t.Helper()
	list, _ := a.do(t, "GET", "/keys?limit=200", nil).want(t, 200).at("data").([]any)
	for _, k := range list {
		if k := k.(map[string]any); k["id"] == id {
			return k
		}
	}
	return nil
}

// TestSessionKeys: a page gets a session key for a key or for the code of a link, with the same rights. It is listed, and ends by itself
// on log out.
func TestSessionKeys(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	parent, _ := a.newKey(t, "run,secrets", "w1")
	for what, exchange := range map[string]func() *answer{
		"by a key":          func() *answer { return a.as(parent).do(t, "POST", "/session-keys", nil) },
		"by a key, no code": func() *answer { return a.as(parent).do(t, "POST", "/session-keys", `{}`) },
		"by a link":         func() *answer { return a.exchange(t, a.codeOf(t, parent)) },
	} {
		before := time.Now()
		r := exchange().want(t, 201)
		wantKey(t, r.text("key"))
		for member, want := range map[string]any{"scopes": []string{"run", "secrets"}, "workspaces": []string{"w1"}, "session": true,
			"name": "Page, " + before.UTC().Format("2 Jan 2006")} {
			r.equal(t, member, want)
		}
		if at, err := time.Parse(time.RFC3339, r.text("expiresAt")); err != nil || at.Sub(before.Add(sessionIdle)).Abs() > enough {
			t.Errorf("%s: it expires at %s, want in 30 days", what, r.text("expiresAt"))
		}
		page := a.as(r.text("key"))
		page.do(t, "GET", "/profiles?workspaceId=w1", nil).want(t, 200)
		page.do(t, "POST", "/profiles", `{"name":"x"}`).refused(t, 403, "forbidden")
		page.do(t, "GET", "/keys", nil).refused(t, 403, "forbidden")
		if k := a.listed(t, r.text("id")); k == nil || k["session"] != true || k["key"] != nil {
			t.Errorf("%s: listed as %v", what, k)
		}
		// It makes no others, for then log out would not be the end.
		page.do(t, "POST", "/session-keys", nil).refused(t, 403, "forbidden")
		page.do(t, "POST", "/login-links", nil).refused(t, 403, "forbidden")
		page.do(t, "DELETE", "/session-keys/current", nil).want(t, 204)
		page.do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
		a.as(parent).do(t, "GET", "/profiles", nil).want(t, 200)
	}
	a.as(parent).do(t, "DELETE", "/session-keys/current", nil).refused(t, 404, "key_not_found")
	a.as("").do(t, "POST", "/session-keys", nil).refused(t, 401, "unauthorized")
	a.as("").do(t, "POST", "/session-keys", `{}`).refused(t, 401, "unauthorized")
	a.as(parent).do(t, "POST", "/session-keys", `{"code":"x"}`).invalid(t, "body.code")
	a.as("").do(t, "POST", "/session-keys", `{"code":"`+strings.Repeat("x", 2000)+`"}`).refused(t, 413, "body_too_large")
	if session, _ := a.session(t, a.key); a.as(session).do(t, "GET", "/keys", nil).status != 200 {
		t.Error("the session key of WARREN_API_KEY is no admin")
	}
	if strings.Contains(a.log.String(), "code") {
		t.Errorf("the log tells of codes:\n%s", a.log)
	}
}

// TestLoginCodes: a code works once, for ten minutes, as long as its key is valid. Wrong codes count as wrong keys, and pages of other
// sites are refused.
func TestLoginCodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.BehindProxy = []string{"127.0.0.0/8"} })
	key, id := a.newKey(t, "read")
	code := a.codeOf(t, key)
	for header, value := range map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"} { // uses nothing up
		req := a.as("").request(t, "POST", "/session-keys", map[string]any{"code": code})
		req.Header.Set(header, value)
		a.send(t, req).refused(t, 403, "origin_not_allowed")
	}
	a.as("").do(t, "POST", "/session-keys", `{"code":"`+code).refused(t, 400, "malformed_json")
	var mu sync.Mutex
	got := map[int]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := a.exchange(t, code)
			mu.Lock()
			defer mu.Unlock()
			got[r.status]++
		})
	}
	wg.Wait()
	if got[201] != 1 || got[410] != 7 {
		t.Errorf("one code, eight times: %v, want one 201", got)
	}
	if r := a.exchange(t, code).refused(t, 410, "login_link_gone"); !strings.Contains(r.text("detail"), "`warren open`") {
		t.Errorf("it does not say what to do: %s", r)
	}
	late := a.codeOf(t, key)
	a.age(t, linkTime)
	a.exchange(t, late).refused(t, 410, "login_link_gone")
	early := a.codeOf(t, key)
	a.age(t, linkTime-enough)
	a.exchange(t, early).want(t, 201)
	orphan := a.codeOf(t, key)
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	a.exchange(t, orphan).refused(t, 410, "login_link_gone")
	a.srv.authFailures.reset()
	for i := range 25 {
		req := a.as("").request(t, "POST", "/session-keys", map[string]any{"code": fmt.Sprint("wrong", i)})
		req.Header.Set("X-Forwarded-For", "203.0.113.7")
		if r := a.send(t, req); i < 19 && r.status != 410 || i >= 19 && (r.status != 429 || r.header.Get("Retry-After") == "") {
			t.Errorf("the %d. wrong code: %s", i+1, r)
		}
	}
	mine, _ := a.newKey(t, "read")
	for range maxTickets {
		a.codeOf(t, mine)
	}
	a.as(mine).do(t, "POST", "/login-links", nil).refused(t, 429, "rate_limited")
	a.codeOf(t, a.key)
}

// age makes all codes older.
func (a *testAPI) age(t testing.TB, by time.Duration) {
	t.Helper()
	if a.store.Shared() {
		a.rewrite(t, "UPDATE tickets SET until = until - ?", by.Milliseconds())
		return
	}
	ts := a.srv.loginCodes
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for hash, t := range ts.byHash {
		t.until = t.until.Add(-by)
		ts.byHash[hash] = t
	}
}

// TestSessionKeysEnd: a session key ends 30 days after its last use, with its parent, and where the parent does not count any more.
func TestSessionKeysEnd(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	parent, parentID := a.newKey(t, "read")
	session, id := a.session(t, parent)
	other, otherID := a.session(t, parent)
	soon := time.Now().Add(enough).UnixMilli()
	a.alter(t, id, "expires_at", soon)
	a.alter(t, otherID, "expires_at", time.Now().UnixMilli()-1)
	a.as(session).do(t, "GET", "/profiles", nil).want(t, 200) // a use moves its end
	a.as(other).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	if row := a.keyRow(t, id); *row.ExpiresAt != soon {
		t.Error("a read wrote to the database")
	}
	if err := a.srv.keys.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := a.keyRow(t, id)
	if row.LastUsedAt == nil || *row.ExpiresAt != *row.LastUsedAt+sessionIdle.Milliseconds() {
		t.Errorf("after its use it is %+v", row)
	}
	if c := a.srv.keys.known[hashKey(session)]; time.Until(c.Expires) < sessionIdle-enough {
		t.Errorf("in memory it expires at %v", c.Expires)
	}
	a.do(t, "DELETE", "/keys/"+parentID, nil).want(t, 204)
	a.as(session).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	if a.listed(t, id)["revokedAt"] == nil {
		t.Error("the list does not say that it ended with its parent")
	}
	a.alter(t, id, "revoked_at", nil) // and even if it were not marked
	a.as(session).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")

	// A session key ends no later than its parent, in the answer, in memory and, after a use, in the database.
	brief, until := a.briefKey(t, time.Hour, "read")
	r := a.as(brief).do(t, "POST", "/session-keys", nil).want(t, 201)
	r.equal(t, "expiresAt", until.UTC().Format(shownTime))
	a.as(r.text("key")).do(t, "GET", "/profiles", nil).want(t, 200)
	if c := a.srv.keys.known[hashKey(r.text("key"))]; !c.Expires.Equal(until) {
		t.Errorf("in memory it expires at %v, its parent at %v", c.Expires, until)
	}
	if err := a.srv.keys.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := a.keyRow(t, r.text("id")); *row.ExpiresAt != until.UnixMilli() {
		t.Error("a use moved its end beyond its parent's")
	}
}

// keyRow reads a key from the database.
func (a *testAPI) keyRow(t testing.TB, id string) store.Key {
	t.Helper()
	row, err := a.store.Read().GetKey(t.Context(), store.GetKeyParams{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestSessionOfFormerKey: session keys of WARREN_API_KEY end when the server has another. A server that has none then makes the first
// key, as if there were no session keys.
func TestSessionOfFormerKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	session, id := a.session(t, a.key)
	again := func(key string) *testAPI {
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		c := a.setup
		c.APIKey = key
		return serveAPI(t, &c)
	}
	a = again(testAdminKey)
	a.as(session).do(t, "GET", "/profiles", nil).want(t, 200)
	a = again("")
	if a.key == "" {
		t.Fatal("no first key was made")
	}
	a.as(session).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	if !a.store.Shared() && a.listed(t, id)["revokedAt"] == nil { // another server may have that WARREN_API_KEY still
		t.Error("the list does not say that it ended")
	}
}

// TestManySessionKeys: a key has at most 100 session keys. The one that was unused for longest goes, and a walk of the list notices.
func TestManySessionKeys(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	parent, _ := a.newKey(t, "run")
	var keys, ids []string
	for range maxSessions {
		key, id := a.session(t, parent)
		keys, ids = append(keys, key), append(ids, id)
	}
	a.alter(t, ids[0], "last_used_at", time.Now().Add(time.Minute).UnixMilli())
	a.as(keys[1]).do(t, "GET", "/profiles", nil).want(t, 200)
	a.session(t, parent)
	a.as(keys[0]).do(t, "GET", "/profiles", nil).want(t, 200)
	a.as(keys[1]).do(t, "GET", "/profiles", nil).refused(t, 401, "unauthorized")
	a.do(t, "DELETE", "/keys/"+ids[50], nil).want(t, 204)
	a.session(t, parent) // an ended one goes first
	a.as(keys[2]).do(t, "GET", "/profiles", nil).want(t, 200)
	left := a.do(t, "GET", "/keys?limit=200", nil).want(t, 200)
	left.equal(t, "total", maxSessions+1)
	if slices.Contains(left.each("id"), ids[50]) {
		t.Error("the ended one is still there")
	}
	a.do(t, "GET", "/keys?after="+ids[50], nil).refused(t, 410, "cursor_gone")
}

// TestLogOutEndsWhatIsOpen: the streams of a session key end with it.
func TestLogOutEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	session, _ := a.session(t, a.key)
	res, err := a.client.Do(a.as(session).request(t, http.MethodGet, "/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a.as(session).do(t, "DELETE", "/session-keys/current", nil).want(t, 204)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buffer := make([]byte, 1<<10); err == nil; {
			_, err = res.Body.Read(buffer)
		}
	}()
	select {
	case <-ended:
	case <-time.After(enough):
		t.Error("its stream goes on")
	}
}
