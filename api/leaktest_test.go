package api

import (
	"testing"
)

// A leak test refuses what it refuses before it starts a browser.
func TestLeakTestRefuses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	path := "/profiles/" + id + "/leak-test"
	for body, fault := range map[string]string{`{"timeoutMs":9999}`: "body.timeoutMs", `{"timeoutMs":120001}`: "body.timeoutMs",
		`{"timeoutMs":-1}`:  "body.timeoutMs",
		`{"timeoutMs":"x"}`: "body.timeoutMs", `{"timeoutMs":10000.5}`: "body.timeoutMs", `{"headless":false}`: "body.headless",
		`{"timeoutms":10000}`: "body.timeoutms"} {
		a.do(t, "POST", path, body).invalid(t, fault)
	}
	a.do(t, "POST", path, `{`).refused(t, 400, "malformed_json")
	a.do(t, "GET", path, nil).refused(t, 405, "method_not_allowed")
	a.do(t, "POST", "/profiles/none/leak-test", nil).refused(t, 404, "profile_not_found")
	key, _ := a.newKey(t, "read,write")
	a.as(key).do(t, "POST", path, nil).refused(t, 403, "forbidden")
	elsewhere, _ := a.newKey(t, "run", "elsewhere")
	a.as(elsewhere).do(t, "POST", path, nil).refused(t, 404, "profile_not_found")

	lost := a.profile(t, "proxyId", a.proxy(t))
	proxyID := a.do(t, "GET", "/profiles/"+lost, nil).text("proxyId")
	a.do(t, "DELETE", "/profiles/"+lost, nil).want(t, 204)
	a.do(t, "DELETE", "/proxies/"+proxyID, nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+lost+"/restore", nil).want(t, 200)
	a.do(t, "POST", "/profiles/"+lost+"/leak-test", nil).refused(t, 409, "proxy_missing")

	a.loseBrowser(t)
	a.do(t, "POST", path, nil).refused(t, 503, "browser_not_found")
}
