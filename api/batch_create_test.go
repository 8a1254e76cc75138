package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// many sends a batch-create.
func (a *testAPI) many(t testing.TB, members ...any) *answer {
	t.Helper()
	body := map[string]any{"name": "Shop {n}"}
	for i := 0; i < len(members); i += 2 {
		body[members[i].(string)] = members[i+1]
	}
	return a.do(t, "POST", "/profiles/batch-create", body)
}

// TestBatchCreate: the profiles have their numbers and the same settings, in order, and are what a list and a get show.
func TestBatchCreate(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "write", "w")
	events := a.listen(t, key)
	b := a.as(key)
	proxy := a.proxy(t, "workspaceId", "w")
	r := b.many(t, "count", 3, "name", " {n} of {n} ", "tags", []string{"x", "X"}, "notes", "ÄÖ", "proxyId", proxy, "headless", true,
		"screen", map[string]any{"width": 800, "height": 600}).want(t, 201)
	for member, want := range map[string]any{"total": 3, "totalIsExact": true, "page": 1, "limit": 3, "hasMore": false, "next": nil} {
		r.equal(t, member, want)
	}
	if got := r.each("name"); !slices.Equal(got, []string{"1 of 1", "2 of 2", "3 of 3"}) {
		t.Errorf("names %q", got)
	}
	for i, id := range r.each("id") {
		one := b.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
		if fmt.Sprint(one.at("")) != fmt.Sprint(r.at(fmt.Sprint("data.", i))) {
			t.Errorf("batch-create answered %v, get %v", r.at(fmt.Sprint("data.", i)), one.at(""))
		}
		one.equal(t, "tags", []string{"x"})
		one.equal(t, "proxyId", proxy)
		one.equal(t, "workspaceId", "w")
	}
	ids := r.each("id")
	slices.Reverse(ids)
	listed := b.do(t, "GET", "/profiles?search=äö&tag=x", nil).want(t, 200) // newest first
	if got := listed.each("id"); !slices.Equal(got, ids) {
		t.Errorf("the list has %v, want %v", got, ids)
	}
	b.do(t, "GET", "/proxies/"+proxy, nil).want(t, 200).equal(t, "profileCount", 3)
	if got := b.many(t, "count", 2, "firstNumber", 999, "name", "Shop {n}").want(t, 201).each("name"); !slices.Equal(got,
		[]string{"Shop 999", "Shop 1000"}) {
		t.Errorf("names %q", got)
	}
	if got := b.many(t, "count", 2, "name", "same").want(t, 201).each("name"); !slices.Equal(got, []string{"same", "same"}) {
		t.Errorf("names %q", got)
	}
	waitFor(t, "an event for each request", func() bool { return strings.Count(events.all(), "event: profile.batch_created") == 3 })
	if strings.Contains(events.all(), "event: profile.created") || !strings.Contains(events.all(), `"data":{"count":3}`) {
		t.Errorf("events: %s", events.all())
	}
}

// TestBatchCreateMost: one request makes as many as it says it can.
func TestBatchCreateMost(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.many(t, "count", maxBatchCreate).want(t, 201)
	r.equal(t, "total", maxBatchCreate)
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", maxBatchCreate)
	ids := r.each("id")
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != maxBatchCreate || r.each("name")[maxBatchCreate-1] != "Shop 10000" {
		t.Error("the ids are not in order, or the last has another name")
	}
	long := strings.Repeat("x", 10_000)
	a.many(t, "count", maxBatchCreate, "notes", long).invalid(t, "body.count")
	a.many(t, "count", 100, "notes", long).want(t, 201)
}

// TestBatchCreateProxies: each way to share proxies, with enough and with too few.
func TestBatchCreateProxies(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var ids []string
	for i := range 4 {
		ids = append(ids, a.proxy(t, "host", fmt.Sprintf("h%d.example", i), "tags", []string{[]string{"DE", "fr"}[i/3]}))
	}
	a.proxy(t, "workspaceId", "other", "tags", []string{"de"})
	used := func(want ...string) func(*answer) {
		return func(r *answer) {
			t.Helper()
			if got := r.want(t, 201).each("proxyId"); !slices.Equal(got, want) {
				t.Errorf("the profiles have %v, want %v", got, want)
			}
		}
	}
	used(ids[3])(a.many(t, "count", 1, "proxies", []string{ids[3]}))
	used(ids[0], ids[1])(a.many(t, "count", 2, "proxies", "each"))
	r := a.many(t, "count", 2, "proxies", "each").invalid(t, "body.proxies")
	if message := r.text("errors.0.message"); !strings.Contains(message, "2 are needed") || !strings.Contains(message, "has 1") {
		t.Errorf("it says %q", message)
	}
	used(ids[2], ids[2], ids[0], ids[1])(a.many(t, "count", 4, "proxies", map[string]any{"tag": " de", "pick": "leastUsed"})) // 1, 1, 0
	used(ids[0], ids[1], ids[2], ids[0])(a.many(t, "count", 4, "proxies", map[string]any{"tag": "de", "pick": "roundRobin"}))
	used(ids[0], ids[2], ids[0])(a.many(t, "count", 3, "proxies", map[string]any{"tag": "de", "pick": "roundRobin"}, "fallbackProxyIds",
		[]string{ids[1]}))
	for _, id := range a.many(t, "count", 20, "proxies", map[string]any{"tag": "de", "pick": "random"}).want(t, 201).each("proxyId") {
		if !slices.Contains(ids[:3], id) {
			t.Errorf("%s has not the tag", id)
		}
	}
	used(ids[1], ids[0], ids[1])(a.many(t, "count", 3, "proxies", []string{ids[1], ids[0], ids[1]}))
	before := a.do(t, "GET", "/profiles", nil).at("total")
	a.many(t, "count", 1, "proxies", map[string]any{"tag": "us", "pick": "random"}).invalid(t, "body.proxies.tag")
	a.many(t, "count", 1, "proxies", map[string]any{"tag": "de", "pick": "sticky"}).invalid(t, "body.proxies")
	a.many(t, "count", 3, "proxies", []string{ids[0], ids[1]}).invalid(t, "body.proxies")
	a.many(t, "count", 2, "proxies", []string{ids[0], store.NewID()}).invalid(t, "body.proxies[1]")
	a.many(t, "count", 2, "proxies", []string{ids[0], ids[1]}, "workspaceId", "other").invalid(t, "body.proxies[0]", "body.proxies[1]")
	a.many(t, "count", 1, "proxies", ids[:1], "fallbackProxyIds", ids[:1]).invalid(t, "body.proxies[0]")
	a.many(t, "count", 1, "proxies", "each", "proxyId", ids[0], "webrtc", "default").invalid(t, "body.proxies", "body.proxyId",
		"body.webrtc")
	a.many(t, "count", 1, "proxies", "all").invalid(t, "body.proxies")
	if got := a.do(t, "GET", "/profiles", nil).at("total"); got != before {
		t.Errorf("refused requests left %v profiles, want %v", got, before)
	}
}

// TestBatchCreateFaults: every fault at once, of the request and of the database. Nothing is made.
func TestBatchCreateFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.do(t, "POST", "/profiles/batch-create", `{}`).invalid(t, "body.count", "body.name")
	a.many(t, "count", 0).invalid(t, "body.count")
	a.many(t, "count", maxBatchCreate+1, "os", "beos", "proxyId", "none", "templateId", "t").invalid(t, "body.count", "body.os",
		"body.proxyId", "body.templateId")
	a.many(t, "count", nil, "name", nil).invalid(t, "body.count", "body.name")
	a.many(t, "count", 2, "firstNumber", -1, "proxies", []string{"none", "nobody"}, "tags", []string{""}).invalid(t, "body.firstNumber",
		"body.proxies[0]", "body.proxies[1]", "body.tags[0]")
	long := strings.Repeat("x", 198)
	a.many(t, "count", 99, "name", long+"{n}").invalid(t, "body.name") // the mark alone is too long
	a.many(t, "count", 2, "name", long[1:]+"{n}", "firstNumber", 998).want(t, 201)
	a.many(t, "count", 2, "name", long[1:]+"{n}", "firstNumber", 999).invalid(t, "body.name")
	key, _ := a.newKey(t, "write", "a", "b")
	a.as(key).many(t, "count", 2, "workspaceId", "c").invalid(t, "body.workspaceId")
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 2)
}

// TestBatchCreateAgain: the same Idempotency-Key makes nothing more, also when the answer was too large to store.
func TestBatchCreateAgain(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const path = "/profiles/batch-create"
	sameAnswer(t, a.once(t, "few", "POST", path, `{"count":2,"name":"a{n}"}`).want(t, 201),
		a.once(t, "few", "POST", path, `{"count":2,"name":"a{n}"}`).want(t, 201))
	first := a.once(t, "many", "POST", path, `{"count":200,"name":"b{n}"}`).want(t, 201)
	if len(first.body) <= maxSavedAnswer {
		t.Fatalf("an answer of %d bytes is stored: this shows nothing", len(first.body))
	}
	if again := a.once(t, "many", "POST", path, `{"count":200,"name":"b{n}"}`).want(t, 201); !bytes.Equal(again.body, first.body) {
		t.Errorf("again: %.300s", again.body)
	}
	a.profile(t)
	ids := first.each("id")
	a.do(t, "DELETE", "/profiles/"+ids[7], nil).want(t, 204)
	again := a.once(t, "many", "POST", path, `{"count":200,"name":"b{n}"}`).want(t, 201)
	if !slices.Equal(again.each("id"), slices.Delete(ids, 7, 8)) {
		t.Errorf("without the eighth: %.300s", again.body)
	}
	a.once(t, "many", "POST", path, `{"count":201,"name":"b{n}"}`).refused(t, 409, "idempotency_conflict")
	a.do(t, "GET", "/profiles", nil).want(t, 200).equal(t, "total", 2+200+1-1)
}
