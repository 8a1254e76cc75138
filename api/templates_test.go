package api

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// TestTemplates: a template is what was given, it changes by members, and every step is an event and on record.
func TestTemplates(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "write", "w")
	events := a.listen(t, key)
	b := a.as(key)
	proxy := a.proxy(t, "workspaceId", "w")
	made := b.do(t, "POST", "/templates", `{"name":" Shops ","os":"windows","tags":["x","X"],"screen":{"width":800,"height":600},
		"locale":["de-DE"],"geolocation":{"latitude":1,"longitude":2},"localhostVia":[3000],"headless":null,"notes":null,
		"browserVersion":150,"proxyId":"`+proxy+`"}`).want(t, 201)
	for member, want := range map[string]any{"name": "Shops", "workspaceId": "w", "os": "win", "tags": []string{"x"}, "proxyId": proxy,
		"locale": []string{"de-DE"}, "geolocation.accuracy": 50, "screen.deviceScaleFactor": 1, "localhostVia": []string{"3000"},
		"browserVersion": "150"} {
		made.equal(t, member, want)
	}
	for _, absent := range []string{"headless", "notes", "timezone", "proxies", "status"} {
		if made.has(absent) {
			t.Errorf("%s is there: %s", absent, made)
		}
	}
	id := made.text("id")
	if made.header.Get("Location") != "/api/v1/templates/"+id || made.header.Get("ETag") != `"1"` {
		t.Errorf("%v", made.header)
	}
	if one := b.do(t, "GET", "/templates/"+id, nil).want(t, 200); !bytes.Equal(one.body, made.body) || one.header.Get("ETag") != `"1"` {
		t.Errorf("GET answers\n%s\nPOST answered\n%s", one, made)
	}
	b.do(t, "POST", "/templates", `{"name":"Shops"}`).refused(t, 409, "duplicate").equal(t, "existingId", id)
	a.do(t, "POST", "/templates", `{"name":"Shops","workspaceId":"other"}`).want(t, 201)

	changed := b.do(t, "PUT", "/templates/"+id, `{"tags":null,"timezone":"UTC","proxies":{"tag":"DE","pick":"random"}}`).want(t, 200)
	changed.equal(t, "os", "win")
	changed.equal(t, "timezone", "UTC")
	changed.equal(t, "proxies", map[string]any{"tag": "DE", "pick": "random"})
	if changed.has("tags") || changed.has("proxyId") || changed.header.Get("ETag") != `"2"` {
		t.Errorf("tags and the proxy are out: %s %v", changed, changed.header)
	}
	back := b.do(t, "PATCH", "/templates/"+id, `{"name":"Shops","proxyId":"`+proxy+`"}`).want(t, 200)
	if back.equal(t, "proxyId", proxy); back.has("proxies") {
		t.Errorf("proxies are there beside a proxy: %s", back)
	}
	second := b.template(t, "name", "Second")
	b.do(t, "PUT", "/templates/"+second, `{"name":"Shops"}`).refused(t, 409, "duplicate").equal(t, "existingId", id)
	for _, method := range []string{"PUT", "DELETE"} {
		req := b.request(t, method, "/templates/"+id, `{"name":"Late"}`)
		req.Header.Set("If-Match", `"2"`)
		b.send(t, req).refused(t, 412, "etag_mismatch")
	}
	if found := b.do(t, "GET", "/templates?search=SHOP&workspaceId=w", nil).want(t, 200); !slices.Equal(found.each("id"), []string{id}) {
		t.Errorf("found %s", found)
	}
	walk := b.do(t, "GET", "/templates?limit=1", nil).want(t, 200)
	b.do(t, "DELETE", "/templates/"+second, nil).want(t, 204)
	b.do(t, "GET", "/templates/"+second, nil).refused(t, 404, "template_not_found")
	b.do(t, "GET", "/templates?limit=1&after="+second, nil).refused(t, 410, "cursor_gone")
	if rest := b.do(t, "GET", "/templates?limit=1&after="+walk.text("next"), nil).want(t, 200); !slices.Equal(rest.each("id"),
		[]string{id}) {
		t.Errorf("the walk goes on with %s", rest)
	}
	for _, what := range []string{"created", "updated", "deleted"} {
		events.says(t, `"type":"template.`+what+`"`)
	}
	events.says(t, `"changed":["tags","timezone","proxies"]`)
	for action, n := range map[string]int{"create": 3, "update": 2, "delete": 1} {
		a.do(t, "GET", "/audit?result=ok&action=template."+action, nil).want(t, 200).equal(t, "total", n)
	}
}

// TestTemplateOnce: a repeated request makes no second template.
func TestTemplateOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	send := func(body string) *answer {
		req := a.request(t, "POST", "/templates", body)
		req.Header.Set("Idempotency-Key", "k")
		return a.send(t, req)
	}
	first := send(`{"name":"x"}`).want(t, http.StatusCreated)
	if again := send(`{"name":"x"}`).want(t, http.StatusCreated); !bytes.Equal(again.body, first.body) {
		t.Errorf("the second answer is %s", again)
	}
	send(`{"name":"y"}`).refused(t, 409, "idempotency_conflict")
	a.do(t, "GET", "/templates", nil).want(t, 200).equal(t, "total", 1)
}

// TestTemplateRefused: every fault at once, by the rules of profiles, and no more templates than a workspace may have.
func TestTemplateRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy := a.proxy(t)
	theirs := a.proxy(t, "workspaceId", "b", "host", "b.example")
	id := a.template(t, "webrtc", "default")
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"body.name"}},
		{`{"name":null,"os":"amiga","timezone":"x","startUrls":["file:///etc/passwd"],"id":"x","status":"x","templateId":"x"}`,
			[]string{"body.name", "body.os", "body.timezone", "body.startUrls[0]", "body.id", "body.status", "body.templateId"}},
		{`{"name":"x","proxyId":"` + theirs + `","fallbackProxyIds":["none"]}`, []string{"body.proxyId", "body.fallbackProxyIds[0]"}},
		{`{"name":"x","proxyId":"` + proxy + `","proxies":"each","webrtc":"default"}`, []string{"body.proxyId", "body.webrtc"}},
		{`{"name":"x","proxies":["` + proxy + `"]}`, []string{"body.proxies"}},
		{`{"name":"x","proxies":{"tag":"x","pick":"sticky"}}`, []string{"body.proxies"}},
	} {
		a.do(t, "POST", "/templates", c.body).invalid(t, c.want...)
	}
	a.do(t, "PUT", "/templates/"+id, `{"name":null,"workspaceId":"b","proxies":"each"}`).invalid(t, "body.name", "body.workspaceId",
		"body.webrtc")
	a.do(t, "GET", "/templates", nil).want(t, 200).equal(t, "total", 1)

	err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
		for i := range maxTemplates - 1 {
			if _, err := q.InsertTemplate(t.Context(), store.InsertTemplateParams{ID: store.NewID(), WorkspaceID: "default",
				Name: fmt.Sprint(i), SearchKey: fmt.Sprint(i), Settings: "{}"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.do(t, "POST", "/templates", `{"name":"one too many"}`).refused(t, 409, "template_limit")
	a.do(t, "POST", "/templates", `{"name":"there","workspaceId":"b"}`).want(t, 201)
}

// TestCreateWithTemplate: a template fills what a profile does not give, explain names it, and the profile keeps its values.
func TestCreateWithTemplate(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	template := a.template(t, "os", "mac", "timezone", "Asia/Tokyo", "tags", []string{"shop"}, "headless", true, "notes", "from it",
		"webrtc", "off")
	made := a.do(t, "POST", "/profiles", map[string]any{"name": "p", "templateId": template, "timezone": "UTC", "headless": nil}).
		want(t, 201)
	id := made.text("id")
	for member, want := range map[string]any{"os": "mac", "timezone": "UTC", "tags": []string{"shop"}, "headless": nil, "notes": "from it",
		"templateId": template} {
		made.equal(t, member, want)
	}
	sources := func(want map[string]any) {
		t.Helper()
		explained := a.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200)
		for member, source := range want {
			explained.equal(t, member, source)
		}
	}
	sources(map[string]any{"templateId": template, "sources.os": "template", "sources.timezone": "profile", "sources.tags": "template",
		"sources.headless": "profile", "sources.name": "profile", "sources.locale": "default", "effective.os.source": "template",
		"effective.timezone.source": "profile", "effective.webrtc.source": "template"})

	a.do(t, "PUT", "/templates/"+template, `{"os":"win","timezone":"Europe/Paris","tags":["later"]}`).want(t, 200)
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "os", "mac")
	changed := a.do(t, "PUT", "/profiles/"+id, `{"timezone":null,"os":"linux","notes":null,"locale":null}`).want(t, 200)
	for member, want := range map[string]any{"timezone": "Europe/Paris", "os": "linux", "notes": "from it", "locale": "auto"} {
		changed.equal(t, member, want)
	}
	sources(map[string]any{"sources.timezone": "template", "sources.os": "profile", "effective.timezone.source": "template",
		"sources.locale": "default", "effective.os.source": "profile"})

	a.do(t, "DELETE", "/templates/"+template, nil).want(t, 204)
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "tags", []string{"shop"})
	a.do(t, "PUT", "/profiles/"+id, `{"timezone":null}`).want(t, 200).equal(t, "timezone", "auto")
	sources(map[string]any{"sources.timezone": "default", "sources.tags": "template", "templateId": template})
	a.do(t, "POST", "/profiles", map[string]any{"name": "p", "os": "amiga", "templateId": template}).invalid(t, "body.os",
		"body.templateId")
	other := a.template(t, "workspaceId", "b")
	a.do(t, "POST", "/profiles", map[string]any{"name": "p", "templateId": other}).invalid(t, "body.templateId")
	a.do(t, "PUT", "/profiles/"+id, map[string]any{"templateId": other}).invalid(t, "body.templateId")
	clone := a.do(t, "POST", "/profiles/"+id+"/clone", nil).want(t, 201)
	a.do(t, "GET", "/profiles/"+clone.text("id")+"/explain", nil).want(t, 200).equal(t, "sources.tags", "template")
}

// TestProxiesOfTemplates: a template's proxies are dealt to new profiles, and one that cannot be had refuses them: none goes out directly.
func TestProxiesOfTemplates(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	one, two := a.proxy(t, "tags", []string{"de"}), a.proxy(t, "tags", []string{"de"}, "host", "two.example")
	template := a.template(t, "proxies", map[string]any{"tag": "DE", "pick": "leastUsed"})
	var got []string
	for range 2 {
		got = append(got, a.do(t, "POST", "/profiles", map[string]any{"name": "p", "templateId": template}).want(t, 201).text("proxyId"))
	}
	got = append(got, a.many(t, "count", 2, "templateId", template).want(t, 201).each("proxyId")...)
	if slices.Sort(got); !slices.Equal(got, sorted(one, one, two, two)) {
		t.Errorf("the proxies are %v of %v", got, []string{one, two})
	}
	direct := a.do(t, "POST", "/profiles", map[string]any{"name": "p", "templateId": template, "proxyId": nil}).want(t, 201)
	direct.equal(t, "proxyId", nil)
	own := a.many(t, "count", 1, "templateId", template, "proxies", []string{two}).want(t, 201)
	own.equal(t, "data.0.proxyId", two)
	a.do(t, "GET", "/profiles/"+own.text("data.0.id")+"/explain", nil).want(t, 200).equal(t, "sources.proxyId", "profile")

	each := a.template(t, "proxies", "each", "os", "mac")
	refused := a.many(t, "count", 1, "templateId", each, "webrtc", "default").invalid(t, "body.templateId", "body.webrtc")
	if !strings.Contains(string(refused.body), "free proxies") {
		t.Errorf("%s does not say what is missing", refused)
	}
	free := a.proxy(t, "host", "free.example")
	named := a.template(t, "proxyId", free, "fallbackProxyIds", []string{one})
	a.do(t, "POST", "/profiles", map[string]any{"name": "p", "templateId": named, "proxyId": one}).invalid(t, "body.templateId")
	a.do(t, "DELETE", "/proxies/"+free, nil).want(t, 204)
	for _, path := range []string{"/profiles", "/profiles/batch-create"} {
		body := map[string]any{"name": "p", "templateId": named}
		if path != "/profiles" {
			body["count"] = 2
		}
		if r := a.do(t, "POST", path, body).invalid(t, "body.templateId"); !strings.Contains(r.text("errors.0.message"), "proxyId") {
			t.Errorf("%s does not name the proxy", r)
		}
	}
	a.do(t, "PUT", "/templates/"+named, `{"notes":"its proxy is gone"}`).want(t, 200)
}

func sorted(all ...string) []string {
	slices.Sort(all)
	return all
}
