package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"warren/state"
)

// put sends a file of cookies or storage.
func (a *testAPI) put(t testing.TB, path, kind, body string) *answer {
	t.Helper()
	req := a.request(t, http.MethodPut, path, body)
	req.Header.Set("Content-Type", kind)
	if kind == "" {
		req.Header.Del("Content-Type")
	}
	return a.send(t, req)
}

// TestCookieFaults: what is wrong with a request for cookies or storage is told at once and in whole, before any browser starts.
func TestCookieFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	cookies, storage := "/profiles/"+id+"/cookies", "/profiles/"+id+"/storage-state"
	const good = `[{"name":"n","value":"v","domain":"a.example","path":"/"}]`
	a.do(t, "GET", cookies+"?format=xml&domain=https://a&x=1", nil).invalid(t, "query.domain[0]", "query.format", "query.x")
	a.do(t, "DELETE", cookies+"?domain=", nil).invalid(t, "query.domain[0]")
	a.do(t, "GET", storage+"?indexedDB=maybe&domain=a.example&domain=b..example", nil).invalid(t, "query.domain[1]", "query.indexedDB")
	a.do(t, "PUT", cookies+"?mode=all&dryRun=yes&format=xml&confirm=1&confirm=1&x=1&domain=a:1", good).invalid(t, "query.confirm",
		"query.domain[0]", "query.dryRun", "query.format", "query.mode", "query.x")
	a.do(t, "PUT", cookies+"?mode=replace-all", good).invalid(t, "query.confirm")
	a.do(t, "PUT", cookies+"?mode=replace-all&confirm=true&domain=a.example", good).invalid(t, "query.domain")
	a.do(t, "PUT", storage+"?format=playwright&mode=replace-domains&domain=a.example", `{"origins":[]}`).invalid(t, "query.domain",
		"query.format")
	for _, x := range []struct{ path, kind, body, want string }{
		{cookies, "application/json", "", "empty"},
		{cookies, "application/json", "[", "too early"},
		{cookies, "application/json", "{}", "no member cookies"},
		{cookies, "application/json", "a.example\tFALSE\t/\tFALSE\t0\tn\tv\n", "text/plain"},
		{cookies, "text/plain", good, "This is JSON"},
		{cookies, "text/plain; charset=ISO-8859-1", "a.example\tFALSE\t/\tFALSE\t0\tn\t\xfc\n", "Latin-1"},
		{cookies + "?format=cdp", "text/plain", "<html>", "not JSON"},
		{storage, "", good, "no storageState"},
	} {
		if r := a.put(t, x.path, x.kind, x.body).refused(t, 400, "malformed_json"); !strings.Contains(r.text("errors.0.message"), x.want) {
			t.Errorf("%s, want %q", r, x.want)
		}
	}
	a.put(t, cookies, "image/png", good).refused(t, 415, "unsupported_media_type")
	a.put(t, cookies, "x", good).refused(t, 415, "unsupported_media_type")
	a.put(t, storage, "text/plain", good).refused(t, 415, "unsupported_media_type")
	a.put(t, cookies, "application/json", strings.Repeat(" ", 64<<20)+good).refused(t, 413, "body_too_large")
	bad := strings.Replace(good, `"n"`, `"__Host-n"`, 1)
	r := a.put(t, cookies+"?mode=replace-all&confirm=true", "application/json", bad).invalid(t, "body[0]")
	if !strings.Contains(r.text("detail"), "nothing was changed") {
		t.Errorf("%s", r)
	}
	a.put(t, storage+"?mode=replace-domains", "application/json", `{"cookies":`+bad+`}`).invalid(t, "body[0]")
	r = a.put(t, cookies, "application/json", `{"cookies":`+bad+`,"remove":[{"name":"n","domain":"a.example","path":"/"},{"path":"/"}]}`).
		invalid(t, "body.cookies[0]", "body.remove[1]")
	if !strings.Contains(r.text("detail"), "nothing was changed") {
		t.Errorf("%s", r)
	}
	clears := "/profiles/" + id + "/clear"
	a.do(t, "POST", clears, `{"kinds":[],"origins":["https://a.example/x"],"since":"2999-01-01T00:00:00Z"}`).invalid(t, "body.kinds",
		"body.origins[0]", "body.since")
	a.do(t, "POST", clears, `{"kinds":["all"],"origins":[],"more":1}`).invalid(t, "body.kinds[0]", "body.more", "body.origins")
	for _, action := range []string{"cookies.*", "storage.*", "profile.clear"} {
		a.do(t, "GET", "/audit?result=ok&action="+action, nil).want(t, 200).equal(t, "total", 0)
	}
}

// TestCookieRights: reading needs secrets, and writing secrets too.
func TestCookieRights(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	writer, _ := a.newKey(t, "write,run")
	for _, x := range [][2]string{{"GET", "/cookies"}, {"PUT", "/cookies"}, {"DELETE", "/cookies"}, {"GET", "/storage-state"},
		{"PUT", "/storage-state"}} {
		body := any(nil)
		if x[0] == "PUT" {
			body = `[]`
		}
		r := a.as(writer).do(t, x[0], "/profiles/"+id+x[1], body).refused(t, 403, "forbidden")
		if !strings.Contains(r.text("detail"), "`secrets`") {
			t.Errorf("%s", r)
		}
	}
}

// TestNothingToWrite: a file of which nothing can be taken is answered without a browser, with what was refused and lost.
func TestNothingToWrite(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	r := a.put(t, "/profiles/"+id+"/cookies", "text/plain",
		"# Netscape HTTP Cookie File\na.example\tFALSE\t/\tFALSE\t1000000000\told\tSECRET\nb.example FALSE / FALSE 0 n v\n").want(t, 200)
	for member, want := range map[string]any{"taken": 0, "changed": 0, "removed": 0, "dryRun": false, "moreRefused": 0,
		"refused.0.index": 0, "refused.0.line": 2, "refused.0.name": "old", "refused.0.domain": "a.example",
		"refused.0.reason": "It has expired.", "refused.1.line": 3, "lost": []any{}, "failed": []any{},
		"notices": []any{}} {
		r.equal(t, member, want)
	}
	r = a.put(t, "/profiles/"+id+"/storage-state", "", `{"cookies":[{"name":"a"}],"origins":[{"origin":"ftp://a.example"}],
		"credentials":[{"id":"AQID","rpId":"shop.example","userHandle":"dXNlcg","signCount":7,
		"privateKey":"MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
		"publicKey":"XMCowBQYDK2VwAyEAA6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"}]}`).want(t, 200)
	r.equal(t, "refused.2.place", "origins[0]")
	r.equal(t, "refused.1.place", "credentials[0]")
	r.equal(t, "passkeys", 0)
	r.equal(t, "origins", 0)
	if strings.Contains(a.log.String()+string(r.body), "SECRET") {
		t.Error("the log or the answer has a value")
	}
}

// TestStateMedia: which format an answer has.
func TestStateMedia(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{"": "playwright", "*/*": "playwright", "application/json, text/plain": "playwright",
		"text/plain": "netscape", "Text/Plain;q=0.9, */*": "netscape"} {
		if got := (&cookieList{}).format(accept); string(got) != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
	if got := (&cookieList{Format: "cdp"}).format("text/plain"); got != "cdp" {
		t.Error(got)
	}
	if names := formatNames(); !slices.Contains(names, any("cookie-editor")) || len(names) != 4 {
		t.Error(names)
	}
}

// TestOriginsThatFailed: an origin that has failed in several ways is one that was not written.
func TestOriginsThatFailed(t *testing.T) {
	t.Parallel()
	c := &stateChange{file: &state.Cookies{}, origins: make([]state.Origin, 2),
		failed: []state.Failure{{Origin: "https://a.example", Reason: "x"}, {Origin: "https://a.example", Reason: "y"}}}
	if got := c.answer().Origins; got != 1 {
		t.Errorf("%d origins were written, want 1", got)
	}
}
